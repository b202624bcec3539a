//! The execution of one statement, by what it is.

use super::call::{call, define_portal};
use super::classify::Kind;
use super::command::{
    Frame, arm_statement_timeout, disarm_statement_timeout, end_statement, in_statement,
};
use super::errors::{check_spi, fill_in, refuse_in_failed_block, zero_terminated};
use super::known::Known;
use super::plan::{Parameters, SavedPlan};
use super::query::{execute_text, in_spi, options, prepare, result_of_spi};
use super::session::SpiSession;
use super::several::execute_several;
use super::utility::run_utility;
use crate::compat::unguarded;
use crate::error::Result;
use crate::latch;
use pgrx::pg_sys;
use selfbench_client::QueryResult;
use selfbench_script::{Protocol, SqlCommand, Variables};
use std::ffi::CString;

impl SpiSession {
    pub(super) fn execute(&mut self, command: &SqlCommand, variables: &Variables) -> Result<()> {
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
                latch::forget_cancel();
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
