//! A run and its results, as rows: the result tables have their columns, reports
//! print them. Nothing here measures, stores or prints anything.
//!
//! Rows are written and read by the names of their fields. Histograms and
//! scripts may be large: they are separate columns, and are not read back.

mod check;
mod client;
mod evidence;
mod figures;
mod interval;
mod log;
mod mode;
mod observed;
mod pgio;
mod probe;
mod profile;
mod record;
mod run;
mod script;
mod set;
mod setting;
mod step;
mod stored;
mod strain;
mod times;

pub use check::RunCheck;
pub use client::RunClient;
pub use evidence::{
    Blocked, CourseInterval, Evidence, LockWaits, ServerMoment, Validation, Waited,
};
pub use figures::{Figures, Latency, encoded};
pub use interval::{INTERVALS_PER_BATCH, RunInterval};
pub use log::{LoggedTransaction, TransactionOutcome};
pub use mode::Mode;
pub use observed::{
    Observed, RunBlocker, RunCapturedStatement, RunEnvironment, RunServerInterval, RunStall,
    RunTable, RunWait, ServerCounts, ServerState,
};
pub use pgio::{PgioRun, PgioSession};
pub use probe::Probe;
pub use profile::{RunProfile, RunStack};
pub use record::{Reply, RunRecord};
pub use run::{
    HIDDEN_SESSIONS, LARGEST_TABLES, LOCKED_TABLES, Origin, Run, RunState, failed_to_observe,
};
pub use script::{RunScript, RunStatement, scripts_hash};
pub use set::{DrawnSet, NewSet, SetEnd, SetKind, SetState};
pub use setting::Setting;
pub use step::InitializeStep;
pub use stored::{bytea, make_storable, push_copy_line, storable};
pub use strain::Strain;
pub use times::RunTimes;
