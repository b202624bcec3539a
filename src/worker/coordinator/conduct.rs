//! Conducting a run whose clients are ready: opens the start barrier, takes the figures at each
//! interval, ends the run and stores its result. Errors become part of the result.

use super::client_process::ClientProcesses;
use super::collector::Collector;
use super::logbook::Logbook;
use super::verify::verify;
use super::warm_up::{WarmUpEnd, WarmingUp};
use crate::backend::interrupts::{
    asked_to_end, check_for_interrupts, end_task_if_canceled, enter_canceling, enter_cooperative,
    leave_canceling, was_terminated,
};
use crate::backend::limits::{Limited, Limits};
use crate::backend::transaction::{abort, transaction};
use crate::clock;
use crate::error::{Error, Result, catch, message};
use crate::latch::{self, WaitEvent};
use crate::results::load::SHORT;
use crate::results::{load, store};
use crate::run::RunSpec;
use crate::security::with_lock_timeout;
use crate::server;
use crate::shared::watcher::Watcher;
use crate::shared::{Header, Phase, Segment, Stop, WorkerState, reading};
use crate::telemetry::Telemetry;
use crate::worker::activity::{show, show_clients};
use crate::worker::launch::CALLER_ENDED;
use selfbench_client::UNKNOWN_NS;
use selfbench_model::{Reply, Run, RunState};
use std::mem::replace;
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// Time that transactions have to end after the longest duration, in a run that has one.
const LATE_NS: u64 = 10_000_000_000;
/// Time between telling clients the end of a warm-up until steady and that end.
const NOTICE_NS: u64 = 10_000_000;

/// State of a coordinator from the start barrier, at which all clients wait, to the stored result.
pub struct Conductor<'r> {
    /// The run's memory.
    pub segment: &'r Segment,
    /// Specification of the run.
    pub spec: &'r RunSpec,
    /// Limits of its role.
    pub limits: &'r Limits,
    /// Whether it is stored.
    pub stores: bool,
    /// The processes of its clients.
    pub clients: &'r ClientProcesses,
    /// The log of its transactions, if there is one.
    pub logbook: Option<Logbook<'r>>,
    /// Observers beside the clients.
    pub telemetry: Telemetry<'r>,
}

impl Conductor<'_> {
    /// Runs the benchmark. `run` is its row.
    pub fn conduct(mut self, mut run: Run) -> Result<Reply> {
        let (segment, spec, stores, clients) = (self.segment, self.spec, self.stores, self.clients);
        let mut collector = match Collector::new(segment, spec) {
            Ok(collector) => collector,
            Err(error) => {
                give_up(segment, run, stores, clients, &error);
                return Err(error);
            }
        };
        run.state = RunState::Running;
        run.started_at = Some(server::wall_clock());
        show_clients(segment.header(), "running,", spec.clients());
        open_start_barrier(segment, spec);
        self.begin(&mut collector);
        let mut watcher = Watcher::new(clock::now_ns());
        let ended = catch(|| {
            if stores {
                store::update(&run)?;
            }
            self.watch(&mut collector, &mut watcher, &mut run)
        });
        // In all cases, the workers must have exited and the figures must be stored.
        let mut failed_state = RunState::Failed;
        if let Err(error) = &ended {
            abort();
            failed_state = state_after(segment, error);
        }
        let stopped = match &ended {
            Ok(None) => clients.stop(Stop::No, self.logbook.as_mut()),
            _ => {
                let stopped = clients.stop(Stop::Requested, self.logbook.as_mut());
                self.end(&mut collector);
                stopped
            }
        };
        if segment.header().caller.pid() == 0 {
            watcher.end(segment, clock::now_ns(), note);
        }
        if segment.header().measure_ns.load(Relaxed) == UNKNOWN_NS {
            run.warmup_s = warmed_up_s(segment.header(), clock::now_ns());
        }
        segment.header().advance(Phase::Storing);
        show(segment.header(), "storing results");
        let (mut record, rows) = collector.conclude(run);
        let run = &mut record.run;
        match ended {
            // Other clients may have finished before the coordinator noticed the abort.
            Ok(_) if spec.run.exit_on_abort && run.aborted_clients > 0 => {
                run.state = RunState::Failed;
                run.errors
                    .push("run stopped because a client aborted (exit_on_abort)".into());
            }
            Ok(None) => {}
            Ok(Some(reason)) => {
                run.state = RunState::Canceled;
                run.errors.insert(0, reason);
            }
            Err(error) => {
                run.state = failed_state;
                run.errors.insert(0, error.report().one_line());
            }
        }
        if let Err(error) = stopped {
            run.errors.push(error.report().one_line());
        }
        if let Some(Err(error)) = self.logbook.map(|logbook| logbook.close(segment)) {
            run.errors.push(error.report().one_line());
        }
        let observed = self.telemetry.conclude(run);
        // Other runs may have started or ended meanwhile. No cancel request would end a wait for a lock here.
        let others = transaction(|| with_lock_timeout(c"1s", || load::other_runs(run)));
        run.other_runs = run.other_runs.max(others.unwrap_or(0));
        let mut stored = Ok(Vec::new());
        if !spec.checks.is_empty() {
            // The run goes on for others, but its figures are safe whatever happens to this process.
            let state = replace(&mut run.state, RunState::Running);
            if stores {
                stored = store::finish(&record, &rows, &observed);
            }
            record.run.state = state;
            enter_canceling();
            record.checks = verify(segment, spec, &record.run);
            leave_cancels();
            let violated = record
                .checks
                .iter()
                .filter(|check| check.holds == Some(false));
            let violated: Vec<&str> = violated.map(|check| check.condition.as_str()).collect();
            if !violated.is_empty() {
                let names = violated.join(", ");
                let error = format!(
                    "conditions of the workload are violated: {names}; see bench.run_checks"
                );
                record.run.errors.push(error);
            }
        }
        record.run.coordinator_pid = None;
        record.run.segment = None;
        if stores {
            let stored = stored.and_then(|disturbances| match spec.checks.is_empty() {
                true => store::finish(&record, &rows, &observed).map(drop),
                false => {
                    record.run.disturbances = disturbances;
                    store::verified(&record.run, &record.checks)
                }
            });
            match stored {
                Ok(()) => {
                    note_end(segment, &record.run);
                    return Ok(Reply::Stored(record.run.run_id));
                }
                Err(error) => {
                    let told = tell_unstored(&record.run, &error);
                    record.run.errors.push(told);
                }
            }
        }
        Ok(Reply::NotStored(Box::new(record.abridged())))
    }

    /// Waits until the clients have finished. Meanwhile, reads the figures of each interval, and
    /// stores them and the log from time to time. Returns the reason if the run ended early.
    fn watch(
        &mut self,
        collector: &mut Collector,
        watcher: &mut Watcher,
        run: &mut Run,
    ) -> Result<Option<String>> {
        let header = self.segment.header();
        let interval_ns = self.spec.aggregate_interval_us() as u64 * 1000;
        let mut warming_up = WarmingUp::new(self.segment, self.spec);
        let mut deadline_ns = header.deadline_ns.load(Relaxed);
        // A rest before the deadline that is too short for a rate belongs to the interval before.
        let short_ns = (interval_ns as f64 * SHORT) as u64;
        let mut next = header.measure_ns.load(Relaxed).saturating_add(interval_ns);
        let limit_ns = self.limit_ns();
        loop {
            let mut workers = self.segment.workers();
            let have_ended = workers.all(|worker| worker.state() >= WorkerState::Done);
            let reason_to_end = self.reason_to_end();
            // The begin of an interval may be noticed as late as its end.
            let now = clock::now_ns();
            if now >= self.telemetry.due_ns() {
                self.telemetry.tick(now);
            }
            if let Some(reason) = reason_to_end {
                return Ok(Some(format!("canceled: {reason}")));
            }
            let now = clock::now_ns();
            if have_ended {
                self.end(collector);
                return Ok(None);
            }
            if now >= limit_ns {
                let what = "duration of the run";
                return Err(self.limits.exceeded(Limited::Duration, what.into()));
            }
            if let Some(ended) = warming_up.as_mut().and_then(|warm_up| warm_up.look(now)) {
                warming_up = None;
                run.warmup_steady = Some(ended == WarmUpEnd::Steady);
                run.warmup_s = warmed_up_s(header, now + NOTICE_NS);
                // Before the measured time, which it would disturb. The run's end stores the exact time.
                if self.stores {
                    store::update(run)?;
                }
                let measure_ns = clock::now_ns() + NOTICE_NS;
                measure_from(header, self.spec, measure_ns);
                self.begin(collector);
                deadline_ns = header.deadline_ns.load(Relaxed);
                next = measure_ns + interval_ns;
                run.warmup_s = warmed_up_s(header, measure_ns);
            }
            let mut drains = Logbook::is_pressing(self.segment);
            // Work after the deadline belongs to the last interval before it, also if that is late. No
            // interval ends when only processes of clients are left.
            if now >= next && now.saturating_add(short_ns) < deadline_ns {
                store::require_tables()?;
                let have_all_ended = reading::ended_ns(self.segment).is_some();
                if !have_all_ended && let Some(period) = collector.end_interval(now) {
                    self.telemetry.end_interval(period);
                }
                if collector.fill_a_batch() {
                    collector.store_intervals(self.stores, self.telemetry.take_rows())?;
                    drains = true;
                }
                // An interval that ends late does not shift those after it.
                while next <= now {
                    next += interval_ns;
                }
            }
            if next.max(now).saturating_add(short_ns) >= deadline_ns {
                next = u64::MAX;
            }
            if drains && let Some(logbook) = &mut self.logbook {
                logbook.drain(self.segment)?;
            }
            if header.caller.pid() == 0 {
                watcher.pass(self.segment, clock::now_ns(), note);
            }
            if now >= collector.due_ns() {
                collector.read(now);
            }
            check_for_interrupts();
            let look_ns = warming_up.as_ref().map_or(u64::MAX, WarmingUp::due_ns);
            let due_ns = collector.due_ns().min(self.telemetry.due_ns());
            let wake_ns = next.min(due_ns).min(look_ns).min(limit_ns);
            let left_ns = wake_ns.saturating_sub(clock::now_ns());
            latch::wait(Duration::from_nanos(left_ns), WaitEvent::Interval);
        }
    }

    /// Clock reading at which the limit of the duration ends the run.
    fn limit_ns(&self) -> u64 {
        let Some(most_s) = self.limits.most(Limited::Duration) else {
            return u64::MAX;
        };
        let late_ns = self.spec.duration_us().map_or(0, |_| LATE_NS);
        let begin_ns = self.segment.header().start_ns.load(Relaxed);
        begin_ns + u64::from(most_s) * 1_000_000_000 + late_ns
    }

    /// Starts to collect and observe, if it is known from when on transactions count.
    fn begin(&mut self, collector: &mut Collector) {
        collector.begin();
        let measure_ns = self.segment.header().measure_ns.load(Relaxed);
        if measure_ns != UNKNOWN_NS {
            self.telemetry.begin(measure_ns);
        }
    }

    /// Why the run must end early, if it must.
    fn reason_to_end(&self) -> Option<String> {
        let header = self.segment.header();
        let mut workers = self.segment.workers();
        let stop = header.stop();
        if stop == Stop::Abandoned {
            Some(CALLER_ENDED.into())
        } else if asked_to_end() && stop == Stop::No {
            Some(by_signal())
        } else if let Some(worker) = workers.find(|worker| worker.state() == WorkerState::Died) {
            let what = "a client worker was terminated";
            Some(match worker.failure() {
                Some(report) => format!("{what}: {}", report.one_line()),
                None => what.into(),
            })
        } else if let Some(report) = self.segment.workers().find_map(|worker| worker.failure()) {
            Some(format!("a client worker failed: {}", report.one_line()))
        } else if stop == Stop::Terminated {
            // The worker that was terminated asks for this before it has died.
            Some("a client worker was terminated".into())
        } else if stop != Stop::No {
            Some(on_request(header))
        } else {
            None
        }
    }

    /// Ends the last interval, of the clients and of what is observed beside them.
    fn end(&mut self, collector: &mut Collector) {
        if let Some(period) = collector.end(clock::now_ns()) {
            self.telemetry.end_interval(period);
        }
    }
}

/// Makes requests to cancel the run, such as one that arrives after the run has noticed that it is
/// to end, no longer cancel statements of the coordinator.
pub fn leave_cancels() {
    leave_canceling();
    enter_cooperative();
    end_task_if_canceled();
}

/// Runs `body`, which prepares a run, and catches its error: if the run was canceled, with the reason.
pub fn caught<T>(segment: &Segment, body: impl FnOnce() -> Result<T>) -> Result<T> {
    catch(body).map_err(|error| {
        let header = segment.header();
        let reason = match header.stop() {
            Stop::No => asked_to_end().then(by_signal),
            Stop::Abandoned => Some(CALLER_ENDED.into()),
            Stop::Terminated => None,
            Stop::Requested => Some(on_request(header)),
        };
        match reason.filter(|_| error.is_cancel()) {
            Some(reason) => Error::Canceled {
                by: format!("before it started: {reason}"),
            },
            None => error,
        }
    })
}

/// Why a run ends early if a signal asked its coordinator to end.
fn by_signal() -> String {
    match was_terminated() {
        true => "its coordinator was terminated".into(),
        false => "its coordinator was canceled".into(),
    }
}

/// Why a run was requested to end.
fn on_request(header: &Header) -> String {
    header.cause.get().unwrap_or_else(|| "on request".into())
}

/// Ends a run that cannot start because of an error. The error is stored if the run is.
pub fn give_up(
    segment: &Segment,
    mut run: Run,
    stored: bool,
    clients: &ClientProcesses,
    error: &Error,
) {
    abort();
    leave_cancels();
    let state = state_after(segment, error);
    let stopped = clients.stop(Stop::Requested, None);
    run.errors.push(error.report().one_line());
    run.errors
        .extend(stopped.err().map(|e| e.report().one_line()));
    end_early(segment, run, state, stored);
}

/// Stores the failure of a run that has no clients yet.
pub fn store_failure(segment: &Segment, mut run: Run, stored: bool, error: &Error) {
    abort();
    leave_cancels();
    run.errors.push(error.report().one_line());
    let state = state_after(segment, error);
    end_early(segment, run, state, stored);
}

fn end_early(segment: &Segment, mut run: Run, state: RunState, stored: bool) {
    if !stored {
        return;
    }
    run.state = state;
    run.coordinator_pid = None;
    run.segment = None;
    match store::end_early(&run) {
        Ok(()) => note_end(segment, &run),
        Err(error) => {
            tell_unstored(&run, &error);
        }
    }
}

/// Notes that a run is stored as one that has ended by itself.
fn note_end(segment: &Segment, run: &Run) {
    let ended = run.state != RunState::Canceled;
    segment.header().ended.store(ended, Relaxed);
}

/// The state of a run that an error has ended: `canceled` if it was canceled, else `failed`.
fn state_after(segment: &Segment, error: &Error) -> RunState {
    let wanted = error.is_cancel() || asked_to_end() || segment.header().stop() != Stop::No;
    match wanted {
        true => RunState::Canceled,
        false => RunState::Failed,
    }
}

/// Writes to the server's log what cannot be stored.
fn tell_unstored(run: &Run, error: &Error) -> String {
    let text = format!("results could not be stored: {}", error.report().one_line());
    message::log(format_args!("run {} of pg_selfbench: {text}", run.run_id));
    text
}

/// Sets the clock reading from which transactions count.
fn measure_from(header: &Header, spec: &RunSpec, measure_ns: u64) {
    if let Some(duration_us) = spec.duration_us() {
        let deadline_ns = measure_ns.saturating_add(duration_us as u64 * 1000);
        header.deadline_ns.store(deadline_ns, Relaxed);
    }
    // Clients that know when they measure know the deadline.
    header.measure_ns.store(measure_ns, Release);
}

/// The length of a warm-up that ends at the clock reading `end_ns`, in seconds.
fn warmed_up_s(header: &Header, end_ns: u64) -> f64 {
    let passed_ns = end_ns.saturating_sub(header.start_ns.load(Relaxed));
    (passed_ns / 1_000_000) as f64 / 1e3
}

/// Opens the start barrier at the current clock reading.
fn open_start_barrier(segment: &Segment, spec: &RunSpec) {
    let header = segment.header();
    let now = clock::now_ns();
    header.start_ns.store(now, Relaxed);
    let measured = spec.warmup_us().map(|us| now + us as u64 * 1000);
    measure_from(header, spec, measured.unwrap_or(UNKNOWN_NS));
    header.advance(Phase::Running);
    for worker in segment.workers() {
        worker.process.wake();
    }
}

/// Writes the clients' messages to the server's log, unless a caller waits for them.
fn note(line: &str) {
    message::log(line);
}
