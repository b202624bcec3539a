//! Markdown of GitHub's flavor, which is CommonMark with tables.

use crate::visible::{line, lines};

/// A text within a line, such as a cell of a table: it reads as it is, with no formatting, link,
/// mention or element of HTML.
pub fn text(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in line(text).chars() {
        match c {
            // A backslash before any of these characters makes it a plain one.
            '\\' | '`' | '*' | '_' | '{' | '}' | '[' | ']' | '(' | ')' | '#' | '+' | '-' | '!'
            | '|' | '~' | '=' | '$' | '^' | '.' | ':' => {
                escaped.push('\\');
                escaped.push(c);
            }
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            // Mentions are found in the text that is left after formatting.
            '@' => escaped.push_str("@<!-- -->"),
            c => escaped.push(c),
        }
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
