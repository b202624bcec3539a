//! Markdown of GitHub's flavor, which is CommonMark with tables.

use crate::visible::{line, lines};

/// A text within a line, such as a cell of a table: it reads as it is, with no formatting, link,
/// mention or element of HTML. What begins a line is a [`paragraph`].
pub fn text(text: &str) -> String {
    let text = line(text);
    let mut escaped = String::with_capacity(text.len() + 8);
    for (at, c) in text.char_indices() {
        let before = text[..at].chars().next_back();
        let after = text[at + c.len_utf8()..].chars().next();
        let in_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_special = match c {
            '\\' | '`' | '*' | '[' | ']' | '#' | '|' | '~' | '$' => true,
            // Within a word it is plain.
            '_' => !in_word(before) || !in_word(after),
            // Links, and names of emoji.
            ':' => after.is_some_and(|c| c.is_alphabetic() || matches!(c, '/' | '+' | '-')),
            '.' => text[..at].to_ascii_lowercase().ends_with("www"),
            _ => false,
        };
        match c {
            // A backslash before punctuation makes it a plain character.
            c if is_special => escaped.extend(['\\', c]),
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            // Mentions are found in the text that is left after formatting.
            '@' => escaped.push_str("@<!-- -->"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A text that begins a line: it is no heading, quote, rule or item of a list either.
pub fn paragraph(words: &str) -> String {
    let mut escaped = text(words.trim_start());
    let digits = escaped.bytes().take_while(u8::is_ascii_digit).count();
    let mut from_there = escaped[digits..].chars();
    let (first, second) = (from_there.next(), from_there.next());
    let is_special = match first {
        Some('.' | ')') => digits > 0 && matches!(second, None | Some(' ')),
        Some('>') => digits == 0,
        Some(c @ ('-' | '+' | '=')) => {
            digits == 0
                && (matches!(second, None | Some(' ')) || escaped.chars().all(|each| each == c))
        }
        _ => false,
    };
    if is_special {
        escaped.insert(digits, '\\');
    }
    escaped
}

/// A text of several lines as a block of code, between empty lines.
pub fn block(text: &str) -> String {
    let text = lines(text);
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.max(2) + 1);
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("\n{fence}\n{text}{end}{fence}\n\n")
}
