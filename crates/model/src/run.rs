//! A run: what it was asked for, how it went, and the figures of all of its transactions.

use crate::figures::Figures;
use crate::mode::Mode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// State of a run.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// Its clients have not all connected.
    #[default]
    Starting,
    /// The start barrier has opened.
    Running,
    /// Ended by its limit.
    Finished,
    /// Ended by a request.
    Canceled,
    /// Ended by an error.
    Failed,
    /// Its coordinator ended without storing an outcome.
    Lost,
}

impl RunState {
    /// The name that tables use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Canceled => "canceled",
            Self::Failed => "failed",
            Self::Lost => "lost",
        }
    }
}

/// Makes the struct, with a field for each option that is stored.
macro_rules! run {
    ({ $(
        #[doc = $first:literal]
        $(#[doc = $more:literal])*
        $option:ident: $type:ty $(= $default:expr)? $(, $pgbench:literal)?
            $(=> $column:ident: $stored:ty $(, $not_compared:ident)?)?;
    )* }) => {
        /// A row of `bench.runs`. Options are there as they resulted; their descriptions are in the list.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        pub struct Run {
            $($(
                #[doc = $first]
                pub $column: $stored,
            )?)*
            /// Number of the run; 0 on a standby, which cannot store it.
            pub run_id: i64,
            /// The role that ran it: its number when the row is written, so that it may be renamed or
            /// dropped meanwhile, and its name when it is read.
            pub owner: String,
            /// The database.
            pub database_name: String,
            /// The set that it belongs to.
            pub set_id: Option<i64>,
            /// The arm of the set.
            pub arm: Option<String>,
            /// The round of the set, 0 for a warm-up that does not count.
            pub round: Option<i32>,
            /// State.
            pub state: RunState,
            /// Clients of mode spi that ran in backends.
            pub backends: i32,
            /// Whether the run was steady when it ended; otherwise it was cut off.
            pub warmup_steady: Option<bool>,
            /// Scale of pgbench's tables.
            pub scale: i64,
            /// Partitioning of `pgbench_accounts`.
            pub partition_method: Option<String>,
            /// Into how many partitions.
            pub partitions: Option<i32>,
            /// The server.
            pub server_version: String,
            /// The server, as a number.
            pub server_version_num: i32,
            /// Version of this extension.
            pub extension_version: String,
            /// When the run was asked for.
            pub created_at: String,
            /// When the start barrier opened.
            pub started_at: Option<String>,
            /// When the last client was done.
            pub finished_at: Option<String>,
            /// Time from the start, or the end of the warm-up, until the last client was done.
            pub seconds: Option<f64>,
            /// Time from the first worker's start until all clients were ready; with a connection
            /// for each transaction, the mean time that it took to make one.
            pub connection_ms: Option<f64>,
            /// Cost of the harness per transaction, in microseconds: CPU time of the client workers
            /// in mode libpq, time outside of executor and commit in mode spi.
            pub overhead_us: Option<f64>,
            /// Cost of the harness as a share of the client workers' time, 0 to 1.
            pub overhead_share: Option<f64>,
            /// Time for which an old snapshot kept the run's dead rows from being removed.
            pub snapshot_held_s: Option<f64>,
            /// Holder of that snapshot.
            pub snapshot_held_by: Option<String>,
            /// Processors of this server's machine that the run could use.
            pub processors: Option<i32>,
            /// Other runs that were in progress on this server meanwhile, of all roles.
            pub other_runs: i32,
            /// Findings of advice that say what else used the server and its machine.
            pub disturbances: Vec<String>,
            /// Hash of the weights and texts of its scripts; `None` until it has ended.
            pub scripts_hash: Option<String>,
            /// Transactions, successful or failed, that ended during the warm-up.
            pub warmup_transactions: i64,
            /// Clients that were aborted.
            pub aborted_clients: i32,
            /// Clients that completed at most one transaction, in the time of twenty.
            pub stalled_clients: i32,
            /// Why the run or a client ended early.
            pub errors: Vec<String>,
            /// Statements that matched no row in any sampled transaction.
            pub unmatched: Vec<String>,
            /// Observations that failed, and why.
            pub notes: Vec<String>,
            /// Whether the teardown has not been executed yet.
            pub teardown_due: bool,
            /// Process id of the coordinator.
            pub coordinator_pid: Option<i32>,
            /// Number of the run's shared memory segment.
            pub segment: Option<i64>,
            /// When its details were deleted; `None`: they are there.
            pub thinned_at: Option<String>,
            /// When it was imported from a document; `None`: it is a run of this server.
            pub imported_at: Option<String>,
            /// Origin, if it was imported.
            pub imported_from: Option<Origin>,
            /// All transactions together.
            #[serde(flatten)]
            pub figures: Figures,
        }
    };
}

selfbench_catalog::run_options!(run! {});

/// Origin of an imported run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Origin {
    /// System identifier of its cluster.
    pub system_identifier: String,
    /// The name of the cluster, if it has one.
    pub cluster_name: Option<String>,
    /// Database in which it was stored.
    pub database: String,
    /// Its number there.
    pub run_id: i64,
}

/// Prefix of notes of failures.
const FAILED_TO_OBSERVE: &str = "could not observe ";

/// The note of a failure to observe something.
pub fn failed_to_observe(what: &str, why: &str) -> String {
    format!("{FAILED_TO_OBSERVE}{what}: {why}")
}

/// The note of a run whose sessions on the target were not found there.
pub const HIDDEN_SESSIONS: &str = "not observed: waits of the target's sessions: it does not show the process IDs \
     that the clients know, as behind a connection pooler";
/// The note of a run that used more tables and indexes than are stored or looked at.
pub const LARGEST_TABLES: &str = "run_tables has only the largest tables and indexes";
/// The note of a run that may have used tables at which nothing could look.
pub const LOCKED_TABLES: &str = "run_tables may lack tables that other sessions had locked";

impl Run {
    /// Whether all tables and indexes that it used are stored, as far as known.
    pub fn has_all_tables(&self) -> bool {
        let mut notes = self.notes.iter();
        !notes.any(|note| [LARGEST_TABLES, LOCKED_TABLES].contains(&note.as_str()))
    }

    /// Notes of failures, not of what the server's version or the role's privileges do not allow.
    pub fn failed_observations(&self) -> impl Iterator<Item = &str> {
        let notes = self.notes.iter().map(String::as_str);
        notes.filter(|note| note.starts_with(FAILED_TO_OBSERVE))
    }

    /// Whether the sessions of the clients could not be seen in a target, as behind a connection pooler.
    pub fn has_hidden_sessions(&self) -> bool {
        self.notes.iter().any(|note| note == HIDDEN_SESSIONS)
    }

    /// Whether the run has not ended, according to the row.
    pub fn is_in_progress(&self) -> bool {
        matches!(self.state, RunState::Starting | RunState::Running)
    }

    /// End of a warm-up until steady, to be added to its length; empty for others.
    pub fn warmup_ended(&self) -> &'static str {
        match self.warmup_steady {
            None => "",
            Some(true) => " until steady",
            Some(false) => ", cut off before the run was steady",
        }
    }

    /// Whether the run did all that it was asked for: it finished and no client was aborted.
    pub fn is_complete(&self) -> bool {
        self.state == RunState::Finished && self.aborted_clients == 0
    }

    /// Whether clients or the run were aborted before a transaction counted, other than on request.
    pub fn is_void(&self) -> bool {
        let aborted = self.state == RunState::Failed || self.aborted_clients > 0;
        aborted && self.state != RunState::Canceled && self.figures.counts.transactions == 0
    }

    /// Whether transactions failed and none was successful.
    pub fn all_failed(&self) -> bool {
        self.figures.counts.transactions == 0 && self.figures.counts.failed() > 0
    }

    /// Major version of the server, such as 15.
    pub const fn server_major(&self) -> i32 {
        self.server_version_num / 10_000
    }
}
