//! Background workers: which process starts which, and how each attaches to its task and exits.
//!
//! ```text
//! caller's backend ── registers ──> coordinator ── registers ──> client workers
//!        │                               │                              │
//!        └───────────── the task's shared memory segment ───────────────┘
//! ```
//!
//! The caller waits for the task's phase, the coordinator for its workers' states; latches wake up
//! both. Each process marks its own end in the segment, even when it is terminated, so that no
//! process waits for one that has exited. A process that starts others ends them, see `ending`.
//!
//! `launch` is the caller's side; `locks` detects deadlocks with the caller's transaction. `entry`
//! attaches a process to its task, `place` registers a client worker there. `coordinator` prepares
//! a benchmark and `conduct` runs it: `client_process` manages the processes of its clients, `tables`
//! checks tables, `checkpoint` requests one, `harvest` and `collector` collect the clients' counters, `logbook`
//! stores their log. What it observes beside the clients is in `crate::telemetry`. `spi_client` and
//! `libpq_client` are the clients, `event_loop` drives the latter, `client` is what they have in
//! common; `timing` and `rounds` time some of their transactions, `warm_up` ends a warm-up when the run is steady, `sampled` starts the sampling of stacks, `shell` runs their shell commands, `notices` forwards server messages. `loader` runs an
//! initialization, `statements` executes the setup and the teardown of a run, `fill` and `page_worker` fill its tables. `set_writer` stores the row of a set. `activity` is what these processes show
//! in `pg_stat_activity`. How each of them behaves as a process of the server is in `crate::backend`,
//! how they use this server or a target in `crate::database`.
//!
//! ```text
//! caller's backend ── registers ──> loader ── registers ──> page workers
//!        │                           │  │                        │
//!        └─ segment of the task ─────┘  └── segment of the plan ─┘
//! ```
//!
//! The loader fills accounts and pgio's tables together with its page workers.

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
pub mod tables;
mod timing;
mod warm_up;

pub use entry::own_segment;
