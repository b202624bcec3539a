//! Reports of benchmark runs: how a run reads as text, and what makes its figures doubtful.
//!
//! Nothing here measures or queries anything; a run's rows come from elsewhere and are printed here. Figures
//! of the server's inside never stand without the mode that they were measured in.

mod advice;
mod bottleneck;
mod budget;
pub mod capacity;
pub mod cause;
pub mod condition;
pub mod initialize;
pub mod log;
mod number;
pub mod pgio;
mod profile;
pub mod progress;
pub mod scaling;
mod settings;
mod text;
pub mod verdict;

pub use advice::{
    Finding, Setup, Severity, advice, disturbances, is_measurement, known_before, missed_rate,
    remedy_of_small_pool, stalled_clients, story,
};
pub use bottleneck::{Bottleneck, bottleneck};
pub use budget::time_budget;
pub use number::{counted, percentage, readable};
pub use text::{Style, lines, text};
