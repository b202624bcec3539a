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
//! and places of its parts: `header`, the workers' `slots`, what a client has counted
//! (`counters`), what is passed on piece by piece (`ring`). `recorder` is what a client writes per
//! transaction and how others read it. `messages` are what clients tell, and `watcher` reads them;
//! `entry` are the pieces of the log of transactions, `effort` is what a worker says about its own
//! cost, `process` refers to other processes, to wake or signal them.

pub mod counters;
pub mod effort;
pub mod entry;
mod header;
mod layout;
pub mod messages;
mod once_text;
pub mod process;
pub mod recorder;
pub mod ring;
mod segment;
mod slots;
pub mod watcher;

pub use header::{Header, Kind, Phase, Stop};
pub use layout::Layout;
pub use segment::Segment;
pub use slots::WorkerState;
