//! Files of relations below shared buffers: WAL of their pages, and writing them.

use crate::compat;
use pgrx::pg_sys;
use serde::{Deserialize, Serialize};
use std::ffi::c_int;

/// The backend whose files are those of all relations but temporary ones.
const NO_BACKEND: c_int = -1;

/// Bytes of one system call that writes pages. More would spare little; less, and the time that the
/// kernel takes for each call shows. The kernel's cache gets pages of that size, and larger ones
/// are slow where a virtual machine gives memory that it does not use back to its host.
const WRITE_BYTES: usize = 32 * 1024;
/// The pages of such a call.
const WRITE_PAGES: usize = WRITE_BYTES.div_ceil(pg_sys::BLCKSZ as usize);

/// A file of a relation, in a form that goes through shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileId {
    tablespace: u32,
    database: u32,
    number: u32,
}

impl FileId {
    /// The file of an open relation.
    pub(super) fn of(relation: &pg_sys::RelationData) -> FileId {
        let (tablespace, database, number) = compat::located(relation);
        FileId {
            tablespace: tablespace.to_u32(),
            database: database.to_u32(),
            number: number.to_u32(),
        }
    }

    fn locator(self) -> compat::Locator {
        compat::locator(
            self.tablespace.into(),
            self.database.into(),
            self.number.into(),
        )
    }

    /// Opens the file of a relation that is not temporary. What it returns is good until the server
    /// next looks at what other processes have invalidated.
    ///
    /// # Safety
    /// In a transaction.
    pub(super) unsafe fn open(self) -> pg_sys::SMgrRelation {
        // SAFETY: the caller's promise.
        unsafe { pg_sys::smgropen(self.locator(), NO_BACKEND) }
    }

    /// Writes a page behind the end of the file; what is between becomes zeros.
    ///
    /// # Safety
    /// `page` is a page, and no other process extends the file. In a transaction.
    pub(super) unsafe fn extend(
        self,
        fork: pg_sys::ForkNumber::Type,
        block: u32,
        page: pg_sys::Page,
        skip_sync: bool,
    ) {
        // SAFETY: the caller's promise.
        unsafe { pg_sys::smgrextend(self.open(), fork, block, page.cast(), skip_sync) };
    }

    /// Writes consecutive pages that are within the file's end, several by one system call. Unless
    /// `skip_sync`, the checkpointer is told to sync what is written when it has been written.
    ///
    /// # Safety
    /// They are pages, one behind the other in memory; no other process writes to these blocks. In a
    /// transaction.
    pub(super) unsafe fn write(
        self,
        fork: pg_sys::ForkNumber::Type,
        first: u32,
        mut pages: &[pg_sys::Page],
        skip_sync: bool,
    ) {
        let mut block = first;
        while !pages.is_empty() {
            let room = pg_sys::RELSEG_SIZE - block % pg_sys::RELSEG_SIZE;
            let (here, rest) = pages.split_at(pages.len().min(room as usize));
            // SAFETY: the caller's promise; all of `here` belongs to one file of a gigabyte.
            unsafe { self.write_within_segment(fork, block, here, skip_sync) };
            block += here.len() as u32;
            pages = rest;
        }
    }

    /// [`write`](Self::write) for pages of the same file of a gigabyte, of which there is at least
    /// one. Where the server writes one page per system call, larger ones reduce the duration of
    /// `bench.initialize(scale => 50)` by a fifth.
    ///
    /// # Safety
    /// The obligations of [`write`](Self::write).
    unsafe fn write_within_segment(
        self,
        fork: pg_sys::ForkNumber::Type,
        first: u32,
        pages: &[pg_sys::Page],
        skip_sync: bool,
    ) {
        // SAFETY: the caller's promise. The server's own function writes what the system calls did
        // not, and raises the error if it cannot. It also writes the last page again where the
        // checkpointer is to be told: it alone can do that.
        unsafe {
            let done = match compat::WRITES_SINGLE_PAGES && self.write_at_once(fork, first, pages) {
                false => 0,
                true if skip_sync => pages.len(),
                true => pages.len() - 1,
            };
            let mut block = first + done as u32;
            let mut left = pages.len() - done;
            for some in pages[done..].chunks(WRITE_PAGES) {
                left -= some.len();
                compat::smgr_write(self.open(), fork, block, some, skip_sync || left > 0);
                block += some.len() as u32;
            }
        }
    }

    /// Writes pages of one file of a gigabyte without the server; whether it could.
    ///
    /// # Safety
    /// The obligations of [`write`](Self::write).
    unsafe fn write_at_once(
        self,
        fork: pg_sys::ForkNumber::Type,
        first: u32,
        pages: &[pg_sys::Page],
    ) -> bool {
        let (segment, block) = (first / pg_sys::RELSEG_SIZE, first % pg_sys::RELSEG_SIZE);
        let mut path = compat::relation_path(
            self.tablespace.into(),
            self.database.into(),
            self.number.into(),
            NO_BACKEND,
            fork,
        )
        .into_bytes();
        if segment > 0 {
            path.extend_from_slice(format!(".{segment}").as_bytes());
        }
        path.push(0);
        // SAFETY: the path ends in a zero byte. The descriptor is open until it is closed here or,
        // after an error, with the transaction. The pages have that many bytes.
        unsafe {
            let descriptor = pg_sys::OpenTransientFile(path.as_ptr().cast(), libc::O_RDWR);
            if descriptor < 0 {
                return false;
            }
            let all = pages.len() * pg_sys::BLCKSZ as usize;
            let bytes = std::slice::from_raw_parts(pages[0].cast::<u8>(), all);
            let mut offset = i64::from(block) * i64::from(pg_sys::BLCKSZ);
            let complete = bytes.chunks(WRITE_BYTES).all(|some| {
                let at = offset as libc::off_t;
                offset += some.len() as i64;
                libc::pwrite(descriptor, some.as_ptr().cast(), some.len(), at)
                    == some.len() as isize
            });
            pg_sys::CloseTransientFile(descriptor);
            complete
        }
    }

    /// Writes consecutive pages to WAL, in one record if there are at most 32, and gives them its
    /// position. `standard` pages have nothing between their line pointers and their items.
    ///
    /// # Safety
    /// They are pages, and no other process changes them.
    pub(super) unsafe fn log(
        self,
        fork: pg_sys::ForkNumber::Type,
        first: u32,
        pages: &mut [pg_sys::Page],
        standard: bool,
    ) {
        let mut blocks: Vec<u32> = (first..).take(pages.len()).collect();
        // SAFETY: the caller's promise; as many blocks as pages.
        unsafe {
            pg_sys::log_newpages(
                &mut self.locator(),
                fork,
                pages.len() as c_int,
                blocks.as_mut_ptr(),
                pages.as_mut_ptr(),
                standard,
            );
        }
    }
}
