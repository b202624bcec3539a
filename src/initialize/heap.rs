//! Heap pages built in private memory and written without the server's buffers: the form of a row,
//! pages full of such rows, and their way into WAL and files.
//!
//! What is written here belongs to files that the current transaction of the loader has created, so
//! that nobody else reads them before it commits, and an abort or a crash leaves nothing of them.
//! The pages are those that COPY with FREEZE makes: frozen, all visible, in the same order and with
//! the same free space, and so is the visibility map.

use super::options::ACCOUNTS;
use crate::compat::{self, Checkpoints, FileId};
use crate::error::Result;
use pgrx::pg_sys::ForkNumber::{MAIN_FORKNUM, VISIBILITYMAP_FORKNUM};
use pgrx::{PgRelation, check_for_interrupts, pg_sys};
use serde::{Deserialize, Serialize};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Bytes of a page.
pub const PAGE: usize = pg_sys::BLCKSZ as usize;
/// Pages of a WAL record of finished pages, and of a batch.
pub const BATCH: usize = 32;
/// What the server wants buffers aligned to, for files that it opens for direct I/O.
const ALIGNMENT: usize = 4096;
/// `MAXALIGN` of a page's header.
const PAGE_HEADER: usize =
    std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp).next_multiple_of(8);
/// Heap pages of which a page of the visibility map tells, two bits each.
const PAGES_PER_MAP_PAGE: u32 = ((PAGE - PAGE_HEADER) * 4) as u32;

/// What the rows of a table are, each of which begins with a number, its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Content {
    /// pgbench's accounts; the number of the branch follows.
    Accounts,
    /// pgio's rows; all else is the same in each.
    Pgio,
}

/// The file of a table or partition that has such rows, new and empty.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Heap {
    /// Oid of the table or partition.
    pub oid: u32,
    /// Its file.
    pub file: FileId,
    /// Whether it is logged, so that WAL is written unless `wal_level` allows to do without.
    pub logged: bool,
    /// Bytes of each page that its fill factor leaves free.
    pub free: usize,
    /// What its rows are.
    pub content: Content,
    /// Bytes of a key, 4 or 8.
    pub key_bytes: usize,
}

impl Heap {
    /// That of a table which the current transaction has created or emptied; `None` unless it is an
    /// ordinary heap table with the columns of pgbench's accounts or of pgio's tables, and nothing
    /// else: no index, trigger, constraint or policy.
    pub fn of_table(oid: pg_sys::Oid) -> Option<Heap> {
        let relation = open(oid)?;
        // SAFETY: an open relation; its options are those of a table, if there are any.
        let (class, options) = unsafe {
            let options = relation.rd_options.cast::<pg_sys::StdRdOptions>();
            (&*relation.rd_rel, options.as_ref())
        };
        let logged = match class.relpersistence as u8 {
            pg_sys::RELPERSISTENCE_PERMANENT => true,
            pg_sys::RELPERSISTENCE_UNLOGGED => false,
            _ => return None,
        };
        let ordinary = class.relkind as u8 == pg_sys::RELKIND_RELATION
            && class.relam == pg_sys::HEAP_TABLE_AM_OID
            && !class.relhasindex
            && !class.relhassubclass
            && takes_plain_rows(class);
        if !ordinary {
            return None;
        }
        let (content, key_bytes) = content(&relation)?;
        let fillfactor = options.map_or(pg_sys::HEAP_DEFAULT_FILLFACTOR as i32, |o| o.fillfactor);
        let heap = Heap {
            oid: oid.to_u32(),
            file: compat::file_of(&relation),
            logged,
            free: PAGE * (100 - fillfactor) as usize / 100,
            content,
            key_bytes,
        };
        // SAFETY: the relation is locked by this transaction.
        let empty = unsafe {
            let smgr = compat::smgr_open(heap.file);
            pg_sys::smgrnblocks(smgr, MAIN_FORKNUM) == 0
                && !pg_sys::smgrexists(smgr, VISIBILITYMAP_FORKNUM)
        };
        empty.then_some(heap)
    }

    /// Whether pages go to WAL. With `wal_level` minimal, the server itself syncs, at commit, files
    /// that the transaction has created.
    fn needs_wal(&self) -> bool {
        // SAFETY: a plain setting.
        self.logged && unsafe { pg_sys::wal_level } > pg_sys::WalLevel::WAL_LEVEL_MINIMAL as i32
    }

    /// Whether writes are told to the checkpointer, so that it syncs the file: not when the server
    /// does that at commit. Unlogged tables are synced for the next start of the server.
    fn needs_sync(&self) -> bool {
        self.needs_wal() || !self.logged
    }

    /// Counts the rows that were written, as COPY does, for the statistics of the table. `per_page`
    /// are those of a full page.
    pub fn count(&self, per_page: usize) {
        let (Some(last), Some(relation)) = (self.pages().checked_sub(1), open(self.oid.into()))
        else {
            return;
        };
        // SAFETY: an open relation, and a block of it that is never changed before the end of this
        // transaction.
        unsafe {
            let buffer = pg_sys::ReadBuffer(relation.as_ptr(), last);
            let on_last = pg_sys::PageGetMaxOffsetNumber(pg_sys::BufferGetPage(buffer));
            pg_sys::ReleaseBuffer(buffer);
            let rows = i64::from(last) * per_page as i64 + on_last as i64;
            pg_sys::pgstat_count_heap_insert(relation.as_ptr(), rows);
        }
    }

    /// Number of pages of its file.
    fn pages(&self) -> u32 {
        // SAFETY: the file is there as long as the transaction that created it.
        unsafe { pg_sys::smgrnblocks(compat::smgr_open(self.file), MAIN_FORKNUM) }
    }

    /// Gives the file its final size, so that several processes can write into it: the server
    /// itself would fill the end of one gigabyte before it begins the next, over what others have
    /// written.
    pub fn resize(&self, pages: u32) {
        let zeros = Pages::new(1);
        let mut end = 0;
        while end < pages {
            check_for_interrupts!();
            end = end.saturating_add(pg_sys::RELSEG_SIZE).min(pages);
            // SAFETY: a page that is all zero is an empty one; this process alone extends the file.
            unsafe {
                let smgr = compat::smgr_open(self.file);
                compat::smgr_extend(smgr, MAIN_FORKNUM, end - 1, zeros.page(0), true);
            }
        }
    }

    /// Writes the visibility map: all pages are visible to all, and frozen.
    pub fn write_visibility_map(&self) {
        let pages = self.pages();
        if pages == 0 {
            return;
        }
        // SAFETY: as for the file itself; the map is new, since the file is.
        unsafe {
            let smgr = compat::smgr_open(self.file);
            pg_sys::smgrcreate(smgr, VISIBILITYMAP_FORKNUM, false);
        }
        for map_page in 0..pages.div_ceil(PAGES_PER_MAP_PAGE) {
            check_for_interrupts!();
            let here = (pages - map_page * PAGES_PER_MAP_PAGE).min(PAGES_PER_MAP_PAGE) as usize;
            let buffer = Pages::new(1);
            // SAFETY: the buffer has one page, and the bits of so many pages fit behind its header.
            unsafe {
                let page = buffer.page(0);
                pg_sys::PageInit(page, PAGE, 0);
                let bits = page.cast::<u8>().add(PAGE_HEADER);
                bits.write_bytes(0xFF, here / 4);
                if !here.is_multiple_of(4) {
                    bits.add(here / 4).write((1 << (here % 4 * 2)) - 1);
                }
            }
            // What a page of the map tells looks like a hole, and must not be left out of WAL.
            let way = Way {
                grows: true,
                standard: false,
            };
            self.write(VISIBILITYMAP_FORKNUM, map_page, &buffer, 1, way);
        }
    }

    /// Logs the first `count` pages of a buffer and writes them to the file.
    ///
    /// Checkpoints: the pages do not pass through the server's buffers, which a checkpoint would
    /// write out. From before the WAL record until the pages have been written and the checkpointer
    /// been told to sync them, this process keeps checkpoints from going on that have begun behind
    /// that record. So one whose recovery would not see the record waits, and then syncs the pages;
    /// a recovery from any other one writes them again. The pages may reach the disk before their
    /// WAL does: then the transaction has not been committed, and nobody will read the file.
    fn write(
        &self,
        fork: pg_sys::ForkNumber::Type,
        first: u32,
        pages: &Pages,
        count: usize,
        way: Way,
    ) {
        let mut pointers = [std::ptr::null_mut(); BATCH];
        for (index, pointer) in pointers[..count].iter_mut().enumerate() {
            *pointer = pages.page(index);
        }
        let pointers = &mut pointers[..count];
        let _checkpoints = self.needs_wal().then(Checkpoints::delay);
        // SAFETY: finished pages of this process; the file is there as long as the transaction that
        // created it, in this process or the one that waits for this one, and nobody else writes
        // these blocks. Errors are raised and abort the load.
        unsafe {
            if self.needs_wal() {
                compat::log_pages(self.file, fork, first, pointers, way.standard);
            }
            for (block, page) in (first..).zip(pointers.iter()) {
                pg_sys::PageSetChecksumInplace(*page, block);
            }
            let skip_sync = !self.needs_sync();
            let mut rest = &*pointers;
            if way.grows
                && let Some((last, others)) = pointers.split_last()
            {
                let block = first + others.len() as u32;
                let smgr = compat::smgr_open(self.file);
                compat::smgr_extend(smgr, fork, block, *last, skip_sync);
                rest = others;
            }
            compat::smgr_write(self.file, fork, first, rest, skip_sync);
        }
    }
}

/// How pages are written.
#[derive(Clone, Copy)]
struct Way {
    /// Whether they come behind the file's end.
    grows: bool,
    /// Whether nothing stands between the end of the line pointers and the tuples.
    standard: bool,
}

/// Whether nothing has to be done for rows of the table beyond storing them.
fn takes_plain_rows(class: &pg_sys::FormData_pg_class) -> bool {
    !class.relhastriggers && class.relchecks == 0 && !class.relrowsecurity
}

/// Whether accounts have partitions to which rows can be given directly, and the role may insert.
pub fn is_plain_parent(oid: pg_sys::Oid) -> bool {
    open(oid).is_some_and(|relation| {
        // SAFETY: an open relation.
        takes_plain_rows(unsafe { &*relation.rd_rel })
            && content(&relation).is_some_and(|(content, _)| content == Content::Accounts)
    })
}

/// Whether the current role may insert into a table.
pub fn may_insert(oid: pg_sys::Oid) -> bool {
    // SAFETY: looks into the catalogs, in a transaction.
    unsafe {
        pg_sys::pg_class_aclcheck(oid, pg_sys::GetUserId(), pg_sys::ACL_INSERT as _)
            == pg_sys::AclResult::ACLCHECK_OK
    }
}

/// Whether the server writes WAL from which changes of rows can be decoded.
pub fn decodes_wal() -> bool {
    // SAFETY: a plain setting.
    unsafe { pg_sys::wal_level >= pg_sys::WalLevel::WAL_LEVEL_LOGICAL as i32 }
}

/// Opens a table that this transaction has locked.
fn open(oid: pg_sys::Oid) -> Option<PgRelation> {
    // SAFETY: the lock keeps it from being changed or dropped; it is closed when dropped.
    unsafe {
        let relation = pg_sys::RelationIdGetRelation(oid);
        (!relation.is_null()).then(|| PgRelation::from_pg_owned(relation))
    }
}

/// What the rows of a table are and the bytes of their keys, if it has the columns, of the same
/// types, and none of them is computed.
fn content(relation: &PgRelation) -> Option<(Content, usize)> {
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
        ] => (Content::Accounts, if aid == INT8 { 8 } else { 4 }),
        [
            ("mykey", INT8, -1),
            ("scratch", INT8, -1),
            ("filler", CHAR, 1028),
        ] => (Content::Pgio, 8),
        _ => return None,
    };
    let filler = columns.get(columns.len() - 1)?;
    (filler.attstorage as u8 == pg_sys::TYPSTORAGE_EXTENDED).then_some(matched)
}

/// A row as it is stored, with the loader's transaction id; numbers are filled in later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    bytes: Vec<u8>,
    content: Content,
    /// Where the key stands; the number of an account's branch comes right behind it.
    key: usize,
    /// Bytes of the key.
    key_bytes: usize,
}

impl Row {
    /// The row of a table, frozen, as inserted by the current transaction. Its last column is the
    /// filler, of blanks; all others are numbers.
    pub fn form(heap: &Heap) -> Option<Row> {
        let relation = open(heap.oid.into())?;
        let columns = relation.tuple_desc();
        let last = columns.len() - 1;
        // SAFETY: as many values as the table has columns, of the columns' types, see `of_table`;
        // the tuple has as many bytes as it says, and begins with a header.
        unsafe {
            let (mut input, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
            pg_sys::getTypeInputInfo(pg_sys::BPCHAROID, &mut input, &mut parameter);
            let typmod = columns.get(last)?.atttypmod;
            let empty = c"".as_ptr().cast_mut();
            let mut values = vec![pg_sys::Datum::from(0); last];
            values.push(pg_sys::OidInputFunctionCall(
                input, empty, parameter, typmod,
            ));
            let mut nulls = vec![false; values.len()];
            let tuple =
                pg_sys::heap_form_tuple(relation.rd_att, values.as_mut_ptr(), nulls.as_mut_ptr());
            let header = (*tuple).t_data;
            (*header).t_choice.t_heap.t_xmin = pg_sys::GetCurrentTransactionId();
            (*header).t_choice.t_heap.t_xmax = pg_sys::InvalidTransactionId;
            (*header).t_choice.t_heap.t_field3.t_cid = pg_sys::GetCurrentCommandId(true);
            // Whatever marks a row that is only a value.
            (*header).t_infomask &= !(pg_sys::HEAP_XACT_MASK as u16);
            (*header).t_infomask2 &= !(pg_sys::HEAP2_XACT_MASK as u16);
            (*header).t_infomask |= (pg_sys::HEAP_XMIN_FROZEN | pg_sys::HEAP_XMAX_INVALID) as u16;
            let bytes = std::slice::from_raw_parts(header.cast::<u8>(), (*tuple).t_len as usize);
            Some(Row {
                bytes: bytes.to_vec(),
                content: heap.content,
                key: usize::from((*header).t_hoff),
                key_bytes: heap.key_bytes,
            })
        }
    }
}

/// Memory for pages, as the server wants it.
struct Pages {
    memory: NonNull<u8>,
    layout: Layout,
}

impl Pages {
    /// That many pages, all zero.
    fn new(count: usize) -> Pages {
        // Neither can fail: the size is small, and the alignment a power of two.
        let layout = Layout::array::<[u8; PAGE]>(count.max(1))
            .and_then(|layout| layout.align_to(ALIGNMENT))
            .unwrap_or(Layout::new::<[u8; PAGE]>());
        // SAFETY: the layout has a size above zero.
        let memory = unsafe { alloc_zeroed(layout) };
        let memory = NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout));
        Pages { memory, layout }
    }

    /// One of them.
    fn page(&self, index: usize) -> pg_sys::Page {
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

/// Where the rows of a full page stand.
pub struct Template {
    page: Pages,
    /// Offset of each row within the page.
    offsets: Vec<usize>,
}

impl Template {
    /// A page with as many rows as COPY would store in one.
    pub fn new(row: &Row, free: usize) -> Template {
        let page = Pages::new(1);
        let mut offsets = Vec::new();
        let item = row.bytes.as_ptr().cast_mut().cast();
        let needed = row
            .bytes
            .len()
            .next_multiple_of(pg_sys::MAXIMUM_ALIGNOF as usize)
            + free;
        // SAFETY: the buffer has one page; the server's own functions keep it in order, and copy
        // the item.
        unsafe {
            let it = page.page(0);
            pg_sys::PageInit(it, PAGE, 0);
            let header = it.cast::<pg_sys::PageHeaderData>();
            while offsets.is_empty() || pg_sys::PageGetHeapFreeSpace(it) >= needed {
                let number = pg_sys::PageAddItemExtended(
                    it,
                    item,
                    row.bytes.len(),
                    pg_sys::InvalidOffsetNumber,
                    pg_sys::PAI_IS_HEAP as i32,
                );
                if number == pg_sys::InvalidOffsetNumber {
                    break;
                }
                let offset = usize::from((*header).pd_upper);
                let tuple = it
                    .cast::<u8>()
                    .add(offset)
                    .cast::<pg_sys::HeapTupleHeaderData>();
                (*tuple).t_ctid.ip_posid = number;
                offsets.push(offset);
            }
            (*header).pd_flags |= pg_sys::PD_ALL_VISIBLE as u16;
        }
        Template { page, offsets }
    }

    /// Rows of a full page.
    pub fn rows(&self) -> usize {
        self.offsets.len()
    }
}

/// Fills consecutive pages of a file with rows, batch by batch.
pub struct Filler<'t> {
    heap: Heap,
    row: &'t Row,
    template: &'t Template,
    grows: bool,
    /// A batch of pages; each has all rows at any time, of this batch or of an earlier one.
    pages: Pages,
    capacity: usize,
    /// Block of the first page of the batch.
    first: u32,
    /// Full pages of the batch.
    full: usize,
    /// Rows of the page that is not full.
    rows: usize,
}

impl<'t> Filler<'t> {
    /// Fills from block `first` on, with batches of `capacity` pages, at most [`BATCH`]. `grows`
    /// says whether the file ends there; else it has its final size already.
    pub fn new(
        heap: Heap,
        row: &'t Row,
        template: &'t Template,
        first: u32,
        grows: bool,
        capacity: usize,
    ) -> Filler<'t> {
        let capacity = capacity.clamp(1, BATCH);
        let pages = Pages::new(capacity);
        for index in 0..capacity {
            // SAFETY: both have a page there.
            unsafe {
                std::ptr::copy_nonoverlapping(template.page.page(0), pages.page(index), PAGE);
            }
        }
        Filler {
            heap,
            row,
            template,
            grows,
            pages,
            capacity,
            first,
            full: 0,
            rows: 0,
        }
    }

    /// Adds the row of a key. After each batch, `done` gets its number of rows.
    #[inline]
    pub fn push(&mut self, key: i64, done: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let block = self.first + self.full as u32;
        // SAFETY: the page has a tuple of the row's size at that offset, and it is not too small
        // for a header and the numbers.
        unsafe {
            let tuple = self
                .pages
                .page(self.full)
                .cast::<u8>()
                .add(self.template.offsets[self.rows]);
            let place = &mut (*tuple.cast::<pg_sys::HeapTupleHeaderData>())
                .t_ctid
                .ip_blkid;
            place.bi_hi = (block >> 16) as u16;
            place.bi_lo = block as u16;
            let number = tuple.add(self.row.key);
            if self.row.key_bytes == 8 {
                number.cast::<i64>().write_unaligned(key);
            } else {
                number.cast::<i32>().write_unaligned(key as i32);
            }
            if self.row.content == Content::Accounts {
                let bid = ((key - 1) / ACCOUNTS + 1) as i32;
                let number = number.add(self.row.key_bytes);
                number.cast::<i32>().write_unaligned(bid);
            }
        }
        self.rows += 1;
        if self.rows == self.template.rows() {
            self.rows = 0;
            self.full += 1;
            if self.full == self.capacity {
                return self.flush(done);
            }
        }
        Ok(())
    }

    /// Writes what is left.
    pub fn finish(mut self, done: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        if self.rows > 0 {
            // Like a page that never had more rows.
            let line_pointers = self.rows * size_of::<pg_sys::ItemIdData>();
            // SAFETY: the rows that stay stand behind the offset of the last one, and their line
            // pointers at the beginning.
            unsafe {
                let page = self.pages.page(self.full);
                let header = page.cast::<pg_sys::PageHeaderData>();
                let lower = std::mem::offset_of!(pg_sys::PageHeaderData, pd_linp) + line_pointers;
                let upper = self.template.offsets[self.rows - 1];
                (*header).pd_lower = lower as u16;
                (*header).pd_upper = upper as u16;
                page.cast::<u8>().add(lower).write_bytes(0, upper - lower);
            }
            self.full += 1;
        }
        if self.full > 0 {
            self.flush(done)?;
        }
        Ok(())
    }

    fn flush(&mut self, done: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        let way = Way {
            grows: self.grows,
            standard: true,
        };
        self.heap
            .write(MAIN_FORKNUM, self.first, &self.pages, self.full, way);
        let partial = self.rows > 0;
        let rows = (self.full - usize::from(partial)) * self.template.rows() + self.rows;
        self.first += self.full as u32;
        self.full = 0;
        self.rows = 0;
        done(rows)
    }
}

/// Tells the partition of an account, by the server's own function.
pub struct PartitionHash {
    function: pg_sys::FmgrInfo,
    key_bytes: usize,
    modulus: u64,
}

impl PartitionHash {
    /// The hash of partitions by account numbers of so many bytes.
    pub fn new(key_bytes: usize, modulus: u64) -> PartitionHash {
        let oid = if key_bytes == 8 {
            pg_sys::F_HASHINT8EXTENDED
        } else {
            pg_sys::F_HASHINT4EXTENDED
        };
        // SAFETY: all-zero is valid for the server to fill in; the function is built in.
        let function = unsafe {
            let mut function = std::mem::zeroed();
            pg_sys::fmgr_info(oid.into(), &mut function);
            function
        };
        PartitionHash {
            function,
            key_bytes,
            modulus,
        }
    }

    /// Remainder of the partition that an account belongs to.
    #[inline]
    pub fn remainder(&mut self, aid: i64) -> usize {
        let value = if self.key_bytes == 8 {
            aid.into()
        } else {
            pg_sys::Datum::from(aid as i32)
        };
        // SAFETY: one value of the function's type; the functions for integers raise no error.
        let hash = unsafe {
            compat::compute_partition_hash_value(
                1,
                &mut self.function,
                &pg_sys::InvalidOid,
                &value,
                &false,
            )
        };
        (hash % self.modulus) as usize
    }
}

/// From now on, this process compresses pages in WAL by LZ4, if the server has it; PGLZ and
/// Zstandard take as long as they save. The setting of others stays as it is.
pub fn compress_wal() {
    // SAFETY: sets a setting of this process. The level keeps the server from raising an error if
    // it knows no such value.
    unsafe {
        pg_sys::set_config_option(
            c"wal_compression".as_ptr(),
            c"lz4".as_ptr(),
            pg_sys::GucContext::PGC_SUSET,
            pg_sys::GucSource::PGC_S_SESSION,
            pg_sys::GucAction::GUC_ACTION_SET,
            true,
            pg_sys::DEBUG1 as i32,
            false,
        );
    }
}
