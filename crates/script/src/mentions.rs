//! Positions of variables in a statement.

use crate::dialect::Dialect;
use crate::split::{
    comment_length, dollar_length, escape_string_length, line_length, number_length, prefix_length,
    quoted_length, word_length,
};
use crate::symbols::{is_name_part, is_name_start};

/// Mention of a variable: positions of its colon and of its end, and whether it is `:'name'`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mention {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) is_quoted: bool,
}

impl Mention {
    /// The name of the variable; `text` is the statement.
    pub(crate) fn name<'t>(&self, text: &'t str) -> &'t str {
        match self.is_quoted {
            true => &text[self.start + 2..self.end - 1],
            false => &text[self.start + 1..self.end],
        }
    }
}

/// The mentions in a statement. A colon starts one if a name follows; a run of colons that no name
/// follows directly behind its first is skipped as a whole, so that `::type` is none. `None` if there
/// are more than `most`.
pub(crate) fn find_mentions(text: &str, dialect: Dialect, most: usize) -> Option<Vec<Mention>> {
    let mut quoted = QuotedMentions {
        text,
        position: match dialect {
            Dialect::Extended if text.contains(":'") => 0,
            _ => text.len(),
        },
    }
    .peekable();
    let mut mentions = Vec::new();
    let mut position = 0;
    while let Some(offset) = text[position..].find(':') {
        let start = position + offset;
        let rest = &text[start + 1..];
        let mention = if let Some(mention) = quoted.next_if(|mention| mention.start == start) {
            mention
        } else if rest.starts_with(is_name_start) {
            Mention {
                start,
                end: start + 1 + prefix_length(rest, is_name_part),
                is_quoted: false,
            }
        } else {
            position = start + 1 + prefix_length(rest, |c| c == ':');
            continue;
        };
        if mentions.len() == most {
            return None;
        }
        position = mention.end;
        mentions.push(mention);
    }
    Some(mentions)
}

/// The mentions of the form `:'name'`, outside of strings, quoted identifiers and comments.
///
/// No statement that the server executes has one: the only colons in SQL that are not part of `::` or
/// `:=` are those of array slices, whose bounds are integers. It also ends where the server may see
/// strings in other places; see [`ends_in_backslash`].
#[derive(Clone, Debug)]
struct QuotedMentions<'t> {
    text: &'t str,
    position: usize,
}

impl QuotedMentions<'_> {
    /// The end of the mention that starts here.
    fn end(&self) -> Option<usize> {
        let is_joined = |c: char| is_name_part(c) || matches!(c, '$' | '\'' | '"');
        let (before, rest) = self.text.split_at(self.position);
        let name = rest.strip_prefix(":'")?;
        let length = prefix_length(name, is_name_part);
        let behind = name[length..].strip_prefix('\'')?;
        let stands_alone = !before.ends_with(is_joined) && !behind.starts_with(is_joined);
        (stands_alone && name.starts_with(is_name_start)).then(|| self.text.len() - behind.len())
    }
}

impl Iterator for QuotedMentions<'_> {
    type Item = Mention;

    fn next(&mut self) -> Option<Mention> {
        loop {
            let start = self.position;
            let rest = &self.text[start..];
            let first = rest.chars().next()?;
            let length = match first {
                '-' if rest.starts_with("--") => line_length(rest),
                '/' if rest.starts_with("/*") => comment_length(rest),
                '\'' if ends_in_backslash(rest) => rest.len(),
                '\'' | '"' => quoted_length(rest, first),
                '$' => dollar_length(rest),
                ':' => match (self.end(), prefix_length(rest, |c| c == ':')) {
                    (Some(end), _) => {
                        self.position = end;
                        return Some(Mention {
                            start,
                            end,
                            is_quoted: true,
                        });
                    }
                    (None, 1) => 1 + prefix_length(&rest[1..], is_name_part),
                    (None, colons) => colons,
                },
                '0'..='9' | '.' => number_length(rest),
                first if is_name_start(first) => match word_length(rest) {
                    1 if matches!(first, 'e' | 'E') && rest[1..].starts_with('\'') => {
                        1 + escape_string_length(&rest[1..])
                    }
                    length => length,
                },
                other => other.len_utf8(),
            };
            self.position += length;
        }
    }
}

/// Whether a string, from its opening quote on, ends elsewhere if `standard_conforming_strings` is off.
fn ends_in_backslash(text: &str) -> bool {
    let string = &text[..quoted_length(text, '\'')];
    let content = string.strip_suffix('\'').unwrap_or(string);
    (content.len() - content.trim_end_matches('\\').len()) % 2 == 1
}
