//! The event loop of a libpq client worker over the connections of its clients.

use super::client::{ClientControl, plan, streams};
use super::rounds::Rounds;
use super::stragglers::Stragglers;
use crate::backend::alarm::Alarm;
use crate::backend::events::{Event, EventSet};
use crate::backend::interrupts::{asked_to_end, check_for_interrupts};
use crate::check::list;
use crate::clock;
use crate::error::{Result, message};
use crate::pq::{ConnectWith, Connection};
use crate::run::RunSpec;
use crate::session::LibpqSession;
use crate::shared::recorder::Recorder;
use crate::shared::{Segment, Stop};
use crate::telemetry::processes;
use crate::worker::place::Place;
use selfbench_client::{Client, Context, RunPlan, Step, Thread};
use selfbench_script::{ValueSets, Workload};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

/// Period of the worker's checks once the run is stopped, in milliseconds.
const STOP_TICK_MS: i64 = 50;
/// Period of looking for attempts to connect that take too long, in milliseconds.
const EXPIRY_TICK_MS: i64 = 500;
/// The longest wait, in milliseconds, which the server stores in 32 bits.
const LONGEST_WAIT_MS: i64 = 3_600_000;

/// A worker that waits for the start barrier.
pub(super) struct Ready {
    pub(super) spec: RunSpec,
    pub(super) workloads: Workloads,
    /// Their numbers, each with the position of its thread among those of this worker.
    pub(super) clients: Vec<(usize, usize)>,
    /// One connection per client, or none if each transaction has its own.
    pub(super) connections: Vec<Option<Connection>>,
    pub(super) connect_with: Rc<ConnectWith>,
    pub(super) values: ValueSets<'static>,
}

/// The scripts of this worker's clients, which may have different variants.
pub(super) struct Workloads {
    pub(super) all: Vec<Workload>,
    /// Variant of each, by number.
    pub(super) variants: Vec<usize>,
}

impl Workloads {
    pub(super) fn parse(spec: &RunSpec, clients: impl Iterator<Item = usize>) -> Result<Workloads> {
        let mut variants: Vec<usize> = clients.map(|client| spec.variant(client)).collect();
        variants.sort_unstable();
        variants.dedup();
        let all = variants.iter().map(|variant| spec.workload_of(*variant));
        Ok(Workloads {
            all: all.collect::<Result<_>>()?,
            variants,
        })
    }

    /// The number of a client's.
    pub(super) fn of_client(&self, spec: &RunSpec, client: usize) -> usize {
        self.variants
            .binary_search(&spec.variant(client))
            .unwrap_or(0)
    }
}

/// One client of this worker.
struct LibpqClient<'s, 'p> {
    client: Client<'p>,
    number: usize,
    /// Number of its plan among those of this worker.
    plan: usize,
    /// Position of its thread among those of this worker.
    thread: usize,
    /// Closed as soon as the client has ended, which takes its socket out of the event set.
    session: Option<LibpqSession>,
    recorder: Recorder<'s>,
    /// Its socket in the event set.
    socket: Option<(u64, i32)>,
    /// The server's process behind it; 0 while none is known. The slot has the same.
    backend_pid: i32,
    /// Position of its socket in the event set, if it has one.
    event: Option<i32>,
    /// Whether the event set waits for its socket to become writable, too.
    waits_for_write: bool,
    /// Whether it is in the queue of clients that can continue immediately.
    queued: bool,
    /// Whether it is in the queue because of an event of its socket.
    answered: bool,
    /// Whether it sleeps.
    sleeps: bool,
    /// Whether something came for it while it sleeps, which it reads when it is awake; until then, its socket is not
    /// waited for.
    is_told: bool,
}

pub(super) fn run(place: &Place, ready: Ready) {
    let Ready {
        spec,
        workloads,
        clients,
        connections,
        connect_with,
        values,
    } = ready;
    let segment = place.segment;
    let header = segment.header();
    let (streams, threads) = streams(header, &spec, spec.threads(place.index));
    let plans: Vec<_> = workloads
        .all
        .iter()
        .map(|workload| plan(header, &spec, workload, values))
        .collect();
    let clients: Vec<LibpqClient> = clients
        .into_iter()
        .zip(connections)
        .map(|((number, thread), connection)| {
            let plan = workloads.of_client(&spec, number);
            let workload = &workloads.all[plan];
            LibpqClient {
                client: Client::new(number, &plans[plan], &streams),
                number,
                plan,
                thread,
                session: Some(LibpqSession::new(
                    connection,
                    Rc::clone(&connect_with),
                    spec.protocol(),
                    workload.sql_commands,
                    segment.statement_rows(),
                )),
                recorder: Recorder::new(segment, workload, place.index, number),
                socket: None,
                backend_pid: segment.client(number).0.backend_pid(),
                event: None,
                waits_for_write: false,
                queued: true,
                answered: false,
                sleeps: false,
                is_told: false,
            }
        })
        .collect();
    let several = clients.len() > 1;
    // Each transaction may have its own session.
    let observes = spec.run.observe && !spec.run.reconnect;
    let mut event_loop = EventLoop {
        segment,
        control: ClientControl::new(place, false),
        plans: &plans,
        threads,
        events: EventSet::new(clients.len()),
        outdated: true,
        // A schedule needs more precision than milliseconds.
        alarm: spec.run.rate.and_then(|_| Alarm::new()),
        queue: (0..clients.len()).collect(),
        active: clients.len(),
        sleepers: BinaryHeap::with_capacity(clients.len()),
        clients,
        target: spec.target.is_some().then_some(connect_with),
        stragglers: None,
        rounds: Rounds::new(observes && several),
        expiry_ns: spec.run.reconnect.then_some(0),
        reads_times: observes && spec.target.is_none(),
    };
    event_loop.watch_sockets();
    event_loop.run();
    event_loop.end();
    let account = &segment.worker(place.index).account;
    account.set_parts(event_loop.rounds.parts);
    if let Some(times) = observes.then(processes::read_own).flatten() {
        account.set_times_at_end(times);
    }
}

/// The event loop over the connections of a worker's clients.
struct EventLoop<'s, 'p> {
    segment: &'s Segment,
    control: ClientControl<'s>,
    plans: &'p [RunPlan<'p>],
    /// Threads of this worker, which its clients share.
    threads: Vec<Thread>,
    clients: Vec<LibpqClient<'s, 'p>>,
    /// Clients that can go on at once, by position.
    queue: VecDeque<usize>,
    /// Number of clients that have not ended.
    active: usize,
    /// When each client that sleeps wakes up, and its position; the first to wake up comes first.
    sleepers: BinaryHeap<Reverse<(u64, usize)>>,
    events: EventSet,
    /// Whether the event set still has the sockets of connections that are gone.
    outdated: bool,
    alarm: Option<Alarm>,
    /// Parameters of connections to the target, if the run has one.
    target: Option<Rc<ConnectWith>>,
    /// Statements in progress, as soon as the run is stopped.
    stragglers: Option<Stragglers>,
    rounds: Rounds,
    /// When to look next for attempts to connect that take too long, if each transaction has a connection of its own.
    expiry_ns: Option<u64>,
    /// Whether to read the times of the sessions' processes when clients end.
    reads_times: bool,
}

impl EventLoop<'_, '_> {
    /// Drives the clients until all have ended, or those of a stopped run have been given up.
    fn run(&mut self) {
        let mut is_timed = false;
        while self.active > 0 {
            if !self.answer_requests() {
                break;
            }
            if is_timed {
                self.advance_clients::<true>();
                let measure_ns = &self.segment.header().measure_ns;
                self.rounds.ends(measure_ns.load(Relaxed));
            } else {
                self.advance_clients::<false>();
            }
            if self.active == 0 {
                break;
            }
            if self.outdated {
                self.events = EventSet::new(self.clients.len());
                self.watch_sockets();
            }
            let timeout_ms = self.wake_sleepers();
            let timeout_ms = self.expire_connections(timeout_ms);
            is_timed = self.rounds.waits();
            self.wait(timeout_ms);
            self.rounds.woke(is_timed);
        }
    }

    /// Ends the run when it must end: keeps clients from starting anything, and cancels statements
    /// that take too long. Returns whether to continue.
    fn answer_requests(&mut self) -> bool {
        let header = self.segment.header();
        // A terminated worker ends the run and cancels its statements: the server would not notice
        // closed connections while their statements wait for a lock.
        if asked_to_end() {
            header.request_stop(Stop::Terminated);
        }
        if header.stop() == Stop::No {
            return true;
        }
        let Some(stragglers) = &mut self.stragglers else {
            self.stragglers = Some(Stragglers::new(self.target.clone()));
            self.sleepers.clear();
            for (i, d) in self.clients.iter_mut().enumerate() {
                d.sleeps = false;
                self.outdated |= std::mem::take(&mut d.is_told);
                if !d.queued {
                    d.queued = true;
                    self.queue.push_back(i);
                }
            }
            return true;
        };
        let sessions = self.clients.iter().filter_map(|d| d.session.as_ref());
        stragglers.end(sessions, header.stop() == Stop::Abandoned)
    }

    /// Advances the clients that can continue, each by one step, so that none keeps the others
    /// waiting.
    fn advance_clients<const TIMED: bool>(&mut self) {
        for _ in 0..self.queue.len() {
            let Some(i) = self.queue.pop_front() else {
                break;
            };
            let d = &mut self.clients[i];
            d.queued = false;
            let Some(session) = &mut d.session else {
                continue;
            };
            // An answer belongs to one turn, not to those that follow a \sleep.
            let answered = std::mem::take(&mut d.answered);
            let began_ns = (TIMED && answered).then(|| self.rounds.turn_begins());
            let mut context = Context {
                session,
                plan: &self.plans[d.plan],
                thread: &mut self.threads[d.thread],
                control: &self.control,
                record: &mut d.recorder,
            };
            let mut step = d.client.advance(&mut context);
            // After the last answer of a transaction, the server waits for this client, so the
            // client continues before the others. A script without statements takes turns with
            // them.
            let ended = step == Step::Again;
            if ended {
                context.session.transaction_ended();
            }
            if ended && answered {
                step = d.client.advance(&mut context);
            }
            if TIMED {
                self.rounds.turn_ends(began_ns, ended);
            }
            match step {
                Step::Again => {
                    d.queued = true;
                    self.queue.push_back(i);
                }
                Step::Waiting => {}
                Step::Sleeping { until_ns } => {
                    d.sleeps = true;
                    self.sleepers.push(Reverse((until_ns, i)));
                }
                Step::Finished | Step::Aborted { .. } => {
                    let stragglers = &self.stragglers;
                    let is_terminated = stragglers
                        .as_ref()
                        .is_some_and(|s| s.has_terminated(d.backend_pid));
                    let reason = match &step {
                        Step::Aborted { reason } if !is_terminated => Some(reason.as_str()),
                        _ => None,
                    };
                    let (head, _) = self.segment.client(d.number);
                    let now_ns = clock::now_ns();
                    let unfinished_ns = d.client.unfinished_ns(now_ns, &self.plans[d.plan]);
                    head.end(now_ns, unfinished_ns, reason);
                    head.set_backend_pid(0);
                    if self.reads_times
                        && let Some(times) = processes::read(d.backend_pid)
                    {
                        head.set_times_at_end(times);
                    }
                    d.session = None;
                    self.active -= 1;
                    continue;
                }
            }
            let is_other = session.socket() != d.socket;
            // A new connection has a process only after it is established.
            if (d.backend_pid == 0 || is_other) && d.backend_pid != session.backend_pid() {
                d.backend_pid = session.backend_pid();
                let (head, _) = self.segment.client(d.number);
                head.set_backend_pid(d.backend_pid);
            }
            if is_other {
                self.outdated = true;
            } else if session.wants_write() != d.waits_for_write
                && let Some(event) = d.event
            {
                d.waits_for_write = session.wants_write();
                self.events.want_write(event, d.waits_for_write);
            }
        }
    }

    /// Queues the sleeping clients whose time has come, and sets the alarm for the next one.
    /// Returns how long to wait for events, in milliseconds; -1 is without limit.
    fn wake_sleepers(&mut self) -> i64 {
        let mut timeout_ms = if self.queue.is_empty() { -1 } else { 0 };
        let mut next_ns = u64::MAX;
        while let Some(&Reverse((until_ns, i))) = self.sleepers.peek() {
            let left_ns = until_ns.saturating_sub(clock::now_ns());
            if left_ns > 0 {
                next_ns = until_ns;
                if timeout_ms < 0 {
                    timeout_ms = left_ns.div_ceil(1_000_000).min(LONGEST_WAIT_MS as u64) as i64;
                }
                break;
            }
            self.sleepers.pop();
            let d = &mut self.clients[i];
            d.sleeps = false;
            self.outdated |= std::mem::take(&mut d.is_told);
            d.queued = true;
            self.queue.push_back(i);
            timeout_ms = 0;
        }
        if self.stragglers.is_some() && !(0..=STOP_TICK_MS).contains(&timeout_ms) {
            timeout_ms = STOP_TICK_MS;
        }
        if let Some(alarm) = &mut self.alarm
            && next_ns != u64::MAX
        {
            alarm.set(next_ns);
        }
        timeout_ms
    }

    /// Ends attempts to connect that take too long; how long to wait for events at most, in milliseconds.
    fn expire_connections(&mut self, timeout_ms: i64) -> i64 {
        let Some(due_ns) = self.expiry_ns else {
            return timeout_ms;
        };
        let now_ns = clock::now_ns();
        if now_ns >= due_ns {
            self.expiry_ns = Some(now_ns + EXPIRY_TICK_MS as u64 * 1_000_000);
            for (i, d) in self.clients.iter_mut().enumerate() {
                if d.session.as_mut().is_some_and(LibpqSession::expire) && !d.queued {
                    d.queued = true;
                    self.queue.push_back(i);
                }
            }
        }
        match timeout_ms {
            _ if !self.queue.is_empty() => 0,
            0..EXPIRY_TICK_MS => timeout_ms,
            _ => EXPIRY_TICK_MS,
        }
    }

    /// Waits for events, and queues the clients whose sockets are ready.
    fn wait(&mut self, timeout_ms: i64) {
        for event in self.events.wait(timeout_ms) {
            match event {
                Event::Latch => check_for_interrupts(),
                Event::Socket {
                    index,
                    readable,
                    writable,
                } => {
                    let Some(d) = self.clients.get_mut(index) else {
                        if let Some(alarm) = &mut self.alarm {
                            alarm.unset();
                        }
                        continue;
                    };
                    let Some(session) = &mut d.session else {
                        continue;
                    };
                    if readable {
                        session.readable();
                    }
                    if writable {
                        session.writable();
                    }
                    if d.sleeps && readable {
                        d.is_told = true;
                        self.outdated = true;
                    }
                    if !d.queued && !d.sleeps {
                        d.queued = true;
                        d.answered = true;
                        self.queue.push_back(index);
                    }
                }
            }
        }
    }

    /// Adds all sockets and the alarm to a new event set.
    fn watch_sockets(&mut self) {
        self.outdated = false;
        if let Some(alarm) = &self.alarm {
            self.events
                .add_socket(alarm.descriptor(), self.clients.len());
        }
        for (i, d) in self.clients.iter_mut().enumerate() {
            d.socket = d.session.as_ref().and_then(LibpqSession::socket);
            d.event = d
                .socket
                .filter(|_| !d.is_told)
                .map(|(_, socket)| self.events.add_socket(socket, i));
            d.waits_for_write = d.session.as_ref().is_some_and(LibpqSession::wants_write);
            if d.waits_for_write
                && let Some(event) = d.event
            {
                self.events.want_write(event, true);
            }
        }
    }

    /// Ends the abandoned clients.
    fn end(&mut self) {
        let sessions = self.clients.iter().filter_map(|d| d.session.as_ref());
        let left = sessions.filter(|session| session.is_executing());
        let pids: Vec<i32> = left.map(LibpqSession::backend_pid).collect();
        if !pids.is_empty() {
            let header = self.segment.header();
            header.sessions_left.fetch_add(pids.len() as u32, Relaxed);
            message::log(format_args!(
                "run {} of pg_selfbench: sessions did not end their statements when canceled: PIDs {}",
                header.run_id.load(Relaxed),
                list(&pids)
            ));
        }
        for d in &mut self.clients {
            if d.session.take().is_some() {
                let (head, _) = self.segment.client(d.number);
                let now_ns = clock::now_ns();
                let unfinished_ns = d.client.unfinished_ns(now_ns, &self.plans[d.plan]);
                head.end(now_ns, unfinished_ns, None);
                head.set_backend_pid(0);
            }
        }
    }
}
