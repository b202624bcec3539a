//! What the tests share: a session that answers as it is told, a clock that stands still unless it
//! is moved, a recorder that remembers, and a client between them.

#![allow(dead_code)]

use std::cell::Cell;
use std::rc::Rc;

use selfbench_client::{
    Block, Client, Control, Failure, Outcome, Plan, Record, Session, SqlError, Step, Transaction,
};
use selfbench_script::{
    Protocol, Rng, SqlCommand, Streams, Variables, Workload, WorkloadBuilder, builtin,
};

/// Nanoseconds in a millisecond.
pub const MS: u64 = 1_000_000;

/// The clock and the stop flag of a run.
#[derive(Default)]
pub struct World {
    now_ns: Cell<u64>,
    stop: Cell<bool>,
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
        self.now_ns.get()
    }

    fn stop(&self) -> bool {
        self.stop.get()
    }
}

/// How a session answers one statement.
#[derive(Clone, Debug)]
pub struct Reply {
    /// How often the statement is still in progress when it is polled.
    pub waits: usize,
    /// What the clock is moved by at the end of the statement.
    pub ns: u64,
    pub outcome: Outcome,
}

pub fn done() -> Reply {
    Reply {
        waits: 0,
        ns: 0,
        outcome: Outcome::Done,
    }
}

pub fn failed(sqlstate: &str, message: &str) -> Reply {
    Reply {
        outcome: Outcome::Failed(SqlError {
            sqlstate: sqlstate.to_owned(),
            message: message.to_owned(),
            lost: false,
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
}

/// A session that knows about transaction blocks, and insists on being used as a session may be.
pub struct MockSession {
    /// All statements, with values in place of variables.
    pub sent: Vec<String>,
    /// The outcomes that were handed out.
    pub outcomes: Vec<Outcome>,
    world: Rc<World>,
    replies: Box<dyn FnMut(&str) -> Reply>,
    pending: Option<Reply>,
    block: Block,
    lost: bool,
}

impl MockSession {
    fn begin(&mut self, sql: String) {
        assert!(self.pending.is_none(), "a statement is in progress: {sql}");
        assert!(!self.lost, "the session is lost: {sql}");
        assert!(!self.world.stop(), "submitted after a stop request: {sql}");
        self.pending = Some((self.replies)(&sql));
        self.sent.push(sql);
    }
}

impl Session for MockSession {
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        let mut sql = String::new();
        command.simple_text(variables, &mut sql);
        self.begin(sql);
    }

    fn submit_rollback(&mut self) {
        assert_ne!(self.block, Block::None, "nothing to roll back");
        self.begin("ROLLBACK".to_owned());
    }

    fn poll(&mut self) -> Option<Outcome> {
        let reply = self.pending.as_mut().expect("no statement is in progress");
        if let Some(left) = reply.waits.checked_sub(1) {
            reply.waits = left;
            return None;
        }
        let reply = self.pending.take()?;
        self.world.pass(reply.ns);
        let first_word = self.sent.last()?.trim_end_matches(';').to_lowercase();
        match &reply.outcome {
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
        self.outcomes.push(reply.outcome.clone());
        Some(reply.outcome)
    }

    fn block(&self) -> Block {
        assert!(self.pending.is_none(), "a statement is in progress");
        self.block
    }
}

/// What was recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    Succeeded(usize, Transaction),
    Failed(usize, Failure, u32),
    WarmedUp,
}

#[derive(Default)]
pub struct Recorder(pub Vec<Event>);

impl Record for Recorder {
    fn succeeded(&mut self, script: usize, transaction: &Transaction) {
        self.0.push(Event::Succeeded(script, *transaction));
    }

    fn failed(&mut self, script: usize, failure: Failure, retries: u32) {
        self.0.push(Event::Failed(script, failure, retries));
    }

    fn warmed_up(&mut self) {
        self.0.push(Event::WarmedUp);
    }
}

/// Scripts with their weights.
pub fn scripts(bodies: &[(&str, i64)]) -> Workload {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
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

/// A single builtin script.
pub fn builtin_script(name: &str) -> Workload {
    script(builtin::find_builtin(name).unwrap().body)
}

/// A plan without any limit.
pub fn plan(workload: &Workload) -> Plan<'_> {
    Plan {
        workload,
        transactions: None,
        measure_ns: 0,
        deadline_ns: u64::MAX,
        max_tries: 1,
        scale: 1,
        random_seed: 42,
    }
}

/// One client and what it needs.
pub struct Bench<'w> {
    pub plan: Plan<'w>,
    pub world: Rc<World>,
    pub session: MockSession,
    pub record: Recorder,
    pub choice: Rng,
    client: Client<'w>,
}

impl<'w> Bench<'w> {
    /// Client 0 of a run with seed 42; its statements are successful and take no time.
    pub fn new(workload: &'w Workload) -> Self {
        Self::of(plan(workload), 0, &Streams::derive(42, 1, 1, false))
    }

    /// One client of several, whose thread has the same number if there is one.
    pub fn of(plan: Plan<'w>, number: usize, streams: &Streams) -> Self {
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
                block: Block::None,
                lost: false,
            },
            record: Recorder::default(),
            choice: streams.threads[thread].choice,
            world,
        }
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
        self.client.advance(
            &mut self.session,
            &self.plan,
            &mut self.choice,
            &*self.world,
            &mut self.record,
        )
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
