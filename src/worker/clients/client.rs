//! Common parts of client workers of both modes: their plan, their random streams, and the
//! interface of clients to their process.

use super::shell;
use crate::backend::interrupts::asked_to_end;
use crate::backend::{profiler, transaction};
use crate::clock;
use crate::error::Result;
use crate::run::RunSpec;
use crate::security;
use crate::shared::messages::Messages;
use crate::shared::{Header, Stop};
use crate::worker::place::Place;
use selfbench_client::{Control, RunPlan, ShellEnd, Thread};
use selfbench_script::{Streams, ValueSets, Workload};
use std::ops::Range;
use std::sync::atomic::Ordering::*;

/// Services for a client outside of its session: the shared clock, the run's stop request, the
/// shell, the messages to the caller.
pub struct ClientControl<'s> {
    header: &'s Header,
    messages: Option<Messages<'s>>,
    alone: bool,
}

impl ClientControl<'_> {
    /// The value for the clients of a worker.
    /// `alone` is whether there is only one client, see [`Control::is_alone`].
    pub fn new(place: &Place, alone: bool) -> ClientControl<'static> {
        ClientControl {
            alone,
            header: place.segment.header(),
            messages: place.segment.messages(place.index),
        }
    }
}

impl Control for ClientControl<'_> {
    #[inline]
    fn now_ns(&self) -> u64 {
        clock::now_ns()
    }

    #[inline]
    fn is_alone(&self) -> bool {
        self.alone
    }

    #[inline]
    fn stop(&self) -> bool {
        self.header.stop() != Stop::No
    }

    fn request_stop(&self) {
        self.header.request_stop(Stop::Requested);
    }

    fn shell(&self, line: &str, output: Option<&mut Vec<u8>>) -> ShellEnd {
        let (began_ns, cpu_ns) = (clock::now_ns(), clock::thread_cpu_ns());
        let stores = output.is_some();
        let (mut text, mut errors) = (Vec::new(), Vec::new());
        let output = output.unwrap_or(&mut text);
        let stop = || self.stop() || asked_to_end();
        let ended = profiler::without_sampling(|| shell::run(line, output, &mut errors, stop));
        for text in [&text, &errors] {
            for line in String::from_utf8_lossy(text).lines() {
                self.report(line);
            }
        }
        let passed_ns = clock::now_ns().saturating_sub(began_ns);
        let used_ns = clock::thread_cpu_ns().saturating_sub(cpu_ns);
        ShellEnd {
            successful: match stores {
                true => ended.is_some(),
                false => ended == Some(true),
            },
            waited_ns: passed_ns.saturating_sub(used_ns),
        }
    }

    fn report(&self, line: &str) {
        if let Some(messages) = self.messages {
            messages.send(self.header, line);
        }
    }
}

/// Data that the clients of a run share after the start barrier has opened.
pub fn plan<'w>(
    header: &'w Header,
    spec: &'w RunSpec,
    workload: &'w Workload,
    values: ValueSets<'w>,
) -> RunPlan<'w> {
    RunPlan {
        workload,
        transactions: spec.run.transactions_per_client.map(|n| n as u64),
        measure_ns: &header.measure_ns,
        deadline_ns: &header.deadline_ns,
        max_tries: spec.max_tries(),
        throttle_us: spec
            .run
            .rate
            .map(|rate| RunPlan::throttle_us(rate, spec.schedules())),
        starts_taken: (spec.schedules() < spec.jobs()).then_some(&header.starts_taken),
        latency_limit_ns: spec.latency_limit_ns(),
        reconnect: spec.run.reconnect,
        continue_on_error: spec.run.continue_on_error,
        exit_on_abort: spec.run.exit_on_abort,
        per_statement: spec.run.per_statement,
        verbose_errors: spec.run.verbose_errors,
        debug: spec.debug,
        log: spec.log.is_some(),
        sampling_rate: spec.log.as_ref().and_then(|log| log.sampling_rate),
        commit_every: spec.pgio.as_ref().map_or(1, |pgio| pgio.commit_every),
        usage: spec.pgio.is_some(),
        scale: header.scale.load(Relaxed),
        random_seed: spec.seed,
        variables: &spec.run.variables,
        values,
    }
}

/// The streams of a run, and some of its threads.
pub fn streams(header: &Header, spec: &RunSpec, threads: Range<usize>) -> (Streams, Vec<Thread>) {
    let streams = Streams::derive(
        spec.seed,
        spec.clients(),
        spec.jobs(),
        spec.variable("default_seed").is_some(),
    );
    let start_ns = header.start_ns.load(Relaxed);
    let throttle = |thread: usize| streams.threads[thread.min(spec.schedules() - 1)].throttle;
    let threads = threads
        .map(|thread| Thread::new(&streams.threads[thread], throttle(thread), start_ns))
        .collect();
    (streams, threads)
}

/// Checks again in a client worker, although the caller has done so, that the role may run programs
/// if a script does.
pub fn check_rights(workload: &Workload) -> Result<()> {
    if workload.runs_programs() {
        transaction::transaction(security::require_server_program)?;
    }
    Ok(())
}
