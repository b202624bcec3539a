//! Time budget of a run, as its processes and the kernel counted it.

use serde::{Deserialize, Serialize};

/// A row of `bench.run_times`: what a time budget is computed from. Times are totals of the measured
/// time, in milliseconds; `None` is unknown.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTimes {
    /// The run.
    pub run_id: i64,
    /// Time of all clients, from the start of the measured time until each ended.
    pub clients_ms: f64,
    /// Part of it from begin to end of all transactions: failed ones, and those that did not end,
    /// included, except one whose client's process was terminated.
    pub busy_ms: f64,
    /// Time in `\shell` and `\setshell` of the successful transactions, without the clients' own
    /// CPU time; `None` if they had none.
    pub shell_ms: Option<f64>,
    /// CPU time of the processes that executed the statements.
    pub sessions_cpu_ms: Option<f64>,
    /// Their time on the run queue.
    pub sessions_run_queue_ms: Option<f64>,
    /// CPU time of the client workers of mode libpq.
    pub workers_cpu_ms: Option<f64>,
    /// Their time on the run queue.
    pub workers_run_queue_ms: Option<f64>,
    /// CPU time of the coordinator.
    pub coordinator_cpu_ms: Option<f64>,
    /// Its time on the run queue.
    pub coordinator_run_queue_ms: Option<f64>,
    /// Transactions of which parts were timed; the parts follow.
    pub timed_transactions: i64,
    /// Mode spi: CPU time of parsing and planning.
    pub timed_plan_ms: f64,
    /// CPU time of the executor and of utility commands.
    pub timed_executor_ms: f64,
    /// CPU time of commit and abort.
    pub timed_commit_ms: f64,
    /// CPU time of the rest of the session.
    pub timed_session_ms: f64,
    /// CPU time outside of the session.
    pub timed_harness_ms: f64,
    /// Mode libpq: answers lay ready while their worker served other clients.
    pub timed_others_ms: f64,
    /// Answers lay ready while their worker was on the run queue.
    pub timed_run_queue_ms: f64,
}
