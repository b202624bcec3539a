//! The index of a primary key that the server has created on an empty table: what of it must be as
//! expected before pages are written, and what is entered afterwards.

use super::file::{File, PAGE_HEADER, open};
use pgrx::pg_sys::ForkNumber::MAIN_FORKNUM;
use pgrx::{PgList, PgRelation, pg_sys};
use selfbench_btree::Tree;
use serde::{Deserialize, Serialize};

/// The block of a B-tree that says where its root is.
const METAPAGE: u32 = 0;
/// Magic number at its start, and the version of the format whose pages are known here.
const MAGIC: u32 = 0x0005_3162;
const VERSION: u32 = 4;

/// Beginning of the contents of a metapage.
#[repr(C)]
struct Meta {
    magic: u32,
    version: u32,
    root: u32,
    level: u32,
    fast_root: u32,
    fast_level: u32,
}

/// The primary key of a table, a B-tree without entries.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Key {
    /// Its oid.
    pub oid: u32,
    /// Its file.
    pub file: File,
}

impl Key {
    /// Key of an open table, if it is on the first column, is as the server creates it, and is the
    /// only index.
    pub(super) fn of_table(relation: &PgRelation) -> Option<Key> {
        // SAFETY: an open relation; the list is a copy.
        let indexes = unsafe {
            PgList::<pg_sys::Oid>::from_pg(pg_sys::RelationGetIndexList(relation.as_ptr()))
        };
        let (Some(oid), 1) = (indexes.get_oid(0), indexes.len()) else {
            return None;
        };
        let index = open(oid)?;
        // SAFETY: an open index has an entry in pg_index, with as many columns as that says.
        let as_created = unsafe {
            let entry = &*index.rd_index;
            entry.indisprimary
                && entry.indisvalid
                && entry.indnatts == 1
                && entry.indkey.values.as_slice(1) == [1]
                && (*index.rd_rel).relam == pg_sys::BTREE_AM_OID
                && index.rd_options.is_null()
        };
        let file = File::of(&index)?;
        let is_empty = as_created
            && file.pages() == METAPAGE + 1
            && with_meta(&index, pg_sys::BUFFER_LOCK_SHARE, |meta| {
                (meta.magic, meta.version, meta.root) == (MAGIC, VERSION, 0)
            });
        is_empty.then_some(Key {
            oid: oid.to_u32(),
            file,
        })
    }

    /// Enters the root, when all other pages have been written.
    ///
    /// The server has written the metapage past its buffers; if something has been planned for the
    /// table since, they have a copy. It is changed there.
    pub fn enter_root(&self, tree: &Tree) {
        let Some(index) = open(self.oid.into()) else {
            return;
        };
        let (root, level) = tree.root();
        with_meta(&index, pg_sys::BUFFER_LOCK_EXCLUSIVE, |meta| {
            meta.root = root;
            meta.level = level;
            meta.fast_root = root;
            meta.fast_level = level;
        });
        if self.file.needs_wal() {
            // SAFETY: an open relation, and its metapage, which is a standard page.
            unsafe {
                pg_sys::log_newpage_range(
                    index.as_ptr(),
                    MAIN_FORKNUM,
                    METAPAGE,
                    METAPAGE + 1,
                    true,
                );
            }
        }
    }
}

/// Reads the metapage of an index in shared buffers, or changes it if the lock is exclusive.
fn with_meta<T>(index: &PgRelation, lock: u32, act: impl FnOnce(&mut Meta) -> T) -> T {
    // SAFETY: an open relation with a block. Nothing between lock and unlock can fail; the contents
    // follow the header, and there are more of them than these.
    unsafe {
        let buffer = pg_sys::ReadBuffer(index.as_ptr(), METAPAGE);
        pg_sys::LockBuffer(buffer, lock as i32);
        let page = pg_sys::BufferGetPage(buffer).cast::<u8>();
        let result = act(&mut *page.add(PAGE_HEADER).cast::<Meta>());
        if lock == pg_sys::BUFFER_LOCK_EXCLUSIVE {
            pg_sys::MarkBufferDirty(buffer);
        }
        pg_sys::UnlockReleaseBuffer(buffer);
        result
    }
}
