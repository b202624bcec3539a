//! The guard of a captured workload's run: in a process that executes its clients, hooks of the server refuse
//! all changes but those of tables and sequences in one schema, which has copies, and of temporary tables.
//!
//! They see what the server executes, whatever it comes from: functions, triggers, rules, views, DO.
//!
//! * The tables that a plan changes or whose rows it locks are checked when its execution starts.
//! * Of utility commands, which `command_hook` shows, those of transactions, cursors, settings, DO and CALL are executed: they change
//!   nothing by themselves. A `search_path` or a role set by them would find other tables.
//! * `nextval` and `setval` are looked for when a query is planned, which expressions of PL/pgSQL are,
//!   too. A sequence that is a constant is checked then, any other by a function around the argument. SQL
//!   functions that call them are not inlined, because inlined queries are not planned.
//!
//! Other effects of functions, such as on large objects, files and other servers, are not seen.

use crate::error::{Error, Result};
use crate::query;
use crate::text::c_text;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::{PgList, is_a, pg_guard, pg_sys};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

/// The guard of this process.
struct Guard {
    /// Schema with the copies.
    schema: pg_sys::Oid,
    /// The function around sequences that are not known before the execution.
    checking: pg_sys::Oid,
    start: pg_sys::ExecutorStart_hook_type,
    planner: pg_sys::planner_hook_type,
    needs_call: pg_sys::needs_fmgr_hook_type,
}

static GUARD: OnceLock<Guard> = OnceLock::new();

/// Functions that change a sequence, their first argument: `nextval`, and two of `setval`.
const CHANGING: [u32; 3] = [
    pg_sys::F_NEXTVAL,
    pg_sys::F_SETVAL_REGCLASS_INT8,
    pg_sys::F_SETVAL_REGCLASS_INT8_BOOL,
];

/// The language SQL, by the number that it has in each server.
const SQL_LANGUAGE: u32 = 14;

/// Settings that a session of the run keeps.
const KEPT: [&CStr; 3] = [c"search_path", c"role", c"session_authorization"];

/// Lets this process change nothing outside of a schema, from here on until it exits; utility commands from
/// [`watch_commands`](super::watch_commands) on. Must be called in a transaction.
///
/// # Errors
/// If there is no such schema.
pub fn install(schema: &str) -> Result<()> {
    let checking = query::first_value::<pg_sys::Oid>(
        "SELECT p.oid FROM pg_catalog.pg_proc p
           JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
          WHERE n.nspname OPERATOR(pg_catalog.=) 'bench_internal'
            AND p.proname OPERATOR(pg_catalog.=) 'require_copy'",
        &[],
    )?
    .ok_or(Error::ExtensionDropped)?;
    let schema = CString::new(schema).unwrap_or_default();
    // SAFETY: in a transaction; hooks that only the main thread uses.
    unsafe {
        let schema = pg_sys::get_namespace_oid(schema.as_ptr(), false);
        let guard = Guard {
            schema,
            checking,
            start: pg_sys::ExecutorStart_hook,
            planner: pg_sys::planner_hook,
            needs_call: pg_sys::needs_fmgr_hook,
        };
        if GUARD.set(guard).is_ok() {
            pg_sys::ExecutorStart_hook = Some(start);
            pg_sys::planner_hook = Some(plan);
            pg_sys::needs_fmgr_hook = Some(needs_call);
        }
    }
    Ok(())
}

/// Fails if there is a guard, and the sequence is not one that may be changed.
pub fn require_copy(sequence: pg_sys::Oid) -> Result<()> {
    match GUARD.get() {
        Some(guard) => guard.require(sequence, "change", "sequence"),
        None => Ok(()),
    }
}

impl Guard {
    /// Fails unless a relation may be changed.
    fn require(&self, relation: pg_sys::Oid, action: &str, kind: &str) -> Result<()> {
        // SAFETY: looks into the catalogs, in a transaction.
        let schema = unsafe { pg_sys::get_rel_namespace(relation) };
        // SAFETY: as above.
        if schema == self.schema || unsafe { pg_sys::isTempOrTempToastNamespace(schema) } {
            return Ok(());
        }
        // SAFETY: as above; of a relation that has been dropped, the names are null.
        let (schema, name) = unsafe {
            (
                c_text(pg_sys::get_namespace_name(schema)),
                c_text(pg_sys::get_rel_name(relation)),
            )
        };
        Err(self.refused(&format!("{action} {kind} \"{schema}.{name}\"")))
    }

    fn refused(&self, what: &str) -> Error {
        // SAFETY: looks into the catalogs, in a transaction.
        let schema = unsafe { c_text(pg_sys::get_namespace_name(self.schema)) };
        Error::ReadOnly {
            what: what.to_owned(),
            why: "in a run of a captured workload",
            hint: format!(
                "The run may change tables and sequences in schema \"{schema}\", which has copies. \
                 bench.clone_tables copies more tables. With allow_writes => true, the run changes the tables \
                 themselves."
            ),
        }
    }

    /// Fails if a plan changes a table that is not a copy, or locks its rows.
    ///
    /// # Safety
    /// In a transaction, a plan that is about to be executed.
    unsafe fn check(&self, plan: &pg_sys::PlannedStmt) -> Result<()> {
        // SAFETY: lists of the plan, with positions in its range table.
        unsafe {
            let tables = PgList::<pg_sys::RangeTblEntry>::from_pg(plan.rtable);
            let relation =
                |position: usize| tables.get_ptr(position - 1).map(|table| (*table).relid);
            let changed = PgList::<i32>::from_pg(plan.resultRelations);
            for position in (0..changed.len()).filter_map(|at| changed.get_int(at)) {
                if let Some(relation) = relation(position as usize) {
                    self.require(relation, "change", "table")?;
                }
            }
            for mark in PgList::<pg_sys::PlanRowMark>::from_pg(plan.rowMarks).iter_ptr() {
                if (*mark).markType < pg_sys::RowMarkType::ROW_MARK_REFERENCE
                    && let Some(relation) = relation((*mark).rti as usize)
                {
                    self.require(relation, "lock rows of", "table")?;
                }
            }
        }
        Ok(())
    }

    /// Fails if a utility command could change something, or find other tables from here on.
    ///
    /// # Safety
    /// In a transaction, a utility command that is about to be executed.
    unsafe fn check_utility(&self, command: *mut pg_sys::Node) -> Result<()> {
        use pg_sys::NodeTag::*;
        // SAFETY: the tag tells the type.
        let is_refused = unsafe {
            match (*command).type_ {
                T_TransactionStmt | T_DeclareCursorStmt | T_FetchStmt | T_ClosePortalStmt
                | T_DoStmt | T_ConstraintsSetStmt | T_VariableShowStmt => false,
                T_CallStmt => {
                    // The server evaluates the arguments without planning them.
                    let call = (*command.cast::<pg_sys::CallStmt>()).funcexpr.cast();
                    pg_guard_ffi_boundary(|| walk(call, std::ptr::null_mut()));
                    false
                }
                T_VariableSetStmt => {
                    let set = &*command.cast::<pg_sys::VariableSetStmt>();
                    let is = |name: &CStr| CStr::from_ptr(set.name).eq(name);
                    set.kind == pg_sys::VariableSetKind::VAR_RESET_ALL
                        || (!set.name.is_null() && KEPT.iter().any(|name| is(name)))
                }
                _ => true,
            }
        };
        match is_refused {
            // SAFETY: the server's constant texts.
            true => Err(self.refused(&format!("execute {}", unsafe {
                c_text(pg_sys::GetCommandTagName(pg_sys::CreateCommandTag(command)))
            }))),
            false => Ok(()),
        }
    }
}

fn checked(found: Result<()>) {
    if let Err(error) = found {
        error.raise();
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn start(execution: *mut pg_sys::QueryDesc, flags: c_int) {
    let guard = GUARD.get();
    // SAFETY: called by the server with an execution that is about to start.
    unsafe {
        if let Some(guard) = guard
            && flags & pg_sys::EXEC_FLAG_EXPLAIN_ONLY as c_int == 0
        {
            checked(guard.check(&*(*execution).plannedstmt));
        }
        match guard.and_then(|guard| guard.start) {
            Some(hook) => hook(execution, flags),
            None => pg_sys::standard_ExecutorStart(execution, flags),
        }
    }
}

/// The plan of a utility command, which there is no guard against, or which it permits: a copy if the guard
/// changes it. Raises an error otherwise.
///
/// # Safety
/// In a transaction, a utility command that is about to be executed.
pub(super) unsafe fn checked_command(plan: *mut pg_sys::PlannedStmt) -> *mut pg_sys::PlannedStmt {
    let Some(guard) = GUARD.get() else {
        return plan;
    };
    // SAFETY: the caller's promise.
    unsafe {
        // A plan that is kept must not be changed.
        let plan: *mut pg_sys::PlannedStmt =
            match is_a((*plan).utilityStmt, pg_sys::NodeTag::T_CallStmt) {
                true => pg_sys::copyObjectImpl(plan.cast()).cast(),
                false => plan,
            };
        checked(guard.check_utility((*plan).utilityStmt));
        plan
    }
}

#[pg_guard]
unsafe extern "C-unwind" fn plan(
    query: *mut pg_sys::Query,
    text: *const c_char,
    options: c_int,
    parameters: pg_sys::ParamListInfo,
) -> *mut pg_sys::PlannedStmt {
    // SAFETY: called by the server with a query that is the planner's to change.
    unsafe {
        pg_guard_ffi_boundary(|| walk(query.cast(), std::ptr::null_mut()));
        match GUARD.get().and_then(|guard| guard.planner) {
            Some(hook) => hook(query, text, options, parameters),
            None => pg_sys::standard_planner(query, text, options, parameters),
        }
    }
}

/// Looks for changes of sequences in a part of a query.
#[pg_guard]
unsafe extern "C-unwind" fn walk(node: *mut pg_sys::Node, context: *mut c_void) -> bool {
    // SAFETY: the tag tells the type.
    unsafe {
        if node.is_null() {
            return false;
        }
        if is_a(node, pg_sys::NodeTag::T_Query) {
            return pg_sys::query_tree_walker(node.cast(), Some(walk), context, 0);
        }
        if is_a(node, pg_sys::NodeTag::T_FuncExpr)
            && CHANGING.contains(&(*node.cast::<pg_sys::FuncExpr>()).funcid.to_u32())
            && let Some(guard) = GUARD.get()
        {
            checked(guard.check_sequence(node.cast()));
        }
        pg_sys::expression_tree_walker(node, Some(walk), context)
    }
}

impl Guard {
    /// Checks the sequence that a call changes or, if it is not a constant, puts a function around it that
    /// does so.
    ///
    /// # Safety
    /// A call of one of [`CHANGING`], in a tree that may be changed.
    unsafe fn check_sequence(&self, call: *mut pg_sys::FuncExpr) -> Result<()> {
        // SAFETY: the caller's promise; the tags tell types, and these functions have an argument.
        unsafe {
            let mut arguments = PgList::<pg_sys::Node>::from_pg((*call).args);
            let Some(sequence) = arguments.get_ptr(0) else {
                return Ok(());
            };
            if is_a(sequence, pg_sys::NodeTag::T_Const) {
                let sequence = &*sequence.cast::<pg_sys::Const>();
                return match sequence.constisnull {
                    true => Ok(()),
                    false => self.require(
                        pg_sys::Oid::from_u32(sequence.constvalue.value() as u32),
                        "change",
                        "sequence",
                    ),
                };
            }
            let is_checked = is_a(sequence, pg_sys::NodeTag::T_FuncExpr)
                && (*sequence.cast::<pg_sys::FuncExpr>()).funcid == self.checking;
            if !is_checked {
                let mut inner = PgList::<pg_sys::Node>::new();
                inner.push(sequence);
                let checked = pg_sys::makeFuncExpr(
                    self.checking,
                    pg_sys::REGCLASSOID,
                    inner.into_pg(),
                    pg_sys::InvalidOid,
                    pg_sys::InvalidOid,
                    pg_sys::CoercionForm::COERCE_EXPLICIT_CALL,
                );
                arguments.replace_ptr(0, checked.cast());
            }
            Ok(())
        }
    }
}

/// Whether a function is not to be inlined: one in SQL that may change a sequence.
#[pg_guard]
unsafe extern "C-unwind" fn needs_call(function: pg_sys::Oid) -> bool {
    // SAFETY: called by the server in a transaction; attributes of a function's row are texts.
    unsafe {
        if GUARD
            .get()
            .and_then(|guard| guard.needs_call)
            .is_some_and(|hook| hook(function))
        {
            return true;
        }
        let cache = pg_sys::SysCacheIdentifier::PROCOID as c_int;
        let row = pg_sys::SearchSysCache1(cache, function.into());
        if row.is_null() {
            return false;
        }
        let attribute = |number: u32| {
            let mut is_null = false;
            let value = pg_sys::SysCacheGetAttr(cache, row, number as _, &mut is_null);
            (!is_null).then_some(value)
        };
        let in_sql = attribute(pg_sys::Anum_pg_proc_prolang)
            .is_some_and(|language| language.value() as u32 == SQL_LANGUAGE);
        let text = |number| {
            let text = in_sql.then(|| attribute(number)).flatten();
            text.map_or(String::new(), |text| {
                c_text(pg_sys::text_to_cstring(text.cast_mut_ptr()))
            })
        };
        let source = text(pg_sys::Anum_pg_proc_prosrc).to_ascii_lowercase();
        let body = text(pg_sys::Anum_pg_proc_prosqlbody);
        pg_sys::ReleaseSysCache(row);
        let called = |function: &u32| body.contains(&format!(":funcid {function} "));
        source.contains("nextval") || source.contains("setval") || CHANGING.iter().any(called)
    }
}
