//! An SPI client: one process, one client, its statements executed in the process itself. The
//! process is a background worker, or a backend that was called for it.

use super::client::{ClientControl, check_rights, plan, streams};
use super::notices;
use super::timing::Timing;
use crate::backend::identity::connect;
use crate::backend::interrupts::check_between_statements;
use crate::backend::profiler;
use crate::backend::transaction::TopLevelCall;
use crate::backend::usage::{self, Blocks};
use crate::backend::{settings, transaction};
use crate::clock;
use crate::error::{Error, Result, catch};
use crate::latch::{self, WaitEvent};
use crate::run::RunSpec;
use crate::session::spi::guard;
use crate::session::{SpiSession, watch_commands};
use crate::shared::recorder::Recorder;
use crate::telemetry::processes;
use crate::worker::place::Place;
use pgrx::{pg_guard, pg_sys};
use selfbench_client::{Client, Context, Step};
use selfbench_script::{ValueSets, Workload};

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_spi_client_main(argument: pg_sys::Datum) {
    let Some(place) = Place::take(argument) else {
        return;
    };
    settings::follow_configuration();
    let prepared = catch(|| {
        let spec: RunSpec = place.segment.spec()?;
        connect(spec.identity);
        transaction::transaction(|| {
            settings::apply(&spec.settings)?;
            settings::apply_exactly(&spec.client_settings)
        })?;
        prepare(&place, spec)
    });
    match prepared {
        Ok((spec, workload, values)) => {
            serve(&place, &spec, &workload, values);
            place.leave(None);
        }
        Err(error) => {
            transaction::abort();
            place.leave(Some(error.report()));
        }
    }
}

/// Runs one client of the run with that segment and secret, in a backend that executes only this
/// `CALL`.
pub fn run_client(call: TopLevelCall<'_>, segment: u32, secret: u64) -> Result<()> {
    let Some(place) = Place::join(segment, secret) else {
        return Err(Error::Misplaced {
            message: "no run of the current role waits for a client".into(),
            hint: "This procedure is for internal use by runs.".into(),
        });
    };
    let left = call.leave();
    watch_commands();
    let served = catch(|| {
        let spec: RunSpec = place.segment.spec()?;
        spec.identity.assume();
        transaction::transaction(|| settings::require(&spec.client_settings))?;
        let (spec, workload, values) = prepare(&place, spec)?;
        serve(&place, &spec, &workload, values);
        Ok(())
    });
    transaction::abort();
    match &served {
        Ok(()) => place.leave(None),
        Err(error) => place.leave(Some(error.report())),
    }
    left.reenter();
    served
}

fn prepare(place: &Place, spec: RunSpec) -> Result<(RunSpec, Workload, ValueSets<'static>)> {
    let workload = spec.workload_of(spec.variant(place.index))?;
    check_rights(&workload)?;
    if let Some(schema) = &spec.guarded_schema {
        transaction::transaction(|| guard::install(schema))?;
        watch_commands();
    }
    Ok((spec, workload, place.segment.values()?))
}

/// Waits for the start of the run and executes the client, which has the number of its worker.
fn serve(place: &Place, spec: &RunSpec, workload: &Workload, values: ValueSets<'_>) {
    let (slot, _) = place.segment.client(place.index);
    slot.set_backend_pid(std::process::id() as i32);
    profiler::start(place.segment, place.index);
    if place.wait_for_start() {
        run(place, spec, workload, values);
    }
    profiler::stop();
    slot.set_backend_pid(0);
}

fn run(place: &Place, spec: &RunSpec, workload: &Workload, values: ValueSets<'_>) {
    let number = place.index;
    let _redirected = notices::of_this_process(place);
    let header = place.segment.header();
    let (streams, mut threads) = streams(header, spec, spec.threads(number));
    let thread = &mut threads[0];
    let plan = plan(header, spec, workload, values);
    let mut client = Client::new(number, &plan, &streams);
    let mut session = SpiSession::new(spec.protocol(), workload.sql_commands, &header.relations);
    let mut recorder = Recorder::new(place.segment, workload, number, number);
    let control = ClientControl::new(place, true);
    let mut timing = Timing::new(spec.run.observe, place.segment.statement_rows());
    // Number of the transaction in progress.
    let mut transaction = 1u64;
    // The statements of pgio's workload that read the usage tell when its measurement begins.
    let mut watched = match spec.pgio {
        Some(_) => Some(Watched { since: None }),
        None => spec.run.observe.then(Watched::from_now),
    };
    let reason = loop {
        latch::exit_with_postmaster();
        settings::reload();
        let mut context = Context {
            session: &mut session,
            plan: &plan,
            thread: &mut *thread,
            control: &control,
            record: &mut recorder,
        };
        let step = if timing.is_next(transaction) {
            timing.advance(&mut client, context)
        } else {
            client.advance(&mut context)
        };
        if let Some(watched) = &mut watched {
            watched.record(&recorder);
        }
        match step {
            Step::Again => transaction += 1,
            // A statement has its outcome as soon as it has been submitted.
            Step::Waiting => {}
            Step::Sleeping { until_ns } => {
                session.rest();
                latch::wait_until(until_ns, WaitEvent::Schedule);
                check_between_statements();
            }
            Step::Finished => break None,
            Step::Aborted { reason } => break Some(reason),
        }
    };
    let (head, _) = place.segment.client(number);
    let now_ns = clock::now_ns();
    head.end(
        now_ns,
        client.unfinished_ns(now_ns, &plan),
        reason.as_deref(),
    );
    if let Some(times) = spec.run.observe.then(processes::read_own).flatten() {
        head.set_times_at_end(times);
    }
    let account = &place.segment.worker(number).account;
    account.set(timing.effort);
    account.set_parts(timing.parts);
    transaction::abort();
}

/// The blocks and WAL that this process uses, recorded after each transaction: the totals so far,
/// and the reads since the previous transaction, which count as that many reads of the same
/// duration.
struct Watched {
    /// The usage at the start of the measurement, once it has started, and the last recorded one.
    since: Option<(Blocks, Blocks)>,
}

impl Watched {
    fn from_now() -> Watched {
        let now = usage::blocks();
        Watched {
            since: Some((now, now)),
        }
    }

    #[inline]
    fn record(&mut self, recorder: &Recorder) {
        let now = usage::blocks();
        if self.since.is_none() {
            self.since = recorder.used_before().map(|usage| {
                let begin = Blocks {
                    hit: usage.blocks_hit,
                    read: usage.blocks_read,
                    read_ns: usage.read_ns,
                    wal_bytes: usage.wal_bytes,
                };
                (begin, begin)
            });
        }
        let Some((begin, last)) = &mut self.since else {
            return;
        };
        recorder.used_blocks(
            now.hit - begin.hit,
            now.read - begin.read,
            now.wal_bytes - begin.wal_bytes,
        );
        if now.read != last.read {
            recorder.read_blocks(now.read - last.read, now.read_ns - last.read_ns);
        }
        *last = now;
    }
}
