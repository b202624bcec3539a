//! The state machine of a client: which states there are and which function handles each.

mod abort;
mod block;
mod command;
mod condition;
mod end;
mod shell;
mod start;
mod statement;
mod trace;

use self::block::BlockState;
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::run_plan::{Failure, RunPlan};
use crate::session::Session;
use crate::usage::UsageReader;
use selfbench_script::{Command, Rng, Streams, Value, Variables};

/// Returns the step that the handler of a state gives, if it gives one. Returning from each arm of the
/// match, and not once after it, takes fewer instructions per transaction.
macro_rules! return_if_step {
    ($handled:expr) => {
        if let Some(step) = $handled {
            return step;
        }
    };
}

/// Next step of the driver of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Advance it again; others may go first.
    Again,
    /// Advance it when the request to its session has progressed.
    Waiting,
    /// Advance it when the clock has reached this reading.
    Sleeping {
        /// Clock reading in nanoseconds.
        until_ns: u64,
    },
    /// The client has finished.
    Finished,
    /// The client cannot go on.
    Aborted {
        /// pgbench's message.
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between transactions.
    Choose,
    /// A script is chosen; its start is to be scheduled.
    Schedule,
    /// Waits for the scheduled start.
    Throttle,
    /// Connects, since this clock reading.
    Connect(u64),
    /// About to execute the current command.
    Execute,
    /// A statement or the end of a pipeline is in progress.
    Await,
    /// A statement whose results are to be stored is in progress.
    AwaitResults,
    /// A pipeline is being started.
    StartPipeline,
    /// Executing `\sleep`, from and until these clock readings.
    Sleep { since_ns: u64, until_ns: u64 },
    /// A rollback is in progress, after a failure that may be retried.
    RollBack(Failure),
    /// Opens or commits a block of several transactions.
    Block(BlockState),
    /// The script has been executed to its end.
    End,
    /// Finished or aborted.
    Ended,
}

/// One client.
#[derive(Clone, Debug)]
pub struct Client<'w> {
    number: usize,
    variables: Variables,
    /// Buffer for texts of variables.
    scratch: String,
    rng: Rng,
    state: State,
    /// Index of the script in progress.
    script: usize,
    commands: &'w [Command],
    /// Index of the current command.
    command: usize,
    begin_ns: u64,
    /// Whether a transaction has begun and not ended.
    in_transaction: bool,
    /// When the last transaction ended, if no time has passed since.
    ended_ns: Option<u64>,
    /// When the current command began, which is when the one before it ended, if that is measured.
    command_begin_ns: u64,
    /// The beginning, or with a rate the start that the schedule had for it.
    scheduled_ns: u64,
    /// Whether a pipeline is open.
    pipeline: bool,
    /// Time in `\sleep` since the transaction began, with all tries.
    sleep_ns: u64,
    /// Time in `\shell` and `\setshell`, too.
    shell_ns: u64,
    /// Time to connect for the current transaction, if it has a connection of its own.
    connection_ns: u64,
    /// The generator as it was at the beginning, for a retry.
    rng_at_begin: Rng,
    tries: u32,
    counted: u64,
    /// Transactions in the open block, if several share one.
    in_block: u32,
    /// The readings of the session's resource usage.
    usage: UsageReader,
    /// Numbers of the statements whose preparation has been traced.
    traced_prepared: Vec<usize>,
    /// Outcome of the client, until the last reading of its session's usage is complete.
    ending: Option<Step>,
}

impl<'w> Client<'w> {
    /// Client number `number`, counted from 0 over all workers of the run.
    pub fn new(number: usize, plan: &RunPlan<'w>, streams: &Streams) -> Self {
        let symbols = &plan.workload.symbols;
        let mut variables = Variables::new(symbols);
        variables.set(symbols.scale(), Value::Int(plan.scale));
        variables.set(symbols.client_id(), Value::Int(number as i64));
        variables.set(symbols.default_seed(), Value::Int(streams.default_seed));
        variables.set(symbols.random_seed(), Value::Int(plan.random_seed as i64));
        for (name, text) in plan.variables {
            // No script can read a variable that no script mentions.
            if let Some(slot) = symbols.find(name) {
                variables.set_text(slot, text);
            }
        }
        let rng = streams.clients[number];
        Client {
            number,
            variables,
            scratch: String::new(),
            rng,
            state: State::Choose,
            script: 0,
            commands: &[],
            command: 0,
            begin_ns: 0,
            in_transaction: false,
            ended_ns: None,
            command_begin_ns: 0,
            scheduled_ns: 0,
            pipeline: false,
            sleep_ns: 0,
            shell_ns: 0,
            connection_ns: 0,
            rng_at_begin: rng,
            tries: 0,
            counted: 0,
            in_block: 0,
            usage: UsageReader::new(plan.usage),
            traced_prepared: Vec::new(),
            ending: None,
        }
    }

    /// Part of the time in which transactions count that the transaction in progress has taken so
    /// far.
    pub fn unfinished_ns(&self, now_ns: u64, plan: &RunPlan<'_>) -> u64 {
        match self.in_transaction {
            true => {
                let taken_ns = now_ns.saturating_sub(self.begin_ns);
                taken_ns.saturating_sub(plan.early_ns(self.begin_ns))
            }
            false => 0,
        }
    }

    /// Goes on as far as possible without waiting, at most to the end of the transaction.
    pub fn advance(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Step {
        if self.usage.is_busy() && !self.usage.poll(context) {
            return Step::Waiting;
        }
        let step = match self.ending.take() {
            Some(ending) => ending,
            None => self.proceed(context),
        };
        if matches!(step, Step::Finished | Step::Aborted { .. }) {
            // The usage up to the end belongs to the run's figures.
            if self.usage.request_last() {
                self.ending = Some(step);
                return Step::Again;
            }
            if context.plan.exit_on_abort && matches!(step, Step::Aborted { .. }) {
                context.control.request_stop();
            }
        }
        step
    }

    #[inline]
    fn proceed(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Step {
        loop {
            match self.state {
                State::Choose => return_if_step!(self.choose(context)),
                State::Schedule => return_if_step!(self.schedule(context)),
                State::Throttle => return_if_step!(self.throttle(context)),
                State::Connect(since_ns) => return_if_step!(self.connect(since_ns, context)),
                State::Execute => return_if_step!(self.execute_current(context)),
                State::Await => return_if_step!(self.await_outcome(context)),
                State::AwaitResults => return_if_step!(self.await_results(context)),
                State::StartPipeline => return_if_step!(self.start_pipeline(context)),
                State::RollBack(failure) => return_if_step!(self.roll_back(failure, context)),
                State::Sleep { since_ns, until_ns } => {
                    return_if_step!(self.sleep(since_ns, until_ns, context))
                }
                State::Block(state) => return_if_step!(self.block(state, context)),
                State::End => return self.end(context),
                State::Ended => return Step::Finished,
            }
        }
    }
}
