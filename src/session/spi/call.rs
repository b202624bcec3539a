//! CALL, DO and DECLARE CURSOR: statements that need a top-level portal.

use super::classify::parse_utility;
use super::query::result_of_spi;
use crate::backend::statement;
use crate::compat;
use pgrx::pg_sys;
use selfbench_client::QueryResult;
use std::ffi::CString;

/// Executes CALL or DO through the portal that `define` makes: at top level, so that it may commit
/// unless in a block. What it needs until it ends, which includes what an error says, is in
/// `memory`, which no commit empties.
///
/// # Safety
/// In a transaction; the values are those of the portal's parameters.
pub(super) unsafe fn call(
    memory: pg_sys::MemoryContext,
    values: pg_sys::ParamListInfo,
    results: Option<&mut Vec<QueryResult>>,
    define: impl FnOnce() -> Option<pg_sys::Portal>,
) {
    let nothing = std::ptr::null_mut();
    // SAFETY: the caller's promise; the sequence of the server's own statement loop. After an
    // error, the abort of the transaction drops the portal.
    unsafe {
        pg_sys::MemoryContextSwitchTo(memory);
        // For the parameters' input functions; the portal takes one of its own.
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let portal = define();
        pg_sys::PopActiveSnapshot();
        if let Some(portal) = portal {
            pg_sys::PortalStart(portal, values, 0, nothing);
            compat::portal_run(portal, 0);
            if let Some(results) = results {
                results.push(result_of_portal(portal));
            }
            pg_sys::PortalDrop(portal, false);
        }
        // The transaction may be another one by now.
        pg_sys::MemoryContextSwitchTo(pg_sys::CurTransactionContext);
        pg_sys::MemoryContextReset(memory);
    }
}

/// A portal for the CALL or DO of a text, with parameters of these types, in the current memory
/// context; `None` if the text is another statement.
///
/// # Safety
/// In a transaction.
pub(super) unsafe fn define_portal(
    text: &CString,
    types: &[pg_sys::Oid],
) -> Option<pg_sys::Portal> {
    // SAFETY: the caller's promise.
    unsafe {
        let (raw, _) = parse_utility(text)?;
        Some(statement::define_portal(raw, text, types))
    }
}

/// Result of a portal for `\gset` and `\aset`: the row of a procedure that returns one, which the
/// portal has kept.
///
/// # Safety
/// In a transaction; the portal has run and given no row away.
unsafe fn result_of_portal(portal: pg_sys::Portal) -> QueryResult {
    // SAFETY: the caller's promise; connected to SPI, if there is a row.
    unsafe {
        if (*portal).strategy != pg_sys::PortalStrategy::PORTAL_UTIL_SELECT {
            return QueryResult::default();
        }
        pg_sys::SPI_connect();
        pg_sys::SPI_cursor_fetch(portal, true, std::ffi::c_long::MAX);
        let result = result_of_spi();
        pg_sys::SPI_finish();
        result
    }
}
