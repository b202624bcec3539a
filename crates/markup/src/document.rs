//! Documents in HTML and SVG.

use crate::visible::{code, is_hidden, is_layout};
use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use std::fmt::Write;

/// The text of a document or of a part of one, in ASCII: all other characters are references, so that
/// it reads the same in any encoding of a server, a client or a file. Hidden characters are replaced by
/// their codes wherever they are.
pub fn finish(markup: Markup) -> String {
    let markup = markup.into_string();
    let mut text = String::with_capacity(markup.len() + markup.len() / 64);
    for c in markup.chars() {
        if is_hidden(c) && !is_layout(c) {
            text.push_str(&code(c));
        } else if c.is_ascii() {
            text.push(c);
        } else {
            // Writing to a string does not fail.
            let _ = write!(text, "&#x{:X};", u32::from(c));
        }
    }
    text
}

/// A text of ours that is markup as it is.
pub type Constant = PreEscaped<&'static str>;

/// A style sheet or a script of ours, for an element `style` or `script`. Such an element has no
/// references, so it must be ASCII: call this in a `const`, where a failure is one of compilation.
pub const fn constant(text: &'static str) -> Constant {
    assert!(text.is_ascii(), "only ASCII is the same in all encodings");
    PreEscaped(text)
}

/// Figures for a script of a document, which reads them by
/// `JSON.parse(document.getElementById(id).textContent)`. Policies do not count it as a script.
pub fn data(id: &str, value: &Value) -> Markup {
    let mut text = String::new();
    for c in value.to_string().chars() {
        // Only texts have such characters, and texts may have escapes.
        if !c.is_ascii() || matches!(c, '<' | '>' | '&' | '\x7f') {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(text, "\\u{unit:04x}");
            }
        } else {
            text.push(c);
        }
    }
    html! { script id=(id) type="application/json" { (PreEscaped(text)) } }
}
