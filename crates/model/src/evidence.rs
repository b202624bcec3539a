//! Results stored with a run beside its record, as far as advice needs them.

use crate::client::RunClient;
use crate::observed::{RunStall, RunTable};
use crate::setting::Setting;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Known circumstances of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// The settings under which it took place.
    pub settings: Vec<Setting>,
    /// Facts about its server, as in `bench.run_environment`.
    pub facts: BTreeMap<String, String>,
    /// The tables and indexes that it used.
    pub tables: Vec<RunTable>,
    /// Whether its scripts have statements that write, or it has changed rows; `None` if that is not
    /// known.
    pub writes: Option<bool>,
    /// Its intervals.
    pub course: Vec<CourseInterval>,
    /// Activity of the server and its machine in its intervals.
    pub server: Vec<ServerMoment>,
    /// Share of the time of the clients' transactions in which their sessions waited for a CPU.
    pub run_queue_share: Option<f64>,
    /// Waits of its sessions, the most frequent first.
    pub waits: Vec<Waited>,
    /// Number of times that all of them were sampled.
    pub wait_rounds: u64,
    /// Waits for locks in its intervals, in their order, and their holders. Intervals without such
    /// waits may be left out.
    pub lock_waits: Vec<LockWaits>,
    /// Blockers of sessions that waited for locks.
    pub blocked: Vec<Blocked>,
    /// Its stalls, in the order of time.
    pub stalls: Vec<RunStall>,
    /// Its clients.
    pub clients: Vec<RunClient>,
    /// Whether it is like what its workload was captured from; `None` of other workloads, and of one that has
    /// changed since.
    pub validation: Option<Validation>,
}

/// Judgement of a run by `bench.validate_workload`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Validation {
    /// The captured workload.
    pub workload: String,
    /// The verdict.
    pub verdict: String,
    /// The captured statements that are not the same, with their judgements.
    pub others: Vec<(i32, String)>,
}

impl Evidence {
    /// The value of a setting.
    pub fn setting(&self, name: &str) -> Option<&str> {
        let setting = self.settings.iter().find(|setting| setting.name == name)?;
        Some(setting.value.as_str())
    }

    /// A fact that is a number.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.facts.get(name)?.parse().ok()
    }
}

/// The figures of an interval that tell how a run went.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CourseInterval {
    /// Begin, in seconds after the start barrier opened.
    pub begins_s: f64,
    /// Its length.
    pub seconds: f64,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Mean latency.
    pub latency_avg_ms: Option<f64>,
    /// The part of the samples of its sessions that waited for storage.
    pub storage_share: Option<f64>,
}

/// Activity of the server and its machine in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServerMoment {
    /// Transactions per second in it.
    pub tps: Option<f64>,
    /// Whether a checkpoint was in progress.
    pub checkpoint: Option<bool>,
    /// Whether autovacuum workers were at work.
    pub autovacuum: Option<bool>,
    /// Active sessions that do not belong to the run.
    pub other_sessions: Option<f64>,
    /// Time of all CPUs.
    pub cpu_ms: Option<f64>,
    /// Time of them without work.
    pub cpu_idle_ms: Option<f64>,
    /// Time of them that processes of the run used.
    pub cpu_own_ms: Option<f64>,
    /// Time of them that the hypervisor gave to others.
    pub cpu_steal_ms: Option<f64>,
}

/// Number of samples of a run's sessions that waited for something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Waited {
    /// Class of the wait.
    pub class: String,
    /// The event, unless they did not wait.
    pub event: Option<String>,
    /// Number of samples.
    pub samples: i64,
}

/// Number of samples of a run's sessions that waited for locks in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LockWaits {
    /// Samples of waits.
    pub samples: f64,
    /// Number of samples with a client of the run as the holder. Holders are looked for less often.
    pub own: f64,
    /// Number of samples with other holders.
    pub others: f64,
}

/// Number of samples of a run's sessions that waited for a lock on something.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Blocked {
    /// The table or index, if it is known.
    pub relation: Option<String>,
    /// Type of the lock, as in `pg_locks`.
    pub locktype: String,
    /// Whether a client of the run held the lock.
    pub own: bool,
    /// Number of samples.
    pub samples: i64,
}
