//! Heap pages built in private memory and written without the server's buffers: which tables they
//! are for (`table`), the form of a row and pages full of such rows (`rows`), their primary keys
//! (`key`), and the way of pages into WAL and files (`file`).
//!
//! What is written here belongs to files that the current transaction of the loader has created, so
//! that nobody else reads them before it commits, and an abort or a crash leaves nothing of them.
//! The pages are those that COPY with FREEZE makes: frozen, all visible, in the same order and with
//! the same free space, and so is the visibility map.

mod file;
mod key;
mod rows;
mod table;

pub use file::{BATCH, File, PAGE, Pages, WriteMode, compress_wal};
pub use key::Key;
pub use rows::{Filler, PartitionHash, Row, Template};
pub use table::{Content, Heap, is_plain_parent, may_insert};
