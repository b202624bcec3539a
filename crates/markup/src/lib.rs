//! The one place where text from outside becomes HTML, SVG, Markdown or a line on a terminal.
//!
//! Scripts, labels, messages, names of roles, settings and versions of servers are hostile input: they
//! must not change what stands beside them. HTML and SVG are written with `maud::html!`, which escapes
//! each text by its type and closes each element, so that SVG needs no writer of its own; [`finish`]
//! makes one text of it. Only this crate marks text as markup (`PreEscaped`): a test reads the
//! sources. What else outputs need:
//!
//! | output | function |
//! |---|---|
//! | style sheet or script of ours | [`constant`] |
//! | figures for a script | [`data`] |
//! | document | [`finish`] |
//! | Markdown | [`markdown::text`], [`markdown::paragraph`], [`markdown::block`] |
//! | terminal, or plain text | [`line`], [`lines`] |
//! | statement to copy | [`literal`] |

mod document;
pub mod markdown;
mod sql;
mod visible;

pub use document::{Constant, constant, data, finish};
pub use sql::literal;
pub use visible::{line, lines};
