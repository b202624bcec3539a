//! Results as HTML: documents that one file holds, with no request to anything outside of it.
//!
//! Texts become markup as `selfbench_markup` describes; nothing here formats HTML as a string.

mod document;

pub use document::Document;
