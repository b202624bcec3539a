//! The session: what a client submits, its outcome, and the open pipeline.

use super::command::{end_statement, in_statement};
use super::errors::{as_sent, explain};
use super::execute::Executor;
use super::meter::{self, Part};
use crate::backend::transaction;
use crate::backend::unguarded;
use crate::compat;
use crate::error::{Error, catch};
use crate::session::usage;
use crate::shared::Relations;
use pgrx::pg_sys;
use selfbench_client::{Block, Outcome, QueryResult, Session, SqlError, Usage};
use selfbench_script::{Command, Protocol, SqlCommand, Variables};
use std::ffi::CStr;

/// An open pipeline.
#[derive(Default)]
struct Pipeline {
    /// Whether statements are skipped up to the next sync.
    skips: bool,
    /// The first error.
    failure: Option<SqlError>,
}

/// One client's session.
pub struct SpiSession {
    executor: Executor,
    pipeline: Option<Pipeline>,
    outcome: Option<Outcome>,
    /// Usage as last read.
    usage: Usage,
}

impl SpiSession {
    /// A session for scripts with this total number of statements; the tables that their plans use
    /// are added to `relations`.
    pub fn new(protocol: Protocol, statements: usize, relations: &'static Relations) -> Self {
        SpiSession {
            executor: Executor::new(protocol, statements, relations),
            pipeline: None,
            outcome: None,
            usage: Usage::default(),
        }
    }

    /// Reports idleness, as a backend does that waits for its next statement. Called before a client
    /// sleeps.
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
        self.executor.state.shown = None;
    }
}

impl SpiSession {
    /// Ends the transaction command after the error of a statement, and gives the error its form.
    fn fail(&mut self, error: &Error, statement: &str) -> SqlError {
        meter::enter_if_metered(Part::Commit);
        let report = error.report();
        // SAFETY: between statements; nothing uses the memory of the one that failed any more. Whether
        // a block is open is known until the recovery.
        let in_block = unsafe {
            let in_block = pg_sys::IsTransactionBlock();
            transaction::recover();
            pg_sys::MemoryContextReset(self.executor.memory);
            in_block
        };
        self.executor.state.started = false;
        meter::enter_if_metered(Part::Statement);
        end_statement(&mut self.executor.state);
        let report = explain(report, statement, in_block);
        SqlError {
            message: as_sent(&report),
            sqlstate: report.sqlstate,
            lost: false,
            query: self.executor.query,
        }
    }

    /// Executes transaction control of the client's own, outside of any pipeline.
    fn submit_control<const PARTS: bool>(&mut self, text: &'static CStr, control: impl FnOnce()) {
        self.executor.state.stays = false;
        self.executor.query = 0;
        let state = &mut self.executor.state;
        let done = catch(|| {
            in_statement::<PARTS>(text, state, || {
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
    pub(super) fn sync_as<const PARTS: bool>(&mut self) {
        if self.executor.state.started {
            meter::enter::<PARTS>(Part::Commit);
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
                    self.executor.state.started = false;
                    end_statement(&mut self.executor.state);
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

/// Methods behind the trait; `PARTS` is whether the parts of the transaction are timed, see
/// [`meter`].
impl SpiSession {
    /// Executes a statement.
    #[inline]
    pub(super) fn submit_as<const PARTS: bool>(
        &mut self,
        command: &SqlCommand,
        variables: &Variables,
    ) {
        if self
            .pipeline
            .as_ref()
            .is_some_and(|pipeline| pipeline.skips)
        {
            return;
        }
        self.executor.state.stays = self.pipeline.is_some();
        self.executor.query = 0;
        if command.store.is_some() {
            self.executor.results.clear();
        }
        if compat::PIPELINE_IS_BLOCK && self.executor.state.started {
            // SAFETY: in the transaction of the pipeline; does nothing in a block.
            unsafe { pg_sys::BeginImplicitTransactionBlock() };
        }
        let failure = match catch(|| self.executor.execute::<PARTS>(command, variables)) {
            Ok(()) => {
                if self.executor.state.started {
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

    /// Opens a transaction block.
    pub(super) fn submit_begin_as<const PARTS: bool>(&mut self) {
        // SAFETY: within a transaction command.
        self.submit_control::<PARTS>(c"BEGIN", || unsafe { pg_sys::BeginTransactionBlock() });
    }

    /// Commits it.
    pub(super) fn submit_commit_as<const PARTS: bool>(&mut self) {
        // SAFETY: within a transaction command.
        self.submit_control::<PARTS>(c"COMMIT", || unsafe {
            pg_sys::EndTransactionBlock(false);
        });
    }

    /// Ends the pipeline.
    pub(super) fn end_pipeline_as<const PARTS: bool>(&mut self) {
        self.sync_as::<PARTS>();
        let failure = self.pipeline.take().and_then(|pipeline| pipeline.failure);
        self.outcome = Some(match failure {
            Some(error) => Outcome::Failed(error),
            None => Outcome::Done,
        });
    }
}

impl Session for SpiSession {
    #[inline]
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        self.submit_as::<false>(command, variables);
    }

    fn submit_rollback(&mut self) {
        transaction::abort();
        end_statement(&mut self.executor.state);
        self.outcome = Some(Outcome::Done);
    }

    fn submit_begin(&mut self) {
        self.submit_begin_as::<false>();
    }

    fn submit_commit(&mut self) {
        self.submit_commit_as::<false>();
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
        &self.executor.results
    }

    fn start_pipeline(&mut self, _commands: &[Command]) {
        self.pipeline = Some(Pipeline::default());
        self.outcome = Some(Outcome::Done);
    }

    fn sync_pipeline(&mut self) {
        self.sync_as::<false>();
    }

    fn end_pipeline(&mut self) {
        self.end_pipeline_as::<false>();
    }

    /// Does nothing: the process is the session.
    fn submit_connect(&mut self) {
        self.outcome = Some(Outcome::Done);
    }

    fn disconnect(&mut self) {}
}
