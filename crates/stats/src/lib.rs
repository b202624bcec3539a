//! Latency histograms, moments, summaries, samples and comparisons.
//!
//! Everything here is arithmetic: no server, no clock, no input or output. Latencies come in as
//! whole nanoseconds and go out as milliseconds, the unit of pgbench's reports.

pub mod buckets;
pub mod budget;
pub mod capacity;
pub mod compare;
pub mod counters;
pub mod due;
mod error;
mod histogram;
mod latency_counters;
mod moments;
mod process_times;
pub mod random;
pub mod sampling;
pub mod stalls;
pub mod steadiness;
pub mod summary;
mod tally;
pub mod trend;
mod turn_parts;
mod units;
mod usage;
pub mod usl;
pub mod warm_up;
mod words;

pub use counters::Counters;
pub use error::StatsError;
pub use histogram::{LatencyHistogram, StoredHistograms};
pub use latency_counters::LatencyCounters;
pub use moments::Moments;
pub use process_times::ProcessTimes;
pub use summary::Spread;
pub use tally::{CommandTally, Counts, Tally};
pub use turn_parts::TurnParts;
pub use usage::Usage;
