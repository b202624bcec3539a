//! Utilization of the resources that a run needs.

use crate::evidence::Waited;
use serde::{Deserialize, Serialize};

/// Utilization of the resources that a run needs, as far as it was observed. Shares are fractions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Strain {
    /// Time in which clients executed transactions, of the time that all of them had.
    pub clients_busy: Option<f64>,
    /// Time in which CPUs were not idle, of the time of all CPUs of the machine.
    pub cpu_busy: Option<f64>,
    /// Time in which processes of the run waited for a CPU, of the latency of all transactions.
    pub run_queue: Option<f64>,
    /// Time from the scheduled start of transactions to their begin, of their latency.
    pub lag: Option<f64>,
    /// Waits of its sessions, except for their clients and for the schedule; class `not waiting`
    /// included.
    pub waits: Vec<Waited>,
}
