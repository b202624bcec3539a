//! Writing finished pages to WAL and files without shared buffers.

use super::storage::FileId;
use crate::private::DelayedCheckpoints;
use crate::state::session;
use pgrx::pg_sys::ForkNumber::MAIN_FORKNUM;
use pgrx::pg_sys::{GucAction, GucContext};
use pgrx::{PgRelation, check_for_interrupts, pg_sys};
use serde::{Deserialize, Serialize};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ffi::CString;
use std::ptr::NonNull;

/// Bytes of a page.
pub const PAGE: usize = pg_sys::BLCKSZ as usize;
/// `MAXALIGN` of a page's header.
pub const PAGE_HEADER: usize =
    std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp).next_multiple_of(8);
/// Pages of a WAL record of finished pages, and of a batch.
pub const BATCH: usize = 32;
/// The alignment of buffers that the server requires for direct I/O.
const ALIGNMENT: usize = 4096;

/// The file of a table or index that the current transaction has created.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct File {
    id: FileId,
    /// Whether the table is logged, so that WAL is written unless `wal_level` allows skipping it.
    logged: bool,
}

impl File {
    /// File of an open relation; `None` if it is temporary.
    pub(super) fn of(relation: &PgRelation) -> Option<File> {
        // SAFETY: an open relation.
        let class = unsafe { &*relation.rd_rel };
        let logged = match class.relpersistence as u8 {
            pg_sys::RELPERSISTENCE_PERMANENT => true,
            pg_sys::RELPERSISTENCE_UNLOGGED => false,
            _ => return None,
        };
        Some(File {
            id: FileId::of(relation),
            logged,
        })
    }

    /// Opens it. What it returns is good until the server next looks at what other processes have
    /// invalidated.
    pub(super) fn open(&self) -> pg_sys::SMgrRelation {
        // SAFETY: the file is there as long as the transaction that created it, in this process or
        // the one that waits for this one.
        unsafe { self.id.open() }
    }

    /// Whether it is that of an open relation.
    pub(super) fn is_of(&self, relation: &PgRelation) -> bool {
        FileId::of(relation) == self.id
    }

    /// Whether pages go to WAL. With `wal_level` minimal, the server itself syncs, at commit, files
    /// that the transaction has created.
    pub(super) fn needs_wal(&self) -> bool {
        // SAFETY: a plain setting.
        self.logged && unsafe { pg_sys::wal_level } > pg_sys::WalLevel::WAL_LEVEL_MINIMAL as i32
    }

    /// Whether changes of rows are decoded from its WAL: `wal_level` is logical and it is logged.
    ///
    /// Finished pages have nothing to decode, so rows of such tables must come by COPY, and their
    /// keys from the server, which knows where COPY has put each row. That no replication slot
    /// reads them cannot be known: since version 16, slots may be on a standby.
    pub(super) fn is_decoded(&self) -> bool {
        // SAFETY: a plain setting.
        self.logged && unsafe { pg_sys::wal_level } >= pg_sys::WalLevel::WAL_LEVEL_LOGICAL as i32
    }

    /// Whether to register writes with the checkpointer, so that it syncs the file: not if the
    /// server syncs it at commit. Unlogged tables are synced for the next start of the server.
    fn needs_sync(&self) -> bool {
        self.needs_wal() || !self.logged
    }

    /// Number of pages of its file.
    pub fn pages(&self) -> u32 {
        // SAFETY: an open file.
        unsafe { pg_sys::smgrnblocks(self.open(), MAIN_FORKNUM) }
    }

    /// Extends the file to its final size, so that several processes can write to it: when the
    /// server starts a new segment, it fills the previous one to its end and would overwrite pages
    /// of others.
    pub fn resize(&self, pages: u32) {
        let zeros = Pages::new(1);
        let mut end = self.pages();
        while end < pages {
            check_for_interrupts!();
            let next = (end / pg_sys::RELSEG_SIZE + 1).saturating_mul(pg_sys::RELSEG_SIZE);
            end = next.min(pages);
            // SAFETY: a page that is all zero is an empty one; this process alone extends the file.
            unsafe { self.id.extend(MAIN_FORKNUM, end - 1, zeros.page(0), true) };
        }
    }

    /// Logs the first `count` pages of a buffer and writes them to the file.
    ///
    /// Checkpoints: the pages are not in shared buffers, which a checkpoint would write. So this
    /// process delays checkpoints that start after the WAL record, from before the record until the
    /// pages have been written and registered for sync with the checkpointer. A checkpoint whose
    /// recovery would not replay the record waits, and then syncs the pages; recovery from any
    /// other checkpoint replays the record and writes the pages again. The pages may reach the disk
    /// before their WAL. In this case the transaction has not been committed, and no session will
    /// read the file.
    pub fn write(
        &self,
        fork: pg_sys::ForkNumber::Type,
        first: u32,
        pages: &Pages,
        count: usize,
        mode: WriteMode,
    ) {
        let mut pointers = [std::ptr::null_mut(); BATCH];
        for (index, pointer) in pointers[..count].iter_mut().enumerate() {
            *pointer = pages.page(index);
        }
        let pointers = &mut pointers[..count];
        // SAFETY: finished pages of this process; the file is there as long as the transaction that
        // created it, in this process or the one that waits for this one, and no other process writes
        // these blocks. Nothing commits or sets hint bits meanwhile. Errors are raised and abort the load.
        unsafe {
            let _checkpoints = self.needs_wal().then(|| DelayedCheckpoints::new());
            if self.needs_wal() {
                self.id.log(fork, first, pointers, mode.standard);
            }
            for (block, page) in (first..).zip(pointers.iter()) {
                pg_sys::PageSetChecksumInplace(*page, block);
            }
            let skip_sync = !self.needs_sync();
            let mut rest = &*pointers;
            if mode.grows
                && let Some((last, others)) = pointers.split_last()
            {
                let block = first + others.len() as u32;
                self.id.extend(fork, block, *last, skip_sync);
                rest = others;
            }
            self.id.write(fork, first, rest, skip_sync);
        }
    }
}

/// Opens a relation that this transaction has locked.
pub(super) fn open(oid: pg_sys::Oid) -> Option<PgRelation> {
    // SAFETY: the lock keeps it from being changed or dropped; it is closed when dropped.
    unsafe {
        let relation = pg_sys::RelationIdGetRelation(oid);
        (!relation.is_null()).then(|| PgRelation::from_pg_owned(relation))
    }
}

/// Mode of writing pages.
#[derive(Clone, Copy)]
pub struct WriteMode {
    /// Whether they extend the file.
    pub grows: bool,
    /// Whether the space between the line pointers and the tuples is a hole.
    pub standard: bool,
}

/// Memory for pages, with the alignment that the server requires.
pub struct Pages {
    memory: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    /// Allocates `count` pages, all zero.
    pub fn new(count: usize) -> Pages {
        // Neither can fail: the size is small, and the alignment a power of two.
        let layout = Layout::array::<[u8; PAGE]>(count.max(1))
            .and_then(|layout| layout.align_to(ALIGNMENT))
            .unwrap_or(Layout::new::<[u8; PAGE]>());
        // SAFETY: the layout has a size above zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Pages { memory, layout }
    }

    /// The bytes of one of them.
    pub fn bytes(&mut self, index: usize) -> &mut [u8] {
        let page = self.page(index).cast::<u8>();
        // SAFETY: a page within the memory, which this borrow alone changes.
        unsafe { std::slice::from_raw_parts_mut(page, PAGE) }
    }

    /// One of them.
    pub fn page(&self, index: usize) -> pg_sys::Page {
        debug_assert!((index + 1) * PAGE <= self.layout.size());
        // SAFETY: within the memory.
        unsafe { self.memory.as_ptr().add(index * PAGE).cast() }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, freed once.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}

/// Makes this process compress pages in WAL by that method, if the server supports it. The setting
/// of other processes does not change.
pub fn compress_wal(method: &str) {
    let method = CString::new(method).unwrap_or_default();
    let (superuser, set) = (GucContext::PGC_SUSET, GucAction::GUC_ACTION_SET);
    // The level keeps the server from raising an error if it knows no such value.
    session::set(
        c"wal_compression",
        &method,
        superuser,
        set,
        pg_sys::DEBUG1 as i32,
    );
}
