//! What a run is and what it has shown, as rows: the result tables have their columns, reports are
//! made of them. Nothing here measures, stores or prints anything.

mod log;
mod mode;
mod rows;
mod setting;
mod step;

pub use log::{LoggedTransaction, TransactionOutcome};
pub use mode::Mode;
pub use rows::{
    Figures, Finished, PgioRun, PgioSession, Reply, Run, RunInterval, RunScript, RunStatement,
};
pub use setting::Setting;
pub use step::Step;
