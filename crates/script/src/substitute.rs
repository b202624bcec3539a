//! Variables in SQL: the two ways to fill them in.

use crate::dialect::Dialect;
use crate::mentions::{Mention, find_mentions};
use crate::symbols::{Slot, Symbols};
use crate::variables::Variables;
use thiserror::Error;

/// A statement, cut up at the variables that it mentions, be it in quotes or in comments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    text: String,
    mentions: Vec<Mention>,
    slots: Vec<Slot>,
    parameterized: String,
}

impl Template {
    /// Finds the mentions in a statement, at most `most`; their names get slots. `None` if there
    /// are more.
    pub(crate) fn new(
        text: String,
        dialect: Dialect,
        symbols: &mut Symbols,
        most: usize,
    ) -> Option<Self> {
        let mentions = find_mentions(&text, dialect, most)?;
        let mut slots = Vec::with_capacity(mentions.len());
        let mut parameterized = String::with_capacity(text.len());
        let mut copied = 0;
        for mention in &mentions {
            slots.push(symbols.intern(mention.name(&text)));
            parameterized.push_str(&text[copied..mention.start]);
            parameterized.push('$');
            parameterized.push_str(&slots.len().to_string());
            copied = mention.end;
        }
        parameterized.push_str(&text[copied..]);
        Some(Self {
            text,
            mentions,
            slots,
            parameterized,
        })
    }

    /// The statement as it was written.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The statement with `$1`, `$2`, ... in place of each mention.
    pub(crate) fn parameterized(&self) -> &str {
        &self.parameterized
    }

    /// The variable of each mention, in order.
    pub(crate) fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// The offset in the text of what is at an offset in the parameterized one: of a parameter, that
    /// of the mention.
    pub(crate) fn text_offset(&self, parameterized: usize) -> usize {
        // The same place in both, behind the previous mention.
        let (mut in_text, mut here) = (0, 0);
        for (number, mention) in (1..).zip(&self.mentions) {
            let literal = mention.start - in_text;
            if parameterized < here + literal {
                break;
            }
            here += literal;
            let length = format!("${number}").len();
            if parameterized < here + length {
                return mention.start;
            }
            here += length;
            in_text = mention.end;
        }
        in_text
            .saturating_add(parameterized - here)
            .min(self.text.len())
    }

    /// The offset of the first mention of a variable.
    pub(crate) fn offset_of(&self, slot: Slot) -> Option<usize> {
        let index = self.slots.iter().position(|mentioned| *mentioned == slot)?;
        Some(self.mentions[index].start)
    }

    /// Replaces the contents of `out` by the statement with the variables' texts in it. Mentions
    /// of unset variables stay as they are.
    pub(crate) fn substitute(
        &self,
        variables: &Variables,
        out: &mut String,
    ) -> Result<(), StatementTooLong> {
        out.clear();
        let mentions = || self.mentions.iter().zip(&self.slots);
        let rooms = mentions().map(|(mention, slot)| match mention.is_quoted {
            true => variables.quoted_room(*slot),
            false => variables.room(*slot),
        });
        // A zero byte may follow.
        reserve(out, self.text.len() + rooms.sum::<usize>() + 1)?;
        let mut copied = 0;
        for (mention, slot) in mentions() {
            out.push_str(&self.text[copied..mention.start]);
            let is_set = match mention.is_quoted {
                true => variables.write_quoted(*slot, out),
                false => variables.write_text(*slot, out),
            };
            if !is_set {
                out.push_str(&self.text[mention.start..mention.end]);
            }
            copied = mention.end;
        }
        out.push_str(&self.text[copied..]);
        Ok(())
    }
}

/// A statement that is too long once its variables are filled in: longer than the server takes, or
/// than there is memory for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the statement with the texts of its variables is too long")]
pub struct StatementTooLong;

/// The longest text that the server takes, in bytes.
const MAX_BYTES: usize = 0x3fff_fffe;

/// Reserves memory for that many more bytes.
pub(crate) fn reserve(out: &mut String, bytes: usize) -> Result<(), StatementTooLong> {
    if out.capacity() - out.len() >= bytes {
        return Ok(());
    }
    if out.len().saturating_add(bytes) > MAX_BYTES {
        return Err(StatementTooLong);
    }
    out.try_reserve(bytes).map_err(|_| StatementTooLong)
}
