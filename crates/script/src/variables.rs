//! The variables of one client: values from expressions, and texts that become values when an
//! expression first reads them.

use std::fmt::Write;

use thiserror::Error;

use crate::number::{is_c_space, parse_double};
use crate::symbols::{Slot, Symbols};
use crate::value::Value;

/// Why the text of a variable is not a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum TextError {
    /// The text is empty, which is what SQL NULL is stored as; there is no message for that.
    #[error("")]
    Empty,
    /// An integer outside 64 bits.
    #[error("value \"{0}\" is out of range for type bigint")]
    OutOfRange(String),
    /// A sign without digits.
    #[error("invalid input syntax for type bigint: \"{0}\"")]
    NoDigits(String),
    /// Neither null, nor boolean, nor number.
    #[error("malformed variable \"{name}\" value: \"{text}\"")]
    Malformed {
        /// The variable.
        name: String,
        /// Value as text.
        text: String,
    },
}

/// The characters that are doubled in a quoted literal; backslashes make it one with escapes.
const DOUBLED: [char; 2] = ['\'', '\\'];

/// Valid forms of a variable: value, text.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Unset,
    /// The value counts, the text is stale.
    Typed(Value),
    /// Only the text counts so far.
    Text,
    /// The value was read from the text, and the text is what gets substituted.
    TypedText(Value),
    /// SQL NULL, in statements too.
    Null,
}

#[derive(Clone, Debug, Default)]
struct Variable {
    state: State,
    /// Kept when it is stale, so that its memory can be used again.
    text: String,
}

/// The variables of one client, by slot.
#[derive(Clone, Debug)]
pub struct Variables {
    by_slot: Vec<Variable>,
}

impl Variables {
    /// Creates unset variables, one per name in `symbols`.
    pub fn new(symbols: &Symbols) -> Self {
        Self {
            by_slot: vec![Variable::default(); symbols.len()],
        }
    }

    /// Gives the variable a typed value. Allocates nothing for a slot of the table that these
    /// variables were made for.
    pub fn set(&mut self, slot: Slot, value: Value) {
        self.entry(slot).state = State::Typed(value);
    }

    /// Gives the variable a text; an expression that reads it decides about its type.
    pub fn set_text(&mut self, slot: Slot, text: &str) {
        self.set_text_with(slot, |buffer| buffer.push_str(text));
    }

    /// Gives the variable the text that `write` appends to the buffer of its text, which is empty.
    pub(crate) fn set_text_with(&mut self, slot: Slot, write: impl FnOnce(&mut String)) {
        let variable = self.entry(slot);
        variable.text.clear();
        write(&mut variable.text);
        variable.state = State::Text;
    }

    /// Stores SQL NULL as it came from a query: as an empty text, which no expression can read.
    pub fn set_null_text(&mut self, slot: Slot) {
        self.set_text(slot, "");
    }

    /// Makes the variable SQL NULL: `NULL` in texts of statements, no value as a parameter.
    pub fn set_null(&mut self, slot: Slot) {
        self.entry(slot).state = State::Null;
    }

    /// The value of a variable that was assigned an integer, whose text is that number; `None` of
    /// any other.
    #[inline]
    pub fn integer(&self, slot: Slot) -> Option<i64> {
        match self.by_slot.get(slot.index())?.state {
            State::Typed(Value::Int(value)) => Some(value),
            _ => None,
        }
    }

    /// Largest number of bytes of the variable's text.
    #[inline]
    pub(crate) fn room(&self, slot: Slot) -> usize {
        /// Bytes of the longest number.
        const NUMBER: usize = 32;
        match self.by_slot.get(slot.index()) {
            Some(variable) => variable.text.len().max(NUMBER),
            None => 0,
        }
    }

    /// Appends the text of the variable as a parameter, and returns true; does nothing and returns
    /// false if the parameter is NULL, as it is if the variable is unset.
    #[inline]
    pub fn write_parameter(&self, slot: Slot, out: &mut String) -> bool {
        !matches!(self.state(slot), State::Null) && self.write_text(slot, out)
    }

    /// Appends what the variable is substituted by, and returns true; does nothing and returns
    /// false if it is unset. A null is written as `NULL`.
    pub fn write_text(&self, slot: Slot, out: &mut String) -> bool {
        let Some(variable) = self.by_slot.get(slot.index()) else {
            return false;
        };
        match variable.state {
            State::Unset => return false,
            // Writing into a String cannot fail.
            State::Typed(value) => _ = write!(out, "{value}"),
            State::Null => _ = write!(out, "{}", Value::Null),
            State::Text | State::TypedText(_) => out.push_str(&variable.text),
        }
        true
    }

    /// Largest number of bytes of the variable's text as a quoted literal.
    pub(crate) fn quoted_room(&self, slot: Slot) -> usize {
        let text = self.by_slot.get(slot.index()).map(|v| v.text.as_str());
        self.room(slot) + text.map_or(0, |text| text.matches(DOUBLED).count()) + "E''".len()
    }

    /// Appends the text that [`Variables::write_text`] appends, as a quoted literal: one that means the
    /// same with any `standard_conforming_strings`.
    pub(crate) fn write_quoted(&self, slot: Slot, out: &mut String) -> bool {
        let Some(variable) = self.by_slot.get(slot.index()) else {
            return false;
        };
        match variable.state {
            State::Unset => return false,
            // Writing into a String cannot fail; values have no quotes.
            State::Typed(value) => _ = write!(out, "'{value}'"),
            State::Null => _ = write!(out, "{}", Value::Null),
            State::Text | State::TypedText(_) => {
                let text = &variable.text;
                out.push_str(if text.contains('\\') { "E'" } else { "'" });
                for piece in text.split_inclusive(DOUBLED) {
                    out.push_str(piece);
                    if piece.ends_with(DOUBLED) {
                        out.push_str(&piece[piece.len() - 1..]);
                    }
                }
                out.push('\'');
            }
        }
        true
    }

    /// The value of the variable, `None` if it is unset. A text is given its type, once; `name`
    /// is for the message if that fails.
    ///
    /// # Errors
    /// If the text has no type.
    pub fn value(&mut self, slot: Slot, name: &str) -> Result<Option<Value>, TextError> {
        match self.state(slot) {
            State::Unset => Ok(None),
            State::Typed(value) | State::TypedText(value) => Ok(Some(value)),
            State::Null => Ok(Some(Value::Null)),
            State::Text => {
                let variable = self.entry(slot);
                let value = read_value(&variable.text, name)?;
                variable.state = State::TypedText(value);
                Ok(Some(value))
            }
        }
    }

    fn state(&self, slot: Slot) -> State {
        self.by_slot
            .get(slot.index())
            .map_or(State::Unset, |variable| variable.state)
    }

    fn entry(&mut self, slot: Slot) -> &mut Variable {
        let index = slot.index();
        if index >= self.by_slot.len() {
            self.by_slot.resize_with(index + 1, Variable::default);
        }
        &mut self.by_slot[index]
    }
}

/// The value that a text stands for; `name` is the variable's, for messages.
fn read_value(text: &str, name: &str) -> Result<Value, TextError> {
    if text.is_empty() {
        return Err(TextError::Empty);
    }
    if text.eq_ignore_ascii_case("null") {
        return Ok(Value::Null);
    }
    if let Some(value) = read_bool(text) {
        return Ok(Value::Bool(value));
    }
    if let Some(number) = integer_part(text) {
        if !number.ends_with(|last: char| last.is_ascii_digit()) {
            return Err(TextError::NoDigits(text.to_owned()));
        }
        return match number.parse() {
            Ok(value) => Ok(Value::Int(value)),
            Err(_) => Err(TextError::OutOfRange(text.to_owned())),
        };
    }
    match parse_double(text) {
        Some(value) => Ok(Value::Double(value)),
        None => Err(TextError::Malformed {
            name: name.to_owned(),
            text: text.to_owned(),
        }),
    }
}

fn read_bool(text: &str) -> Option<bool> {
    let starts = |word: &str| {
        word.get(..text.len())
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case(text))
    };
    if starts("true") || starts("yes") || text.eq_ignore_ascii_case("on") {
        Some(true)
    } else if starts("false") || starts("no") || (text.len() > 1 && starts("off")) {
        Some(false)
    } else {
        None
    }
}

/// The text without leading blanks if it is an optional sign and digits, of which there may be
/// none.
fn integer_part(text: &str) -> Option<&str> {
    let number = text.trim_start_matches(is_c_space);
    let digits = number.strip_prefix(['-', '+']).unwrap_or(number);
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit())
        .then_some(number)
}
