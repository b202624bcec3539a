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
//! handful of request flags; there is no lock. `segment` holds the memory and its layout,
//! `process` the calls that concern other processes (latches, signals), `recorder` what a client
//! writes per transaction and how others read it, `ring` what is passed on piece by piece, `entry`
//! the pieces of the log of transactions, `messages` what clients tell, `effort` what a worker says about its own cost.

pub mod effort;
pub mod entry;
pub mod messages;
pub mod process;
pub mod recorder;
pub mod ring;
pub mod segment;

pub use segment::Segment;
