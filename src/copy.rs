//! Filling a table by the server's COPY, in this process.
//!
//! COPY supports everything that a load needs: partitions, any access method, freezing, constraints
//! and triggers. Its callback has no argument, so a thread-local variable holds the source of the
//! one COPY that a process can have in progress.

use crate::error::{Error, Result};
use crate::latch;
use crate::query;
use crate::state::catalog;
use pgrx::pg_sys;
use scopeguard::guard;
use std::cell::RefCell;
use std::ffi::{CStr, c_int, c_void};

/// Fills the given buffer with the next bytes and returns their number; 0 is the end.
pub type Source = Box<dyn FnMut(&mut [u8]) -> usize>;

thread_local! {
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// The table to fill, and how.
#[derive(Clone, Copy, Debug)]
pub struct CopyTarget<'t> {
    /// The table's name, quoted for SQL.
    pub table: &'t str,
    /// The columns of the data, with commas in between; all if empty.
    pub columns: &'t str,
    /// COPY's format: `text` or `binary`.
    pub format: &'t CStr,
    /// Whether rows are frozen, where that is possible: the current transaction must have created
    /// or emptied the table. Partitioned tables cannot.
    pub freeze: bool,
}

/// Copies all data of `source` into a table, in the current transaction. Texts are in the encoding of
/// the database. The current role must have the INSERT privilege on the table.
pub fn copy_in(target: &CopyTarget, source: Source) -> Result<()> {
    let sql = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid";
    let table = query::first_value::<pg_sys::Oid>(sql, &[target.table.into()])?;
    let table = table.ok_or_else(|| Error::TableMissing {
        table: target.table.into(),
        hint: "Another session may have dropped it.".into(),
    })?;
    // That of an outer COPY, if there is one, is the current one again after an error, too.
    let _outer = guard(SOURCE.replace(Some(source)), |outer| SOURCE.set(outer));
    // SAFETY: in a transaction with a snapshot; the sequence is that of logical replication's
    // initial copy. Errors are raised, and the abort of the transaction cleans up. The names are
    // only read.
    unsafe {
        let relation = pg_sys::table_open(table, pg_sys::RowExclusiveLock as i32);
        let name = CStr::from_ptr((*(*relation).rd_rel).relname.data.as_ptr()).to_string_lossy();
        if !catalog::may_insert(table) {
            return Err(Error::Denied {
                what: format!("table \"{name}\""),
                hint: "Ask for the INSERT privilege on it.".into(),
            });
        }
        // With row_security off, this raises the server's own error.
        let row_security = pg_sys::check_enable_rls(table, pg_sys::InvalidOid, false);
        if row_security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32 {
            return Err(Error::RowSecurity {
                table: name.into_owned(),
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
        options.push(pg_sys::makeDefElem(
            c"format".as_ptr().cast_mut(),
            pg_sys::makeString(pg_sys::pstrdup(target.format.as_ptr())).cast(),
            -1,
        ));
        if target.freeze && (*(*relation).rd_rel).relkind as u8 == pg_sys::RELKIND_RELATION {
            options.push(pg_sys::makeDefElem(
                c"freeze".as_ptr().cast_mut(),
                pg_sys::makeBoolean(true).cast(),
                -1,
            ));
        }
        if target.format == c"text" {
            options.push(pg_sys::makeDefElem(
                c"encoding".as_ptr().cast_mut(),
                pg_sys::makeString(pg_sys::GetDatabaseEncodingName().cast_mut()).cast(),
                -1,
            ));
        }
        let mut columns = pgrx::PgList::<pg_sys::Node>::new();
        for name in target.columns.split(',').filter(|name| !name.is_empty()) {
            let name = pg_sys::pnstrdup(name.as_ptr().cast(), name.len());
            columns.push(pg_sys::makeString(name).cast());
        }
        let copy = pg_sys::BeginCopyFrom(
            state,
            relation,
            std::ptr::null_mut(),
            std::ptr::null(),
            false,
            Some(read),
            columns.into_pg(),
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

/// COPY's callback for reading data.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn read(out: *mut c_void, _least: c_int, most: c_int) -> c_int {
    // SAFETY: COPY's buffer has that many bytes.
    let out = unsafe { std::slice::from_raw_parts_mut(out.cast::<u8>(), most.max(0) as usize) };
    latch::exit_with_postmaster();
    SOURCE.with_borrow_mut(|source| source.as_mut().map_or(0, |source| source(out))) as c_int
}
