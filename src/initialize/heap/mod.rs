//! Heap pages built in private memory and written without shared buffers: the tables they are for
//! (`table`), the format of a row and pages full of such rows (`rows`), primary keys (`key`), and
//! writing pages to WAL and files (`file`, and `storage` below it).
//!
//! All files written here were created by the current transaction of the loader, so no other
//! session reads them before it commits, and an abort or a crash removes them. The pages and the
//! visibility map are equal to those of COPY with FREEZE: frozen, all visible, in the same order
//! and with the same free space.

#[allow(unsafe_code)]
mod file;
#[allow(unsafe_code)]
mod key;
#[allow(unsafe_code)]
mod rows;
#[allow(unsafe_code)]
mod storage;
#[allow(unsafe_code)]
mod table;

pub use file::{BATCH, File, PAGE, PAGE_HEADER, Pages, WriteMode, compress_wal};
pub use key::Key;
pub use rows::{Filler, PartitionHash, Row, Template};
pub use table::{Heap, RowKind, is_plain_parent};
