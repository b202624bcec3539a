//! Statements through SPI: executed where they are submitted, in this very process.
//!
//! Each statement gets what a backend gives to one that a client sent: a start timestamp, an entry
//! in the activity view, `statement_timeout`, a transaction of its own unless a block is open, and
//! at the end of the transaction the statistics are reported. The protocols mirror the wire's:
//! *simple* parses and plans the substituted text each time, *extended* parses and plans with
//! parameters each time, *prepared* keeps a plan per statement, which the executor executes without
//! SPI where it can. Rows that no command stores are thrown away as they come.
//!
//! Transaction control goes to the server's own implementation as a utility command, so that
//! blocks, savepoints, isolation levels and chains mean here what they mean there. CALL, DO and DECLARE
//! CURSOR go through a portal of their own instead of SPI: a procedure can commit as it can where a
//! client calls it, and a cursor must be in a block.
//!
//! Statements of a pipeline share a transaction up to the next sync, and once one has failed the
//! others up to there are skipped. Statements that are sent together (`\;`) are executed one by one
//! in an implicit transaction block, as the server's simple query protocol does.

use super::plan::{Parameters, SavedPlan};
use super::{column_value, usage};
use crate::compat::{self, unguarded};
use crate::error::{Error, Report, Result, catch};
use crate::worker::{self, statement, transaction};
use pgrx::{PgSqlErrorCode as Sqlstate, pg_sys};
use selfbench_client::{
    Block, Column, ColumnValue, Outcome, QueryResult, Session, SqlError, Usage,
};
use selfbench_script::{Command, Protocol, SqlCommand, Variables};
use std::ffi::{CStr, CString};

/// What is known about a statement after its first execution.
enum Known {
    /// BEGIN, COMMIT, SAVEPOINT and their like, and what else must run without a snapshot.
    Utility {
        plan: *mut pg_sys::PlannedStmt,
        kind: Kind,
        text: CString,
    },
    /// Several statements that are sent together, or one of which the kind depends on variables.
    Several,
    /// CALL, DO or DECLARE CURSOR; in the prepared protocol with a plan that stays.
    Call {
        parameters: Parameters,
        plan: Option<SavedPlan>,
        text: CString,
    },
    /// Anything else; in the prepared protocol with a plan that stays.
    Statement {
        parameters: Parameters,
        plan: Option<SavedPlan>,
        text: CString,
    },
}

/// How a statement gets executed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As transaction control; `exits` tells whether a failed block takes it.
    Control { exits: bool },
    /// As a utility command that must not have a snapshot: a snapshot fixes what SET TRANSACTION
    /// sets, and LOCK is there to come before it.
    Bare,
    /// Through a portal at top level: it can commit, or has to be in a block.
    Portal,
    /// Through SPI.
    Other,
}

/// How far the transaction command of this process has come.
#[derive(Clone, Copy, Default)]
struct Frame {
    /// Whether it has been started and not been finished.
    started: bool,
    /// Whether it is to stay so after a statement, since a pipeline is open.
    stays: bool,
    /// When statistics were last reported.
    reported: pg_sys::TimestampTz,
    /// The statement that the activity view shows, by its place, and since when.
    shown: Option<(usize, pg_sys::TimestampTz)>,
}

impl Frame {
    /// Shows a statement that has just begun in the activity view, unless it shows that one since
    /// less than a millisecond: short statements come by hundreds in that time, and each report
    /// takes as long as several of their parts.
    ///
    /// # Safety
    /// Within a guard; see [`unguarded`].
    #[inline]
    unsafe fn show(&mut self, text: &CString) {
        const STALE_US: pg_sys::TimestampTz = 1000;
        // SAFETY: reads a variable.
        let now = unsafe { unguarded::GetCurrentStatementStartTimestamp() };
        let place = text.as_ptr() as usize;
        match self.shown {
            Some((shown, since)) if shown == place && now - since < STALE_US => {}
            _ => {
                // SAFETY: the text ends in a zero byte, and is copied.
                unsafe {
                    unguarded::pgstat_report_activity(
                        pg_sys::BackendState::STATE_RUNNING,
                        text.as_ptr(),
                    );
                }
                self.shown = Some((place, now));
            }
        }
    }
}

/// A pipeline that is open.
#[derive(Default)]
struct Pipeline {
    /// Whether statements are skipped up to the next sync.
    skips: bool,
    /// The first error.
    failure: Option<SqlError>,
}

/// One client's way into the server.
pub struct SpiSession {
    protocol: Protocol,
    known: Vec<Option<Known>>,
    frame: Frame,
    pipeline: Option<Pipeline>,
    /// Position of the current statement among those sent together.
    query: usize,
    results: Vec<QueryResult>,
    /// Reused for parameter values and substituted texts.
    text: String,
    /// For the execution of one statement; see [`plan`](super::plan).
    memory: pg_sys::MemoryContext,
    outcome: Option<Outcome>,
    /// As it was read last.
    usage: Usage,
}

impl SpiSession {
    /// A session for scripts with that many statements in all.
    pub fn new(protocol: Protocol, statements: usize) -> Self {
        SpiSession {
            protocol,
            known: (0..statements).map(|_| None).collect(),
            frame: Frame::default(),
            pipeline: None,
            query: 0,
            results: Vec::new(),
            text: String::new(),
            memory: compat::new_memory_context(c"pg_selfbench statement"),
            outcome: None,
            usage: Usage::default(),
        }
    }

    /// Reports what a backend does that waits for its next statement; for a client that has to
    /// wait.
    pub fn rest(&mut self) {
        // SAFETY: between statements. A snapshot for catalogs would hold back the removal of dead
        // rows during the wait.
        unsafe {
            pg_sys::InvalidateCatalogSnapshotConditionally();
            let state = if pg_sys::IsAbortedTransactionBlockState() {
                pg_sys::BackendState::STATE_IDLEINTRANSACTION_ABORTED
            } else if pg_sys::IsTransactionOrTransactionBlock() {
                pg_sys::BackendState::STATE_IDLEINTRANSACTION
            } else {
                pg_sys::pgstat_report_stat(false);
                pg_sys::BackendState::STATE_IDLE
            };
            pg_sys::pgstat_report_activity(state, std::ptr::null());
        }
        self.frame.shown = None;
    }

    fn execute(&mut self, command: &SqlCommand, variables: &Variables) -> Result<()> {
        if self.known[command.number].is_none() {
            let known = self.examine(command)?;
            self.known[command.number] = Some(known);
        }
        let Self {
            protocol,
            known,
            frame,
            query,
            results,
            text,
            memory,
            ..
        } = self;
        let mut results = command.store.is_some().then_some(results);
        match &mut known[command.number] {
            None => Ok(()),
            Some(Known::Utility { plan, kind, text }) => {
                // Transaction control takes effect at once, also within a pipeline.
                frame.stays &= *kind == Kind::Bare;
                in_statement(text, frame, || {
                    refuse_in_failed_block(*kind)?;
                    // SAFETY: the plan lives as long as the process and is not changed.
                    unsafe { run_utility(*plan, text) };
                    if let Some(results) = results {
                        results.push(QueryResult::default());
                    }
                    Ok(())
                })
            }
            Some(Known::Several) => {
                text.clear();
                fill_in(command, variables, text)?;
                let sql = zero_terminated(std::mem::take(text))?;
                let done = execute_several(&sql, frame, *memory, query, results);
                *text = sql.into_string().unwrap_or_default();
                done
            }
            Some(Known::Call {
                parameters,
                plan,
                text: sql,
            }) => {
                in_statement(sql, frame, || {
                    refuse_in_failed_block(Kind::Portal)?;
                    if *protocol == Protocol::Prepared && plan.is_none() {
                        in_spi(|| {
                            // SAFETY: connected to SPI; the plan has just been prepared.
                            *plan = Some(unsafe { SavedPlan::save(prepare(sql, parameters)?) });
                            Ok(())
                        })?;
                    }
                    // SAFETY: in a transaction; the guard is around nothing that has to be dropped;
                    // the values are those of the portal's parameters.
                    unsafe {
                        call(*memory, parameters.values(), results, || {
                            pg_sys::ffi::pg_guard_ffi_boundary(|| {
                                parameters.fill(command.parameters(), variables, text);
                            });
                            match plan {
                                Some(saved) => Some(saved.define_portal(parameters.values())),
                                None => define_portal(sql, &parameters.types()),
                            }
                        });
                    }
                    Ok(())
                })
            }
            Some(Known::Statement { .. }) if *protocol == Protocol::Simple => {
                text.clear();
                fill_in(command, variables, text)?;
                // One pass over the text; the buffer is given back afterwards.
                let sql = zero_terminated(std::mem::take(text))?;
                let done = in_statement(&sql, frame, || {
                    refuse_in_failed_block(Kind::Other)?;
                    execute_text(&sql, results.as_deref_mut())
                });
                *text = sql.into_string().unwrap_or_default();
                done
            }
            Some(Known::Statement {
                parameters,
                plan,
                text: sql,
            }) => {
                // SAFETY: in a transaction, within a guard.
                let mut fill = |parameters: &mut Parameters| unsafe {
                    parameters.fill(command.parameters(), variables, text);
                };
                if let (Some(saved), None) = (*plan, &results) {
                    return execute_saved(saved, sql, frame, *memory, parameters, fill);
                }
                in_statement(sql, frame, || {
                    refuse_in_failed_block(Kind::Other)?;
                    in_spi(|| {
                        // SAFETY: the guard is around nothing that has to be dropped.
                        unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| fill(parameters)) };
                        // SAFETY: connected to SPI; the values are those of the plan's parameters.
                        unsafe {
                            let execute = match plan {
                                Some(saved) => saved.for_spi(),
                                None => {
                                    let fresh = prepare(sql, parameters)?;
                                    if *protocol == Protocol::Prepared {
                                        *plan = Some(SavedPlan::save(fresh));
                                    }
                                    fresh
                                }
                            };
                            let options = options(parameters.values(), results.is_some());
                            check_spi(pg_sys::SPI_execute_plan_extended(execute, &options), sql)?;
                            if let Some(results) = results {
                                results.push(result_of_spi());
                            }
                            Ok(())
                        }
                    })
                })
            }
        }
    }

    /// Parses a statement for the first time: how is it executed, and which types do its
    /// parameters have?
    fn examine(&mut self, command: &SqlCommand) -> Result<Known> {
        if self.protocol == Protocol::Simple {
            let text = command.text();
            // With variables in it, it is not known before they are filled in.
            if holds_several(text) || (text.contains(':') && may_be_utility(text)) {
                return Ok(Known::Several);
            }
        }
        let sql = match self.protocol {
            // Parsed again at each execution, with its values; here only its kind matters.
            Protocol::Simple => command.text(),
            Protocol::Extended | Protocol::Prepared => command.parameterized(),
        };
        let text = zero_terminated(sql.to_owned())?;
        let mut known = None;
        let protocol = self.protocol;
        // Unless a command has been started, one of its own: a pipeline begins with what is
        // executed.
        let mut frame = Frame {
            stays: self.frame.started,
            ..self.frame
        };
        in_statement(&text, &mut frame, || {
            // SAFETY: in a transaction. What must outlive it is copied to the top context, once
            // per statement of the script.
            unsafe {
                let parsed = if may_be_utility(sql) {
                    parse_utility(&text)
                } else {
                    None
                };
                if let Some((raw, kind)) = parsed
                    && kind != Kind::Portal
                {
                    if protocol != Protocol::Simple {
                        refuse_in_failed_block(kind)?;
                        require_parameters(command, protocol, 0)?;
                    }
                    known = Some(Known::Utility {
                        plan: saved_plan_of(raw, &text),
                        kind,
                        text: text.clone(),
                    });
                    return Ok(());
                }
                let mut types = Vec::new();
                if protocol != Protocol::Simple {
                    refuse_in_failed_block(Kind::Other)?;
                    types = parameter_types(&text)?;
                    require_parameters(command, protocol, types.len())?;
                }
                let (parameters, plan) = (Parameters::look_up(&types), None);
                let text = text.clone();
                known = Some(match parsed {
                    Some(_) => Known::Call {
                        parameters,
                        plan,
                        text,
                    },
                    None => Known::Statement {
                        parameters,
                        plan,
                        text,
                    },
                });
            }
            Ok(())
        })?;
        known.ok_or_else(|| Error::Limit("statement was not examined".into()))
    }
}

impl SpiSession {
    /// Ends the transaction command after the error of a statement, and gives the error its form.
    fn fail(&mut self, error: &Error, statement: &str) -> SqlError {
        let report = error.report();
        // SAFETY: reads this process's transaction state, which is still that of the error.
        let in_block = unsafe { pg_sys::IsTransactionBlock() };
        transaction::recover();
        // SAFETY: nothing uses the statement's memory any more.
        unsafe { pg_sys::MemoryContextReset(self.memory) };
        self.frame.started = false;
        end_statement(&mut self.frame);
        let report = explain(report, statement, in_block);
        SqlError {
            message: as_sent(&report),
            sqlstate: report.sqlstate,
            lost: false,
            query: self.query,
        }
    }

    /// Executes transaction control of the client's own, outside of any pipeline.
    fn submit_control(&mut self, text: &'static CStr, control: impl FnOnce()) {
        self.frame.stays = false;
        self.query = 0;
        let frame = &mut self.frame;
        let done = catch(|| {
            in_statement(text, frame, || {
                control();
                Ok(())
            })
        });
        self.outcome = Some(match done {
            Ok(()) => Outcome::Done,
            Err(error) => Outcome::Failed(self.fail(&error, &text.to_string_lossy())),
        });
    }

    /// Commits what the open pipeline has done since the last sync.
    fn sync(&mut self) {
        if self.frame.started {
            let result = catch(|| {
                // SAFETY: the command was started; see `in_statement`. There may be no implicit
                // block.
                unsafe {
                    pg_sys::EndImplicitTransactionBlock();
                    pg_sys::CommitTransactionCommand();
                }
                Ok(())
            });
            let failure = match result {
                Ok(()) => {
                    self.frame.started = false;
                    end_statement(&mut self.frame);
                    None
                }
                Err(error) => Some(self.fail(&error, "")),
            };
            if let Some(pipeline) = &mut self.pipeline {
                pipeline.failure = pipeline.failure.take().or(failure);
            }
        }
        if let Some(pipeline) = &mut self.pipeline {
            pipeline.skips = false;
        }
    }
}

impl Session for SpiSession {
    #[inline]
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        if self
            .pipeline
            .as_ref()
            .is_some_and(|pipeline| pipeline.skips)
        {
            return;
        }
        self.frame.stays = self.pipeline.is_some();
        self.query = 0;
        if command.store.is_some() {
            self.results.clear();
        }
        if compat::PIPELINE_IS_BLOCK && self.frame.started {
            // SAFETY: in the transaction of the pipeline; does nothing in a block.
            unsafe { pg_sys::BeginImplicitTransactionBlock() };
        }
        let failure = match catch(|| self.execute(command, variables)) {
            Ok(()) => {
                if self.frame.started {
                    // SAFETY: a variable of this process; the transaction goes on.
                    unsafe { pg_sys::MyXactFlags |= pg_sys::XACT_FLAGS_PIPELINING as i32 };
                }
                None
            }
            Err(error) => Some(self.fail(&error, command.text())),
        };
        match (&mut self.pipeline, failure) {
            (None, None) => self.outcome = Some(Outcome::Done),
            (None, Some(error)) => self.outcome = Some(Outcome::Failed(error)),
            (Some(_), None) => {}
            (Some(pipeline), Some(error)) => {
                pipeline.skips = true;
                pipeline.failure.get_or_insert(error);
            }
        }
    }

    fn submit_rollback(&mut self) {
        transaction::abort();
        end_statement(&mut self.frame);
        self.outcome = Some(Outcome::Done);
    }

    fn submit_begin(&mut self) {
        // SAFETY: within a transaction command.
        self.submit_control(c"BEGIN", || unsafe { pg_sys::BeginTransactionBlock() });
    }

    fn submit_commit(&mut self) {
        // SAFETY: within a transaction command.
        self.submit_control(c"COMMIT", || unsafe {
            pg_sys::EndTransactionBlock(false);
        });
    }

    fn submit_usage(&mut self) {
        self.usage = usage::of_process();
        self.outcome = Some(Outcome::Done);
    }

    fn usage(&self) -> Option<Usage> {
        Some(self.usage)
    }

    #[inline]
    fn poll(&mut self) -> Option<Outcome> {
        self.outcome.take()
    }

    #[inline]
    fn block(&self) -> Block {
        // SAFETY: reads this process's transaction state; raises no error.
        unsafe {
            if unguarded::IsAbortedTransactionBlockState() {
                Block::Failed
            } else if unguarded::IsTransactionBlock() {
                Block::Open
            } else {
                Block::None
            }
        }
    }

    fn results(&self) -> &[QueryResult] {
        &self.results
    }

    fn start_pipeline(&mut self, _commands: &[Command]) {
        self.pipeline = Some(Pipeline::default());
        self.outcome = Some(Outcome::Done);
    }

    fn sync_pipeline(&mut self) {
        self.sync();
    }

    fn end_pipeline(&mut self) {
        self.sync();
        let failure = self.pipeline.take().and_then(|pipeline| pipeline.failure);
        self.outcome = Some(match failure {
            Some(error) => Outcome::Failed(error),
            None => Outcome::Done,
        });
    }

    /// There is nothing to connect: the process is the session.
    fn submit_connect(&mut self) {
        self.outcome = Some(Outcome::Done);
    }

    fn disconnect(&mut self) {}
}

/// One statement as a backend runs it: start command, body, finish command; within a pipeline the
/// command stays open.
#[inline]
fn in_statement(text: &CStr, frame: &mut Frame, body: impl FnOnce() -> Result<()>) -> Result<()> {
    // SAFETY: the sequence of the server's own statement loop, in a process that runs no other
    // statement. An error leaves to `submit`, which aborts.
    unsafe {
        pg_sys::SetCurrentStatementStartTimestamp();
        pg_sys::pgstat_report_activity(pg_sys::BackendState::STATE_RUNNING, text.as_ptr());
        pg_sys::debug_query_string = text.as_ptr();
        frame.shown = None;
        if !frame.started {
            worker::forget_cancel();
            pg_sys::StartTransactionCommand();
            frame.started = true;
        }
        arm_statement_timeout();
        body()?;
        disarm_statement_timeout();
        if frame.stays {
            pg_sys::CommandCounterIncrement();
            return Ok(());
        }
        pg_sys::CommitTransactionCommand();
        frame.started = false;
    }
    end_statement(frame);
    Ok(())
}

/// # Safety
/// At the beginning of a statement.
#[inline]
unsafe fn arm_statement_timeout() {
    // SAFETY: the caller's promise; raises no error.
    unsafe {
        if pg_sys::StatementTimeout > 0 {
            compat::enable_timeout_after(compat::STATEMENT_TIMEOUT, pg_sys::StatementTimeout);
        }
    }
}

/// Whatever the setting is by now: the statement may have changed it, and its failure may have set
/// it back.
///
/// # Safety
/// At the end of a statement.
#[inline]
unsafe fn disarm_statement_timeout() {
    // SAFETY: the caller's promise; raises no error.
    unsafe {
        if pg_sys::StatementTimeout > 0 || compat::get_timeout_active(compat::STATEMENT_TIMEOUT) {
            compat::disable_timeout(compat::STATEMENT_TIMEOUT, false);
        }
    }
}

/// Executes a saved plan whose rows nobody wants: what most transactions consist of. It does what
/// [`in_statement`] and [`in_spi`] do, within a single guard, and without SPI where that is not
/// needed.
fn execute_saved(
    saved: SavedPlan,
    text: &CString,
    frame: &mut Frame,
    memory: pg_sys::MemoryContext,
    parameters: &mut Parameters,
    mut fill: impl FnMut(&mut Parameters),
) -> Result<()> {
    /// What the server's own codes do not say.
    const IN_FAILED_BLOCK: i32 = i32::MIN;
    // SAFETY: the sequences of those functions. Between the guard and the calls there are
    // references and plain values only. What the guard leaves of an error is in the context that is
    // current here, and goes when that is reset.
    let code = unsafe {
        let entry = pg_sys::MemoryContextSwitchTo(memory);
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            unguarded::SetCurrentStatementStartTimestamp();
            frame.show(text);
            pg_sys::debug_query_string = text.as_ptr();
            let mut outer = entry;
            if !frame.started {
                worker::forget_cancel();
                unguarded::StartTransactionCommand();
                frame.started = true;
                outer = pg_sys::MemoryContextSwitchTo(memory);
            }
            arm_statement_timeout();
            if unguarded::IsAbortedTransactionBlockState() {
                return IN_FAILED_BLOCK;
            }
            unguarded::PushActiveSnapshot(unguarded::GetTransactionSnapshot());
            fill(parameters);
            if !saved.execute(parameters.values()) {
                unguarded::SPI_connect();
                let options = options(parameters.values(), false);
                let code = unguarded::SPI_execute_plan_extended(saved.for_spi(), &options);
                if code < 0 {
                    return code;
                }
                unguarded::SPI_finish();
            }
            unguarded::PopActiveSnapshot();
            pg_sys::MemoryContextSwitchTo(outer);
            unguarded::MemoryContextReset(memory);
            disarm_statement_timeout();
            if frame.stays {
                unguarded::CommandCounterIncrement();
            } else {
                unguarded::CommitTransactionCommand();
                frame.started = false;
            }
            0
        })
    };
    if code == IN_FAILED_BLOCK {
        refuse_in_failed_block(Kind::Other)?;
    }
    check_spi(code, text)?;
    if !frame.stays {
        end_statement(frame);
    }
    Ok(())
}

/// How SPI executes what has these parameters: it collects rows only if somebody wants them.
fn options(values: pg_sys::ParamListInfo, collect: bool) -> pg_sys::SPIExecuteOptions {
    pg_sys::SPIExecuteOptions {
        params: values,
        dest: if collect {
            std::ptr::null_mut()
        } else {
            // SAFETY: the receiver that discards rows is always there.
            unsafe { pg_sys::None_Receiver }
        },
        ..Default::default()
    }
}

/// Statements that are sent together, as the server's simple query protocol executes them: in an
/// implicit transaction block, unless transaction control among them says otherwise. `query` is set
/// to the position of the statement in progress.
fn execute_several(
    sql: &CString,
    frame: &mut Frame,
    memory: pg_sys::MemoryContext,
    query: &mut usize,
    mut results: Option<&mut Vec<QueryResult>>,
) -> Result<()> {
    let mut parts = Vec::new();
    // A command of its own, so that nothing of the parser's outlives it. What does not parse is
    // not executed at all.
    in_statement(
        sql,
        &mut Frame {
            stays: true,
            ..*frame
        },
        || {
            // SAFETY: in a transaction; only copies of the parts are kept.
            parts = unsafe { split(sql) }?;
            Ok(())
        },
    )?;
    frame.started = true;
    let several = parts.len() > 1;
    let last = parts.len().saturating_sub(1);
    for (i, part) in parts.iter().enumerate() {
        *query = i;
        frame.stays = i < last && !matches!(part.kind, Kind::Control { .. });
        in_statement(&part.text, frame, || {
            refuse_in_failed_block(part.kind)?;
            if several {
                // SAFETY: in a transaction; does nothing in a block.
                unsafe { pg_sys::BeginImplicitTransactionBlock() };
            }
            match part.kind {
                Kind::Other => execute_text(&part.text, results.as_deref_mut())?,
                // SAFETY: in a transaction; no parameters.
                Kind::Portal => unsafe {
                    call(memory, std::ptr::null_mut(), results.as_deref_mut(), || {
                        define_portal(&part.text, &[])
                    });
                },
                Kind::Control { .. } | Kind::Bare => {
                    // SAFETY: in a transaction, with whose memory the plan goes.
                    unsafe {
                        if let Some((statement, _)) = parse_utility(&part.text) {
                            run_utility(plan_of(statement, &part.text), &part.text);
                        }
                    }
                    if let Some(results) = results.as_deref_mut() {
                        results.push(QueryResult::default());
                    }
                }
            }
            if several && i == last {
                // SAFETY: as above.
                unsafe { pg_sys::EndImplicitTransactionBlock() };
            }
            Ok(())
        })?;
    }
    if parts.is_empty() {
        frame.stays = false;
        return in_statement(sql, frame, || Ok(()));
    }
    Ok(())
}

/// One of the statements that are sent together.
struct Part {
    text: CString,
    kind: Kind,
}

/// The statements of a text, without empty ones.
///
/// # Safety
/// In a transaction.
unsafe fn split(sql: &CString) -> Result<Vec<Part>> {
    let mut parts = Vec::new();
    // SAFETY: the caller's promise. Places are offsets into the text.
    unsafe {
        let list = pgrx::PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(sql.as_ptr()));
        for raw in list.iter_ptr() {
            let statement = (*raw).stmt;
            let rest = &sql.as_bytes()[usize::try_from((*raw).stmt_location).unwrap_or(0)..];
            // The last statement may have no length.
            let text = match usize::try_from((*raw).stmt_len) {
                Ok(length) if length > 0 => &rest[..length.min(rest.len())],
                _ => rest,
            };
            parts.push(Part {
                text: zero_terminated(String::from_utf8_lossy(text).into_owned())?,
                kind: kind_of(statement),
            });
        }
    }
    Ok(parts)
}

/// Whether a text may hold several statements: it has a semicolon that is not at its end.
fn holds_several(text: &str) -> bool {
    text.trim_end()
        .trim_end_matches(';')
        .trim_end()
        .contains(';')
}

/// Executes a text through SPI, in a statement.
#[inline]
fn execute_text(sql: &CString, results: Option<&mut Vec<QueryResult>>) -> Result<()> {
    in_spi(|| {
        // SAFETY: connected to SPI; the text ends in a zero byte.
        unsafe {
            let options = options(std::ptr::null_mut(), results.is_some());
            check_spi(pg_sys::SPI_execute_extended(sql.as_ptr(), &options), sql)?;
            if let Some(results) = results {
                results.push(result_of_spi());
            }
        }
        Ok(())
    })
}

/// What `\gset` and `\aset` need of what SPI has just executed.
///
/// # Safety
/// Connected to SPI, after an execution that was successful.
unsafe fn result_of_spi() -> QueryResult {
    // SAFETY: the caller's promise; the table has as many rows as it says, and names and values
    // are texts that end in a zero byte.
    unsafe {
        let table = pg_sys::SPI_tuptable;
        if table.is_null() {
            return QueryResult::default();
        }
        let rows = (*table).numvals;
        let mut last_row = Vec::new();
        if let Some(row) = usize::try_from(rows).unwrap_or(0).checked_sub(1) {
            let row = *(*table).vals.add(row);
            for column in 1..=(*(*table).tupdesc).natts {
                let name = pg_sys::SPI_fname((*table).tupdesc, column);
                let value = pg_sys::SPI_getvalue(row, (*table).tupdesc, column);
                last_row.push(Column {
                    name: CStr::from_ptr(name).to_string_lossy().into_owned(),
                    value: if value.is_null() {
                        ColumnValue::Null
                    } else {
                        column_value(CStr::from_ptr(value).to_bytes())
                    },
                });
            }
        }
        QueryResult { rows, last_row }
    }
}

/// # Safety
/// In a transaction; the plan is that of a utility command with that text, which is executed
/// without a snapshot.
unsafe fn run_utility(plan: *mut pg_sys::PlannedStmt, text: &CString) {
    // SAFETY: the caller's promise; such commands need no receiver of rows. Extensions change the
    // plan, which is to be used again: they get a copy.
    unsafe {
        let mut once = *plan;
        pg_sys::ProcessUtility(
            &mut once,
            text.as_ptr(),
            true,
            pg_sys::ProcessUtilityContext::PROCESS_UTILITY_TOPLEVEL,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            pg_sys::None_Receiver,
            std::ptr::null_mut(),
        );
    }
}

/// Executes CALL or DO through the portal that `define` makes: at top level, so that it may commit
/// unless in a block. What it needs until it ends, which includes what an error says, is in
/// `memory`, which no commit empties.
///
/// # Safety
/// In a transaction; the values are those of the portal's parameters.
unsafe fn call(
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
unsafe fn define_portal(text: &CString, types: &[pg_sys::Oid]) -> Option<pg_sys::Portal> {
    // SAFETY: the caller's promise.
    unsafe {
        let (raw, _) = parse_utility(text)?;
        Some(statement::define_portal(raw, text, types))
    }
}

/// What `\gset` and `\aset` need of what a portal has executed: the row of a procedure that returns
/// one, which the portal has kept.
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

/// What a backend does when it is ready for the next statement. There is no wait for it, and
/// nothing to report, unless the client says so: see [`SpiSession::rest`]. No notifications come,
/// since no client of mode spi can LISTEN.
#[inline]
fn end_statement(frame: &mut Frame) {
    /// As often as the server takes them, at most.
    const REPORT_EVERY_US: pg_sys::TimestampTz = 1_000_000;
    // SAFETY: between statements. Only the report may raise an error, and it has a guard.
    unsafe {
        disarm_statement_timeout();
        // The text may go.
        pg_sys::debug_query_string = std::ptr::null();
        if !unguarded::IsTransactionOrTransactionBlock() {
            let now = unguarded::GetCurrentStatementStartTimestamp();
            if now - frame.reported >= REPORT_EVERY_US {
                frame.reported = now;
                pg_sys::pgstat_report_stat(false);
            }
        }
    }
    // What has committed must not be reported as canceled.
    worker::check_between_statements();
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
unsafe fn prepare(sql: &CString, parameters: &Parameters) -> Result<pg_sys::SPIPlanPtr> {
    let mut oids = parameters.types();
    // SAFETY: the caller's promise.
    // A parallel plan is as welcome as for a statement that a client sends.
    let plan = unsafe {
        pg_sys::SPI_prepare_cursor(
            sql.as_ptr(),
            oids.len() as i32,
            oids.as_mut_ptr(),
            pg_sys::CURSOR_OPT_PARALLEL_OK as i32,
        )
    };
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
    let message = match code {
        pg_sys::SPI_ERROR_COPY => "cannot COPY to or from the client in mode \"spi\"",
        pg_sys::SPI_ERROR_TRANSACTION => {
            "cannot combine transaction control with other statements in mode \"spi\""
        }
        _ => "cannot execute the statement in mode \"spi\"",
    };
    Err(Error::Server(Box::new(unsupported(
        message,
        &sql.to_string_lossy(),
    ))))
}

/// A failed block takes nothing but its end, as over the wire.
#[inline]
fn refuse_in_failed_block(kind: Kind) -> Result<()> {
    // SAFETY: reads this process's transaction state.
    let failed = unsafe { pg_sys::IsAbortedTransactionBlockState() };
    if failed && kind != (Kind::Control { exits: true }) {
        return Err(Error::Server(Box::new(crate::error::new_report(
            Sqlstate::ERRCODE_IN_FAILED_SQL_TRANSACTION,
            "current transaction is aborted, commands ignored until end of transaction block",
            None,
            None,
        ))));
    }
    Ok(())
}

/// Whether a text can be a statement that is not for SPI, going by its first word.
fn may_be_utility(text: &str) -> bool {
    const WORDS: [&str; 15] = [
        "begin",
        "start",
        "commit",
        "end",
        "rollback",
        "abort",
        "savepoint",
        "release",
        "prepare",
        "set",
        "reset",
        "lock",
        "call",
        "declare",
        "do",
    ];
    let text = text.trim_start();
    // Behind a comment or in a variable there can be anything.
    text.starts_with("/*")
        || text.starts_with("--")
        || text.starts_with(':')
        || begins_with(text, &WORDS)
}

/// Whether the first word of a text is one of these.
fn begins_with(text: &str, words: &[&str]) -> bool {
    let word = text
        .trim_start()
        .split(|c: char| !c.is_ascii_alphabetic())
        .next()
        .unwrap_or_default();
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

/// The single statement of a text, if it is not for SPI, and its kind; in the current memory
/// context.
///
/// # Safety
/// In a transaction.
unsafe fn parse_utility(text: &CString) -> Option<(*mut pg_sys::RawStmt, Kind)> {
    // SAFETY: the caller's promise.
    unsafe {
        let list = pgrx::PgList::<pg_sys::RawStmt>::from_pg(pg_sys::pg_parse_query(text.as_ptr()));
        let (Some(raw), 1) = (list.get_ptr(0), list.len()) else {
            return None;
        };
        let kind = kind_of((*raw).stmt);
        (kind != Kind::Other).then_some((raw, kind))
    }
}

/// The plan of a utility command, in the current memory context: analyzed as any statement is, so
/// that it has an identifier for extensions that count statements.
///
/// # Safety
/// In a transaction; the statement was parsed from `text`, and lives as long as the plan is used.
unsafe fn plan_of(raw: *mut pg_sys::RawStmt, text: &CStr) -> *mut pg_sys::PlannedStmt {
    let nothing = std::ptr::null_mut();
    // SAFETY: the caller's promise. A utility command is a single query with a plan.
    unsafe {
        let queries = pg_sys::pg_analyze_and_rewrite_fixedparams(
            raw,
            text.as_ptr(),
            std::ptr::null(),
            0,
            nothing,
        );
        let plans = pg_sys::pg_plan_queries(queries, text.as_ptr(), 0, nothing.cast());
        pgrx::PgList::<pg_sys::PlannedStmt>::from_pg(plans)
            .get_ptr(0)
            .unwrap_or(std::ptr::null_mut())
    }
}

/// The plan of a utility command, in the top context.
///
/// # Safety
/// In a transaction; the statement was parsed from `text`.
unsafe fn saved_plan_of(raw: *mut pg_sys::RawStmt, text: &CStr) -> *mut pg_sys::PlannedStmt {
    // SAFETY: the caller's promise; the plan is copied.
    unsafe {
        let plan = plan_of(raw, text);
        let outer = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
        let saved = pg_sys::copyObjectImpl(plan.cast()).cast();
        pg_sys::MemoryContextSwitchTo(outer);
        saved
    }
}

/// How the server's own statement loop would execute this statement. A failed block takes what
/// ends it, or goes back to a savepoint.
///
/// # Safety
/// The node is a parsed statement.
unsafe fn kind_of(statement: *mut pg_sys::Node) -> Kind {
    use pg_sys::NodeTag::*;
    use pg_sys::TransactionStmtKind::*;
    // SAFETY: the caller's promise.
    match unsafe { (*statement).type_ } {
        T_TransactionStmt => {
            // SAFETY: the tag tells the type.
            let kind = unsafe { (*statement.cast::<pg_sys::TransactionStmt>()).kind };
            Kind::Control {
                exits: matches!(
                    kind,
                    TRANS_STMT_COMMIT
                        | TRANS_STMT_PREPARE
                        | TRANS_STMT_ROLLBACK
                        | TRANS_STMT_ROLLBACK_TO
                ),
            }
        }
        T_VariableSetStmt | T_ConstraintsSetStmt | T_LockStmt => Kind::Bare,
        T_CallStmt | T_DoStmt | T_DeclareCursorStmt => Kind::Portal,
        _ => Kind::Other,
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

/// Variables within quotes are parameters for the client, but not for the server, which therefore
/// refuses them.
fn require_parameters(command: &SqlCommand, protocol: Protocol, required: usize) -> Result<()> {
    let supplied = command.parameters().len();
    if supplied == required {
        return Ok(());
    }
    let name = match protocol {
        Protocol::Prepared => command.prepared_name(),
        _ => String::new(),
    };
    Err(Error::Server(Box::new(crate::error::new_report(
        Sqlstate::ERRCODE_PROTOCOL_VIOLATION,
        &format!(
            "bind message supplies {supplied} parameters, but prepared statement \"{name}\" \
             requires {required}"
        ),
        None,
        None,
    ))))
}

/// A text with a zero byte at its end; one that has such a byte inside is refused.
fn fill_in(command: &SqlCommand, variables: &Variables, text: &mut String) -> Result<()> {
    command
        .simple_text(variables, text)
        .map_err(|error| Error::Limit(error.to_string()))
}

fn zero_terminated(text: String) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Limit("a statement contains a zero byte".into()))
}

/// Names the statement in the error of one that SPI cannot run, such as VACUUM: outside of a block
/// there is no other reason for "active SQL transaction", unless it comes from within CALL or DO.
fn explain(report: Report, statement: &str, in_block: bool) -> Report {
    if report.sqlstate != "25001" || in_block || begins_with(statement, &["call", "do"]) {
        return report;
    }
    unsupported("cannot execute the statement in mode \"spi\"", statement)
}

/// The error for a statement that mode "spi" does not have.
fn unsupported(message: &str, statement: &str) -> Report {
    let first_line = statement.lines().next().unwrap_or_default();
    crate::error::new_report(
        Sqlstate::ERRCODE_FEATURE_NOT_SUPPORTED,
        message,
        Some(format!("The statement is: {first_line}")),
        Some("Use mode => 'libpq'.".into()),
    )
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
