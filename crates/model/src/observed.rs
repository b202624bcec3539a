//! Observations of a run's coordinator beside its clients.

use crate::profile::{RunProfile, RunStack};
use crate::times::RunTimes;
use serde::{Deserialize, Serialize};

/// Rows of what was observed, to be stored together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// Activity of the server in each interval.
    pub server_intervals: Vec<RunServerInterval>,
    /// Environment of the run.
    pub environment: Vec<RunEnvironment>,
    /// The tables and indexes that it used.
    pub tables: Vec<RunTable>,
    /// Counts for the statements of its captured workload.
    pub captured_statements: Vec<RunCapturedStatement>,
    /// Time budget of the run.
    pub times: Option<RunTimes>,
    /// Stacks of the sampled processes.
    pub stacks: Vec<RunStack>,
    /// Completeness of these.
    pub profiles: Vec<RunProfile>,
    /// Waits of sessions.
    pub waits: Vec<RunWait>,
    /// Blockers of these.
    pub blockers: Vec<RunBlocker>,
    /// Stalls of clients.
    pub stalls: Vec<RunStall>,
}

/// A row of `bench.run_tables`: a table or an index that a run used, before and after it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunTable {
    /// The run.
    pub run_id: i64,
    /// Its Oid.
    pub relation: i64,
    /// Its schema.
    pub schema_name: String,
    /// Its name.
    pub name: String,
    /// `table`, `index`, `materialized view` or `TOAST table`.
    pub kind: String,
    /// Table of an index; table of a TOAST table, with the schema.
    pub of_table: Option<String>,
    /// `plans` of the run's clients, or `counters`, which other sessions move, too.
    pub known_by: String,
    /// Bytes of its main fork before the run.
    pub bytes_before: Option<i64>,
    /// Bytes of its main fork after the run.
    pub bytes_after: Option<i64>,
    /// Live rows as the server estimates them, before.
    pub live_rows_before: Option<i64>,
    /// Live rows as the server estimates them, after.
    pub live_rows_after: Option<i64>,
    /// Dead rows as the server estimates them, before.
    pub dead_rows_before: Option<i64>,
    /// Dead rows as the server estimates them, after.
    pub dead_rows_after: Option<i64>,
    /// Bytes that a row takes on its page, estimated from the statistics of ANALYZE.
    pub row_bytes: Option<f64>,
    /// The last VACUUM or autovacuum before.
    pub last_vacuum_before: Option<String>,
    /// The last VACUUM or autovacuum after.
    pub last_vacuum_after: Option<String>,
    /// The last ANALYZE or autoanalyze before.
    pub last_analyze_before: Option<String>,
    /// The last ANALYZE or autoanalyze after.
    pub last_analyze_after: Option<String>,
    /// Autovacuums that ended during the run.
    pub autovacuums: Option<i64>,
    /// Sequential scans begun during the run, by all sessions, as all that follow.
    pub sequential_scans: Option<i64>,
    /// Index scans.
    pub index_scans: Option<i64>,
    /// Rows inserted.
    pub rows_inserted: Option<i64>,
    /// Rows updated.
    pub rows_updated: Option<i64>,
    /// Rows updated without new entries in indexes.
    pub rows_hot_updated: Option<i64>,
    /// Rows deleted.
    pub rows_deleted: Option<i64>,
}

impl RunTable {
    /// `known_by` of what plans tell.
    pub const PLANS: &str = "plans";
    /// `known_by` of what only counters tell.
    pub const COUNTERS: &str = "counters";

    /// Whether plans tell that the run used it.
    pub fn is_planned(&self) -> bool {
        self.known_by == Self::PLANS
    }

    /// Whether it holds pieces of large values, or is the index for them.
    pub fn is_of_toast(&self) -> bool {
        self.schema_name == "pg_toast"
    }

    /// Whether sessions have used it during the run; `None` if that is not known.
    pub fn is_used(&self) -> Option<bool> {
        let counted = [
            self.sequential_scans,
            self.index_scans,
            self.rows_inserted,
            self.rows_updated,
            self.rows_deleted,
        ];
        counted
            .into_iter()
            .flatten()
            .map(|n| n > 0)
            .reduce(|a, b| a | b)
    }
}

/// A row of `bench.run_captured_statements`: what pg_stat_statements counted during a run for a statement of
/// its captured workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunCapturedStatement {
    /// The run.
    pub run_id: i64,
    /// Number of the statement in the workload.
    pub statement_no: i32,
    /// The workload.
    pub workload: String,
    /// Identifier that the statement had in the run.
    pub query_id: Option<i64>,
    /// Calls, as all that follow from the start of the clients on, warm-up included.
    pub calls: Option<i64>,
    /// Rows returned or changed.
    pub rows: Option<i64>,
    /// Execution time.
    pub total_exec_time_ms: Option<f64>,
    /// Blocks found in shared buffers.
    pub shared_blks_hit: Option<i64>,
    /// Blocks read.
    pub shared_blks_read: Option<i64>,
    /// Blocks dirtied.
    pub shared_blks_dirtied: Option<i64>,
    /// Blocks written.
    pub shared_blks_written: Option<i64>,
    /// Bytes of WAL.
    pub wal_bytes: Option<i64>,
    /// Why there are no counts.
    pub reason: Option<String>,
}

/// A row of `bench.run_environment`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunEnvironment {
    /// The run.
    pub run_id: i64,
    /// `server`, or `client` for the machine of clients whose target is elsewhere.
    pub machine: String,
    /// Name of the fact; ends with its unit if it has one.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// A row of `bench.run_server_intervals`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunServerInterval {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, as in `bench.run_intervals`.
    pub interval_no: i32,
    /// Begin, in seconds after the start barrier opened.
    pub begins_s: f64,
    /// Its length.
    pub seconds: f64,
    /// Events in it.
    #[serde(flatten)]
    pub counts: ServerCounts,
    /// Whether a checkpoint began.
    pub checkpoint_begun: Option<bool>,
    /// Whether a checkpoint ended.
    pub checkpoint_ended: Option<bool>,
    /// State at its end.
    #[serde(flatten)]
    pub state: ServerState,
}

/// Declares counters that only grow, each of them possibly unknown.
macro_rules! counters {
    ($(#[$attribute:meta])* pub struct $name:ident {
        $($(#[$doc:meta])+ $counter:ident,)*
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct $name {
            $($(#[$doc])+ pub $counter: Option<i64>,)*
        }

        impl $name {
            /// Growth of each counter since an earlier reading; unknown if one of the two readings
            /// is, or if the counter has been reset.
            pub fn since(&self, before: &$name) -> $name {
                let grown = |after: Option<i64>, before: Option<i64>| {
                    after?.checked_sub(before?).filter(|grown| *grown >= 0)
                };
                $name {
                    $($counter: grown(self.$counter, before.$counter),)*
                }
            }
        }
    };
}

counters! {
    /// Counters of a server and its machine: totals in a reading, differences in a row.
    pub struct ServerCounts {
        /// Bytes of WAL, from the position where it is inserted.
        wal_bytes,
        /// WAL records.
        wal_records,
        /// Full-page images in WAL.
        wal_fpi,
        /// Blocks found in shared buffers.
        blocks_hit,
        /// Blocks read into shared buffers.
        blocks_read,
        /// Blocks written from shared buffers, and blocks by which files grew.
        blocks_written,
        /// Blocks found in shared buffers by the run's clients, in mode spi, by their own counters.
        blocks_hit_by_clients,
        /// Blocks that they read.
        blocks_read_by_clients,
        /// Bytes of WAL that they wrote.
        wal_bytes_by_clients,
        /// Blocks found in shared buffers by autovacuum workers.
        blocks_hit_by_autovacuum,
        /// Blocks that they read.
        blocks_read_by_autovacuum,
        /// Blocks that they wrote.
        blocks_written_by_autovacuum,
        /// Blocks that the checkpointer wrote.
        blocks_written_by_checkpointer,
        /// Blocks that the background writer wrote.
        blocks_written_by_bgwriter,
        /// Blocks that all other processes wrote.
        blocks_written_by_backends,
        /// Checkpoints that began because of their time.
        checkpoints_timed,
        /// Checkpoints that began because they were requested, or because of the amount of WAL.
        checkpoints_requested,
        /// Time in which checkpoints that have ended wrote files.
        checkpoint_write_ms,
        /// Time in which they synchronized files to disk.
        checkpoint_sync_ms,
        /// Bytes of temporary files.
        temp_bytes,
        /// Deadlocks.
        deadlocks,
        /// CPU time in user mode, of all CPUs.
        cpu_user_ms,
        /// CPU time in system mode, interrupts included.
        cpu_system_ms,
        /// Idle time of the CPUs.
        cpu_idle_ms,
        /// Idle time of the CPUs while something waited for a device.
        cpu_iowait_ms,
        /// Time that the hypervisor gave to others.
        cpu_steal_ms,
        /// CPU time of the processes that execute the clients' statements, if they are on this server.
        sessions_cpu_ms,
        /// Time that they spent on the run queue.
        sessions_run_queue_ms,
        /// CPU time of the client workers of mode libpq.
        workers_cpu_ms,
        /// Time that they spent on the run queue.
        workers_run_queue_ms,
        /// CPU time of the coordinator.
        coordinator_cpu_ms,
        /// Completed reads of the devices that hold the data directory.
        device_reads,
        /// Bytes of them.
        device_read_bytes,
        /// Completed writes.
        device_writes,
        /// Bytes of them.
        device_write_bytes,
        /// Time in which some task waited for a CPU.
        psi_cpu_some_ms,
        /// Time in which some task waited for a device.
        psi_io_some_ms,
        /// Time in which all tasks that were not idle did.
        psi_io_full_ms,
        /// Time in which some task waited for memory.
        psi_memory_some_ms,
        /// Time in which all tasks that were not idle did.
        psi_memory_full_ms,
    }
}

/// State of the server at some moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerState {
    /// Whether a checkpoint was in progress.
    pub checkpoint_active: Option<bool>,
    /// Wait of the checkpointer, unless it was idle.
    pub checkpoint_phase: Option<String>,
    /// Autovacuum workers at work.
    pub autovacuum_workers: Option<i32>,
    /// Activities of these.
    pub autovacuum: Option<Vec<String>>,
    /// Active sessions that do not belong to the run.
    pub other_sessions: Option<i32>,
}

/// A row of `bench.run_waits`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunWait {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, as in `bench.run_intervals`.
    pub interval_no: i32,
    /// Class of the wait.
    pub class: String,
    /// The event, unless the session did not wait.
    pub event: Option<String>,
    /// Script that the client executed.
    pub script_no: Option<i32>,
    /// Its command.
    pub command_no: Option<i32>,
    /// Query identifier of the statement that the session executed.
    pub query_id: Option<i64>,
    /// Number of samples that saw a session so.
    pub samples: i32,
    /// Number of times that all sessions were sampled in the interval.
    pub rounds: i32,
    /// Samples that belong to a wait that lasted: the session was seen in the same wait of the same
    /// execution of its command the time before.
    pub lasting: i32,
}

/// A row of `bench.run_blockers`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RunBlocker {
    /// The run.
    pub run_id: i64,
    /// Number of the interval, as in `bench.run_intervals`.
    pub interval_no: i32,
    /// Script that the blocked client executed.
    pub script_no: Option<i32>,
    /// Its command.
    pub command_no: Option<i32>,
    /// Type of the lock that it waited for.
    pub locktype: String,
    /// Mode in which it wanted the lock.
    pub mode: Option<String>,
    /// The table or index.
    pub relation: Option<String>,
    /// Holder of the lock.
    pub blocker: String,
    /// Its process.
    pub blocker_pid: Option<i32>,
    /// Its role.
    pub blocker_role: Option<String>,
    /// Its application name.
    pub blocker_application: Option<String>,
    /// Its state.
    pub blocker_state: Option<String>,
    /// Its statement, or the identifier of a prepared transaction.
    pub blocker_statement: Option<String>,
    /// Script that it executed, if it was a client of the run.
    pub blocker_script_no: Option<i32>,
    /// Its command.
    pub blocker_command_no: Option<i32>,
    /// Number of samples that saw a session so.
    pub samples: i32,
    /// Number of searches for blockers in the interval.
    pub rounds: i32,
}

/// A row of `bench.run_stalls`: a stretch in which clients completed hardly a transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunStall {
    /// The run.
    pub run_id: i64,
    /// Number of the stall, from 0.
    pub stall_no: i32,
    /// Begin, in seconds after the start barrier opened.
    pub begin_s: f64,
    /// Its length.
    pub length_s: f64,
    /// Number of clients that were stalled.
    pub clients: i32,
    /// Transactions that they completed meanwhile.
    pub transactions: i64,
    /// Transactions that they usually complete in that time.
    pub expected: i64,
    /// Class of the most frequent wait of their sessions.
    pub class: Option<String>,
    /// Its event.
    pub event: Option<String>,
    /// Type of the lock that they waited for.
    pub locktype: Option<String>,
    /// Mode in which they wanted it.
    pub mode: Option<String>,
    /// The table or index.
    pub relation: Option<String>,
    /// Holder of the lock.
    pub blocker: Option<String>,
    /// Its process.
    pub blocker_pid: Option<i32>,
    /// Its role.
    pub blocker_role: Option<String>,
    /// Its application name.
    pub blocker_application: Option<String>,
    /// Its state.
    pub blocker_state: Option<String>,
    /// Its statement, or the identifier of a prepared transaction.
    pub blocker_statement: Option<String>,
    /// Time at which its statement began.
    pub blocker_statement_at: Option<String>,
}
