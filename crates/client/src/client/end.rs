//! The end of a transaction, its figures, and the end of the client.

use super::block::BlockState;
use super::{Client, State, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::{Ending, LogEntry, RunPlan, Transaction};
use crate::session::{Block, Session};

impl<'w> Client<'w> {
    /// Counts the successful transaction.
    #[inline]
    pub(super) fn end(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Step {
        let plan = context.plan;
        // The transaction ends with its last command, whose end may have been read.
        let now = match plan.per_statement {
            true => self.command_begin_ns,
            false => context.control.now_ns(),
        };
        self.in_transaction = false;
        if !plan.measures(now) {
            context
                .record
                .warmed_up(now.saturating_sub(self.scheduled_ns));
        } else {
            self.count(plan, context.record);
            let transaction = self.transaction(now, plan);
            context.record.succeeded(self.script, &transaction);
            if plan.log {
                self.log(Ending::Success(transaction), now, context);
            }
        }
        if self.in_block == 0 && context.session.block() != Block::None {
            return self.abort_open_transaction();
        }
        self.next(now, context)
    }

    /// Counts a transaction that was begun and has ended, successful or failed.
    #[inline]
    pub(super) fn count(&mut self, plan: &RunPlan<'w>, record: &mut impl Record) {
        self.counted += 1;
        if self.counted == 1 {
            record.began_early(plan.early_ns(self.begin_ns));
        }
        if plan.reconnect {
            record.connected(self.connection_ns);
        }
    }

    /// The figures of the transaction that was successful at `now`.
    #[inline]
    fn transaction(&self, now: u64, plan: &RunPlan<'w>) -> Transaction {
        let latency_ns = now.saturating_sub(self.scheduled_ns);
        let script = &plan.workload.scripts[self.script];
        Transaction {
            latency_ns,
            lag_ns: plan
                .throttle_us
                .map(|_| self.begin_ns.saturating_sub(self.scheduled_ns)),
            sleep_ns: self.sleep_ns,
            shell_ns: self.shell_ns,
            retries: self.tries - 1,
            late: plan
                .latency_limit_ns
                .is_some_and(|limit| latency_ns > limit),
            rolled_back: script
                .rolled_back
                .is_some_and(|slot| self.variables.integer(slot) == Some(1)),
            above_limit: script
                .limit_ns
                .is_some_and(|limit| latency_ns.saturating_sub(self.sleep_ns) > limit),
        }
    }

    /// Logs the transaction that ended at `now`, unless it is not in the sample.
    pub(super) fn log(
        &self,
        ending: Ending,
        now: u64,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) {
        let thread = &mut *context.thread;
        let rate = context.plan.sampling_rate;
        if rate.is_none_or(|rate| thread.samples(rate)) {
            context.record.log(&LogEntry {
                client: self.number,
                count: self.counted,
                script: self.script,
                at_ns: now,
                ending,
            });
        }
    }

    /// Begins the next transaction after one that ended at `now`, unless this was the last.
    #[inline]
    pub(super) fn next(
        &mut self,
        now: u64,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Step {
        let plan = context.plan;
        if plan.reconnect {
            self.traced_prepared.clear();
            context.session.disconnect();
        }
        if self.has_done_all(plan) || now >= plan.deadline_ns() {
            return self.finish();
        }
        // Writing the log may have to wait.
        if context.control.is_alone() && !plan.log {
            self.ended_ns = Some(now);
        }
        self.state = State::Choose;
        Step::Again
    }

    #[inline]
    pub(super) fn has_done_all(&self, plan: &RunPlan<'w>) -> bool {
        plan.transactions
            .is_some_and(|wanted| self.counted >= wanted)
    }

    /// Ends the client, after its block if one is open.
    pub(super) fn finish(&mut self) -> Step {
        if self.in_block > 0 {
            self.state = State::Block(BlockState::Leave);
            return Step::Again;
        }
        self.state = State::Ended;
        Step::Finished
    }
}
