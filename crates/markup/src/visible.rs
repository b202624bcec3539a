//! Characters that are not seen but change what is: control characters, direction marks, and others
//! of no width. They are replaced by their code, `[U+202E]`.

use std::borrow::Cow;

/// A text as one line: line breaks are replaced, too.
pub fn line(text: &str) -> Cow<'_, str> {
    replace(text, is_hidden)
}

/// A text of several lines: line feeds and tabs remain.
pub fn lines(text: &str) -> Cow<'_, str> {
    replace(text, |c| is_hidden(c) && !is_layout(c))
}

fn replace(text: &str, is_replaced: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.chars().any(&is_replaced) {
        return Cow::Borrowed(text);
    }
    let mut seen = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_replaced(c) {
            true => seen.push_str(&code(c)),
            false => seen.push(c),
        }
    }
    Cow::Owned(seen)
}

/// Text for an invisible character.
pub(crate) fn code(c: char) -> String {
    format!("[U+{:04X}]", u32::from(c))
}

/// Line feed and tab.
pub(crate) fn is_layout(c: char) -> bool {
    matches!(c, '\n' | '\t')
}

/// Whether a character is not seen as such. Joiners between letters and emoji are not meant.
pub(crate) fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{00AD}' | '\u{061C}' | '\u{180E}' | '\u{200B}' // soft hyphen, marks, no width
            | '\u{200E}'..='\u{200F}' | '\u{2028}'..='\u{202E}' // directions, line separators
            | '\u{2060}'..='\u{206F}' | '\u{FEFF}' | '\u{FFF9}'..='\u{FFFB}'
            | '\u{FDD0}'..='\u{FDEF}' // not characters
            | '\u{E0000}'..='\u{E007F}') // tags
        || u32::from(c) & 0xFFFE == 0xFFFE // not characters, two in each plane
}
