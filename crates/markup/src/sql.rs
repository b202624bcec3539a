//! Texts as SQL literals in statements that readers copy.

use crate::visible::{is_hidden, is_layout};
use std::fmt::Write;

/// A text as an SQL literal that is valid for any value of `standard_conforming_strings`. Hidden
/// characters are escape sequences: the statement can be shown, and means the same text where it is
/// pasted. In a database whose encoding is UTF8 (`is_utf8`) they are those of characters, in others those of
/// the bytes.
pub fn literal(text: &str, is_utf8: bool) -> String {
    let is_escaped = |c: char| is_hidden(c) && !is_layout(c);
    let quoted = text.replace('\'', "''");
    if !quoted.contains(|c| c == '\\' || is_escaped(c)) {
        return format!("'{quoted}'");
    }
    let mut literal = String::from("E'");
    for c in quoted.chars() {
        // Writing to a text cannot fail.
        let _ = match (u32::from(c), is_utf8) {
            _ if c == '\\' => write!(literal, "\\\\"),
            _ if !is_escaped(c) => write!(literal, "{c}"),
            (code @ 0..=0xFFFF, true) => write!(literal, "\\u{code:04X}"),
            (code, true) => write!(literal, "\\U{code:08X}"),
            (_, false) => {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).bytes();
                bytes
                    .into_iter()
                    .try_for_each(|byte| write!(literal, "\\x{byte:02X}"))
            }
        };
    }
    literal.push('\'');
    literal
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn literals() {
        assert_eq!(literal("it's", true), "'it''s'");
        assert_eq!(literal("a\tb\nc é", true), "'a\tb\nc é'");
        assert_eq!(literal("a\\'b", true), "E'a\\\\''b'");
        assert_eq!(
            literal("\u{202E}x\u{E0041}\u{1b}", true),
            "E'\\u202Ex\\U000E0041\\u001B'"
        );
        assert_eq!(
            literal("\u{202E}0\u{1b}", false),
            "E'\\xE2\\x80\\xAE0\\x1B'"
        );
    }
}
