//! Helpers of the tests: a session that answers as it is told, a clock that stands still unless it
//! is moved, a recorder that remembers, and a client between them.

#![allow(dead_code)]

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::atomic::AtomicU64;

use selfbench_client::{
    Block, Client, Column, ColumnValue, Context, Control, Failure, LogEntry, Outcome, QueryResult,
    Record, RunPlan, Session, ShellEnd, SqlError, Step, Thread, Transaction, Usage,
};
use selfbench_script::{
    Action, Command, Protocol, SqlCommand, Streams, Variables, Workload, WorkloadBuilder, builtin,
};

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// The clock, the stop flag, the shell and the debug lines of a run.
#[derive(Default)]
pub struct World {
    now_ns: Cell<u64>,
    stop: Cell<bool>,
    /// Whether the driver has no other client.
    pub alone: Cell<bool>,
    /// Nanoseconds that each reading advances the clock by.
    pub tick_ns: Cell<u64>,
    /// Command lines that were run, `?` before those whose output was asked for.
    pub shell: RefCell<Vec<String>>,
    /// Output of shell commands; `None` if they fail.
    pub shell_output: RefCell<Option<&'static str>>,
    /// Nanoseconds that the client waits for them.
    pub shell_takes_ns: Cell<u64>,
    /// Whether the run is stopped while a shell command runs.
    pub stop_in_shell: Cell<bool>,
    /// Messages.
    pub told: RefCell<Vec<String>>,
}

impl World {
    pub fn pass(&self, ns: u64) {
        self.now_ns.set(self.now_ns.get() + ns);
    }

    pub fn request_stop(&self) {
        self.stop.set(true);
    }
}

impl Control for World {
    fn now_ns(&self) -> u64 {
        self.pass(self.tick_ns.get());
        self.now_ns.get()
    }

    fn is_alone(&self) -> bool {
        self.alone.get()
    }

    fn stop(&self) -> bool {
        self.stop.get()
    }

    fn request_stop(&self) {
        self.stop.set(true);
    }

    fn shell(&self, line: &str, output: Option<&mut Vec<u8>>) -> ShellEnd {
        let waited_ns = self.shell_takes_ns.get();
        self.pass(waited_ns);
        let ended = |successful| ShellEnd {
            successful,
            waited_ns,
        };
        let mark = if output.is_some() { "?" } else { "" };
        self.shell.borrow_mut().push(format!("{mark}{line}"));
        if self.stop_in_shell.get() {
            self.stop.set(true);
            return ended(false);
        }
        let Some(text) = *self.shell_output.borrow() else {
            return ended(false);
        };
        if let Some(output) = output {
            output.extend_from_slice(text.as_bytes());
        }
        ended(true)
    }

    fn report(&self, line: &str) {
        self.told.borrow_mut().push(line.to_owned());
    }
}

/// Answer of a session to one statement.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Number of polls that find the statement still in progress.
    pub waits: usize,
    /// Nanoseconds that the clock advances by at the end of the statement.
    pub ns: u64,
    pub outcome: Outcome,
    pub results: Vec<QueryResult>,
}

pub fn done() -> Reply {
    Reply {
        waits: 0,
        ns: 0,
        outcome: Outcome::Done,
        results: Vec::new(),
    }
}

/// A result with that many rows, the last of which has these columns.
pub fn rows(rows: u64, last_row: &[(&str, Option<&str>)]) -> QueryResult {
    let column = |(name, value): &(&str, Option<&str>)| Column {
        name: (*name).to_owned(),
        value: value.map_or(ColumnValue::Null, |text| ColumnValue::Text(text.to_owned())),
    };
    QueryResult {
        rows,
        last_row: last_row.iter().map(column).collect(),
    }
}

pub fn failed(sqlstate: &str, message: &str) -> Reply {
    Reply {
        outcome: Outcome::Failed(SqlError {
            sqlstate: sqlstate.to_owned(),
            message: message.to_owned(),
            ..SqlError::default()
        }),
        ..done()
    }
}

pub fn serialization_failure() -> Reply {
    failed("40001", "ERROR:  could not serialize access")
}

pub fn deadlock() -> Reply {
    failed("40P01", "ERROR:  deadlock detected")
}

pub fn lost(sqlstate: &str) -> Reply {
    Reply {
        outcome: Outcome::Failed(SqlError {
            sqlstate: sqlstate.to_owned(),
            message: "server closed the connection unexpectedly".to_owned(),
            lost: true,
            query: 0,
        }),
        ..done()
    }
}

impl Reply {
    pub fn after_waits(self, waits: usize) -> Self {
        Self { waits, ..self }
    }

    pub fn after_ns(self, ns: u64) -> Self {
        Self { ns, ..self }
    }

    pub fn returning(self, results: impl IntoIterator<Item = QueryResult>) -> Self {
        let results = results.into_iter().collect();
        Self { results, ..self }
    }

    /// Sets the index of the failed statement among those sent together.
    pub fn in_query(mut self, query: usize) -> Self {
        if let Outcome::Failed(error) = &mut self.outcome {
            error.query = query;
        }
        self
    }
}

/// A session that knows about transaction blocks, and insists on being used as a session may be.
pub struct MockSession {
    /// All statements, with values in place of variables, and in angle brackets what else the
    /// session was told to do.
    pub sent: Vec<String>,
    /// The outcomes that were handed out.
    pub outcomes: Vec<Outcome>,
    world: Rc<World>,
    replies: Box<dyn FnMut(&str) -> Reply>,
    pending: Option<Reply>,
    /// The outcome of the open pipeline so far.
    pipeline: Option<Outcome>,
    results: Vec<QueryResult>,
    block: Block,
    connected: bool,
    lost: bool,
}

impl MockSession {
    fn begin(&mut self, what: String) {
        assert!(self.pending.is_none(), "something is in progress: {what}");
        assert!(!self.lost, "the session is lost: {what}");
        assert!(!self.world.stop(), "submitted after a stop request: {what}");
        assert!(self.connected, "not connected: {what}");
        self.pending = Some((self.replies)(&what));
        self.sent.push(what);
    }

    /// Applies the effect of a statement on the transaction block.
    fn follow(&mut self, sql: &str, outcome: &Outcome) {
        let first_word = sql.trim_end_matches(';').to_lowercase();
        match outcome {
            Outcome::Failed(error) => {
                self.lost = error.lost;
                self.block = match (self.block, first_word.as_str()) {
                    // A commit that fails has ended its block.
                    (Block::None, _) | (Block::Open, "end" | "commit") => Block::None,
                    _ => Block::Failed,
                };
            }
            Outcome::Done => match first_word.as_str() {
                "begin" => self.block = Block::Open,
                "end" | "commit" | "rollback" => self.block = Block::None,
                _ => {}
            },
        }
    }
}

impl Session for MockSession {
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        let mut sql = String::new();
        command.simple_text(variables, &mut sql).unwrap();
        self.begin(sql.clone());
        if let Some(Outcome::Done) = &self.pipeline {
            let reply = self.pending.take().expect("begun");
            self.follow(&sql, &reply.outcome);
            self.pipeline = Some(reply.outcome);
        } else if self.pipeline.is_some() {
            self.pending = None;
        }
    }

    fn submit_rollback(&mut self) {
        assert_ne!(self.block, Block::None, "nothing to roll back");
        assert!(self.pipeline.is_none(), "a pipeline is open");
        self.begin("ROLLBACK".to_owned());
    }

    fn submit_begin(&mut self) {
        assert_eq!(self.block, Block::None, "a block is open");
        self.begin("BEGIN".to_owned());
    }

    fn submit_commit(&mut self) {
        assert_eq!(self.block, Block::Open, "nothing to commit");
        self.begin("COMMIT".to_owned());
    }

    fn submit_usage(&mut self) {
        assert!(self.pending.is_none(), "something is in progress");
        self.pending = Some((self.replies)("<usage>"));
        self.sent.push("<usage>".to_owned());
    }

    fn usage(&self) -> Option<Usage> {
        Some(Usage {
            blocks_hit: self.sent.len() as u64,
            ..Usage::default()
        })
    }

    fn poll(&mut self) -> Option<Outcome> {
        let reply = self.pending.as_mut().expect("nothing is in progress");
        if let Some(left) = reply.waits.checked_sub(1) {
            reply.waits = left;
            return None;
        }
        let mut reply = self.pending.take()?;
        self.world.pass(reply.ns);
        let sent = self.sent.last()?.clone();
        match sent.as_str() {
            "<startpipeline>" => self.pipeline = Some(Outcome::Done),
            "<endpipeline>" => reply.outcome = self.pipeline.take().expect("a pipeline is open"),
            "<connect>" => self.connected = reply.outcome == Outcome::Done,
            sql => self.follow(sql, &reply.outcome),
        }
        self.results = reply.results;
        self.outcomes.push(reply.outcome.clone());
        Some(reply.outcome)
    }

    fn block(&self) -> Block {
        assert!(self.pending.is_none(), "something is in progress");
        self.block
    }

    fn results(&self) -> &[QueryResult] {
        &self.results
    }

    fn start_pipeline(&mut self, commands: &[Command]) {
        assert!(self.pipeline.is_none(), "a pipeline is open");
        assert!(
            commands
                .iter()
                .any(|command| command.action == Action::EndPipeline)
        );
        self.begin("<startpipeline>".to_owned());
    }

    fn sync_pipeline(&mut self) {
        assert!(self.pipeline.is_some(), "no pipeline is open");
        self.begin("<syncpipeline>".to_owned());
        self.pending = None;
    }

    fn end_pipeline(&mut self) {
        assert!(self.pipeline.is_some(), "no pipeline is open");
        self.begin("<endpipeline>".to_owned());
    }

    fn submit_connect(&mut self) {
        assert!(!self.connected, "connected already");
        self.connected = true;
        self.begin("<connect>".to_owned());
    }

    fn disconnect(&mut self) {
        assert!(self.connected, "not connected");
        assert!(self.pending.is_none(), "something is in progress");
        self.connected = false;
        self.sent.push("<disconnect>".to_owned());
    }
}

/// A recorded event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Succeeded(usize, Transaction),
    Failed(usize, Failure, u32),
    Skipped(usize),
    WarmedUp,
    Connected(u64),
    Executed(usize, usize, u64),
    CommandFailed(usize, usize, bool),
    Logged(LogEntry),
    /// Begin of usage, with the number of requests to the session so far.
    UsageBegins(u64),
    /// See there.
    UsageEnds(u64),
}

#[derive(Default)]
pub struct Recorder(
    pub Vec<Event>,
    /// Reported positions of the client: script and command.
    pub Vec<Option<(usize, usize)>>,
    /// Time from the begin of the first transaction to the time in which they count.
    pub Option<u64>,
);

impl Record for Recorder {
    fn succeeded(&mut self, script: usize, transaction: &Transaction) {
        self.0.push(Event::Succeeded(script, *transaction));
    }

    fn failed(&mut self, script: usize, failure: Failure, retries: u32, _duration_ns: u64) {
        self.0.push(Event::Failed(script, failure, retries));
    }

    fn skipped(&mut self, script: usize) {
        self.0.push(Event::Skipped(script));
    }

    fn began_early(&mut self, early_ns: u64) {
        assert_eq!(self.2.replace(early_ns), None);
    }

    fn warmed_up(&mut self, _latency_ns: u64) {
        self.0.push(Event::WarmedUp);
    }

    fn connected(&mut self, duration_ns: u64) {
        self.0.push(Event::Connected(duration_ns));
    }

    fn reached(&mut self, script: usize, command: usize) {
        self.1.push(Some((script, command)));
    }

    fn left(&mut self) {
        self.1.push(None);
    }

    fn executed(&mut self, script: usize, command: usize, duration_ns: u64) {
        self.0.push(Event::Executed(script, command, duration_ns));
    }

    fn statement_failed(&mut self, _: &str) {}

    fn command_failed(&mut self, script: usize, command: usize, again: bool) {
        self.0.push(Event::CommandFailed(script, command, again));
    }

    fn usage_begins(&mut self, usage: &Usage) {
        self.0.push(Event::UsageBegins(usage.blocks_hit));
    }

    fn usage_ends(&mut self, usage: &Usage) {
        self.0.push(Event::UsageEnds(usage.blocks_hit));
    }

    fn log(&mut self, entry: &LogEntry) {
        self.0.push(Event::Logged(*entry));
    }
}

/// Scripts with their weights.
pub fn scripts(bodies: &[(&str, i64)]) -> Workload {
    scripts_for(Protocol::Simple, bodies)
}

fn scripts_for(protocol: Protocol, bodies: &[(&str, i64)]) -> Workload {
    let mut builder = WorkloadBuilder::new(protocol);
    for (index, (body, weight)) in bodies.iter().enumerate() {
        let name = format!("script {index}");
        builder.add(&name, &name, body, *weight).unwrap();
    }
    builder.finish().unwrap()
}

/// A single script.
pub fn script(body: &str) -> Workload {
    scripts(&[(body, 1)])
}

/// A single script for the extended protocol.
pub fn extended_script(body: &str) -> Workload {
    scripts_for(Protocol::Extended, &[(body, 1)])
}

/// A single builtin script.
pub fn builtin_script(name: &str) -> Workload {
    script(builtin::find_builtin(name).unwrap().body)
}

/// A clock reading of a plan.
pub fn at(ns: u64) -> &'static AtomicU64 {
    Box::leak(Box::new(AtomicU64::new(ns)))
}

static NO_VARIABLES: BTreeMap<String, String> = BTreeMap::new();

/// A plan without any limit.
pub fn plan(workload: &Workload) -> RunPlan<'_> {
    RunPlan {
        workload,
        transactions: None,
        measure_ns: at(0),
        deadline_ns: at(u64::MAX),
        max_tries: 1,
        throttle_us: None,
        starts_taken: None,
        latency_limit_ns: None,
        reconnect: false,
        continue_on_error: false,
        exit_on_abort: false,
        per_statement: false,
        verbose_errors: false,
        debug: false,
        log: false,
        sampling_rate: None,
        commit_every: 1,
        usage: false,
        scale: 1,
        random_seed: 42,
        variables: &NO_VARIABLES,
        values: Default::default(),
    }
}

/// One client and what it needs.
pub struct Bench<'w> {
    pub plan: RunPlan<'w>,
    pub world: Rc<World>,
    pub session: MockSession,
    pub record: Recorder,
    pub thread: Thread,
    client: Client<'w>,
}

impl<'w> Bench<'w> {
    /// Client 0 of a run with seed 42; its statements are successful and take no time.
    pub fn new(workload: &'w Workload) -> Self {
        Self::with_seed(workload, 42)
    }

    /// Client 0 of a run with another seed.
    pub fn with_seed(workload: &'w Workload, seed: u64) -> Self {
        Self::of(plan(workload), 0, &Streams::derive(seed, 1, 1, false))
    }

    /// One client of several, whose thread has the same number if there is one.
    pub fn of(plan: RunPlan<'w>, number: usize, streams: &Streams) -> Self {
        let world = Rc::new(World::default());
        let thread = number.min(streams.threads.len() - 1);
        Self {
            client: Client::new(number, &plan, streams),
            plan,
            session: MockSession {
                sent: Vec::new(),
                outcomes: Vec::new(),
                world: Rc::clone(&world),
                replies: Box::new(|_| done()),
                pending: None,
                pipeline: None,
                results: Vec::new(),
                block: Block::None,
                connected: true,
                lost: false,
            },
            record: Recorder::default(),
            thread: Thread::new(
                &streams.threads[thread],
                streams.threads[thread].throttle,
                0,
            ),
            world,
        }
    }

    /// A client whose session connects for each transaction.
    pub fn reconnecting(workload: &'w Workload) -> Self {
        let mut bench = Self::new(workload);
        bench.plan.reconnect = true;
        bench.session.connected = false;
        bench
    }

    /// Answers statements like that; the function gets their text.
    pub fn answer(&mut self, replies: impl FnMut(&str) -> Reply + 'static) {
        self.session.replies = Box::new(replies);
    }

    /// Answers the first statements like that, and all others with success.
    pub fn answer_in_turn(&mut self, replies: impl IntoIterator<Item = Reply>) {
        let mut replies = replies.into_iter().collect::<Vec<_>>().into_iter();
        self.answer(move |_| replies.next().unwrap_or_else(done));
    }

    pub fn advance(&mut self) -> Step {
        self.client.advance(&mut Context {
            session: &mut self.session,
            plan: &self.plan,
            thread: &mut self.thread,
            control: &*self.world,
            record: &mut self.record,
        })
    }

    /// Advances the client until it has ended, and moves the clock when it sleeps.
    pub fn run(&mut self) -> Step {
        for _ in 0..10_000 {
            match self.advance() {
                Step::Again | Step::Waiting => {}
                Step::Sleeping { until_ns } => self.world.now_ns.set(until_ns),
                end @ (Step::Finished | Step::Aborted { .. }) => return end,
            }
        }
        panic!("the client does not end");
    }

    /// Part of the time in which transactions count that the one in progress has taken.
    pub fn unfinished_ns(&self) -> u64 {
        self.client
            .unfinished_ns(self.world.now_ns.get(), &self.plan)
    }

    /// Runs a number of transactions.
    pub fn run_transactions(&mut self, transactions: u64) -> Step {
        self.plan.transactions = Some(transactions);
        self.run()
    }

    /// Runs one transaction that is expected to abort the client; returns the reason.
    #[track_caller]
    pub fn abort_reason(&mut self) -> String {
        match self.run_transactions(1) {
            Step::Aborted { reason } => reason,
            other => panic!("{other:?}"),
        }
    }

    /// The statements so far.
    pub fn sent(&self) -> Vec<&str> {
        self.session.sent.iter().map(String::as_str).collect()
    }

    /// The successful transactions so far.
    pub fn succeeded(&self) -> Vec<Transaction> {
        let transaction = |event: &Event| match event {
            Event::Succeeded(_, transaction) => Some(*transaction),
            _ => None,
        };
        self.record.0.iter().filter_map(transaction).collect()
    }
}
