//! Statements through SPI: executed where they are submitted, in this very process.
//!
//! Each statement gets what a backend gives to one that a client sent: a start timestamp, an entry
//! in the activity view, `statement_timeout`, a transaction of its own unless a block is open, and
//! at the end of the transaction the statistics are reported. The protocols mirror the wire's:
//! *simple* parses and plans the substituted text each time, *extended* parses and plans with
//! parameters each time, *prepared* keeps a plan per statement.
//!
//! Transaction control goes to the server's own implementation as a utility command, so that
//! blocks, savepoints, isolation levels and chains mean here what they mean there.

use crate::compat;
use crate::error::{Error, Report, Result, catch};
use crate::worker::transaction;
use pgrx::{PgSqlErrorCode as Sqlstate, pg_sys};
use selfbench_client::{Block, Outcome, Session, SqlError};
use selfbench_script::{Protocol, SqlCommand, Variables};
use std::ffi::CString;

/// What is known about a statement after its first execution.
enum Known {
    /// BEGIN, COMMIT, SAVEPOINT and their like.
    TransactionControl {
        plan: *mut pg_sys::PlannedStmt,
        text: CString,
    },
    /// Anything else; in the prepared protocol with a plan that stays.
    Statement {
        types: Vec<Parameter>,
        plan: Option<pg_sys::SPIPlanPtr>,
        text: CString,
    },
}

/// How a parameter's text becomes a value.
struct Parameter {
    oid: pg_sys::Oid,
    input: pg_sys::FmgrInfo,
    io_param: pg_sys::Oid,
}

/// One client's way into the server.
pub struct SpiSession {
    protocol: Protocol,
    known: Vec<Option<Known>>,
    /// Reused for parameter values and substituted texts.
    text: String,
    values: Vec<pg_sys::Datum>,
    nulls: Vec<std::ffi::c_char>,
    outcome: Option<Outcome>,
}

impl SpiSession {
    /// A session for scripts with that many statements in all.
    pub fn new(protocol: Protocol, statements: usize) -> Self {
        SpiSession {
            protocol,
            known: (0..statements).map(|_| None).collect(),
            text: String::new(),
            values: Vec::new(),
            nulls: Vec::new(),
            outcome: None,
        }
    }

    fn execute(&mut self, command: &SqlCommand, variables: &Variables) -> Result<()> {
        if self.known[command.number].is_none() {
            let known = self.examine(command)?;
            self.known[command.number] = Some(known);
        }
        let Self {
            protocol,
            known,
            text,
            values,
            nulls,
            ..
        } = self;
        match &mut known[command.number] {
            None => Ok(()),
            Some(Known::TransactionControl { plan, text }) => in_statement(text, || {
                // SAFETY: the plan lives as long as the process and is not changed; transaction
                // control needs neither a snapshot nor a receiver of rows.
                unsafe {
                    pg_sys::ProcessUtility(
                        *plan,
                        text.as_ptr(),
                        true,
                        pg_sys::ProcessUtilityContext::PROCESS_UTILITY_TOPLEVEL,
                        std::ptr::null_mut(),
                        std::ptr::null_mut(),
                        pg_sys::None_Receiver,
                        std::ptr::null_mut(),
                    );
                }
                Ok(())
            }),
            Some(Known::Statement { .. }) if *protocol == Protocol::Simple => {
                text.clear();
                command.simple_text(variables, text);
                // One pass over the text; the buffer is given back afterwards.
                let sql = zero_terminated(std::mem::take(text))?;
                let done = in_statement(&sql, || {
                    refuse_in_failed_block()?;
                    in_spi(|| {
                        // SAFETY: connected to SPI; the text ends in a zero byte.
                        check_spi(unsafe { pg_sys::SPI_execute(sql.as_ptr(), false, 0) }, &sql)
                    })
                });
                *text = sql.into_string().unwrap_or_default();
                done
            }
            Some(Known::Statement {
                types,
                plan,
                text: sql,
            }) => in_statement(sql, || {
                refuse_in_failed_block()?;
                in_spi(|| {
                    values.clear();
                    nulls.clear();
                    for (parameter, slot) in types.iter_mut().zip(command.parameters()) {
                        text.clear();
                        let is_set = variables.write_text(*slot, text);
                        let datum = if is_set {
                            text.push('\0');
                            // SAFETY: the text ends in a zero byte; the function was looked up for
                            // the parameter's type.
                            unsafe {
                                pg_sys::InputFunctionCall(
                                    &mut parameter.input,
                                    text.as_mut_ptr().cast(),
                                    parameter.io_param,
                                    -1,
                                )
                            }
                        } else {
                            pg_sys::Datum::from(0)
                        };
                        values.push(datum);
                        nulls.push(if is_set { b' ' } else { b'n' } as _);
                    }
                    // SAFETY: connected to SPI; as many values and null flags as the plan has
                    // parameters.
                    unsafe {
                        let execute = match plan {
                            Some(plan) => *plan,
                            None => {
                                let fresh = prepare(sql, types)?;
                                if *protocol == Protocol::Prepared {
                                    pg_sys::SPI_keepplan(fresh);
                                    *plan = Some(fresh);
                                }
                                fresh
                            }
                        };
                        check_spi(
                            pg_sys::SPI_execute_plan(
                                execute,
                                values.as_mut_ptr(),
                                nulls.as_ptr(),
                                false,
                                0,
                            ),
                            sql,
                        )
                    }
                })
            }),
        }
    }

    /// Parses a statement for the first time: is it transaction control, and which types do its
    /// parameters have?
    fn examine(&self, command: &SqlCommand) -> Result<Known> {
        let sql = match self.protocol {
            // Parsed again at each execution, with its values; here only its kind matters.
            Protocol::Simple => command.text(),
            Protocol::Extended | Protocol::Prepared => command.parameterized(),
        };
        let text = zero_terminated(sql.to_owned())?;
        let mut known = None;
        in_statement(&text, || {
            // SAFETY: in a transaction. What must outlive it is copied to the top context, once
            // per statement of the script.
            unsafe {
                if let Some(plan) = transaction_control(&text, self.protocol)? {
                    known = Some(Known::TransactionControl {
                        plan,
                        text: text.clone(),
                    });
                    return Ok(());
                }
                let mut types = Vec::new();
                if self.protocol != Protocol::Simple {
                    refuse_in_failed_block()?;
                    for oid in parameter_types(&text)? {
                        types.push(Parameter::look_up(oid)?);
                    }
                }
                known = Some(Known::Statement {
                    types,
                    plan: None,
                    text: text.clone(),
                });
            }
            Ok(())
        })?;
        known.ok_or_else(|| Error::Limit("statement was not examined".into()))
    }
}

impl Session for SpiSession {
    #[inline]
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        let result = catch(|| self.execute(command, variables));
        self.outcome = Some(match result {
            Ok(()) => Outcome::Done,
            Err(error) => {
                // SAFETY: after an error; a block stays open as failed, until it is rolled back.
                unsafe { pg_sys::AbortCurrentTransaction() };
                end_statement();
                let report = error.report();
                Outcome::Failed(SqlError {
                    message: as_sent(&report),
                    sqlstate: report.sqlstate,
                    lost: false,
                })
            }
        });
    }

    fn submit_rollback(&mut self) {
        transaction::abort();
        end_statement();
        self.outcome = Some(Outcome::Done);
    }

    #[inline]
    fn poll(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }

    #[inline]
    fn block(&self) -> Block {
        // SAFETY: reads this process's transaction state.
        unsafe {
            if pg_sys::IsAbortedTransactionBlockState() {
                Block::Failed
            } else if pg_sys::IsTransactionBlock() {
                Block::Open
            } else {
                Block::None
            }
        }
    }
}

impl Parameter {
    /// # Safety
    /// In a transaction.
    unsafe fn look_up(oid: pg_sys::Oid) -> Result<Parameter> {
        let (mut function, mut io_param) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        // SAFETY: all-zero is how PostgreSQL itself starts an FmgrInfo; what the function caches
        // goes to the top context and stays with it.
        unsafe {
            pg_sys::getTypeInputInfo(oid, &mut function, &mut io_param);
            let mut input: pg_sys::FmgrInfo = std::mem::zeroed();
            pg_sys::fmgr_info_cxt(function, &mut input, pg_sys::TopMemoryContext);
            Ok(Parameter {
                oid,
                input,
                io_param,
            })
        }
    }
}

/// One statement as a backend runs it: start command, body, finish command.
#[inline]
fn in_statement(text: &CString, body: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the sequence of the server's own statement loop, in a process that runs no other
    // statement. An error leaves to `submit`, which aborts.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr());
        pg_sys::StartTransactionCommand();
        if pg_sys::StatementTimeout > 0 {
            compat::enable_timeout_after(compat::STATEMENT_TIMEOUT, pg_sys::StatementTimeout);
        }
        body()?;
        if pg_sys::StatementTimeout > 0 {
            compat::disable_timeout(compat::STATEMENT_TIMEOUT, false);
        }
        pg_sys::CommitTransactionCommand();
    }
    end_statement();
    Ok(())
}

/// What a backend reports when it waits for the next statement.
#[inline]
fn end_statement() {
    // SAFETY: between statements.
    unsafe {
        if pg_sys::StatementTimeout > 0 {
            compat::disable_timeout(compat::STATEMENT_TIMEOUT, false);
        }
        let state = if pg_sys::IsAbortedTransactionBlockState() {
            pg_sys::BackendState::STATE_IDLEINTRANSACTION_ABORTED
        } else if pg_sys::IsTransactionOrTransactionBlock() {
            pg_sys::BackendState::STATE_IDLEINTRANSACTION
        } else {
            pg_sys::pgstat_report_stat(false);
            pg_sys::BackendState::STATE_IDLE
        };
        pg_sys::pgstat_report_activity(state, std::ptr::null());
        // A request to cancel that came too late for the statement is void, as it is for an idle
        // backend; what has committed must not be reported as cancelled.
        pg_sys::QueryCancelPending = 0;
        pgrx::check_for_interrupts!();
    }
}

/// Runs `body` connected to SPI and with a snapshot.
#[inline]
fn in_spi(body: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: in a transaction; an error skips the end, and the abort of the transaction does the
    // cleaning up.
    unsafe {
        pg_sys::SPI_connect();
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        body()?;
        pg_sys::SPI_finish();
        pg_sys::PopActiveSnapshot();
    }
    Ok(())
}

/// # Safety
/// Connected to SPI.
unsafe fn prepare(sql: &CString, types: &[Parameter]) -> Result<pg_sys::SPIPlanPtr> {
    let mut oids: Vec<pg_sys::Oid> = types.iter().map(|parameter| parameter.oid).collect();
    // SAFETY: the caller's promise.
    let plan = unsafe { pg_sys::SPI_prepare(sql.as_ptr(), oids.len() as i32, oids.as_mut_ptr()) };
    if plan.is_null() {
        // SAFETY: set by the call that failed.
        check_spi(unsafe { pg_sys::SPI_result }, sql)?;
    }
    Ok(plan)
}

/// Turns an error code of SPI into an error; what SPI cannot run is named.
#[inline]
fn check_spi(code: i32, sql: &CString) -> Result<()> {
    if code >= 0 {
        return Ok(());
    }
    let (sqlstate, message) = match code {
        pg_sys::SPI_ERROR_COPY => (
            Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot COPY to or from the client in mode \"spi\"",
        ),
        pg_sys::SPI_ERROR_TRANSACTION => (
            Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
            "cannot combine transaction control with other statements in mode \"spi\"",
        ),
        _ => (
            Sqlstate::ERRCODE_INTERNAL_ERROR,
            "SPI cannot execute the statement",
        ),
    };
    let text = sql.to_string_lossy();
    Err(Error::Server(Box::new(crate::error::new_report(
        sqlstate,
        message,
        Some(format!(
            "The statement is: {}",
            text.lines().next().unwrap_or_default()
        )),
        Some("Use mode => 'libpq'.".into()),
    ))))
}

/// A failed block takes nothing but its end, as over the wire.
#[inline]
fn refuse_in_failed_block() -> Result<()> {
    // SAFETY: reads this process's transaction state.
    if unsafe { pg_sys::IsAbortedTransactionBlockState() } {
        return Err(Error::Server(Box::new(crate::error::new_report(
            Sqlstate::ERRCODE_IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
            None,
            None,
        ))));
    }
    Ok(())
}

/// The plan of a transaction control command, in the top context; `None` for other statements.
///
/// # Safety
/// In a transaction.
unsafe fn transaction_control(
    text: &CString,
    protocol: Protocol,
) -> Result<Option<*mut pg_sys::PlannedStmt>> {
    // In the simple protocol the text still has its variables; only a command that is transaction
    // control as it stands is looked at, and a text that does not parse is left to its execution.
    let sql = text.to_string_lossy();
    let word: String = sql
        .trim_start()
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .map(|c| c.to_ascii_lowercase())
        .collect();
    let control = [
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "prepare",
    ];
    let commented = sql.trim_start().starts_with("/*") || sql.trim_start().starts_with("--");
    if !(control.contains(&word.as_str()) || commented)
        || (protocol == Protocol::Simple && sql.contains(':'))
    {
        return Ok(None);
    }
    // SAFETY: the caller's promise; the parse tree is copied before the transaction ends.
    unsafe {
        let list = pgrx::PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(text.as_ptr()));
        let (Some(raw), 1) = (list.get_ptr(0), list.len()) else {
            return Ok(None);
        };
        if !pgrx::is_a((*raw).stmt, pg_sys::NodeTag::T_TransactionStmt) {
            return Ok(None);
        }
        let outer = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let plan = pg_sys::palloc0(size_of::<pg_sys::PlannedStmt>()).cast::<pg_sys::PlannedStmt>();
        (*plan).type_ = pg_sys::NodeTag::T_PlannedStmt;
        (*plan).commandType = pg_sys::CmdType::CMD_UTILITY;
        (*plan).canSetTag = true;
        (*plan).utilityStmt = pg_sys::copyObjectImpl((*raw).stmt.cast()).cast();
        (*plan).stmt_location = (*raw).stmt_location;
        (*plan).stmt_len = (*raw).stmt_len;
        pg_sys::MemoryContextSwitchTo(outer);
        Ok(Some(plan))
    }
}

/// The types that the server infers for the parameters of a statement, as it does for a client
/// that leaves them open.
///
/// # Safety
/// In a transaction.
unsafe fn parameter_types(text: &CString) -> Result<Vec<pg_sys::Oid>> {
    // SAFETY: the caller's promise. The statement's trees go with the transaction's memory.
    unsafe {
        pg_sys::PushActiveSnapshot(pg_sys::GetTransactionSnapshot());
        let list = pgrx::PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(text.as_ptr()));
        if list.len() > 1 {
            return Err(Error::Server(Box::new(crate::error::new_report(
                Sqlstate::ERRCODE_SYNTAX_ERROR,
                "cannot insert multiple commands into a prepared statement",
                None,
                None,
            ))));
        }
        let mut types: *mut pg_sys::Oid = std::ptr::null_mut();
        let mut count = 0;
        if let Some(raw) = list.get_ptr(0) {
            pg_sys::pg_analyze_and_rewrite_varparams(
                raw,
                text.as_ptr(),
                &mut types,
                &mut count,
                std::ptr::null_mut(),
            );
        }
        pg_sys::PopActiveSnapshot();
        let mut oids = Vec::with_capacity(count as usize);
        for i in 0..count as usize {
            let oid = *types.add(i);
            if oid == pg_sys::InvalidOid || oid == pg_sys::UNKNOWNOID {
                return Err(Error::Server(Box::new(crate::error::new_report(
                    Sqlstate::ERRCODE_INDETERMINATE_DATATYPE,
                    &format!("could not determine data type of parameter ${}", i + 1),
                    None,
                    None,
                ))));
            }
            oids.push(oid);
        }
        Ok(oids)
    }
}

/// A text with a zero byte at its end; one that has such a byte inside is refused.
fn zero_terminated(text: String) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Limit("a statement contains a zero byte".into()))
}

/// An error as libpq would show it.
fn as_sent(report: &Report) -> String {
    let mut text = format!("ERROR:  {}", report.message);
    if let Some(detail) = &report.detail {
        text.push_str("\nDETAIL:  ");
        text.push_str(detail);
    }
    if let Some(hint) = &report.hint {
        text.push_str("\nHINT:  ");
        text.push_str(hint);
    }
    text
}
