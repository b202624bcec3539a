//! Results as HTML: documents that one file holds, with no request to anything outside of it.
//!
//! Texts become markup by maud, which escapes them; nothing here formats HTML as a string.

mod document;

pub use document::Document;
