//! Statements as the server understands them, without planning or executing anything.

use crate::error::{Error, Report, Result};
use crate::state::transaction::{InTransaction, tried, with_snapshot};
use pgrx::{PgList, PgSqlErrorCode as Sqlstate, pg_sys};
use std::ffi::{CStr, CString, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

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
    match parse(text, true)?.get_ptr(0) {
        // SAFETY: parsed from this text.
        Some(raw) => unsafe { analyze_parsed(raw, text) },
        None => Ok(Analyzed {
            parameters: Vec::new(),
            columns: None,
        }),
    }
}

/// The statements of a text, which must be at most one if it is `single`.
fn parse(text: &CStr, single: bool) -> Result<PgList<pg_sys::RawStmt>> {
    // SAFETY: the text ends in a zero byte; the parser returns a list of statements.
    let list = unsafe { PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(text.as_ptr())) };
    match single && list.len() > 1 {
        true => Err(Error::server(
            Sqlstate::ERRCODE_SYNTAX_ERROR,
            "cannot insert multiple commands into a prepared statement",
        )),
        false => Ok(list),
    }
}

/// # Safety
/// The statement was parsed from the text.
unsafe fn analyze_parsed(raw: *mut pg_sys::RawStmt, text: &CStr) -> Result<Analyzed> {
    with_snapshot(InTransaction::current()?, || {
        let mut types: *mut pg_sys::Oid = std::ptr::null_mut();
        let mut count = 0;
        // SAFETY: the caller's promise, and in a transaction with a snapshot. The list has what the
        // server's function promises; there are as many types as it counts.
        unsafe {
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
/// If the analysis is canceled, or lacks resources.
pub fn columns(sql: &str) -> Result<Option<Vec<String>>> {
    let text = zero_terminated(sql)?;
    match in_memory_of_its_own(|| analyze(&text)) {
        Ok(analyzed) => Ok(analyzed.columns),
        Err(error) if says_nothing(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// What the server says about a text without executing it.
#[derive(Default)]
pub struct Checked {
    /// Whether its statements change which names there are, as far as they were parsed.
    pub changes_names: bool,
    /// Its first error, with its place in characters from 1 if it has one.
    pub error: Option<(Report, Option<usize>)>,
}

/// Parses the statements of a text, of which there must be at most one if it is `single`, and
/// analyzes them if names are to be resolved, too. Must be called in a transaction, which keeps no
/// lock of it.
///
/// # Errors
/// If that is canceled, or lacks resources.
pub fn check(sql: &str, single: bool, resolve: bool) -> Result<Checked> {
    let text = zero_terminated(sql)?;
    let mut checked = Checked::default();
    let changes_names = &mut checked.changes_names;
    let place = NotedPlace::new();
    let result = in_memory_of_its_own(|| {
        let list = parse(&text, single)?;
        // SAFETY: these statements were parsed from the text.
        unsafe {
            *changes_names = list.iter_ptr().any(|raw| is_change_of_names((*raw).stmt));
            if resolve {
                for raw in list.iter_ptr() {
                    analyze_parsed(raw, &text)?;
                }
            }
        }
        Ok(())
    });
    match result {
        Err(error) if says_nothing(&error) => return Err(error),
        Err(error) => checked.error = Some((error.report(), place.get())),
        Ok(()) => {}
    }
    Ok(checked)
}

/// Whether a statement creates, changes or drops something, may do so, or sets where names are looked up.
///
/// # Safety
/// The node is a parsed statement.
unsafe fn is_change_of_names(statement: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller's promise; the tag tells the type, and names end in a zero byte.
    unsafe {
        if pgrx::is_a(statement, pg_sys::NodeTag::T_VariableSetStmt) {
            let name = (*statement.cast::<pg_sys::VariableSetStmt>()).name;
            let names = [c"search_path", c"role", c"session_authorization"];
            return name.is_null() || names.contains(&CStr::from_ptr(name));
        }
        if pgrx::is_a(statement, pg_sys::NodeTag::T_DoStmt)
            || pgrx::is_a(statement, pg_sys::NodeTag::T_CallStmt)
        {
            return true;
        }
        pg_sys::GetCommandLogLevel(statement) == pg_sys::LogStmtLevel::LOGSTMT_DDL
    }
}

/// Whether an error says nothing about the statement: SQLSTATEs of resources, of interventions and of
/// locks.
fn says_nothing(error: &Error) -> bool {
    let sqlstate = error.report().sqlstate;
    sqlstate.starts_with("53")
        || sqlstate.starts_with("57")
        || ["55P03", "40P01"].contains(&sqlstate.as_str())
}

/// The text with a zero byte at its end. Fails if there is not enough memory for what the server and
/// this crate may make of it, such as a message with all of the text.
fn zero_terminated(text: &str) -> Result<CString> {
    const COPIES: usize = 8;
    let mut memory: Vec<u8> = Vec::new();
    let wanted = (text.len() + 1).saturating_mul(COPIES);
    if memory.try_reserve_exact(wanted).is_err() {
        let message = "out of memory while parsing the script";
        return Err(Error::server(Sqlstate::ERRCODE_OUT_OF_MEMORY, message));
    }
    // Without this, the compiler may remove the allocation.
    std::hint::black_box(&memory);
    drop(memory);
    Ok(CString::new(text).unwrap_or_default())
}

/// Runs `body` in a subtransaction that is rolled back, whose memory is the current one meanwhile.
fn in_memory_of_its_own<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    tried(InTransaction::current()?, || {
        // SAFETY: in a subtransaction, after which the previous context is current again.
        unsafe { pg_sys::MemoryContextSwitchTo(pg_sys::CurTransactionContext) };
        body()
    })
}

/// The place in a statement of the last error, which the server's report has and errors of this
/// crate have not.
static PLACE: AtomicI32 = AtomicI32::new(0);

/// Notes the places of errors until it is dropped.
struct NotedPlace(Box<pg_sys::ErrorContextCallback>);

impl NotedPlace {
    fn new() -> NotedPlace {
        unsafe extern "C-unwind" fn note(_: *mut c_void) {
            // SAFETY: the server calls this for the report in progress.
            PLACE.store(unsafe { pg_sys::geterrposition() }, Relaxed);
        }
        PLACE.store(0, Relaxed);
        // SAFETY: variables of this process; the callback stays where it is until it is taken out.
        unsafe {
            let mut callback = Box::new(pg_sys::ErrorContextCallback {
                previous: pg_sys::error_context_stack,
                callback: Some(note),
                arg: std::ptr::null_mut(),
            });
            pg_sys::error_context_stack = &raw mut *callback;
            NotedPlace(callback)
        }
    }

    /// In characters from 1.
    fn get(&self) -> Option<usize> {
        usize::try_from(PLACE.load(Relaxed))
            .ok()
            .filter(|place| *place > 0)
    }
}

impl Drop for NotedPlace {
    fn drop(&mut self) {
        // SAFETY: what has been put on top of it is gone.
        unsafe { pg_sys::error_context_stack = self.0.previous };
    }
}
