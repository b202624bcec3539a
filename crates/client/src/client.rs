//! The client itself: what it does next, and what becomes of errors.

use crate::control::Control;
use crate::plan::{Ending, Failure, LogEntry, Plan, Thread, Transaction};
use crate::record::Record;
use crate::session::{Block, Outcome, Session, SqlError, Usage};
use crate::store;
use selfbench_script::{
    Action, Command, EvalContext, Expr, Jump, Protocol, Rng, SetShellCommand, ShellCommand,
    ShellError, Store, Streams, Value, Variables,
};

/// A client that skips that many transactions at a stretch lets others go first.
const SKIPS_PER_STEP: usize = 1000;

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
    /// A script is chosen; its start is to be scheduled.
    Schedule,
    /// Waits for the scheduled start.
    Throttle,
    /// Connects, since this clock reading.
    Connect(u64),
    /// What the session has used is being read, since transactions count from now on.
    ReadUsage,
    /// The same between the scheduling of a start and its time.
    ReadUsageIdle,
    /// About to execute a script within a block of several transactions.
    Enter,
    /// The block is being opened.
    OpenBlock,
    /// About to execute the current command.
    Execute,
    /// A statement or the end of a pipeline is in progress.
    Await,
    /// A statement whose results are to be stored is in progress.
    AwaitResults,
    /// A pipeline is being started.
    StartPipeline,
    /// In `\sleep`, from and until these clock readings.
    Sleep { since_ns: u64, until_ns: u64 },
    /// A rollback is in progress, after a failure that may be retried.
    RollBack(Failure),
    /// The block is being committed, after its last script.
    CommitBlock,
    /// The script has been executed to its end.
    End,
    /// About to end; a block may still be open.
    Leave,
    /// The block is being committed, after which the client ends.
    CommitAtEnd,
    /// A failed block is being rolled back, after which what the session has used is read.
    RollBackAtEnd,
    /// What the session has used is being read, after which the client ends.
    ReadUsageAtEnd,
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
    /// How long it took to connect for the current transaction, if it has a connection of its own.
    connection_ns: u64,
    /// The generator as it was at the beginning, for a retry.
    rng_at_begin: Rng,
    tries: u32,
    counted: u64,
    /// Transactions in the open block, if several share one.
    in_block: u32,
    /// Whether what the session has used is still to be read for the first time.
    usage_unread: bool,
    /// Whether it has been read, and is to be read again at the end.
    usage_read: bool,
    /// Numbers of the statements that have been told to be prepared.
    told_prepared: Vec<usize>,
    /// Why the client was aborted, while what its session has used is being read.
    aborted: Option<String>,
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
        for (name, text) in plan.variables {
            // What no script mentions cannot be read by any.
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
            ended_ns: None,
            command_begin_ns: 0,
            scheduled_ns: 0,
            pipeline: false,
            sleep_ns: 0,
            connection_ns: 0,
            rng_at_begin: rng,
            tries: 0,
            counted: 0,
            in_block: 0,
            usage_unread: plan.usage,
            usage_read: false,
            told_prepared: Vec::new(),
            aborted: None,
        }
    }

    /// Goes on as far as possible without waiting, at most to the end of the transaction.
    ///
    /// `thread` is the client's thread, which it shares with the thread's other clients.
    pub fn advance(
        &mut self,
        session: &mut impl Session,
        plan: &Plan<'w>,
        thread: &mut Thread,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Step {
        match self.proceed(session, plan, thread, control, record) {
            Step::Aborted { reason } if self.usage_read => {
                // What it has used until then is among the run's figures.
                self.aborted = Some(reason);
                self.in_block = 0;
                self.state = State::Leave;
                Step::Again
            }
            step => {
                if plan.exit_on_abort && matches!(step, Step::Aborted { .. }) {
                    control.request_stop();
                }
                step
            }
        }
    }

    fn proceed(
        &mut self,
        session: &mut impl Session,
        plan: &Plan<'w>,
        thread: &mut Thread,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Step {
        loop {
            match self.state {
                State::Choose => {
                    let ended_ns = self.ended_ns.take();
                    let now = ended_ns.unwrap_or_else(|| control.now_ns());
                    if control.stop() || now >= plan.deadline_ns {
                        return self.finish();
                    }
                    if self.usage_unread && now >= plan.measure_ns {
                        self.usage_unread = false;
                        session.submit_usage();
                        self.state = State::ReadUsage;
                        continue;
                    }
                    self.script = plan.workload.choose(&mut thread.choice);
                    let script = &plan.workload.scripts[self.script];
                    self.commands = &script.commands;
                    if plan.debug {
                        let (number, description) = (self.number, &script.description);
                        control.tell(&format!(
                            "client {number} executing script \"{description}\""
                        ));
                    }
                    if plan.throttle_us.is_some() {
                        self.state = State::Schedule;
                    } else {
                        self.start(now, session, plan);
                    }
                }
                State::Schedule => {
                    if let Some(step) = self.schedule(plan, thread, control, record) {
                        return step;
                    }
                }
                State::Throttle => {
                    // It does nothing before the scheduled start.
                    if self.usage_unread && self.scheduled_ns >= plan.measure_ns {
                        self.usage_unread = false;
                        session.submit_usage();
                        self.state = State::ReadUsageIdle;
                        continue;
                    }
                    if control.stop() || self.scheduled_ns > plan.deadline_ns {
                        return self.finish();
                    }
                    let now = control.now_ns();
                    if now < self.scheduled_ns {
                        return Step::Sleeping {
                            until_ns: self.scheduled_ns,
                        };
                    }
                    if now >= plan.deadline_ns {
                        return self.finish();
                    }
                    self.start(now, session, plan);
                }
                State::Connect(since_ns) => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => {
                        let now = control.now_ns();
                        self.connection_ns = now.saturating_sub(since_ns);
                        self.begin(now, plan);
                    }
                    Some(Outcome::Failed(_)) if control.stop() => return self.finish(),
                    Some(Outcome::Failed(error)) => {
                        return self.abort(format!(
                            "client {} aborted while establishing connection; {}",
                            self.number, error.message
                        ));
                    }
                },
                State::ReadUsage | State::ReadUsageIdle => match session.poll() {
                    None => return Step::Waiting,
                    Some(outcome) => {
                        if let Some(usage) = read(session, &outcome) {
                            self.usage_read = true;
                            record.usage_begins(&usage);
                        }
                        self.state = match self.state {
                            State::ReadUsageIdle => State::Throttle,
                            _ => State::Choose,
                        };
                    }
                },
                State::Enter => {
                    if self.in_block == 0 {
                        session.submit_begin();
                        self.state = State::OpenBlock;
                    } else {
                        self.state = State::Execute;
                    }
                    self.in_block += 1;
                }
                State::OpenBlock => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => self.state = State::Execute,
                    Some(Outcome::Failed(error)) => {
                        if control.stop() && moot(&error) {
                            return self.finish();
                        }
                        return self.abort_block("opening", &error);
                    }
                },
                State::Execute => match self.commands.get(self.command) {
                    None if self.pipeline => {
                        return self.abort(format!(
                            "client {} aborted: end of script reached with pipeline open",
                            self.number
                        ));
                    }
                    None if self.in_block > 0 && self.ends_block(plan) => {
                        self.in_block = 0;
                        session.submit_commit();
                        self.state = State::CommitBlock;
                    }
                    None => self.state = State::End,
                    Some(_) if control.stop() => return self.finish(),
                    Some(command) => {
                        if plan.debug {
                            self.trace(command, plan, control);
                        }
                        if let Some(step) = self.execute(command, session, plan, control, record) {
                            return step;
                        }
                    }
                },
                State::Await => match session.poll() {
                    None => return Step::Waiting,
                    Some(outcome) => {
                        let step = self.conclude(outcome, session, plan, thread, control, record);
                        if let Some(step) = step {
                            return step;
                        }
                    }
                },
                State::AwaitResults => match session.poll() {
                    None => return Step::Waiting,
                    Some(outcome) => {
                        let complete = outcome == Outcome::Done;
                        if let Err(step) = self.store_results(session, plan, complete) {
                            return step;
                        }
                        let step = self.conclude(outcome, session, plan, thread, control, record);
                        if let Some(step) = step {
                            return step;
                        }
                    }
                },
                State::StartPipeline => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => {
                        self.pipeline = true;
                        self.complete(self.command + 1, plan, control, record);
                    }
                    Some(Outcome::Failed(error)) => {
                        if control.stop() && moot(&error) {
                            return self.finish();
                        }
                        return self.abort_statement(&error);
                    }
                },
                State::RollBack(failure) => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => {
                        let step =
                            self.retry_or_fail(failure, session, plan, thread, control, record);
                        if let Some(step) = step {
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
                State::Sleep { since_ns, until_ns } => {
                    if control.stop() {
                        return self.finish();
                    }
                    let now = control.now_ns();
                    if now < until_ns {
                        return Step::Sleeping { until_ns };
                    }
                    self.sleep_ns += now.saturating_sub(since_ns);
                    self.complete(self.command + 1, plan, control, record);
                }
                State::CommitBlock => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => {
                        if plan.per_statement {
                            self.command_begin_ns = control.now_ns();
                        }
                        self.state = State::End;
                    }
                    Some(outcome) => {
                        let step = self.conclude(outcome, session, plan, thread, control, record);
                        if let Some(step) = step {
                            return step;
                        }
                    }
                },
                State::End => {
                    // The transaction ends with its last command, whose end may have been read.
                    let now = match plan.per_statement {
                        true => self.command_begin_ns,
                        false => control.now_ns(),
                    };
                    if now < plan.measure_ns {
                        record.warmed_up();
                    } else {
                        self.count(plan, record);
                        let transaction = self.transaction(now, plan);
                        record.succeeded(self.script, &transaction);
                        if plan.log {
                            self.log(Ending::Success(transaction), now, plan, thread, record);
                        }
                    }
                    if self.in_block == 0 && session.block() != Block::None {
                        return self.abort(format!(
                            "client {} aborted: end of script reached without completing the \
                             last transaction",
                            self.number
                        ));
                    }
                    return self.next(session, plan, control, now);
                }
                State::Leave => {
                    if std::mem::take(&mut self.in_block) > 0
                        && !control.stop()
                        && session.block() == Block::Open
                    {
                        session.submit_commit();
                        self.state = State::CommitAtEnd;
                    } else if !std::mem::take(&mut self.usage_read) {
                        self.state = State::Ended;
                    } else if session.block() == Block::Failed {
                        session.submit_rollback();
                        self.state = State::RollBackAtEnd;
                    } else {
                        session.submit_usage();
                        self.state = State::ReadUsageAtEnd;
                    }
                }
                State::CommitAtEnd => match session.poll() {
                    None => return Step::Waiting,
                    Some(Outcome::Done) => self.state = State::Leave,
                    Some(Outcome::Failed(error)) if control.stop() && moot(&error) => {
                        self.state = State::Leave;
                    }
                    Some(Outcome::Failed(error)) => {
                        return self.abort_block("committing", &error);
                    }
                },
                State::RollBackAtEnd => match session.poll() {
                    None => return Step::Waiting,
                    Some(_) => {
                        session.submit_usage();
                        self.state = State::ReadUsageAtEnd;
                    }
                },
                State::ReadUsageAtEnd => match session.poll() {
                    None => return Step::Waiting,
                    Some(outcome) => {
                        if let Some(usage) = read(session, &outcome) {
                            record.usage_ends(&usage);
                        }
                        self.state = State::Ended;
                    }
                },
                State::Ended => {
                    return match self.aborted.take() {
                        None => Step::Finished,
                        Some(reason) => Step::Aborted { reason },
                    };
                }
            }
        }
    }

    /// Takes the next start from the thread's schedule, and skips transactions that would be late
    /// from the start.
    fn schedule(
        &mut self,
        plan: &Plan<'w>,
        thread: &mut Thread,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Option<Step> {
        let center_us = plan.throttle_us.unwrap_or_default();
        for _ in 0..SKIPS_PER_STEP {
            self.scheduled_ns = thread.next_start_ns(center_us);
            if self.scheduled_ns > plan.deadline_ns {
                // It ends there.
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
            if control.stop() || now >= plan.deadline_ns {
                return Some(self.finish());
            }
            if now >= plan.measure_ns {
                self.counted += 1;
                record.skipped(self.script);
                if plan.log {
                    self.log(Ending::Skipped, now, plan, thread, record);
                }
            }
            if self.has_done_all(plan) {
                return Some(self.finish());
            }
        }
        Some(Step::Again)
    }

    /// At the time at which the transaction may start: begins it, after connecting if it has a
    /// connection of its own.
    #[inline]
    fn start(&mut self, now: u64, session: &mut impl Session, plan: &Plan<'w>) {
        if plan.reconnect {
            session.submit_connect();
            self.state = State::Connect(now);
        } else {
            self.begin(now, plan);
        }
    }

    #[inline]
    fn begin(&mut self, now: u64, plan: &Plan<'w>) {
        self.command = 0;
        self.begin_ns = now;
        self.command_begin_ns = now;
        if plan.throttle_us.is_none() {
            self.scheduled_ns = now;
        }
        self.rng_at_begin = self.rng;
        self.tries = 1;
        self.sleep_ns = 0;
        self.state = self.first_state(plan);
    }

    /// Counts a transaction that was begun and has ended, successful or failed.
    #[inline]
    fn count(&mut self, plan: &Plan<'w>, record: &mut impl Record) {
        self.counted += 1;
        if plan.reconnect {
            record.connected(self.connection_ns);
        }
    }

    /// The state in which the execution of a script begins.
    #[inline]
    fn first_state(&self, plan: &Plan<'w>) -> State {
        if plan.commit_every > 1 {
            State::Enter
        } else {
            State::Execute
        }
    }

    /// Whether the current transaction is the last one of its block.
    fn ends_block(&self, plan: &Plan<'w>) -> bool {
        let ends = plan
            .transactions
            .is_some_and(|wanted| self.counted + 1 >= wanted);
        ends || self.in_block >= plan.commit_every
    }

    /// The figures of the transaction that was successful at `now`.
    #[inline]
    fn transaction(&self, now: u64, plan: &Plan<'w>) -> Transaction {
        let latency_ns = now.saturating_sub(self.scheduled_ns);
        Transaction {
            latency_ns,
            lag_ns: plan
                .throttle_us
                .map(|_| self.begin_ns.saturating_sub(self.scheduled_ns)),
            sleep_ns: self.sleep_ns,
            retries: self.tries - 1,
            late: plan
                .latency_limit_ns
                .is_some_and(|limit| latency_ns > limit),
        }
    }

    /// Hands the transaction that ended at `now` to the log, unless it is not in the sample.
    fn log(
        &self,
        ending: Ending,
        now: u64,
        plan: &Plan<'w>,
        thread: &mut Thread,
        record: &mut impl Record,
    ) {
        if plan.sampling_rate.is_none_or(|rate| thread.samples(rate)) {
            record.log(&LogEntry {
                client: self.number,
                count: self.counted,
                script: self.script,
                at_ns: now,
                ending,
            });
        }
    }

    /// The current command has been executed: goes on with the one at index `next`.
    #[inline]
    fn complete(
        &mut self,
        next: usize,
        plan: &Plan<'w>,
        control: &impl Control,
        record: &mut impl Record,
    ) {
        if plan.per_statement {
            let now = control.now_ns();
            if now >= plan.measure_ns {
                let duration_ns = now.saturating_sub(self.command_begin_ns);
                record.executed(self.script, self.command, duration_ns);
            }
            // The next command begins where this one ends: one clock reading for each.
            self.command_begin_ns = now;
        }
        self.command = next;
        self.state = State::Execute;
    }

    /// After a statement or a pipeline: goes on, or sees what becomes of its error.
    #[inline]
    fn conclude(
        &mut self,
        outcome: Outcome,
        session: &mut impl Session,
        plan: &Plan<'w>,
        thread: &mut Thread,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Option<Step> {
        self.pipeline = false;
        let Outcome::Failed(error) = outcome else {
            self.complete(self.command + 1, plan, control, record);
            return None;
        };
        if control.stop() && moot(&error) {
            return Some(self.finish());
        }
        let Some(failure) = Failure::of(&error, plan) else {
            return Some(self.abort_statement(&error));
        };
        if plan.verbose_errors {
            let (client, script, command) = (self.number, self.script, self.command);
            control.tell(&format!(
                "client {client} got an error in command {command} (SQL) of script {script}; {}",
                error.message
            ));
        }
        if session.block() != Block::None {
            session.submit_rollback();
            if plan.debug {
                control.tell(&format!("client {} receiving", self.number));
            }
            self.state = State::RollBack(failure);
            return None;
        }
        self.retry_or_fail(failure, session, plan, thread, control, record)
    }

    /// Stores what the current command asks for.
    fn store_results(
        &mut self,
        session: &impl Session,
        plan: &Plan<'w>,
        complete: bool,
    ) -> Result<(), Step> {
        let Some(what) = self.current_store() else {
            return Ok(());
        };
        let symbols = &plan.workload.symbols;
        store::store(
            what,
            session.results(),
            complete,
            symbols,
            &mut self.variables,
        )
        .map_err(|error| {
            let (client, script, command) = (self.number, self.script, self.command);
            let cause = error.cause.map_or(String::new(), |cause| cause + "; ");
            self.abort(format!(
                "{cause}client {client} script {script} command {command} query {}: {}",
                error.query, error.message
            ))
        })
    }

    fn current_store(&self) -> Option<&'w Store> {
        match self.commands.get(self.command).map(|c| &c.action) {
            Some(Action::Sql(sql)) => sql.store.as_ref(),
            _ => None,
        }
    }

    /// Tells what is about to be executed.
    fn trace(&mut self, command: &Command, plan: &Plan<'w>, control: &impl Control) {
        let number = self.number;
        let prepares = plan.workload.protocol == Protocol::Prepared;
        if prepares && matches!(&command.action, Action::Sql(_)) {
            let commands = self.commands;
            self.trace_prepared(&commands[self.command..=self.command], control);
        }
        let words = command.text.split_ascii_whitespace();
        let line = match &command.action {
            Action::Sql(sql) => match plan.workload.protocol {
                Protocol::Simple => {
                    // What is too long is shown as far as it goes.
                    _ = sql.simple_text(&self.variables, &mut self.scratch);
                    format!("client {number} sending {}", self.scratch)
                }
                Protocol::Extended => format!("client {number} sending {}", sql.parameterized()),
                Protocol::Prepared => format!("client {number} sending {}", sql.prepared_name()),
            },
            // Expressions are no arguments.
            Action::Set(_) => {
                let words: Vec<_> = words.take(2).collect();
                format!("client {number} executing {}", words.join(" "))
            }
            Action::If { .. } | Action::Elif { .. } => {
                format!("client {number} executing \\{}", command.keyword)
            }
            _ => {
                let words: Vec<_> = words.collect();
                format!("client {number} executing {}", words.join(" "))
            }
        };
        control.tell(&line);
        match &command.action {
            Action::StartPipeline if prepares => {
                let commands = self.commands;
                self.trace_prepared(&commands[self.command + 1..], control);
            }
            // In a pipeline, nothing is received before its end.
            Action::Sql(_) if !self.pipeline => {
                control.tell(&format!("client {number} receiving"));
            }
            Action::EndPipeline => control.tell(&format!("client {number} receiving")),
            _ => {}
        }
    }

    /// Tells which statements of these commands, up to the end of a pipeline, are prepared now.
    fn trace_prepared(&mut self, commands: &'w [Command], control: &impl Control) {
        let statements = commands
            .iter()
            .take_while(|command| !matches!(&command.action, Action::EndPipeline))
            .filter_map(|command| match &command.action {
                Action::Sql(sql) => Some(sql),
                _ => None,
            });
        for sql in statements {
            if !self.told_prepared.contains(&sql.number) {
                self.told_prepared.push(sql.number);
                let name = sql.prepared_name();
                control.tell(&format!("client {} preparing {name}", self.number));
            }
        }
    }

    /// Executes the current command; `None` if the client can go on at once.
    #[inline]
    fn execute(
        &mut self,
        command: &'w Command,
        session: &mut impl Session,
        plan: &Plan<'w>,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Option<Step> {
        match &command.action {
            Action::Sql(sql) => match &sql.store {
                Some(store) if self.pipeline => {
                    let name = store.kind.as_str();
                    return Some(self.abort_command(
                        name,
                        &format!("\\{name} is not allowed in pipeline mode"),
                    ));
                }
                store => {
                    session.submit(sql, &self.variables);
                    if self.pipeline {
                        self.complete(self.command + 1, plan, control, record);
                    } else if store.is_none() {
                        self.state = State::Await;
                    } else {
                        self.state = State::AwaitResults;
                    }
                }
            },
            Action::Set(set) => {
                let mut debug = debug_sink(control, self.script, self.command);
                let mut context = EvalContext {
                    variables: &mut self.variables,
                    rng: &mut self.rng,
                    debug: Some(&mut debug),
                };
                if let Err(error) = set.execute(&mut context) {
                    let message = error.to_string();
                    return Some(self.abort_meta(&command.keyword, &message, error.summary()));
                }
                self.complete(self.command + 1, plan, control, record);
            }
            Action::If {
                condition,
                otherwise,
            } => {
                if let Err(step) = self.branch(condition, *otherwise, plan, control, record) {
                    return Some(step);
                }
            }
            // Reached by going on, both are the end of the branch before them.
            Action::Elif { end, .. } | Action::Else { end } => {
                self.complete(*end + 1, plan, control, record);
            }
            Action::EndIf => self.complete(self.command + 1, plan, control, record),
            Action::Sleep(sleep) => match sleep.duration_us(&self.variables, &mut self.scratch) {
                Ok(us) => {
                    let since_ns = control.now_ns();
                    let until_ns = since_ns.saturating_add(u64::from(us) * 1000);
                    self.state = State::Sleep { since_ns, until_ns };
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
            Action::Shell(shell) => {
                let result = self.shell(shell, control);
                return self.after_shell(command.name(), result, plan, control, record);
            }
            Action::SetShell(shell) => {
                let result = self.set_shell(shell, control);
                return self.after_shell(command.name(), result, plan, control, record);
            }
            Action::StartPipeline => {
                let problem = if plan.workload.protocol == Protocol::Simple {
                    "cannot use pipeline mode with the simple query protocol"
                } else if self.pipeline {
                    "already in pipeline mode"
                } else {
                    session.start_pipeline(&self.commands[self.command + 1..]);
                    self.state = State::StartPipeline;
                    return None;
                };
                return Some(self.abort_command(command.name(), problem));
            }
            Action::SyncPipeline | Action::EndPipeline if !self.pipeline => {
                return Some(self.abort_command(command.name(), "not in pipeline mode"));
            }
            Action::SyncPipeline => {
                session.sync_pipeline();
                self.complete(self.command + 1, plan, control, record);
            }
            Action::EndPipeline => {
                session.end_pipeline();
                self.state = State::Await;
            }
        }
        None
    }

    fn shell(&mut self, shell: &ShellCommand, control: &impl Control) -> Result<(), ShellError> {
        shell.command_line(&self.variables, &mut self.scratch)?;
        if control.shell(&self.scratch, None) {
            Ok(())
        } else {
            Err(shell.launch_error())
        }
    }

    fn set_shell(
        &mut self,
        shell: &SetShellCommand,
        control: &impl Control,
    ) -> Result<(), ShellError> {
        let command = shell.command();
        command.command_line(&self.variables, &mut self.scratch)?;
        let mut output = Vec::new();
        if !control.shell(&self.scratch, Some(&mut output)) {
            return Err(command.launch_error());
        }
        shell.store(&output, &mut self.variables)
    }

    fn after_shell(
        &mut self,
        name: &str,
        result: Result<(), ShellError>,
        plan: &Plan<'w>,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Option<Step> {
        match result {
            Ok(()) => {
                self.complete(self.command + 1, plan, control, record);
                None
            }
            // The request has ended the command.
            Err(_) if control.stop() => Some(self.finish()),
            Err(error) => {
                let message = error.to_string();
                Some(self.abort_meta(name, &message, "execution of meta-command failed"))
            }
        }
    }

    /// Goes from an `\if` to the branch that its condition, or that of one of its `\elif`s,
    /// selects.
    fn branch(
        &mut self,
        condition: &Expr,
        otherwise: Jump,
        plan: &Plan<'w>,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Result<(), Step> {
        let (mut condition, mut otherwise) = (condition, otherwise);
        loop {
            let mut debug = debug_sink(control, self.script, self.command);
            let mut context = EvalContext {
                variables: &mut self.variables,
                rng: &mut self.rng,
                debug: Some(&mut debug),
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
                    self.complete(self.command + 1, plan, control, record);
                    return Ok(());
                }
                Ok(_) => match otherwise {
                    Jump::Run(index) => {
                        // An end of branches that were all skipped counts as skipped, too.
                        let is_end = matches!(
                            self.commands.get(index).map(|command| &command.action),
                            Some(Action::EndIf)
                        );
                        self.complete(index + usize::from(is_end), plan, control, record);
                        return Ok(());
                    }
                    Jump::Test(index) => {
                        self.complete(index, plan, control, record);
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

    /// After a failure, outside of any block: tries the transaction again if that may help and is
    /// allowed.
    fn retry_or_fail(
        &mut self,
        failure: Failure,
        session: &mut impl Session,
        plan: &Plan<'w>,
        thread: &mut Thread,
        control: &impl Control,
        record: &mut impl Record,
    ) -> Option<Step> {
        // The block is gone, with all that was done in it.
        self.in_block = 0;
        let now = control.now_ns();
        if control.stop() || now >= plan.deadline_ns {
            return Some(self.finish());
        }
        let in_time = plan
            .latency_limit_ns
            .is_none_or(|limit| now.saturating_sub(self.scheduled_ns) <= limit);
        let tries_left = plan.max_tries == 0 || self.tries < plan.max_tries;
        let again = failure != Failure::Other && tries_left && in_time;
        if plan.per_statement && now >= plan.measure_ns {
            record.command_failed(self.script, self.command, again);
        }
        if plan.verbose_errors {
            control.tell(&self.what_becomes_of_it(again, now, plan));
        }
        if again {
            self.command_begin_ns = now;
            self.tries = self.tries.saturating_add(1);
            self.rng = self.rng_at_begin;
            self.command = 0;
            self.state = self.first_state(plan);
            return None;
        }
        if now < plan.measure_ns {
            record.warmed_up();
        } else {
            self.count(plan, record);
            record.failed(self.script, failure, self.tries - 1);
            if plan.log {
                let retries = self.tries - 1;
                self.log(
                    Ending::Failure { failure, retries },
                    now,
                    plan,
                    thread,
                    record,
                );
            }
        }
        Some(self.next(session, plan, control, now))
    }

    /// What `verbose_errors` says after an error that does not abort the client.
    fn what_becomes_of_it(&self, again: bool, now: u64, plan: &Plan<'w>) -> String {
        let what = if again {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let mut text = format!("client {} {what} (try {}", self.number, self.tries);
        if plan.max_tries != 0 {
            text += &format!("/{}", plan.max_tries);
        }
        if let Some(limit_ns) = plan.latency_limit_ns {
            let used_ns = now.saturating_sub(self.scheduled_ns);
            let percent = 100.0 * used_ns as f64 / limit_ns as f64;
            text += &format!(", {percent:.3}% of the maximum time of tries was used");
        }
        text + ")"
    }

    /// After a transaction that ended at `now`: the next one, unless this was the last.
    #[inline]
    fn next(
        &mut self,
        session: &mut impl Session,
        plan: &Plan<'w>,
        control: &impl Control,
        now: u64,
    ) -> Step {
        if plan.reconnect {
            self.told_prepared.clear();
            session.disconnect();
        }
        if self.has_done_all(plan) || now >= plan.deadline_ns {
            return self.finish();
        }
        // Writing the log may have to wait.
        if control.is_alone() && !plan.log {
            self.ended_ns = Some(now);
        }
        self.state = State::Choose;
        Step::Again
    }

    #[inline]
    fn has_done_all(&self, plan: &Plan<'w>) -> bool {
        plan.transactions
            .is_some_and(|wanted| self.counted >= wanted)
    }

    /// Ends the client, at once unless something is left to do.
    fn finish(&mut self) -> Step {
        if self.in_block > 0 || self.usage_read {
            self.state = State::Leave;
            return Step::Again;
        }
        self.state = State::Ended;
        Step::Finished
    }

    fn abort(&mut self, reason: String) -> Step {
        self.state = State::Ended;
        Step::Aborted { reason }
    }

    fn abort_block(&mut self, what: &str, error: &SqlError) -> Step {
        let number = self.number;
        let message = &error.message;
        self.abort(format!(
            "client {number} aborted while {what} a transaction block; {message}"
        ))
    }

    fn abort_statement(&mut self, error: &SqlError) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        self.abort(format!(
            "client {client} script {script} aborted in command {command} query {}: {}",
            error.query, error.message
        ))
    }

    /// `message` is the cause, if there is a text for it; `name` what pgbench calls the command: as
    /// typed if an evaluation or assignment failed.
    fn abort_meta(&mut self, name: &str, message: &str, summary: &str) -> Step {
        match self.abort_command(name, summary) {
            Step::Aborted { reason } if !message.is_empty() => Step::Aborted {
                reason: format!("{message}; {reason}"),
            },
            other => other,
        }
    }

    fn abort_command(&mut self, name: &str, summary: &str) -> Step {
        let (client, script, command) = (self.number, self.script, self.command);
        self.abort(format!(
            "client {client} aborted in command {command} ({name}) of script {script}; {summary}"
        ))
    }
}

/// What the session has used, if reading it had this outcome.
fn read(session: &impl Session, outcome: &Outcome) -> Option<Usage> {
    match outcome {
        Outcome::Done => session.usage(),
        Outcome::Failed(_) => None,
    }
}

/// Takes what the function `debug` is called with, in this command.
fn debug_sink(control: &impl Control, script: usize, command: usize) -> impl FnMut(Value) {
    move |value| {
        control.tell(&format!(
            "debug(script={script},command={}): {}",
            command + 1,
            value.debug_form()
        ));
    }
}

/// Whether an error does not matter once the client is to stop: the request itself cancels the
/// statement in progress (SQLSTATE 57014), and nothing is tried again.
fn moot(error: &SqlError) -> bool {
    error.sqlstate == "57014" || Failure::retriable(error).is_some()
}
