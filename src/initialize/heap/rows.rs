//! The form of a row, pages full of such rows, and the partitions that rows belong to.

use super::file::{BATCH, PAGE, Pages, WriteMode, open};
use super::table::{Heap, RowKind};
use crate::error::Result;
use crate::initialize::options::ACCOUNTS;
use pgrx::pg_sys;
use pgrx::pg_sys::ForkNumber::MAIN_FORKNUM;
use serde::{Deserialize, Serialize};
use std::ffi::c_int;

unsafe extern "C-unwind" {
    /// The hash by which rows are given to partitions, of values and the functions that hash them.
    /// Raises no error unless these functions do. The server's own binding would save the stack at
    /// each call, which takes longer than the hash.
    fn compute_partition_hash_value(
        columns: c_int,
        functions: *mut pg_sys::FmgrInfo,
        collations: *const pg_sys::Oid,
        values: *const pg_sys::Datum,
        nulls: *const bool,
    ) -> u64;
}

/// A row as it is stored, with the loader's transaction id; numbers are filled in later.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    bytes: Vec<u8>,
    kind: RowKind,
    /// Offset of the key; the number of an account's branch follows it immediately.
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
            // Clear the fields of a tuple that is only a datum.
            (*header).t_infomask &= !(pg_sys::HEAP_XACT_MASK as u16);
            (*header).t_infomask2 &= !(pg_sys::HEAP2_XACT_MASK as u16);
            (*header).t_infomask |= (pg_sys::HEAP_XMIN_FROZEN | pg_sys::HEAP_XMAX_INVALID) as u16;
            let bytes = std::slice::from_raw_parts(header.cast::<u8>(), (*tuple).t_len as usize);
            Some(Row {
                bytes: bytes.to_vec(),
                kind: heap.kind,
                key: usize::from((*header).t_hoff),
                key_bytes: heap.key_bytes,
            })
        }
    }
}

/// The places of rows in a full page.
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
            if self.row.kind == RowKind::Accounts {
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

    /// Writes the remaining pages.
    pub fn finish(mut self, done: &mut dyn FnMut(usize) -> Result<()>) -> Result<()> {
        if self.rows > 0 {
            // Make it equal to a page that never had more rows.
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
        let mode = WriteMode {
            grows: self.grows,
            standard: true,
        };
        self.heap
            .file
            .write(MAIN_FORKNUM, self.first, &self.pages, self.full, mode);
        let partial = self.rows > 0;
        let rows = (self.full - usize::from(partial)) * self.template.rows() + self.rows;
        self.first += self.full as u32;
        self.full = 0;
        self.rows = 0;
        done(rows)
    }
}

/// Computes the partition of an account with the server's hash function.
pub struct PartitionHash {
    function: pg_sys::FmgrInfo,
    key_bytes: usize,
    modulus: u64,
}

impl PartitionHash {
    /// The hash of partitions by account numbers of this many bytes.
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
            compute_partition_hash_value(1, &mut self.function, &pg_sys::InvalidOid, &value, &false)
        };
        (hash % self.modulus) as usize
    }
}
