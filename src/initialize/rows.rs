//! The rows of pgbench's tables, and feeding them to the server's own COPY in this very process.
//!
//! COPY does everything that a load has to do: partitions, any access method, freezing, constraints
//! and triggers. Its callback has no argument, so the state of the one COPY that a process can have
//! in progress lives in a thread-local variable.

use super::options::{ACCOUNTS, TELLERS};
use crate::error::{Error, Result};
use pgrx::pg_sys;
use std::cell::RefCell;
use std::ffi::{CString, c_int, c_void};
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How often, in rows, progress is published.
const PROGRESS_ROWS: i64 = 10_000;

/// One of the tables that are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Branches.
    Branches,
    /// Tellers.
    Tellers,
    /// Accounts.
    Accounts,
}

impl Table {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Branches => "pgbench_branches",
            Table::Tellers => "pgbench_tellers",
            Table::Accounts => "pgbench_accounts",
        }
    }

    /// Number of its rows.
    pub fn rows(self, scale: i64) -> i64 {
        match self {
            Table::Branches => scale,
            Table::Tellers => TELLERS * scale,
            Table::Accounts => ACCOUNTS * scale,
        }
    }

    /// Writes row `n`, counted from 1, in COPY's text format.
    fn write_row(self, n: i64, out: &mut String) {
        // Writing to a String does not fail.
        let _ = match self {
            Table::Branches => writeln!(out, "{n}\t0\t\\N"),
            Table::Tellers => writeln!(out, "{n}\t{}\t0\t\\N", (n - 1) / TELLERS + 1),
            Table::Accounts => writeln!(out, "{n}\t{}\t0\t", (n - 1) / ACCOUNTS + 1),
        };
    }
}

/// The rows of a table, one after the other, in COPY's text format.
pub struct Rows {
    table: Table,
    next: i64,
    last: i64,
    buffer: String,
    taken: usize,
    done: &'static AtomicU64,
}

impl Rows {
    /// All rows of a table. `done` counts those that have been taken.
    pub fn new(table: Table, scale: i64, done: &'static AtomicU64) -> Rows {
        Rows {
            table,
            next: 1,
            last: table.rows(scale),
            buffer: String::new(),
            taken: 0,
            done,
        }
    }

    /// Fills `out` with what comes next; the number of bytes, 0 at the end.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            if self.taken == self.buffer.len() {
                self.buffer.clear();
                self.taken = 0;
                if self.next > self.last {
                    break;
                }
                self.table.write_row(self.next, &mut self.buffer);
                if self.next % PROGRESS_ROWS == 0 || self.next == self.last {
                    self.done.fetch_add(
                        if self.next % PROGRESS_ROWS == 0 {
                            PROGRESS_ROWS
                        } else {
                            self.next % PROGRESS_ROWS
                        } as u64,
                        Relaxed,
                    );
                }
                self.next += 1;
            }
            let rest = &self.buffer.as_bytes()[self.taken..];
            let n = rest.len().min(out.len() - filled);
            out[filled..filled + n].copy_from_slice(&rest[..n]);
            self.taken += n;
            filled += n;
        }
        filled
    }
}

thread_local! {
    static SOURCE: RefCell<Option<Rows>> = const { RefCell::new(None) };
}

/// Fills a table in the current transaction, which must have emptied or created it.
pub fn copy(rows: Rows) -> Result<()> {
    let table = rows.table;
    SOURCE.with_borrow_mut(|source| *source = Some(rows));
    let name = CString::new(table.name()).unwrap_or_default();
    // SAFETY: in a transaction with a snapshot; the sequence is that of logical replication's
    // initial copy. Errors are raised, and the abort of the transaction cleans up.
    unsafe {
        let range = pg_sys::makeRangeVar(std::ptr::null_mut(), name.as_ptr().cast_mut(), -1);
        let relation = pg_sys::table_openrv(range, pg_sys::RowExclusiveLock as i32);
        let allowed = pg_sys::pg_class_aclcheck(
            (*relation).rd_id,
            pg_sys::GetUserId(),
            pg_sys::ACL_INSERT as _,
        );
        if allowed != pg_sys::AclResult::ACLCHECK_OK {
            return Err(Error::Denied {
                what: format!("table \"{}\"", table.name()),
                hint: "Have INSERT on it granted to you.".into(),
            });
        }
        let state = pg_sys::make_parsestate(std::ptr::null_mut());
        pg_sys::addRangeTableEntryForRelation(
            state,
            relation,
            pg_sys::RowExclusiveLock as i32,
            std::ptr::null_mut(),
            false,
            false,
        );
        let mut options = pgrx::PgList::<pg_sys::DefElem>::new();
        // Freezing is not possible across partitions.
        if (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_RELATION {
            options.push(pg_sys::makeDefElem(
                c"freeze".as_ptr().cast_mut(),
                pg_sys::makeBoolean(true).cast(),
                -1,
            ));
        }
        let copy = pg_sys::BeginCopyFrom(
            state,
            relation,
            std::ptr::null_mut(),
            std::ptr::null(),
            false,
            Some(read_rows),
            std::ptr::null_mut(),
            options.into_pg(),
        );
        pg_sys::CopyFrom(copy);
        pg_sys::EndCopyFrom(copy);
        pg_sys::free_parsestate(state);
        pg_sys::table_close(relation, pg_sys::NoLock as i32);
        pg_sys::CommandCounterIncrement();
    }
    Ok(())
}

/// COPY asks for bytes.
unsafe extern "C-unwind" fn read_rows(out: *mut c_void, _least: c_int, most: c_int) -> c_int {
    // SAFETY: COPY's buffer has that many bytes.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), most.max(0) as usize) };
    SOURCE.with_borrow_mut(|source| source.as_mut().map_or(0, |source| source.fill(out))) as c_int
}
