//! Statements as the server understands them, without planning or executing anything.

use crate::error::{Error, Result};
use crate::state::transaction::{InTransaction, tried, with_snapshot};
use pgrx::{PgList, PgSqlErrorCode as Sqlstate, pg_sys};
use std::ffi::{CStr, CString};

/// A statement after parse analysis and rewriting.
pub struct Analyzed {
    /// The types that the server infers for the parameters, as for a client that does not specify
    /// them.
    pub parameters: Vec<pg_sys::Oid>,
    /// The names of the columns of its result; `None` of a utility command.
    pub columns: Option<Vec<String>>,
}

/// Analyzes the statement of a text. Raises the server's errors; locks and memory go with the
/// transaction.
pub fn analyze(text: &CStr) -> Result<Analyzed> {
    with_snapshot(InTransaction::current()?, || {
        let mut types: *mut pg_sys::Oid = std::ptr::null_mut();
        let mut count = 0;
        // SAFETY: in a transaction with a snapshot. Lists have the elements that the server's
        // functions promise; there are as many types as it counts.
        unsafe {
            let list = PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(text.as_ptr()));
            if list.len() > 1 {
                return Err(Error::server(
                    Sqlstate::ERRCODE_SYNTAX_ERROR,
                    "cannot insert multiple commands into a prepared statement",
                ));
            }
            let Some(raw) = list.get_ptr(0) else {
                return Ok(Analyzed {
                    parameters: Vec::new(),
                    columns: None,
                });
            };
            let queries =
                PgList::<pg_sys::Query>::from_pg(pg_sys::pg_analyze_and_rewrite_varparams(
                    raw,
                    text.as_ptr(),
                    &mut types,
                    &mut count,
                    std::ptr::null_mut(),
                ));
            let mut parameters = Vec::with_capacity(count as usize);
            for i in 0..count as usize {
                let oid = *types.add(i);
                if oid == pg_sys::InvalidOid || oid == pg_sys::UNKNOWNOID {
                    return Err(Error::server(
                        Sqlstate::ERRCODE_INDETERMINATE_DATATYPE,
                        format!("could not determine data type of parameter ${}", i + 1),
                    ));
                }
                parameters.push(oid);
            }
            let of_result = queries.iter_ptr().find(|query| (**query).canSetTag);
            Ok(Analyzed {
                parameters,
                columns: of_result.and_then(|query| columns_of(&*query)),
            })
        }
    })
}

/// The names of the columns of a query's result.
///
/// # Safety
/// The query has been analyzed.
unsafe fn columns_of(query: &pg_sys::Query) -> Option<Vec<String>> {
    use pg_sys::CmdType::{CMD_SELECT, CMD_UTILITY};
    let list = match query.commandType {
        CMD_UTILITY => return None,
        CMD_SELECT => query.targetList,
        _ => query.returningList,
    };
    // SAFETY: the caller's promise; names end in a zero byte, and columns of a result have one.
    unsafe {
        let entries = PgList::<pg_sys::TargetEntry>::from_pg(list);
        let shown = entries
            .iter_ptr()
            .filter(|entry| !(**entry).resjunk && !(**entry).resname.is_null());
        let name = |entry: *mut pg_sys::TargetEntry| CStr::from_ptr((*entry).resname);
        Some(
            shown
                .map(|entry| name(entry).to_string_lossy().into_owned())
                .collect(),
        )
    }
}

/// The names of the columns of a statement's result; `None` if they are not known, as its analysis
/// fails or it is a utility command. Must be called in a transaction, which keeps no lock of it.
///
/// # Errors
/// If the analysis is canceled.
pub fn columns(sql: &str) -> Result<Option<Vec<String>>> {
    let text = CString::new(sql).unwrap_or_default();
    match tried(InTransaction::current()?, || analyze(&text)) {
        Ok(analyzed) => Ok(analyzed.columns),
        Err(error) if error.is_cancel() => Err(error),
        Err(_) => Ok(None),
    }
}
