//! Tables that can be filled with finished pages.

use super::file::{File, PAGE, PAGE_HEADER, Pages, WriteMode, open};
use super::key::Key;
use crate::compat;
use crate::state::transaction::InTransaction;
use pgrx::pg_sys::ForkNumber::{MAIN_FORKNUM, VISIBILITYMAP_FORKNUM};
use pgrx::{PgRelation, check_for_interrupts, pg_sys};
use serde::{Deserialize, Serialize};

/// Heap pages per page of the visibility map, two bits each.
const PAGES_PER_MAP_PAGE: u32 = ((PAGE - PAGE_HEADER) * 4) as u32;

/// The kinds of rows. Each row starts with a number, its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RowKind {
    /// pgbench's accounts; the number of the branch follows.
    Accounts,
    /// pgio's rows; all other columns are the same in each.
    Pgio,
}

/// The file of a table or partition that has such rows, new and empty.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Heap {
    /// Oid of the table or partition.
    pub oid: u32,
    /// Its file.
    pub file: File,
    /// Bytes of each page that its fill factor leaves free.
    pub free: usize,
    /// The kind of its rows.
    pub kind: RowKind,
    /// Bytes of a key, 4 or 8.
    pub key_bytes: usize,
    /// Its primary key, if that is filled, too.
    pub key: Option<Key>,
}

impl Heap {
    /// The file of a table that the current transaction has created or emptied; `None` unless it is
    /// an ordinary heap table with the columns of pgbench's accounts or of pgio's tables, without
    /// triggers, constraints, policies and, except for a primary key on the first column if
    /// `has_key`, indexes. Also `None` if changes of its rows are decoded.
    pub fn of_table(oid: pg_sys::Oid, has_key: bool) -> Option<Heap> {
        let relation = open(oid)?;
        // SAFETY: an open relation; its options are those of a table, if there are any.
        let (class, options) = unsafe {
            let options = relation.rd_options.cast::<pg_sys::StdRdOptions>();
            (&*relation.rd_rel, options.as_ref())
        };
        let ordinary = class.relkind as u8 == pg_sys::RELKIND_RELATION
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && class.relhasindex == has_key
            && !class.relhassubclass
            && takes_plain_rows(class);
        // Another one may have taken the name.
        // SAFETY: an open relation.
        if !ordinary || !unsafe { compat::has_new_file(relation.as_ptr()) } {
            return None;
        }
        let (kind, key_bytes) = row_kind(&relation)?;
        let file = File::of(&relation)?;
        if file.is_decoded() {
            return None;
        }
        let fillfactor = options.map_or(pg_sys::HEAP_DEFAULT_FILLFACTOR as i32, |o| o.fillfactor);
        let heap = Heap {
            oid: oid.to_u32(),
            file,
            free: PAGE * (100 - fillfactor) as usize / 100,
            kind,
            key_bytes,
            key: match has_key {
                true => Some(Key::of_table(&relation)?),
                false => None,
            },
        };
        // SAFETY: the relation is locked by this transaction.
        let empty = unsafe {
            let smgr = heap.file.open();
            pg_sys::smgrnblocks(smgr, MAIN_FORKNUM) == 0
                && !pg_sys::smgrexists(smgr, VISIBILITYMAP_FORKNUM)
        };
        empty.then_some(heap)
    }

    /// Counts the rows that were written, as COPY does, for the statistics of the table, and returns
    /// their number. `per_page` is the number of rows of a full page.
    pub fn count(&self, per_page: usize) -> u64 {
        let (Some(last), Some(relation)) =
            (self.file.pages().checked_sub(1), open(self.oid.into()))
        else {
            return 0;
        };
        // SAFETY: an open relation, and a block of it that is never changed before the end of this
        // transaction.
        unsafe {
            let buffer = pg_sys::ReadBuffer(relation.as_ptr(), last);
            let on_last = pg_sys::PageGetMaxOffsetNumber(pg_sys::BufferGetPage(buffer));
            pg_sys::ReleaseBuffer(buffer);
            let rows = u64::from(last) * per_page as u64 + on_last as u64;
            pg_sys::pgstat_count_heap_insert(relation.as_ptr(), rows as i64);
            rows
        }
    }

    /// Enters the sizes of the table and of its key into the catalog, as `CREATE INDEX` does, if
    /// the table still has the file that was filled with that many rows. The table is locked against
    /// VACUUM and changes of its definition until the transaction ends.
    pub fn tell_size(&self, _: InTransaction, rows: u64) {
        // SAFETY: in a transaction.
        unsafe {
            pg_sys::LockRelationOid(self.oid.into(), pg_sys::ShareUpdateExclusiveLock as i32)
        };
        for (oid, file, is_table) in std::iter::once((self.oid, self.file, true))
            .chain(self.key.map(|key| (key.oid, key.file, false)))
        {
            if let Some(relation) = open(oid.into())
                && file.is_of(&relation)
            {
                let (mut visible, mut frozen) = (0, 0);
                // SAFETY: an open relation that is locked.
                unsafe {
                    let relation = relation.as_ptr();
                    if is_table {
                        pg_sys::visibilitymap_count(relation, &mut visible, &mut frozen);
                    }
                    let pages = file.pages();
                    compat::update_statistics(relation, pages, rows, visible, frozen, is_table);
                }
            }
        }
    }

    /// Writes the visibility map: all pages are visible to all, and frozen.
    pub fn write_visibility_map(&self) {
        let pages = self.file.pages();
        if pages == 0 {
            return;
        }
        // SAFETY: as for the file itself; the map is new, since the file is.
        unsafe {
            let smgr = self.file.open();
            pg_sys::smgrcreate(smgr, VISIBILITYMAP_FORKNUM, false);
        }
        for map_page in 0..pages.div_ceil(PAGES_PER_MAP_PAGE) {
            check_for_interrupts!();
            let here = (pages - map_page * PAGES_PER_MAP_PAGE).min(PAGES_PER_MAP_PAGE) as usize;
            let buffer = Pages::new(1);
            // SAFETY: the buffer has one page, and the bits of that many pages fit behind its header.
            unsafe {
                let page = buffer.page(0);
                pg_sys::PageInit(page, PAGE, 0);
                let bits = page.cast::<u8>().add(PAGE_HEADER);
                bits.write_bytes(0xFF, here / 4);
                if !here.is_multiple_of(4) {
                    bits.add(here / 4).write((1 << (here % 4 * 2)) - 1);
                }
            }
            // The bits of a map page look like a hole, and must not be omitted from WAL.
            let mode = WriteMode {
                grows: true,
                standard: false,
            };
            self.file
                .write(VISIBILITYMAP_FORKNUM, map_page, &buffer, 1, mode);
        }
    }
}

/// Whether rows of the table only have to be stored.
fn takes_plain_rows(class: &pg_sys::FormData_pg_class) -> bool {
    !class.relhastriggers && class.relchecks == 0 && !class.relrowsecurity
}

/// Whether rows can be written directly to the partitions of this partitioned table of accounts.
pub fn is_plain_parent(oid: pg_sys::Oid) -> bool {
    open(oid).is_some_and(|relation| {
        // SAFETY: an open relation.
        takes_plain_rows(unsafe { &*relation.rd_rel })
            && row_kind(&relation).is_some_and(|(kind, _)| kind == RowKind::Accounts)
    })
}

/// The kind of a table's rows and the bytes of their keys, if it has exactly these columns with
/// these types, and no generated column.
fn row_kind(relation: &PgRelation) -> Option<(RowKind, usize)> {
    const INT4: pg_sys::Oid = pg_sys::INT4OID;
    const INT8: pg_sys::Oid = pg_sys::INT8OID;
    const CHAR: pg_sys::Oid = pg_sys::BPCHAROID;
    let columns = relation.tuple_desc();
    let mut found = Vec::with_capacity(columns.len());
    for column in columns.iter() {
        if column.attgenerated != 0 || column.attisdropped {
            return None;
        }
        found.push((column.name(), column.atttypid, column.atttypmod));
    }
    // The type modifier of char(n) is n and the length of a header.
    let matched = match found[..] {
        [
            ("aid", aid @ (INT4 | INT8), -1),
            ("bid", INT4, -1),
            ("abalance", INT4, -1),
            ("filler", CHAR, 88),
        ] => (RowKind::Accounts, if aid == INT8 { 8 } else { 4 }),
        [
            ("mykey", INT8, -1),
            ("scratch", INT8, -1),
            ("filler", CHAR, 1028),
        ] => (RowKind::Pgio, 8),
        _ => return None,
    };
    let filler = columns.get(columns.len() - 1)?;
    (filler.attstorage as u8 == pg_sys::TYPSTORAGE_EXTENDED).then_some(matched)
}
