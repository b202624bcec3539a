//! Processes: who starts whom, and what each does.
//!
//! A task is a run, an initialization, the storing of a set's row, or the setup or teardown of a
//! run. Its processes share a segment of memory, see [`crate::shared`]:
//!
//! ```text
//! caller's backend ─┬─> coordinator ─┬─> client workers: spi_client or libpq_client
//!                   │                └─> statements, for setup and teardown
//!                   ├─> statements, for a teardown that is still due
//!                   ├─> loader ────────> page workers, with a segment of their own
//!                   └─> set writer
//! ```
//!
//! All are background workers, but SPI clients may be backends. The caller waits for the task's
//! phase, the coordinator for its workers' states; latches wake up both. Each process marks its
//! own end in the segment, even when it is terminated, so that no process waits for one that has
//! exited. A process that starts others ends them.
//!
//! Every process:
//!
//! | file | content |
//! |---|---|
//! | `launch` | caller's side of a task: start, wait, cancel |
//! | `locks` | deadlocks between workers and the caller's transaction |
//! | `entry` | attaching the first process of a task to its segment, and giving the outcome |
//! | `ending` | ending the processes that this one has started |
//! | `activity` | texts in `pg_stat_activity` |
//!
//! The coordinator of a run:
//!
//! | file | content |
//! |---|---|
//! | `coordinator` | process: checks, vacuums and starts clients |
//! | `client_process` | start, wait for and end of the clients' processes |
//! | `tables` | existence and size of the tables |
//! | `checkpoint` | checkpoint before the run |
//! | `conduct` | start barrier, intervals, end, result |
//! | `warm_up` | end of a warm-up when the run is steady |
//! | `harvest` | reading of the clients' counters |
//! | `collector` | rows made of these |
//! | `logbook` | log of transactions |
//! | `statements` | process for setup and teardown, and its start |
//!
//! Client workers:
//!
//! | file | content |
//! |---|---|
//! | `place` | slot of a client or page worker: taking it, start, leaving it |
//! | `client` | parts of both kinds |
//! | `spi_client` | process with one client that executes statements itself |
//! | `timing` | sampled times of its transactions |
//! | `libpq_client` | process with many clients over connections |
//! | `event_loop` | loop over these connections |
//! | `stragglers` | end of statements that outlast a stopped run |
//! | `rounds` | sampled times of answers in this loop |
//! | `shell` | `\shell` and `\setshell` |
//! | `notices` | server messages for the caller |
//! | `sampled` | sampling of stacks |
//!
//! Others:
//!
//! | file | content |
//! |---|---|
//! | `loader` | process for an initialization |
//! | `fill` | filling of tables, by pages or by COPY |
//! | `page_worker` | process that fills pages, and its start |
//! | `set_writer` | process that stores the row of a set |
//!
//! Observers beside the clients are in [`crate::telemetry`], the behavior of a server process in
//! [`crate::backend`], the use of this server or a target in [`crate::database`].

mod activity;
mod checkpoint;
mod client;
pub mod client_process;
mod collector;
mod conduct;
pub mod coordinator;
pub mod ending;
mod entry;
mod event_loop;
mod fill;
mod harvest;
pub mod launch;
pub mod libpq_client;
pub mod loader;
pub mod locks;
pub mod logbook;
mod notices;
pub mod page_worker;
mod place;
mod rounds;
pub mod sampled;
pub mod set_writer;
pub mod shell;
pub mod spi_client;
pub mod statements;
mod stragglers;
pub mod tables;
mod timing;
mod warm_up;

pub use entry::own_segment;
