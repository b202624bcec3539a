//! Start of a transaction, from the choice of its script.

use super::block::BlockState;
use super::{Client, State, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::{Ending, RunPlan};
use crate::session::{Outcome, Session};

/// A client that skips this many transactions in succession lets others go first.
const SKIPS_PER_STEP: usize = 1000;
/// During a warm-up without a known end, a client sleeps no longer before it looks at the deadline again.
const LOOK_AGAIN_NS: u64 = 100_000_000;

impl<'w> Client<'w> {
    #[inline]
    pub(super) fn choose(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let (plan, control) = (context.plan, context.control);
        let ended_ns = self.ended_ns.take();
        let now = ended_ns.unwrap_or_else(|| control.now_ns());
        if control.stop() || now >= plan.deadline_ns() {
            return Some(self.finish());
        }
        if self.usage.is_due(now, plan) {
            return self.read_usage(context);
        }
        self.script = plan.workload.choose(&mut context.thread.choice);
        let script = &plan.workload.scripts[self.script];
        self.commands = &script.commands;
        if plan.debug {
            self.trace_script(&script.description, control);
        }
        if plan.throttle_us.is_some() {
            self.state = State::Schedule;
        } else {
            self.start(now, context);
        }
        None
    }

    /// Reads the session's usage for the first time; after that, the same state comes again.
    #[cold]
    fn read_usage(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        self.usage.begin_first(context.session);
        (!self.usage.poll(context)).then_some(Step::Waiting)
    }

    /// Takes the next start from the thread's schedule, and skips transactions that would be late
    /// from the start.
    #[inline]
    pub(super) fn schedule(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let (plan, control) = (context.plan, context.control);
        for _ in 0..SKIPS_PER_STEP {
            self.scheduled_ns = context.thread.next_start_ns(plan);
            if self.scheduled_ns > plan.deadline_ns() {
                // The client ends in that state.
                self.state = State::Throttle;
                return None;
            }
            let Some(limit_ns) = plan.latency_limit_ns else {
                self.state = State::Throttle;
                return None;
            };
            let now = control.now_ns();
            if self.scheduled_ns.saturating_add(limit_ns) >= now {
                self.state = State::Throttle;
                return None;
            }
            if control.stop() || now >= plan.deadline_ns() {
                return Some(self.finish());
            }
            if plan.measures(now) {
                self.counted += 1;
                context.record.skipped(self.script);
                if plan.log {
                    self.log(Ending::Skipped, now, context);
                }
            }
            if self.has_done_all(plan) {
                return Some(self.finish());
            }
        }
        Some(Step::Again)
    }

    /// Waits for the scheduled start.
    #[inline]
    pub(super) fn throttle(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        let (plan, control) = (context.plan, context.control);
        // The client does nothing before the scheduled start, so that there is time for it now.
        if self.usage.is_due(self.scheduled_ns, plan) {
            return self.read_usage(context);
        }
        let is_open = plan.is_open();
        if control.stop() || self.scheduled_ns > plan.deadline_ns() {
            return Some(self.finish());
        }
        let now = control.now_ns();
        if now < self.scheduled_ns {
            context.record.left();
            // The deadline is not known before the end of the warm-up is.
            let until_ns = match is_open {
                true => self.scheduled_ns.min(now.saturating_add(LOOK_AGAIN_NS)),
                false => self.scheduled_ns,
            };
            return Some(Step::Sleeping { until_ns });
        }
        if now >= plan.deadline_ns() {
            return Some(self.finish());
        }
        self.start(now, context);
        None
    }

    /// At the time at which the transaction may start: begins it, after connecting if it has a
    /// connection of its own.
    #[inline]
    fn start(
        &mut self,
        now: u64,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) {
        if context.plan.reconnect {
            context.session.submit_connect();
            self.state = State::Connect(now);
        } else {
            self.begin(now, context.plan);
        }
    }

    /// Waits for the connection.
    #[inline]
    pub(super) fn connect(
        &mut self,
        since_ns: u64,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match context.session.poll() {
            None => Some(Step::Waiting),
            Some(Outcome::Done) => {
                let now = context.control.now_ns();
                self.connection_ns = now.saturating_sub(since_ns);
                self.begin(now, context.plan);
                None
            }
            Some(Outcome::Failed(_)) if context.control.stop() => Some(self.finish()),
            Some(Outcome::Failed(error)) => Some(self.abort_connection(&error)),
        }
    }

    #[inline]
    fn begin(&mut self, now: u64, plan: &RunPlan<'w>) {
        self.command = 0;
        self.begin_ns = now;
        self.in_transaction = true;
        self.command_begin_ns = now;
        if plan.throttle_us.is_none() {
            self.scheduled_ns = now;
        }
        self.rng_at_begin = self.rng;
        self.tries = 1;
        self.sleep_ns = 0;
        self.shell_ns = 0;
        self.state = self.first_state(plan);
    }

    /// The state in which the execution of a script begins.
    #[inline]
    pub(super) fn first_state(&self, plan: &RunPlan<'w>) -> State {
        if plan.commit_every > 1 {
            State::Block(BlockState::Enter)
        } else {
            State::Execute
        }
    }
}
