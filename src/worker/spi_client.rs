//! An SPI client: one background worker, one client, its statements executed in the process itself.

use super::{Place, check_for_interrupts, connect, plan, settings, transaction};
use crate::clock;
use crate::error::{Result, catch};
use crate::run::RunSpec;
use crate::session::SpiSession;
use crate::shared::process;
use crate::shared::recorder::Recorder;
use crate::shared::segment::{Header, Stop};
use pgrx::{pg_guard, pg_sys};
use selfbench_client::{Client, Control, Step};
use selfbench_script::{Streams, Workload};
use std::time::Duration;

/// The world of a client: the shared clock and the run's stop request.
pub struct Shared<'s>(pub &'s Header);

impl Control for Shared<'_> {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    #[inline]
    fn stop(&self) -> bool {
        self.0.stop() != Stop::No
    }
}

/// Entry point of the process.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_spi_client_main(argument: pg_sys::Datum) {
    let Some(place) = Place::take(argument) else {
        return;
    };
    let prepared = catch(|| prepare(&place));
    match prepared {
        Ok((spec, workload)) => {
            if place.wait_for_start() {
                run(&place, &spec, &workload);
            }
            place.leave(None);
        }
        Err(error) => {
            transaction::abort();
            place.leave(Some(error.report()));
        }
    }
}

fn prepare(place: &Place) -> Result<(RunSpec, Workload)> {
    let spec: RunSpec = place.segment.spec()?;
    connect(spec.identity);
    transaction::transaction(|| settings::apply(&spec.settings))?;
    let workload = spec.workload()?;
    Ok((spec, workload))
}

fn run(place: &Place, spec: &RunSpec, workload: &Workload) {
    let number = place.index;
    let header = place.segment.header();
    let streams = Streams::derive(spec.seed, spec.clients, spec.jobs, false);
    let mut choice = streams.threads[number].choice;
    let plan = plan(header, spec, workload);
    let mut client = Client::new(number, &plan, &streams);
    let mut session = SpiSession::new(spec.protocol(), workload.sql_commands);
    let mut recorder = Recorder::new(place.segment, number, number);
    let control = Shared(header);
    let reason = loop {
        match client.advance(&mut session, &plan, &mut choice, &control, &mut recorder) {
            Step::Again => {}
            // An outcome is there as soon as a statement is submitted.
            Step::Waiting => {}
            Step::Sleeping { until_ns } => {
                check_for_interrupts();
                let now = clock::now_ns();
                process::wait(Duration::from_nanos(until_ns.saturating_sub(now)));
            }
            Step::Finished => break None,
            Step::Aborted { reason } => break Some(reason),
        }
    };
    let (head, _) = place.segment.client(number);
    head.end(clock::now_ns(), reason.as_deref());
    transaction::abort();
}
