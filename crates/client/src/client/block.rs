//! Blocks of several transactions, which the client opens and commits itself.

use super::statement::is_due_to_stop;
use super::{Client, State, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::RunPlan;
use crate::session::{Block, Outcome, Session};

impl<'w> Client<'w> {
    /// Opens a block unless one is open.
    #[inline]
    pub(super) fn enter_block(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        if self.in_block == 0 {
            context.session.submit_begin();
            self.state = State::OpenBlock;
        } else {
            self.state = State::Execute;
        }
        self.in_block += 1;
        None
    }

    /// Waits until the block is open.
    #[inline]
    pub(super) fn open_block(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let abort = |client: &mut Self, error: &_| client.abort_block("opening", error);
        let step = self.await_success(context, abort);
        if step.is_none() {
            self.state = State::Execute;
        }
        step
    }

    /// Whether the current transaction is the last one of its block.
    pub(super) fn ends_block(&self, plan: &RunPlan<'w>) -> bool {
        let ends = plan
            .transactions
            .is_some_and(|wanted| self.counted + 1 >= wanted);
        ends || self.in_block >= plan.commit_every
    }

    /// Waits until the block is committed, after its last script.
    #[inline]
    pub(super) fn commit_block(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match context.session.poll() {
            None => Some(Step::Waiting),
            Some(Outcome::Done) => {
                if context.plan.per_statement {
                    self.command_begin_ns = context.control.now_ns();
                }
                self.state = State::End;
                None
            }
            Some(outcome) => self.conclude(outcome, context),
        }
    }

    /// Ends the client, after committing its block if one is open.
    pub(super) fn leave(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        if std::mem::take(&mut self.in_block) > 0
            && !context.control.stop()
            && context.session.block() == Block::Open
        {
            context.session.submit_commit();
            self.state = State::CommitAtEnd;
        } else {
            self.state = State::Ended;
        }
        None
    }

    /// Waits until the last block is committed.
    pub(super) fn commit_at_end(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match context.session.poll() {
            None => return Some(Step::Waiting),
            Some(Outcome::Failed(error)) if !is_due_to_stop(&error, context.control) => {
                return Some(self.abort_block("committing", &error));
            }
            Some(_) => self.state = State::Ended,
        }
        None
    }
}
