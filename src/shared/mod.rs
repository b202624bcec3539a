//! Shared memory of the processes of one task: a dynamic segment per task.
//!
//! A task is a run, an initialization or the storing of a set's row. Its segment is made by the caller's backend, which
//! writes the task's specification into it and hands its number to the coordinator as
//! `bgw_main_arg`; the coordinator does the same with its client workers. The segment lives as
//! long as some process has it mapped.
//!
//! Every word that changes while the task runs is atomic and has one writer, except a few request
//! flags; there are no locks. `segment` maps the memory, `layout` lists its parts with their sizes.
//! `header` is the head of the segment, `slots` those of workers, `client_slot` that of a client,
//! `ring` a queue of bytes. `recorder` is what a client writes per transaction, `reading` how other
//! processes read it (see `seqlock`). `messages` are lines that clients send, `watcher` reads them;
//! `log_entry` is an entry of the log of transactions. `effort` is a worker's own cost, `last_interval`
//! the figures of an interval, `top_wait` what sessions waited for in it, `once_text` a text that is
//! written once, `relations` a set of tables, `statement_rows` which statements match rows.
//! `process` refers to other processes, to wake or signal them. `stack_area` takes the stacks of a
//! sampled process.

pub mod client_slot;
pub mod effort;
mod header;
mod last_interval;
mod layout;
pub mod log_entry;
pub mod messages;
#[allow(unsafe_code)]
mod once_text;
#[allow(unsafe_code)]
pub mod process;
pub mod reading;
pub mod recorder;
mod relations;
#[allow(unsafe_code)]
pub mod ring;
#[allow(unsafe_code)]
mod segment;
mod seqlock;
mod slots;
pub mod stack_area;
mod statement_rows;
mod top_wait;
pub mod watcher;

pub use client_slot::ClientState;
pub use header::{Header, Phase, Stop, TaskKind};
pub use last_interval::IntervalFigures;
pub use layout::SegmentLayout;
pub use relations::Relations;
pub use segment::Segment;
pub use slots::WorkerState;
pub use statement_rows::StatementRows;
pub use top_wait::TopWait;
