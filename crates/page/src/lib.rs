//! Reports as documents: what they say, and how that reads as HTML and Markdown.
//!
//! Nothing here measures or queries anything: what a report says comes from a run's record and from a
//! [`Source`] of rows. Texts become markup by maud, which escapes them.

mod content;
pub mod dashboard;
mod document;
mod html;
mod label;
mod markdown;
mod pair;
mod pictures;
mod plain;
mod run;
mod set;
mod source;

pub use content::{Block, Figure, MAX_ROWS, Picture, Remark, Report, Row, Rows, Section, Table};
pub use document::Document;
pub use label::report as label_report;
pub use pair::{Side, report as pair_report};
pub use plain::{fitting, fitting_behind};
pub use run::{lead as run_lead, report as run_report};
pub use set::report as set_report;
pub use source::Source;
