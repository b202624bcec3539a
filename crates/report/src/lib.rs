//! Reports of benchmark runs: what a run amounts to, and how that reads as text.
//!
//! Nothing here measures or queries anything; a report is built elsewhere and printed here. Figures
//! of the server's inside never stand without the mode that they were measured in.

mod advice;
pub mod initialize;
pub mod log;
mod number;
pub mod pgio;
pub mod progress;
mod run;
mod settings;
mod text;

pub use advice::{Advice, advice};
pub use run::{Limit, RunReport, RunState, ScriptReport, StatementReport};
pub use text::{Style, lines, text};
