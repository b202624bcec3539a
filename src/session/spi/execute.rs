//! The execution of one statement, according to its kind.

use super::call::{call, define_portal};
use super::classify::StatementKind;
use super::command::{CommandState, end_statement, in_statement};
use super::errors::{check_spi, fill_in, refuse_in_failed_block, zero_terminated};
use super::examine::{ExaminedStatement, examine};
use super::meter::{self, Part};
use super::plan::{ParameterValues, SavedPlan};
use super::query::{execute_text, in_spi, options, prepare, result_of_spi};
use super::several::execute_several;
use super::utility::run_utility;
use crate::backend::{statement, timeouts, unguarded};
use crate::error::Result;
use crate::latch;
use crate::shared::Relations;
use pgrx::pg_sys;
use selfbench_client::QueryResult;
use selfbench_script::{Protocol, SqlCommand, Variables};
use std::ffi::CString;

/// Executes the statements of one client.
pub(super) struct Executor {
    protocol: Protocol,
    /// Statements that have been executed, by number.
    statements: Vec<Option<ExaminedStatement>>,
    /// The transaction command in progress.
    pub(super) state: CommandState,
    /// Position of the current statement among those sent together.
    pub(super) query: usize,
    /// The results of the current statement, if its command stores them.
    pub(super) results: Vec<QueryResult>,
    /// Reused for parameter values and substituted texts.
    text: String,
    /// Memory for the execution of one statement; see [`plan`](super::plan).
    pub(super) memory: pg_sys::MemoryContext,
    /// Relations that saved plans use.
    relations: &'static Relations,
}

impl Executor {
    /// Creates an executor for scripts with that many statements in all.
    pub(super) fn new(
        protocol: Protocol,
        statements: usize,
        relations: &'static Relations,
    ) -> Executor {
        Executor {
            protocol,
            statements: (0..statements).map(|_| None).collect(),
            state: CommandState::default(),
            query: 0,
            results: Vec::new(),
            text: String::new(),
            memory: statement::new_memory_context(c"pg_selfbench statement"),
            relations,
        }
    }

    /// Executes one statement.
    ///
    /// # Errors
    /// Also those that PostgreSQL raises: the caller catches them, and ends the transaction command.
    pub(super) fn execute<const PARTS: bool>(
        &mut self,
        command: &SqlCommand,
        variables: &Variables,
    ) -> Result<()> {
        if self.statements[command.number].is_none() {
            let examined = examine(command, self.protocol, self.state)?;
            self.statements[command.number] = Some(examined);
        }
        let Self {
            protocol,
            statements,
            state,
            query,
            results,
            text,
            memory,
            relations,
        } = self;
        let mut results = command.store.is_some().then_some(results);
        match &mut statements[command.number] {
            None => Ok(()),
            Some(ExaminedStatement::Utility { plan, kind, text }) => {
                // Transaction control takes effect at once, also within a pipeline.
                state.stays &= *kind == StatementKind::Bare;
                in_statement::<PARTS>(text, state, || {
                    refuse_in_failed_block(*kind)?;
                    // SAFETY: the plan lives as long as the process and is not changed.
                    unsafe { run_utility(*plan, text) };
                    if let Some(results) = results {
                        results.push(QueryResult::default());
                    }
                    Ok(())
                })
            }
            Some(ExaminedStatement::Several) => {
                text.clear();
                fill_in(command, variables, text)?;
                let sql = zero_terminated(std::mem::take(text))?;
                let done = execute_several::<PARTS>(&sql, state, *memory, query, results);
                *text = sql.into_string().unwrap_or_default();
                done
            }
            Some(ExaminedStatement::Call {
                parameters,
                plan,
                text: sql,
            }) => {
                in_statement::<PARTS>(sql, state, || {
                    refuse_in_failed_block(StatementKind::Portal)?;
                    if *protocol == Protocol::Prepared && plan.is_none() {
                        in_spi(|| {
                            // SAFETY: connected to SPI; the plan has just been prepared.
                            *plan = Some(unsafe {
                                SavedPlan::save(prepare(sql, parameters)?, relations)
                            });
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
            Some(ExaminedStatement::Statement { .. }) if *protocol == Protocol::Simple => {
                text.clear();
                fill_in(command, variables, text)?;
                // One pass over the text; the buffer is used again afterwards.
                let sql = zero_terminated(std::mem::take(text))?;
                let done = in_statement::<PARTS>(&sql, state, || {
                    refuse_in_failed_block(StatementKind::Other)?;
                    execute_text(&sql, results.as_deref_mut())
                });
                *text = sql.into_string().unwrap_or_default();
                done
            }
            Some(ExaminedStatement::Statement {
                parameters,
                plan,
                text: sql,
            }) => {
                // SAFETY: in a transaction, within a guard.
                let mut fill = |parameters: &mut ParameterValues| unsafe {
                    parameters.fill(command.parameters(), variables, text);
                };
                if let (Some(saved), None) = (*plan, &results) {
                    return execute_saved::<PARTS>(saved, sql, state, *memory, parameters, fill);
                }
                in_statement::<PARTS>(sql, state, || {
                    refuse_in_failed_block(StatementKind::Other)?;
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
                                        *plan = Some(SavedPlan::save(fresh, relations));
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
}

/// Executes a saved plan and discards its rows: most transactions consist of this. It does what
/// [`in_statement`] and [`in_spi`] do, within a single guard, and without SPI where that is not
/// needed.
fn execute_saved<const PARTS: bool>(
    saved: SavedPlan,
    text: &CString,
    state: &mut CommandState,
    memory: pg_sys::MemoryContext,
    parameters: &mut ParameterValues,
    mut fill: impl FnMut(&mut ParameterValues),
) -> Result<()> {
    /// Not one of the server's codes.
    const IN_FAILED_BLOCK: i32 = i32::MIN;
    // SAFETY: the sequences of those functions. Between the guard and the calls there are
    // references and plain values only. What the guard leaves of an error is in the context that is
    // current here, and goes when that is reset.
    let code = unsafe {
        let entry = pg_sys::MemoryContextSwitchTo(memory);
        pg_sys::ffi::pg_guard_ffi_boundary(|| {
            unguarded::SetCurrentStatementStartTimestamp();
            state.show(text);
            pg_sys::debug_query_string = text.as_ptr();
            let mut outer = entry;
            if !state.started {
                latch::forget_cancel();
                unguarded::StartTransactionCommand();
                state.started = true;
                outer = pg_sys::MemoryContextSwitchTo(memory);
            }
            timeouts::arm_statement();
            if unguarded::IsAbortedTransactionBlockState() {
                return IN_FAILED_BLOCK;
            }
            unguarded::PushActiveSnapshot(unguarded::GetTransactionSnapshot());
            fill(parameters);
            meter::enter::<PARTS>(Part::Plan);
            if !saved.execute(parameters.values()) {
                unguarded::SPI_connect();
                let options = options(parameters.values(), false);
                let code = unguarded::SPI_execute_plan_extended(saved.for_spi(), &options);
                if code < 0 {
                    return code;
                }
                unguarded::SPI_finish();
            }
            meter::enter::<PARTS>(Part::Statement);
            unguarded::PopActiveSnapshot();
            pg_sys::MemoryContextSwitchTo(outer);
            unguarded::MemoryContextReset(memory);
            timeouts::disarm_statement();
            if state.stays {
                unguarded::CommandCounterIncrement();
            } else {
                meter::enter::<PARTS>(Part::Commit);
                unguarded::CommitTransactionCommand();
                meter::enter::<PARTS>(Part::Statement);
                state.started = false;
            }
            0
        })
    };
    if code == IN_FAILED_BLOCK {
        refuse_in_failed_block(StatementKind::Other)?;
    }
    check_spi(code, text)?;
    if !state.stays {
        end_statement(state);
    }
    Ok(())
}
