//! What the processes of one task share: a dynamic shared memory segment per task.
//!
//! A task is a run or an initialization. Its segment is made by the caller's backend, which
//! writes the task's specification into it and hands its number to the coordinator as
//! `bgw_main_arg`; the coordinator does the same with its client workers. The segment lives as
//! long as some process has it mapped.
//!
//! ```text
//! Header | specification | outcome | Worker[workers] | Client[clients] | histograms
//!        | rings for messages[workers] | rings for the log[workers]
//! ```
//!
//! Every word that changes while the task runs is atomic and has one writer, but for the
//! handful of request flags; there is no lock. `segment` holds the memory and `layout` the sizes
//! and places of its parts: `header`, the workers' `slots`, a `client_slot` for each client, what
//! is passed on piece by piece (`ring`). `recorder` is what a client writes per transaction,
//! `reading` how others read it (see `seqlock`). `messages` are what clients tell, and `watcher` reads them;
//! `entry` are the pieces of the log of transactions, `effort` is what a worker says about its own
//! cost, `process` refers to other processes, to wake or signal them.

mod client_slot;
pub mod effort;
pub mod entry;
mod header;
mod last_interval;
mod layout;
pub mod messages;
mod once_text;
pub mod process;
pub mod reading;
pub mod recorder;
pub mod ring;
mod segment;
mod seqlock;
mod slots;
pub mod watcher;

pub use client_slot::ClientState;
pub use header::{Header, Kind, Phase, Stop};
pub use last_interval::IntervalFigures;
pub use layout::Layout;
pub use segment::Segment;
pub use slots::WorkerState;
