//! Blocks of several transactions, which the client opens and commits itself.

use super::statement::is_due_to_stop;
use super::{Client, State, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::RunPlan;
use crate::session::{Block, Outcome, Session};

/// State of a client's block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockState {
    /// About to execute a script within the block.
    Enter,
    /// The block is being opened.
    Open,
    /// The block is being committed, after its last script.
    Commit,
    /// About to end; the block may still be open.
    Leave,
    /// The block is being committed, after which the client ends.
    CommitAtEnd,
}

impl<'w> Client<'w> {
    /// Goes on with the block.
    #[inline]
    pub(super) fn block(
        &mut self,
        state: BlockState,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match state {
            BlockState::Enter => self.enter_block(context),
            BlockState::Open => self.open_block(context),
            BlockState::Commit => self.commit_block(context),
            BlockState::Leave => self.leave(context),
            BlockState::CommitAtEnd => self.commit_at_end(context),
        }
    }

    /// Opens a block unless one is open.
    #[inline]
    fn enter_block(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        if self.in_block == 0 {
            context.session.submit_begin();
            self.state = State::Block(BlockState::Open);
        } else {
            self.state = State::Execute;
        }
        self.in_block += 1;
        None
    }

    /// Waits until the block is open.
    #[inline]
    fn open_block(
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
    fn commit_block(
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
    fn leave(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        if std::mem::take(&mut self.in_block) > 0
            && !context.control.stop()
            && context.session.block() == Block::Open
        {
            context.session.submit_commit();
            self.state = State::Block(BlockState::CommitAtEnd);
        } else {
            self.state = State::Ended;
        }
        None
    }

    /// Waits until the last block is committed.
    fn commit_at_end(
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
