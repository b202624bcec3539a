//! A libpq client worker: one background worker, many clients, one event loop over their
//! connections; what pgbench calls a thread.

use super::spi_client::Shared;
use super::{
    Place, asked_to_end, check_for_interrupts, connect, enter_cooperative, plan, transaction,
};
use crate::clock;
use crate::compat;
use crate::error::{Error, Result, catch};
use crate::pq::{Connecting, Connection};
use crate::run::RunSpec;
use crate::server;
use crate::session::LibpqSession;
use crate::shared::recorder::Recorder;
use crate::shared::segment::Stop;
use pgrx::{pg_guard, pg_sys};
use selfbench_client::{Client, Step};
use selfbench_script::{Streams, Workload, clients_per_thread};
use std::collections::VecDeque;
use std::ops::Range;

/// A connection that does not come about within that time never will.
const CONNECT_TIMEOUT_NS: u64 = 60_000_000_000;

/// When a run is stopped, statements that are under way get that long before they are cancelled.
pub(super) const STOP_GRACE_NS: u64 = 200_000_000;
/// Cancelled statements get that long to end.
const CANCEL_GRACE_NS: u64 = 1_000_000_000;
/// How often it looks meanwhile, in milliseconds.
const STOP_TICK_MS: i64 = 50;

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
            run(&place, ready);
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
    workload: Workload,
    clients: Range<usize>,
    connections: Vec<Connection>,
}

fn prepare(place: &Place) -> Result<Option<Ready>> {
    let spec: RunSpec = place.segment.spec()?;
    connect(spec.identity);
    let workload = spec.workload()?;
    let Some(clients) = clients_per_thread(spec.clients, spec.jobs).nth(place.index) else {
        return Ok(None);
    };
    let parameters = server::with_settings(spec.connection.clone(), &spec.settings);
    let parameters: Vec<_> = parameters
        .iter()
        .map(|(k, v)| (k.as_str(), v.as_str()))
        .collect();
    let mut connections = Vec::with_capacity(clients.len());
    for client in clients.clone() {
        if place.segment.header().stop() != Stop::No {
            return Ok(None);
        }
        connections.push(connect_client(client, &parameters)?);
    }
    Ok(Some(Ready {
        spec,
        workload,
        clients,
        connections,
    }))
}

fn connect_client(client: usize, parameters: &[(&str, &str)]) -> Result<Connection> {
    let failed = |message: String| Error::Connect {
        client,
        sqlstate: message.contains("too many clients").then(|| "53300".into()),
        message,
    };
    let Some(mut connection) = Connection::start(parameters) else {
        return Err(failed(
            "this process may open no more connections; use more jobs".into(),
        ));
    };
    if connection.is_bad() {
        return Err(failed(connection.error_message()));
    }
    let end = clock::now_ns() + CONNECT_TIMEOUT_NS;
    let mut waits_for = Connecting::Writing;
    loop {
        check_for_interrupts();
        let ready =
            compat::wait_for_socket(connection.socket(), waits_for == Connecting::Writing, 1000);
        if clock::now_ns() > end {
            return Err(failed("timeout expired".into()));
        }
        if !ready {
            continue;
        }
        waits_for = connection.poll_connect();
        match waits_for {
            Connecting::Done => return Ok(connection),
            Connecting::Failed => return Err(failed(connection.error_message())),
            Connecting::Reading | Connecting::Writing => {}
        }
    }
}

/// One client of this worker.
struct Driven<'s, 'p> {
    client: Client<'p>,
    /// Closed as soon as the client has ended, which takes its socket out of the event set.
    session: Option<LibpqSession>,
    recorder: Recorder<'s>,
    /// Position of its socket in the event set.
    event: i32,
    /// Whether the event set waits for its socket to become writable, too.
    waits_for_write: bool,
    /// Whether it is in the queue of those that can go on at once.
    queued: bool,
    sleeps_until_ns: Option<u64>,
}

fn run(place: &Place, ready: Ready) {
    let Ready {
        spec,
        workload,
        clients,
        connections,
    } = ready;
    let segment = place.segment;
    let header = segment.header();
    let control = Shared(header);
    let streams = Streams::derive(spec.seed, spec.clients, spec.jobs, false);
    let mut choice = streams.threads[place.index].choice;
    let plan = plan(header, &spec, &workload);
    let mut events = compat::EventSet::new(connections.len());
    let mut driven: Vec<Driven> = clients
        .clone()
        .zip(connections)
        .enumerate()
        .map(|(i, (number, connection))| {
            let event = events.add_socket(connection.socket(), i);
            Driven {
                client: Client::new(number, &plan, &streams),
                session: Some(LibpqSession::new(
                    connection,
                    spec.protocol(),
                    workload.sql_commands,
                )),
                recorder: Recorder::new(segment, place.index, number),
                event,
                waits_for_write: false,
                queued: true,
                sleeps_until_ns: None,
            }
        })
        .collect();
    let mut queue: VecDeque<usize> = (0..driven.len()).collect();
    let mut active = driven.len();
    let mut sleeping = 0usize;

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
                    driven
                        .iter()
                        .filter_map(|d| d.session.as_ref())
                        .for_each(LibpqSession::cancel);
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
            let step = d
                .client
                .advance(session, &plan, &mut choice, &control, &mut d.recorder);
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
                    let (head, _) = segment.client(clients.start + i);
                    head.end(clock::now_ns(), reason);
                    d.session = None;
                    active -= 1;
                    continue;
                }
            }
            if session.wants_write() != d.waits_for_write {
                d.waits_for_write = session.wants_write();
                events.want_write(d.event, d.waits_for_write);
            }
        }
        if active == 0 {
            break;
        }
        // Sleepers whose time has come.
        let mut timeout_ms = if queue.is_empty() { -1 } else { 0 };
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
                    let ms = (until - now).div_ceil(1_000_000).min(i64::MAX as u64 / 2) as i64;
                    if timeout_ms < 0 || ms < timeout_ms {
                        timeout_ms = ms;
                    }
                }
            }
        }
        if stopped_ns.is_some() && !(0..=STOP_TICK_MS).contains(&timeout_ms) {
            timeout_ms = STOP_TICK_MS;
        }
        for event in events.wait(timeout_ms) {
            match event {
                compat::Event::Latch => check_for_interrupts(),
                compat::Event::Socket {
                    index,
                    readable,
                    writable,
                } => {
                    let d = &mut driven[index];
                    let Some(session) = &mut d.session else {
                        continue;
                    };
                    if readable {
                        session.readable();
                    }
                    if writable {
                        session.flush();
                    }
                    if !d.queued && d.sleeps_until_ns.is_none() {
                        d.queued = true;
                        queue.push_back(index);
                    }
                }
            }
        }
    }
    for (i, d) in driven.iter_mut().enumerate() {
        if d.session.take().is_some() {
            let (head, _) = segment.client(clients.start + i);
            head.end(clock::now_ns(), None);
        }
    }
}
