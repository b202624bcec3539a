//! Reports as documents: what they say, and how that reads as HTML and Markdown.
//!
//! Nothing here measures or queries anything: what a report says comes from a run's record and from a
//! [`Source`] of rows. Texts become markup by maud, which escapes them.

mod content;
pub mod dashboard;
mod document;
mod html;
mod markdown;
mod run;

pub use content::{Block, Chart, Figure, Remark, Report, Row, Section, Table};
pub use document::Document;
pub use run::{MAX_ROWS, Source, report as run_report};
