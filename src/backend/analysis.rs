//! Statements as the server understands them, without planning or executing anything.

use super::statement::{self, parse};
use crate::compat;
use crate::error::{Error, Report, Result, with_callback};
use crate::state::transaction::{InTransaction, tried, with_snapshot};
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
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
    /// Its identifier in pg_stat_statements; `None` if the server computes none.
    pub query_id: Option<i64>,
}

/// Analyzes the statement of a text. Raises the server's errors; locks and memory go with the
/// transaction.
pub fn analyze(text: &CStr) -> Result<Analyzed> {
    match parsed(text, true)?.get_ptr(0) {
        // SAFETY: parsed from this text.
        Some(raw) => unsafe { analyze_parsed(raw, text) },
        None => Ok(Analyzed {
            parameters: Vec::new(),
            columns: None,
            query_id: None,
        }),
    }
}

/// The statements of a text, which must be at most one if it is `single`.
fn parsed(text: &CStr, single: bool) -> Result<PgList<pg_sys::RawStmt>> {
    let list = parse(text);
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
                // Rewriting leaves the identifier of the statement in all queries.
                query_id: queries
                    .get_ptr(0)
                    .map(|query| compat::query_id(&*query))
                    .filter(|id| *id != 0),
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
/// fails or it is a utility command. The transaction keeps no lock of it.
///
/// # Errors
/// Outside of a transaction, and if the analysis is canceled or lacks resources.
pub fn columns(sql: &str) -> Result<Option<Vec<String>>> {
    let text = zero_terminated(sql)?;
    match in_memory_of_its_own(|| analyze(&text)) {
        Ok(analyzed) => Ok(analyzed.columns),
        Err(error) if says_nothing(&error) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The identifier of a statement in pg_stat_statements; `None` if the server computes none. The transaction
/// keeps no lock of the analysis.
pub fn query_id(sql: &str) -> Result<Option<i64>> {
    let text = zero_terminated(sql)?;
    Ok(in_memory_of_its_own(|| analyze(&text))?.query_id)
}

/// Result of analyzing a text without executing it.
#[derive(Default)]
pub struct Checked {
    /// Whether its statements change which names there are, as far as they were parsed.
    pub changes_names: bool,
    /// Its first error, with its place in characters from 1 if it has one.
    pub error: Option<(Report, Option<usize>)>,
}

/// Parses the statements of a text with that many parameters, of which there must be at most one if it is
/// `single`, and analyzes them if names are to be resolved, too. The transaction keeps no lock of it.
///
/// # Errors
/// Outside of a transaction, and if that is canceled or lacks resources.
pub fn check(sql: &str, parameters: usize, single: bool, resolve: bool) -> Result<Checked> {
    let text = zero_terminated(sql)?;
    let mut checked = Checked::default();
    let changes_names = &mut checked.changes_names;
    PLACE.store(0, Relaxed);
    let body = || {
        let list = parsed(&text, single)?;
        // SAFETY: these statements were parsed from the text.
        unsafe {
            let mut parts = Parts::default();
            for raw in list.iter_ptr() {
                parts.add(query_of((*raw).stmt));
                *changes_names |= parts.sets_names || is_change_of_names((*raw).stmt);
                if statement::copies_client_data((*raw).stmt) {
                    return Err(Error::server(
                        Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
                        statement::COPY_IN_SCRIPT,
                    ));
                }
            }
            if let Some((number, at)) = parts.parameters.iter().find(|p| p.0 > parameters) {
                let text = sql.get(..*at).unwrap_or(sql);
                let place = text.chars().count() + 1;
                PLACE.store(i32::try_from(place).unwrap_or(0), Relaxed);
                return Err(no_parameter(*number));
            }
            if resolve {
                for raw in list.iter_ptr() {
                    analyze_parsed(raw, &text)?;
                }
            }
        }
        Ok(())
    };
    match with_callback(note_place, || in_memory_of_its_own(body)) {
        Err(error) if says_nothing(&error) => return Err(error),
        Err(error) => {
            checked.error = Some((error.report(), error_place()));
        }
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
            return name.is_null() || is_about_names(CStr::from_ptr(name));
        }
        if pgrx::is_a(statement, pg_sys::NodeTag::T_DoStmt)
            || pgrx::is_a(statement, pg_sys::NodeTag::T_CallStmt)
        {
            return true;
        }
        pg_sys::GetCommandLogLevel(statement) == pg_sys::LogStmtLevel::LOGSTMT_DDL
    }
}

/// Whether a setting determines which names are found.
fn is_about_names(setting: &CStr) -> bool {
    let settings = ["search_path", "role", "session_authorization"];
    let is = |name: &&str| setting.to_bytes().eq_ignore_ascii_case(name.as_bytes());
    settings.iter().any(is)
}

/// Parts of queries that have not been analyzed.
#[derive(Default)]
struct Parts {
    /// The numbers of parameters, with their offsets in the text.
    parameters: Vec<(usize, usize)>,
    /// Whether a call of `set_config` may change which names are found.
    sets_names: bool,
}

impl Parts {
    /// # Safety
    /// The node is a query that has been parsed, or null.
    unsafe fn add(&mut self, query: *mut pg_sys::Node) {
        #[pgrx::pg_guard]
        unsafe extern "C-unwind" fn add(node: *mut pg_sys::Node, parts: *mut c_void) -> bool {
            // SAFETY: a node of the query, of the type that its tag tells, and the parts.
            unsafe {
                if node.is_null() {
                    return false;
                }
                let all = &mut *parts.cast::<Parts>();
                if pgrx::is_a(node, pg_sys::NodeTag::T_ParamRef) {
                    let parameter = &*node.cast::<pg_sys::ParamRef>();
                    let number = |n| usize::try_from(n).unwrap_or(0);
                    let place = (number(parameter.number), number(parameter.location));
                    all.parameters.push(place);
                } else if pgrx::is_a(node, pg_sys::NodeTag::T_FuncCall) {
                    all.sets_names |= sets_names(&*node.cast::<pg_sys::FuncCall>());
                }
                pg_sys::raw_expression_tree_walker(node, Some(add), parts)
            }
        }
        let parts = std::ptr::from_mut(self).cast();
        // SAFETY: the caller's promise.
        unsafe { pg_guard_ffi_boundary(|| add(query, parts)) };
    }
}

/// Whether a call is one of `set_config` that may change which names are found.
///
/// # Safety
/// It is part of a parsed query.
unsafe fn sets_names(call: &pg_sys::FuncCall) -> bool {
    // SAFETY: the caller's promise; names end in a zero byte, and tags tell types.
    unsafe {
        let name = PgList::<pg_sys::String>::from_pg(call.funcname);
        let name = name
            .iter_ptr()
            .last()
            .map(|name| CStr::from_ptr((*name).sval));
        if name != Some(c"set_config") {
            return false;
        }
        let first = PgList::<pg_sys::Node>::from_pg(call.args).get_ptr(0);
        match first.filter(|first| pgrx::is_a(*first, pg_sys::NodeTag::T_A_Const)) {
            Some(setting) => {
                let value = &mut (*setting.cast::<pg_sys::A_Const>()).val;
                !pgrx::is_a(&raw mut value.node, pg_sys::NodeTag::T_String)
                    || is_about_names(CStr::from_ptr(value.sval.sval))
            }
            None => true,
        }
    }
}

/// The query of a statement, whose parameters are those of the statement; null if it has none.
///
/// # Safety
/// The node is a parsed statement.
unsafe fn query_of(statement: *mut pg_sys::Node) -> *mut pg_sys::Node {
    use pg_sys::NodeTag::*;
    // SAFETY: the caller's promise; the tag tells the type.
    unsafe {
        match (*statement).type_ {
            T_SelectStmt | T_InsertStmt | T_UpdateStmt | T_DeleteStmt | T_MergeStmt => statement,
            T_ExplainStmt => query_of((*statement.cast::<pg_sys::ExplainStmt>()).query),
            T_CreateTableAsStmt => query_of((*statement.cast::<pg_sys::CreateTableAsStmt>()).query),
            T_DeclareCursorStmt => query_of((*statement.cast::<pg_sys::DeclareCursorStmt>()).query),
            T_CallStmt => (*statement.cast::<pg_sys::CallStmt>()).funccall.cast(),
            _ => std::ptr::null_mut(),
        }
    }
}

/// The server's error about a parameter that a statement mentions and nothing gives a value.
fn no_parameter(number: usize) -> Error {
    let message = format!("there is no parameter ${number}");
    let mut report = Report::new(Sqlstate::ERRCODE_UNDEFINED_PARAMETER, message);
    report.hint = Some("Write a value as a variable, such as :n after \\set n 1.".into());
    report.into()
}

/// Whether an error says nothing about the statement: SQLSTATEs of resources, of interventions and of
/// locks.
pub(super) fn says_nothing(error: &Error) -> bool {
    let sqlstate = error.report().sqlstate;
    sqlstate.starts_with("53")
        || sqlstate.starts_with("57")
        || ["55P03", "40P01"].contains(&sqlstate.as_str())
}

/// The text with a zero byte at its end. Fails if there is not enough memory for what the server and
/// this crate may make of it, such as a message with all of the text.
pub(super) fn zero_terminated(text: &str) -> Result<CString> {
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
pub(super) fn in_memory_of_its_own<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    tried(InTransaction::current()?, || {
        // SAFETY: in a subtransaction, after which the previous context is current again.
        unsafe { pg_sys::MemoryContextSwitchTo(pg_sys::CurTransactionContext) };
        body()
    })
}

/// The place in a statement of the last error, in characters from 1, which the server's report has and
/// errors of this crate have not; 0 if it is not known.
static PLACE: AtomicI32 = AtomicI32::new(0);

/// Place in the text; `None` if it is not known.
pub(super) fn error_place() -> Option<usize> {
    let place = usize::try_from(PLACE.swap(0, Relaxed)).ok();
    place.filter(|place| *place > 0)
}

/// Notes the place of the error that the server reports.
pub(super) extern "C-unwind" fn note_place(_: *mut c_void) {
    // SAFETY: the server calls this for the report in progress.
    PLACE.store(unsafe { pg_sys::geterrposition() }, Relaxed);
}
