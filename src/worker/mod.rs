//! Processes: who starts whom, and what each does.
//!
//! A task is a run, an initialization, the storing of a set's row, the setup or teardown of a
//! run, or a job, whose worker is the caller of its runs. Its processes share a segment of memory, see [`crate::shared`]:
//!
//! ```text
//! caller's backend ─┬─> coordinator ─┬─> client workers: spi_client or libpq_client
//!                   │                └─> statements, for setup and teardown
//!                   ├─> statements, for a teardown that is still due
//!                   ├─> loader ────────> page workers, with a segment of their own
//!                   ├─> set writer
//!                   └─> job worker ──> coordinators of its runs, set writers
//! ```
//!
//! All are background workers, but SPI clients may be backends. The caller waits for the task's
//! phase, the coordinator for its workers' states; latches wake up both. Each process marks its
//! own end in the segment, even when it is terminated, so that no process waits for one that has
//! exited. A process that starts others ends them.
//!
//! | folder or file | content |
//! |---|---|
//! | `coordinator/` | coordinator of a run, its setup and teardown |
//! | `clients/` | client workers |
//! | `load/` | loader and page workers |
//! | `set_writer` | process that stores the row of a set |
//! | `job` | process that makes the runs of a scheduled job |
//! | `launch` | caller's side of a task: start, wait, cancel |
//! | `locks` | deadlocks between workers and the caller's transaction |
//! | `attach` | attaching the first process of a task to its segment, and giving the outcome |
//! | `place` | slot of a client or page worker: taking it, start, leaving it |
//! | `ending` | ending the processes that this one has started |
//! | `activity` | texts in `pg_stat_activity` |
//!
//! Observers beside the clients are in [`crate::telemetry`], the behavior of a server process in
//! [`crate::backend`], the use of this server or a target in [`crate::database`].

mod activity;
mod attach;
pub mod clients;
pub mod coordinator;
pub mod ending;
pub mod job;
pub mod launch;
pub mod load;
pub mod locks;
mod place;
pub mod set_writer;

pub use attach::own_segment;
