//! Outcomes of statements: results are stored, errors abort the client or fail the transaction, or
//! the transaction is tried again.

use super::{Client, State, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::{Ending, Failure};
use crate::session::{Block, Outcome, Session, SqlError};
use crate::store;
use selfbench_script::{Action, Store};

impl<'w> Client<'w> {
    /// Waits for the outcome of a statement or of a pipeline.
    #[inline]
    pub(super) fn await_outcome(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match context.session.poll() {
            None => Some(Step::Waiting),
            Some(outcome) => self.conclude(outcome, context),
        }
    }

    /// Waits for the outcome of a statement whose results are to be stored.
    #[inline]
    pub(super) fn await_results(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let Some(outcome) = context.session.poll() else {
            return Some(Step::Waiting);
        };
        if let Some(what) = self.current_store() {
            let stored = store::store(
                what,
                context.session.results(),
                outcome == Outcome::Done,
                &context.plan.workload.symbols,
                &mut self.variables,
            );
            if let Err(error) = stored {
                return Some(self.abort_store(error));
            }
        }
        self.conclude(outcome, context)
    }

    /// Waits for the outcome of a request without which the client cannot go on: gives the step to
    /// return, or none if the request was successful.
    #[inline]
    pub(super) fn await_success(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
        abort: impl FnOnce(&mut Self, &SqlError) -> Step,
    ) -> Option<Step> {
        match context.session.poll() {
            None => Some(Step::Waiting),
            Some(Outcome::Done) => None,
            Some(Outcome::Failed(error)) if is_due_to_stop(&error, context.control) => {
                Some(self.finish())
            }
            Some(Outcome::Failed(error)) => Some(abort(self, &error)),
        }
    }

    fn current_store(&self) -> Option<&'w Store> {
        match self.commands.get(self.command).map(|c| &c.action) {
            Some(Action::Sql(sql)) => sql.store.as_ref(),
            _ => None,
        }
    }

    /// Waits for the start of a pipeline.
    #[inline]
    pub(super) fn start_pipeline(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let step = self.await_success(context, Self::abort_statement);
        if step.is_none() {
            self.pipeline = true;
            self.complete(self.command + 1, context);
        }
        step
    }

    /// Goes on after a statement or a pipeline, or handles its error.
    #[inline]
    pub(super) fn conclude(
        &mut self,
        outcome: Outcome,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        self.pipeline = false;
        match outcome {
            Outcome::Done => {
                self.complete(self.command + 1, context);
                None
            }
            Outcome::Failed(error) => self.handle_error(error, context),
        }
    }

    /// Handles a failed statement or pipeline: aborts the client, rolls back, tries again or goes
    /// on with the next transaction.
    #[cold]
    #[inline(never)]
    fn handle_error(
        &mut self,
        error: SqlError,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        if is_due_to_stop(&error, context.control) {
            return Some(self.finish());
        }
        let Some(failure) = Failure::of(&error, context.plan) else {
            return Some(self.abort_statement(&error));
        };
        context.record.statement_failed(&error.message);
        if context.plan.verbose_errors {
            self.report_error(&error, context.control);
        }
        if context.session.block() != Block::None {
            context.session.submit_rollback();
            if context.plan.debug {
                self.trace_receiving(context.control);
            }
            self.state = State::RollBack(failure);
            return None;
        }
        self.retry_or_fail(failure, context)
    }

    /// Waits for the rollback after a failure.
    #[inline]
    pub(super) fn roll_back(
        &mut self,
        failure: Failure,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let step = self.await_success(context, Self::abort_rollback);
        if step.is_some() {
            return step;
        }
        self.retry_or_fail(failure, context)
    }

    /// Retries a failed transaction, outside of any block, if that may help and is allowed.
    fn retry_or_fail(
        &mut self,
        failure: Failure,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let (plan, control) = (context.plan, context.control);
        // The block has been rolled back, with all its transactions.
        self.in_block = 0;
        let now = control.now_ns();
        if control.stop() || now >= plan.deadline_ns() {
            return Some(self.finish());
        }
        let in_time = plan
            .latency_limit_ns
            .is_none_or(|limit| now.saturating_sub(self.scheduled_ns) <= limit);
        let tries_left = plan.max_tries == 0 || self.tries < plan.max_tries;
        let again = failure != Failure::Other && tries_left && in_time;
        if plan.per_statement && plan.measures(now) {
            context
                .record
                .command_failed(self.script, self.command, again);
        }
        if plan.verbose_errors {
            self.report_consequence(again, now, plan, control);
        }
        if again {
            self.command_begin_ns = now;
            self.tries = self.tries.saturating_add(1);
            self.rng = self.rng_at_begin;
            self.command = 0;
            self.state = self.first_state(plan);
            return None;
        }
        self.in_transaction = false;
        if !plan.measures(now) {
            context
                .record
                .warmed_up(now.saturating_sub(self.scheduled_ns));
        } else {
            self.count(plan, context.record);
            let retries = self.tries - 1;
            let duration_ns = now.saturating_sub(self.begin_ns);
            context
                .record
                .failed(self.script, failure, retries, duration_ns);
            if plan.log {
                self.log(Ending::Failure { failure, retries }, now, context);
            }
        }
        Some(self.next(now, context))
    }
}

/// Whether an error does not matter because the client is to stop: the stop request itself cancels
/// the statement in progress (SQLSTATE 57014), and no transaction is tried again.
pub(super) fn is_due_to_stop(error: &SqlError, control: &impl Control) -> bool {
    control.stop() && (error.sqlstate == "57014" || Failure::retriable(error).is_some())
}
