//! The client itself: what it does next, and what becomes of errors.

use crate::session::{Block, Outcome, Session, SqlError};
use crate::{Control, Record};
use selfbench_script::{
    Action, Command, EvalContext, Expr, Jump, Rng, Streams, Value, Variables, Workload,
};

/// What all clients of a run have in common.
#[derive(Clone, Debug)]
pub struct Plan<'w> {
    /// The scripts.
    pub workload: &'w Workload,
    /// How many transactions each client is to do; those of the warm-up do not count.
    pub transactions: Option<u64>,
    /// Transactions that end before this clock reading are part of the warm-up.
    pub measure_ns: u64,
    /// No transaction begins after this clock reading.
    pub deadline_ns: u64,
    /// How often a transaction is tried; 0 means without limit.
    pub max_tries: u32,
    /// Value of the variable `scale`.
    pub scale: i64,
    /// The base seed, value of the variable `random_seed`.
    pub random_seed: u64,
}

/// A successful transaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transaction {
    /// From its scheduled start, or its beginning if there is no schedule, to its end, with all
    /// tries.
    pub latency_ns: u64,
    /// From its scheduled start to its beginning, if there is a schedule.
    pub lag_ns: Option<u64>,
    /// Tries beyond the first.
    pub retries: u32,
}

/// Why a transaction failed without the client being aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// SQLSTATE 40001.
    Serialization,
    /// SQLSTATE 40P01.
    Deadlock,
}

impl Failure {
    fn of(error: &SqlError) -> Option<Failure> {
        match error.sqlstate.as_str() {
            _ if error.lost => None,
            "40001" => Some(Failure::Serialization),
            "40P01" => Some(Failure::Deadlock),
            _ => None,
        }
    }
}

/// What the driver of a client is to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Advance it again; others may go first.
    Again,
    /// Advance it when its session has news.
    Waiting,
    /// Advance it when the clock has come to this reading.
    Sleeping {
        /// Clock reading in nanoseconds.
        until_ns: u64,
    },
    /// It has done its work.
    Finished,
    /// It cannot go on.
    Aborted {
        /// What pgbench would write about it.
        reason: String,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Between transactions.
    Choose,
    /// About to execute the current command.
    Execute,
    /// A statement is in progress.
    Await,
    /// In `\sleep`, until this clock reading.
    Sleep(u64),
    /// A rollback is in progress, after a failure that may be retried.
    RollBack(Failure),
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
    /// For texts of variables.
    scratch: String,
    rng: Rng,
    state: State,
    /// Index of the script in progress.
    script: usize,
    commands: &'w [Command],
    /// Index of the current command.
    command: usize,
    begin_ns: u64,
    /// The generator as it was at the beginning, for a retry.
    rng_at_begin: Rng,
    tries: u32,
    counted: u64,
}

impl<'w> Client<'w> {
    /// Client number `number`, counted from 0 over all workers of the run.
    pub fn new(number: usize, plan: &Plan<'w>, streams: &Streams) -> Self {
        let symbols = &plan.workload.symbols;
        let mut variables = Variables::new(symbols);
        variables.set(symbols.scale(), Value::Int(plan.scale));
        variables.set(symbols.client_id(), Value::Int(number as i64));
        variables.set(symbols.default_seed(), Value::Int(streams.default_seed));
        variables.set(symbols.random_seed(), Value::Int(plan.random_seed as i64));
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
            rng_at_begin: rng,
            tries: 0,
            counted: 0,
        }
    }

    /// Goes on as far as possible without waiting, at most to the end of the transaction.
    ///
    /// `choice` is the stream of script choices of the client's thread.
    pub fn advance(
        &mut self,
        session: &mut impl Session,
        plan: &Plan<'w>,
        choice: &mut Rng,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Step {
        loop {
            match self.state {
                State::Choose => {
                    let now = control.now_ns();
                    if control.stop() || now >= plan.deadline_ns {
                        return self.finish();
                    }
                    self.script = plan.workload.choose(choice);
                    self.commands = &plan.workload.scripts[self.script].commands;
                    self.command = 0;
                    self.begin_ns = now;
                    self.rng_at_begin = self.rng;
                    self.tries = 1;
                    self.state = State::Execute;
                }
                State::Execute => match self.commands.get(self.command) {
                    None => self.state = State::End,
                    Some(_) if control.stop() => return self.finish(),
                    Some(command) => {
                        if let Some(step) = self.execute(command, session, control) {
                            return step;
                        }
                    }
                },
                State::Await => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => {
                        self.command += 1;
                        self.state = State::Execute;
                    }
                    Some(Outcome::Failed(error)) => {
                        if control.stop() && moot(&error) {
                            return self.finish();
                        }
                        let Some(failure) = Failure::of(&error) else {
                            return self.abort_statement(&error.message);
                        };
                        if session.block() != Block::None {
                            session.submit_rollback();
                            self.state = State::RollBack(failure);
                        } else if let Some(step) =
                            self.retry_or_fail(failure, plan, control, record)
                        {
                            return step;
                        }
                    }
                },
                State::RollBack(failure) => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => {
                        if let Some(step) = self.retry_or_fail(failure, plan, control, record) {
                            return step;
                        }
                    }
                    Some(Outcome::Failed(error)) => {
                        if control.stop() && moot(&error) {
                            return self.finish();
                        }
                        return self.abort(format!(
                            "client {} aborted while rolling back the transaction after an \
                             error; {}",
                            self.number, error.message
                        ));
                    }
                },
                State::Sleep(until_ns) => {
                    if control.stop() {
                        return self.finish();
                    }
                    if control.now_ns() < until_ns {
                        return Step::Sleeping { until_ns };
                    }
                    self.command += 1;
                    self.state = State::Execute;
                }
                State::End => {
                    let now = control.now_ns();
                    if now < plan.measure_ns {
                        record.warmed_up();
                    } else {
                        self.counted += 1;
                        let transaction = Transaction {
                            latency_ns: now.saturating_sub(self.begin_ns),
                            lag_ns: None,
                            retries: self.tries - 1,
                        };
                        record.succeeded(self.script, &transaction);
                    }
                    if session.block() != Block::None {
                        return self.abort(format!(
                            "client {} aborted: end of script reached without completing the \
                             last transaction",
                            self.number
                        ));
                    }
                    return self.next(plan, now);
                }
                State::Ended => return Step::Finished,
            }
        }
    }

    /// Executes the current command; `None` if the client can go on at once.
    fn execute(
        &mut self,
        command: &'w Command,
        session: &mut impl Session,
        control: &impl Control,
    ) -> Option<Step> {
        match &command.action {
            Action::Sql(sql) if sql.store.is_none() => {
                session.submit(sql, &self.variables);
                self.state = State::Await;
            }
            Action::Set(set) => {
                let mut context = EvalContext {
                    variables: &mut self.variables,
                    rng: &mut self.rng,
                    debug: None,
                };
                if let Err(error) = set.execute(&mut context) {
                    let message = error.to_string();
                    return Some(self.abort_meta(&command.keyword, &message, error.summary()));
                }
                self.command += 1;
            }
            Action::If {
                condition,
                otherwise,
            } => {
                if let Err(step) = self.branch(condition, *otherwise) {
                    return Some(step);
                }
            }
            // Reached by going on, both are the end of the branch before them.
            Action::Elif { end, .. } | Action::Else { end } => self.command = *end,
            Action::EndIf => self.command += 1,
            Action::Sleep(sleep) => match sleep.duration_us(&self.variables, &mut self.scratch) {
                Ok(us) => {
                    let wait_ns = u64::from(us) * 1000;
                    self.state = State::Sleep(control.now_ns().saturating_add(wait_ns));
                }
                Err(error) => {
                    let message = error.to_string();
                    return Some(self.abort_meta(
                        command.name(),
                        &message,
                        "execution of meta-command failed",
                    ));
                }
            },
            Action::Sql(_)
            | Action::Shell(_)
            | Action::SetShell(_)
            | Action::StartPipeline
            | Action::SyncPipeline
            | Action::EndPipeline => {
                return Some(self.abort_meta(
                    command.name(),
                    "this meta-command cannot be executed here",
                    "execution of meta-command failed",
                ));
            }
        }
        None
    }

    /// Goes from an `\if` to the branch that its condition, or that of one of its `\elif`s,
    /// selects.
    fn branch(&mut self, condition: &Expr, otherwise: Jump) -> Result<(), Step> {
        let (mut condition, mut otherwise) = (condition, otherwise);
        loop {
            let mut context = EvalContext {
                variables: &mut self.variables,
                rng: &mut self.rng,
                debug: None,
            };
            match condition.eval(&mut context) {
                Err(error) => {
                    let message = error.to_string();
                    let keyword = self.commands.get(self.command).map(|c| c.keyword.as_str());
                    return Err(self.abort_meta(
                        keyword.unwrap_or_default(),
                        &message,
                        "evaluation of meta-command failed",
                    ));
                }
                Ok(value) if value.is_true() => {
                    self.command += 1;
                    return Ok(());
                }
                Ok(_) => match otherwise {
                    Jump::Run(index) => {
                        self.command = index;
                        return Ok(());
                    }
                    Jump::Test(index) => {
                        self.command = index;
                        let Some(Action::Elif {
                            condition: c,
                            otherwise: o,
                            ..
                        }) = self.commands.get(index).map(|command| &command.action)
                        else {
                            return Ok(());
                        };
                        (condition, otherwise) = (c, *o);
                    }
                },
            }
        }
    }

    /// After a failure that may be retried, outside of any block.
    fn retry_or_fail(
        &mut self,
        failure: Failure,
        plan: &Plan<'w>,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Option<Step> {
        let now = control.now_ns();
        if control.stop() || now >= plan.deadline_ns {
            return Some(self.finish());
        }
        if plan.max_tries == 0 || self.tries < plan.max_tries {
            self.tries = self.tries.saturating_add(1);
            self.rng = self.rng_at_begin;
            self.command = 0;
            self.state = State::Execute;
            return None;
        }
        if now < plan.measure_ns {
            record.warmed_up();
        } else {
            self.counted += 1;
            record.failed(self.script, failure, self.tries - 1);
        }
        Some(self.next(plan, now))
    }

    /// After a transaction that ended at `now`: the next one, unless this was the last.
    fn next(&mut self, plan: &Plan<'w>, now: u64) -> Step {
        let done = plan
            .transactions
            .is_some_and(|wanted| self.counted >= wanted);
        if done || now >= plan.deadline_ns {
            return self.finish();
        }
        self.state = State::Choose;
        Step::Again
    }

    fn finish(&mut self) -> Step {
        self.state = State::Ended;
        Step::Finished
    }

    fn abort(&mut self, reason: String) -> Step {
        self.state = State::Ended;
        Step::Aborted { reason }
    }

    fn abort_statement(&mut self, message: &str) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        self.abort(format!(
            "client {client} script {script} aborted in command {command} query 0: {message}"
        ))
    }

    /// `name` is what pgbench calls the command: as typed if an evaluation or assignment failed.
    fn abort_meta(&mut self, name: &str, message: &str, summary: &str) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        self.abort(format!(
            "{message}; client {client} aborted in command {command} ({name}) of script \
             {script}; {summary}"
        ))
    }
}

/// Whether an error does not matter once the client is to stop: the request itself cancels the
/// statement in progress (SQLSTATE 57014), and nothing is tried again.
fn moot(error: &SqlError) -> bool {
    error.sqlstate == "57014" || Failure::of(error).is_some()
}
