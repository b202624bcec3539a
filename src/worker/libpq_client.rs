//! A libpq client worker: one background worker, many clients, one event loop over their
//! connections. It is what pgbench calls a thread, or several if there are not enough workers.

use super::remote::{self, NotConnected};
use super::spi_client::Shared;
use super::{
    Place, asked_to_end, check_for_interrupts, check_rights, connect, enter_cooperative, plan,
    streams, transaction,
};
use crate::clock;
use crate::compat;
use crate::error::{Error, Result, catch};
use crate::pq::{ConnectWith, Connection, cancel};
use crate::run::RunSpec;
use crate::session::LibpqSession;
use crate::shared::effort::Stopwatch;
use crate::shared::recorder::Recorder;
use crate::shared::segment::Stop;
use pgrx::{pg_guard, pg_sys};
use selfbench_client::{Client, Step};
use selfbench_script::{Workload, clients_per_thread};
use std::collections::VecDeque;
use std::rc::Rc;

/// When a run is stopped, statements that are under way get that long before they are cancelled.
pub(super) const STOP_GRACE_NS: u64 = 200_000_000;
/// Cancelled statements get that long to end.
const CANCEL_GRACE_NS: u64 = 1_000_000_000;
/// How often it looks meanwhile, in milliseconds.
const STOP_TICK_MS: i64 = 50;
/// The longest wait, in milliseconds: the server counts them in 32 bits.
const LONGEST_WAIT_MS: i64 = 3_600_000;

/// Entry point of the process.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_libpq_client_main(argument: pg_sys::Datum) {
    let Some(place) = Place::take(argument) else {
        return;
    };
    let result = catch(|| {
        let Some(ready) = prepare(&place)? else {
            return Ok(());
        };
        if place.wait_for_start() {
            enter_cooperative();
            let stopwatch = Stopwatch::start();
            run(&place, ready);
            let account = &place.segment.worker(place.index).account;
            account.set(stopwatch.stop());
        }
        Ok(())
    });
    if result.is_err() {
        transaction::abort();
    }
    if asked_to_end() {
        place.die();
    }
    place.leave(result.err().map(|error| error.report()));
}

/// A worker that waits for the start barrier.
struct Ready {
    spec: RunSpec,
    workloads: Workloads,
    /// Their numbers, each with the position of its thread among those of this worker.
    clients: Vec<(usize, usize)>,
    /// One for each client, or none if each transaction has its own.
    connections: Vec<Option<Connection>>,
    connect_with: Rc<ConnectWith>,
}

fn prepare(place: &Place) -> Result<Option<Ready>> {
    let spec: RunSpec = place.segment.spec()?;
    connect(spec.identity);
    let threads: Vec<_> = clients_per_thread(spec.clients, spec.jobs).collect();
    let threads = &threads[spec.threads(place.index)];
    let clients: Vec<_> = threads
        .iter()
        .enumerate()
        .flat_map(|(thread, clients)| clients.clone().map(move |client| (client, thread)))
        .collect();
    let workloads = Workloads::parse(&spec, clients.iter().map(|(client, _)| *client))?;
    workloads.all.iter().try_for_each(check_rights)?;
    let connect_with = Rc::new(spec.connect_with());
    let mut connections = Vec::with_capacity(clients.len());
    for (client, _) in &clients {
        if place.segment.header().stop() != Stop::No {
            return Ok(None);
        }
        connections.push(if spec.reconnect {
            None
        } else {
            Some(connect_client(*client, &connect_with)?)
        });
    }
    Ok(Some(Ready {
        spec,
        workloads,
        clients,
        connections,
        connect_with,
    }))
}

/// The scripts of the clients of this worker, which may have different ones.
struct Workloads {
    all: Vec<Workload>,
    /// By number: which variant each is.
    variants: Vec<usize>,
}

impl Workloads {
    fn parse(spec: &RunSpec, clients: impl Iterator<Item = usize>) -> Result<Workloads> {
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
    fn of_client(&self, spec: &RunSpec, client: usize) -> usize {
        self.variants
            .binary_search(&spec.variant(client))
            .unwrap_or(0)
    }
}

/// Connects a client to the server.
pub(super) fn connect_client(client: usize, with: &ConnectWith) -> Result<Connection> {
    remote::connect(with).map_err(|error| match error {
        NotConnected::Failed(message, sqlstate) => Error::Connect {
            client,
            sqlstate,
            message,
        },
        NotConnected::NoPassword => Error::PasswordNotUsed,
    })
}

/// One client of this worker.
struct Driven<'s, 'p> {
    client: Client<'p>,
    number: usize,
    /// Number of its plan among those of this worker.
    plan: usize,
    /// Position of its thread among those of this worker.
    thread: usize,
    /// Closed as soon as the client has ended, which takes its socket out of the event set.
    session: Option<LibpqSession>,
    recorder: Recorder<'s>,
    /// Its socket, as it is in the event set.
    socket: Option<(u64, i32)>,
    /// Position of its socket in the event set, if it has one.
    event: Option<i32>,
    /// Whether the event set waits for its socket to become writable, too.
    waits_for_write: bool,
    /// Whether it is in the queue of those that can go on at once.
    queued: bool,
    /// Whether it is there since its socket had news.
    answered: bool,
    sleeps_until_ns: Option<u64>,
}

fn run(place: &Place, ready: Ready) {
    let Ready {
        spec,
        workloads,
        clients,
        connections,
        connect_with,
    } = ready;
    let segment = place.segment;
    let header = segment.header();
    let control = Shared::new(place, false);
    let (streams, mut threads) = streams(header, &spec, spec.threads(place.index));
    let plans: Vec<_> = workloads
        .all
        .iter()
        .map(|workload| plan(header, &spec, workload))
        .collect();
    let mut events = compat::EventSet::new(connections.len());
    let mut driven: Vec<Driven> = clients
        .into_iter()
        .zip(connections)
        .map(|((number, thread), connection)| {
            let plan = workloads.of_client(&spec, number);
            let workload = &workloads.all[plan];
            Driven {
                client: Client::new(number, &plans[plan], &streams),
                number,
                plan,
                thread,
                session: Some(LibpqSession::new(
                    connection,
                    Rc::clone(&connect_with),
                    spec.protocol(),
                    workload.sql_commands,
                )),
                recorder: Recorder::new(segment, workload, place.index, number),
                socket: None,
                event: None,
                waits_for_write: false,
                queued: true,
                answered: false,
                sleeps_until_ns: None,
            }
        })
        .collect();
    // A schedule asks for more precision than milliseconds.
    let mut alarm = spec.rate.and_then(|_| compat::Alarm::new());
    watch_sockets(&mut events, &mut driven, alarm.as_ref());
    let mut queue: VecDeque<usize> = (0..driven.len()).collect();
    let mut active = driven.len();
    let mut sleeping = 0usize;
    // Whether the event set still has the sockets of connections that are gone.
    let mut outdated = false;

    let mut stopped_ns = None;
    let mut canceled = false;

    while active > 0 {
        // A worker that is terminated ends the run, and takes its connections with it: the server
        // would not notice that they are closed while they wait for a lock.
        if asked_to_end() {
            header.request_stop(Stop::Terminated);
        }
        if header.stop() != Stop::No {
            let now = clock::now_ns();
            match stopped_ns {
                // The outcome of what is under way is awaited: a transaction that has committed
                // counts.
                None => {
                    stopped_ns = Some(now);
                    for (i, d) in driven.iter_mut().enumerate() {
                        if d.sleeps_until_ns.take().is_some() {
                            sleeping -= 1;
                        }
                        if !d.queued {
                            d.queued = true;
                            queue.push_back(i);
                        }
                    }
                }
                Some(since) if now - since > STOP_GRACE_NS + CANCEL_GRACE_NS => break,
                Some(since) if now - since > STOP_GRACE_NS && !canceled => {
                    canceled = true;
                    let sessions = driven.iter().filter_map(|d| d.session.as_ref());
                    cancel::in_background(sessions.filter_map(LibpqSession::cancel).collect());
                }
                Some(_) => {}
            }
        }
        // Clients that can go on, each for one step, so that none keeps the others waiting.
        for _ in 0..queue.len() {
            let Some(i) = queue.pop_front() else { break };
            let d = &mut driven[i];
            d.queued = false;
            let Some(session) = &mut d.session else {
                continue;
            };
            let thread = &mut threads[d.thread];
            let plan = &plans[d.plan];
            let recorder = &mut d.recorder;
            let mut step = d.client.advance(session, plan, thread, &control, recorder);
            // After the last answer of a transaction the server waits for this client, and need
            // not wait for the others. A script without statements takes turns with them.
            if step == Step::Again && std::mem::take(&mut d.answered) {
                step = d.client.advance(session, plan, thread, &control, recorder);
            }
            match step {
                Step::Again => {
                    d.queued = true;
                    queue.push_back(i);
                }
                Step::Waiting => {}
                Step::Sleeping { until_ns } => {
                    d.sleeps_until_ns = Some(until_ns);
                    sleeping += 1;
                }
                Step::Finished | Step::Aborted { .. } => {
                    let reason = match &step {
                        Step::Aborted { reason } => Some(reason.as_str()),
                        _ => None,
                    };
                    let (head, _) = segment.client(d.number);
                    head.end(clock::now_ns(), reason);
                    d.session = None;
                    active -= 1;
                    continue;
                }
            }
            if session.socket() != d.socket {
                outdated = true;
            } else if session.wants_write() != d.waits_for_write
                && let Some(event) = d.event
            {
                d.waits_for_write = session.wants_write();
                events.want_write(event, d.waits_for_write);
            }
        }
        if active == 0 {
            break;
        }
        if outdated {
            outdated = false;
            events = compat::EventSet::new(driven.len());
            watch_sockets(&mut events, &mut driven, alarm.as_ref());
        }
        // Sleepers whose time has come.
        let mut timeout_ms = if queue.is_empty() { -1 } else { 0 };
        let mut next_ns = u64::MAX;
        if sleeping > 0 {
            let now = clock::now_ns();
            for (i, d) in driven.iter_mut().enumerate() {
                let Some(until) = d.sleeps_until_ns else {
                    continue;
                };
                if until <= now {
                    d.sleeps_until_ns = None;
                    sleeping -= 1;
                    d.queued = true;
                    queue.push_back(i);
                    timeout_ms = 0;
                } else {
                    next_ns = next_ns.min(until);
                    let ms = (until - now)
                        .div_ceil(1_000_000)
                        .min(LONGEST_WAIT_MS as u64) as i64;
                    if timeout_ms < 0 || ms < timeout_ms {
                        timeout_ms = ms;
                    }
                }
            }
        }
        if stopped_ns.is_some() && !(0..=STOP_TICK_MS).contains(&timeout_ms) {
            timeout_ms = STOP_TICK_MS;
        }
        if let Some(alarm) = &mut alarm
            && next_ns != u64::MAX
        {
            alarm.set(next_ns);
        }
        for event in events.wait(timeout_ms) {
            match event {
                compat::Event::Latch => check_for_interrupts(),
                compat::Event::Socket {
                    index,
                    readable,
                    writable,
                } => {
                    // The alarm is not among them.
                    let Some(d) = driven.get_mut(index) else {
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
                    if !d.queued && d.sleeps_until_ns.is_none() {
                        d.queued = true;
                        d.answered = true;
                        queue.push_back(index);
                    }
                }
            }
        }
    }
    for d in &mut driven {
        if d.session.take().is_some() {
            let (head, _) = segment.client(d.number);
            head.end(clock::now_ns(), None);
        }
    }
}

/// Adds the sockets that there are, and the alarm, to a new event set.
fn watch_sockets(
    events: &mut compat::EventSet,
    driven: &mut [Driven],
    alarm: Option<&compat::Alarm>,
) {
    if let Some(alarm) = alarm {
        events.add_socket(alarm.descriptor(), driven.len());
    }
    for (i, d) in driven.iter_mut().enumerate() {
        d.socket = d.session.as_ref().and_then(LibpqSession::socket);
        d.event = d.socket.map(|(_, socket)| events.add_socket(socket, i));
        d.waits_for_write = d.session.as_ref().is_some_and(LibpqSession::wants_write);
        if d.waits_for_write
            && let Some(event) = d.event
        {
            events.want_write(event, true);
        }
    }
}
