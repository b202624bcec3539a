//! `bench.run`, `bench.start`, `bench.wait` and `bench.cancel`.

use super::arguments::Arguments;
use super::live::{self, live_segment};
use super::result::{self, run_result};
use crate::backend::horizon::Horizon;
use crate::backend::transaction;
use crate::check;
use crate::clock;
use crate::error::{Error, OrRaise, Result};
use crate::latch;
use crate::results::store;
use crate::run::{ClientProcess, Mode, PgioSpec, RunSpec, Vacuum};
use crate::security;
use crate::server;
use crate::shared::messages::{self, Watcher};
use crate::shared::recorder;
use crate::shared::{Kind, Layout, Phase, Segment};
use crate::worker::launch::{self, Task};
use crate::worker::locks::{self, Lookout, Use};
use crate::worker::{logbook, own_segment, spi_client};
use pgrx::datum::Interval;
use pgrx::pg_sys;
use pgrx::pg_sys::panic::ErrorReport;
use pgrx::prelude::*;
use selfbench_model::{Finished, Reply};
use selfbench_report::pgio::WorkingSet;
use selfbench_report::progress::{self, At, ProgressOptions};
use selfbench_stats::Tally;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// The caller is told of that many clients of mode spi for each processor.
const MANY_CLIENTS: i64 = 4;
/// Shared memory that the histograms of single commands may take.
const MAX_COMMAND_BYTES: usize = 1 << 30;

/// A caller of `bench.wait` that waits for so short a time, again and again in transactions of their
/// own, does no harm to a run.
const HARMLESS_NS: u64 = 1_000_000_000;
/// How often `bench.wait` looks whether the run has ended.
const TICK: Duration = Duration::from_millis(100);

#[pg_extern(sql = false)]
fn run(
    fcinfo: pg_sys::FunctionCallInfo,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.run_result")> {
    // SAFETY: the server passes the information on this call.
    let (horizon, mut arguments) =
        unsafe { (Horizon::of_call(fcinfo), Arguments::of_call(fcinfo)) };
    let options = arguments.take_run_options();
    (|| {
        let spec = options.check()?;
        let progress = Progress {
            every_us: options.progress_us()?,
            ..Progress::default()
        };
        let finished = perform(&spec, progress, &horizon)?;
        require_transactions(&spec, &finished)?;
        Ok(once(run_result(&finished)?))
    })()
    .or_raise()
}

#[pg_extern(sql = false)]
fn start(fcinfo: pg_sys::FunctionCallInfo) -> i64 {
    // SAFETY: the server passes the information on this call.
    let (horizon, mut arguments) =
        unsafe { (Horizon::of_call(fcinfo), Arguments::of_call(fcinfo)) };
    let options = arguments.take_run_options();
    (|| detach(&options.check()?, &horizon))().or_raise()
}

#[pg_extern(sql = false)]
fn wait(
    run_id: Option<i64>,
    timeout: Option<Interval>,
    fcinfo: pg_sys::FunctionCallInfo,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.run_result")> {
    // SAFETY: the server passes the information on this call.
    let horizon = unsafe { Horizon::of_call(fcinfo) };
    let ended = (|| {
        let run_id = check::argument("run_id", run_id)?;
        let limit = match &timeout {
            None => None,
            Some(timeout) => Some(check::duration("timeout", timeout, true)? as u64 * 1000),
        };
        run_result(&await_end(run_id, limit, &horizon)?)
    })();
    once(ended.or_raise())
}

/// Waits until a run has ended, or for that many nanoseconds: the run as it is then.
fn await_end(run_id: i64, limit: Option<u64>, horizon: &Horizon) -> Result<Finished> {
    let begin = clock::now_ns();
    let found = look(run_id)?;
    if !found.run.is_in_progress() {
        return Ok(found);
    }
    if found.run.segment.is_some() && found.run.segment == own_segment() {
        return Err(Error::Misplaced {
            message: format!("a client of run {run_id} cannot wait for the run"),
            hint: "Wait for it in another session.".into(),
        });
    }
    if let Some(segment) = live_segment(run_id, found.run.segment) {
        let mut advised = false;
        let mut lookout = Lookout::new();
        while live::goes_on(&segment) {
            let waited = clock::now_ns() - begin;
            if !advised && waited >= HARMLESS_NS {
                advised = true;
                advise(&segment.spec()?, horizon);
            }
            lookout.look(&segment)?;
            if limit.is_some_and(|limit| waited >= limit) {
                let mut found = look(run_id)?;
                if found.run.is_in_progress() {
                    live::add_figures(&mut found, &segment)?;
                }
                return Ok(found);
            }
            pgrx::check_for_interrupts!();
            horizon.release();
            latch::wait(TICK);
        }
    }
    // It may have ended between the two looks.
    let ended = look(run_id)?;
    match ended.run.is_in_progress() {
        true => Err(Error::LostRun { run_id }),
        false => Ok(ended),
    }
}

/// A result as a set of one. The server calls a function that returns a set once for all columns of
/// `SELECT (function(...)).*`, and any other once for each.
pub(super) fn once<T: 'static>(result: T) -> SetOfIterator<'static, T> {
    SetOfIterator::new(std::iter::once(result))
}

/// A run as it is stored; fails if it is known to be lost.
fn look(run_id: i64) -> Result<Finished> {
    match store::load(run_id)? {
        None => Err(Error::UnknownRun { run_id }),
        Some(found) if found.run.state == "lost" => Err(Error::LostRun { run_id }),
        Some(found) => Ok(found),
    }
}

/// Drives a client in this backend, which executes `CALL` at top level.
#[pg_extern(sql = false)]
fn spi_client(segment: Option<i64>, secret: Option<i64>, fcinfo: pg_sys::FunctionCallInfo) {
    (|| {
        let segment = check::argument("segment", segment)?;
        let secret = check::argument("secret", secret)?;
        // SAFETY: the server passes the information on this call.
        if !unsafe { transaction::may_leave_call(fcinfo) } {
            return Err(Error::Misplaced {
                message: "bench_internal.spi_client can only be called at top level, outside of a \
                          transaction block"
                    .into(),
                hint: "This procedure is for internal use by runs.".into(),
            });
        }
        spi_client::serve(u32::try_from(segment).unwrap_or(0), secret as u64)
    })()
    .or_raise();
}

#[pg_extern(sql = false)]
fn cancel(run_id: Option<i64>) -> bool {
    (|| {
        let run_id = check::argument("run_id", run_id)?;
        // Row security decides whose runs there are to be cancelled.
        let Some(finished) = store::load(run_id)? else {
            return Err(Error::UnknownRun { run_id });
        };
        let Some(segment) = live_segment(run_id, finished.run.segment) else {
            return Ok(false);
        };
        launch::cancel(&segment);
        Ok(true)
    })()
    .or_raise()
}

/// What the caller is told while it waits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Progress {
    /// How often a line of progress comes, in microseconds; never by default.
    pub every_us: Option<i64>,
    /// Whether it has the time of the clock instead of that since the start.
    pub timestamp: bool,
    /// Whether the vacuum before the run is told, too, without lines of progress.
    pub vacuum: bool,
}

/// Starts a run as specified, which goes on without the session; its id.
pub(super) fn detach(spec: &RunSpec, horizon: &Horizon) -> Result<i64> {
    if server::in_recovery() {
        return Err(Error::ReadOnly {
            what: "start a run".into(),
            why: "on a standby, which cannot store its result",
            hint: "Use bench.run, which returns the result.".into(),
        });
    }
    let task = begin_advised(spec)?;
    let waited = task.wait(Phase::Running, horizon, |_| Ok(()));
    result::remember(task.segment());
    waited?;
    if let Some(Err(error)) = task.segment().outcome::<Reply>() {
        return Err(error);
    }
    task.detach();
    Ok(task.segment().header().run_id.load(Relaxed))
}

/// Fails if a run came to nothing: its figures are not worth a row.
pub(super) fn require_transactions(spec: &RunSpec, finished: &Finished) -> Result<()> {
    let run = &finished.run;
    if run.state == "failed" && run.figures.transactions == 0 {
        return Err(Error::AllAborted {
            message: "no client could finish a transaction".into(),
            first: run.errors.first().cloned().unwrap_or_default(),
            hint: remedy(spec),
        });
    }
    Ok(())
}

/// Runs as specified and waits for the result, whatever it is.
pub(super) fn perform(spec: &RunSpec, progress: Progress, horizon: &Horizon) -> Result<Finished> {
    let task = begin_advised(spec)?;
    advise(spec, horizon);
    let mut ticker = Ticker::new(spec, progress);
    let waited = task.wait(Phase::Finished, horizon, |segment| {
        ticker.tick(segment);
        Ok(())
    });
    result::remember(task.segment());
    waited?;
    ticker.end(task.segment());
    let finished = match task.outcome()? {
        // However large it is, and whatever the caller may see.
        Reply::Stored(run_id) => store::load_any(run_id)?.ok_or(Error::RunDeleted { run_id })?,
        Reply::NotStored(finished) => *finished,
    };
    warn(spec, &finished);
    Ok(finished)
}

fn notice(message: &'static str, detail: &str, hint: &str) {
    ErrorReport::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message, "")
        .set_detail(detail)
        .set_hint(hint)
        .report(PgLogLevel::NOTICE);
}

/// Starts the run's coordinator, and tells the caller what will make its figures doubtful.
fn begin_advised(spec: &RunSpec) -> Result<Task> {
    let others = store::runs_in_progress()?;
    let task = begin(spec)?;
    if others > 0 {
        notice(
            "another run is in progress on this server",
            &format!("Runs in progress, of all roles and databases: {others}."),
            "The runs share the server, so the figures of both are too low. Wait for it with \
             bench.wait, or end it with bench.cancel.",
        );
    }
    if let Some(processors) = server::processors()
        && spec.mode == Mode::Spi
        && spec.rate.is_none()
        && spec.clients as i64 > MANY_CLIENTS * i64::from(processors)
    {
        notice(
            "there are many more clients than processors",
            &format!("{} clients share {processors} processors.", spec.clients),
            "Latency will include the time that clients wait for a processor. Use fewer clients, \
             or a rate.",
        );
    }
    Ok(task)
}

/// Tells the caller what it does to a run on this server by waiting for it.
fn advise(spec: &RunSpec, horizon: &Horizon) {
    if spec.target.is_some() {
        return;
    }
    if server::in_serializable_transaction() {
        notice(
            "the calling transaction keeps predicate locks from being released during the run",
            "It is SERIALIZABLE. If the run's transactions are, too, a long run ends with \"out of \
             shared memory\".",
            "Call the function after BEGIN ISOLATION LEVEL READ COMMITTED, or use bench.start: \
             default_transaction_isolation still applies to the run's transactions.",
        );
    } else if spec.writes() && !horizon.releasable() {
        notice(
            "the calling statement keeps dead rows from being removed during the run",
            "Its snapshot stays in use. Tables that are updated grow, and figures may be several \
             times too low.",
            "Use SELECT ... FROM bench.run(...) at top level, in READ COMMITTED mode, in a \
             transaction that has written nothing, and read no table in it. Functions, procedures \
             and DO blocks should only start runs, with bench.start; wait for them afterwards.",
        );
    }
}

/// Checks what only the calling session knows, and starts the run's coordinator.
fn begin(spec: &RunSpec) -> Result<Task> {
    if spec.target.is_none() {
        check_here(spec)?;
    }
    // Clients that may run in backends if there is no slot for a worker.
    let backends = match (spec.mode, spec.client_process) {
        (Mode::Libpq, _) | (_, ClientProcess::Worker) => 0,
        (_, ClientProcess::Backend) => spec.clients,
        (_, ClientProcess::Auto) => {
            let workers = server::free_worker_slots()?.saturating_sub(1);
            let beyond = spec.clients.saturating_sub(workers);
            match server::require_connections(beyond) {
                Ok(()) => beyond,
                Err(_) => 0,
            }
        }
    };
    if let Err(mut error) = server::require_worker_slots(spec.workers() - backends + 1) {
        // Backends of superusers can do what workers do.
        if let Error::WorkerSlots { connections, .. } = &mut error
            && spec.mode == Mode::Spi
            && security::is_superuser()
        {
            *connections = Some(server::used_connections()? + spec.clients as i64);
        }
        return Err(error);
    }
    if !spec.connection.is_empty()
        && (spec.mode == Mode::Libpq || spec.client_process == ClientProcess::Backend)
    {
        server::require_connections(spec.clients)?;
    }
    let commands = match spec.per_statement {
        true => spec.checked_workload()?.commands(),
        false => 0,
    };
    let layout = Layout {
        workers: spec.workers(),
        clients: spec.clients,
        scripts: spec.scripts.len(),
        commands,
        message_bytes: messages::room(spec.workers()),
        log_bytes: match spec.log {
            Some(_) => logbook::room(spec.workers()),
            None => 0,
        },
        client_histograms: spec.pgio.is_some(),
        reads: spec.pgio.is_some() && spec.mode == Mode::Spi && server::tracks_io_timing(),
    };
    require_room_for_commands(&layout)?;
    Task::launch(Kind::Run, layout, spec, spec.workers() + 1)
}

/// Fails if the histograms of single commands would take more shared memory than is reasonable.
fn require_room_for_commands(layout: &Layout) -> Result<()> {
    match layout.command_histogram_bytes() {
        Some(bytes) if bytes <= MAX_COMMAND_BYTES => Ok(()),
        bytes => Err(Error::CommandHistograms {
            commands: layout.commands,
            processes: layout.histogram_sets(),
            megabytes: bytes.unwrap_or(usize::MAX) >> 20,
            limit: MAX_COMMAND_BYTES >> 20,
        }),
    }
}

/// Checks what this server and the caller's transaction have to allow, if the run is on it.
fn check_here(spec: &RunSpec) -> Result<()> {
    if spec.writes() {
        server::require_writable("run scripts that write")?;
    }
    if let Some(pgio) = &spec.pgio {
        let table_use = if spec.writes() { Use::Write } else { Use::Read };
        let tables: Vec<String> = (1..=pgio.tables).map(PgioSpec::table).collect();
        let tables: Vec<_> = tables.iter().map(|t| (t.as_str(), table_use)).collect();
        locks::require_none(&tables)?;
    }
    if spec.uses_pgbench_tables() || spec.vacuums() {
        let small = match (spec.writes(), spec.vacuum) {
            (false, Vacuum::None) => Use::Read,
            _ => Use::Write,
        };
        let history = if spec.vacuums() { Use::Replace } else { small };
        let accounts = if spec.writes() || spec.vacuum == Vacuum::All {
            Use::Write
        } else {
            Use::Read
        };
        locks::require_none(&[
            ("pgbench_accounts", accounts),
            ("pgbench_branches", small),
            ("pgbench_tellers", small),
            ("pgbench_history", history),
        ])?;
    }
    Ok(())
}

/// Tells the caller what makes the result doubtful.
fn warn(spec: &RunSpec, finished: &Finished) {
    let run = &finished.run;
    if run.run_id == 0 {
        pgrx::notice!("the result is not stored, because this server is a standby");
    }
    if run.backends > 0 && spec.client_process == ClientProcess::Auto {
        pgrx::notice!(
            "{} of {} clients ran in backends, because no more background workers are free",
            run.backends,
            run.clients
        );
    }
    if run.state != "finished" || run.aborted_clients > 0 {
        // Programs tell this warning from others by its SQLSTATE: pgbench's exit status is 2 then.
        let mut report = ErrorReport::new(
            PgSqlErrorCode::ERRCODE_OPERATOR_INTERVENTION,
            "run was aborted; its results are incomplete",
            "",
        )
        .set_detail(run.errors.join("\n"));
        if let Some(hint) = remedy(spec).filter(|_| run.aborted_clients > 0) {
            report = report.set_hint(hint);
        }
        report.report(PgLogLevel::WARNING);
    } else if !run.errors.is_empty() {
        pgrx::warning!("{}", run.errors.join("\n"));
    }
}

/// What may help if clients are aborted.
fn remedy(spec: &RunSpec) -> Option<String> {
    let mut remedies = Vec::new();
    if let Ok(workload) = spec.workload() {
        let unset = workload.unset_variables();
        let unset: Vec<_> = unset
            .filter(|name| spec.variable(name).is_none())
            .map(|name| format!("\"{name}\""))
            .collect();
        if let Some(first) = unset.first() {
            remedies.push(format!(
                "The scripts use undefined variables: {}. Set them, for example with \
                 variables => '{{{first}: 1}}'.",
                unset.join(", ")
            ));
        }
    }
    if spec.target.is_none() && server::has_written() {
        remedies.push(
            "Clients do not see what the calling transaction has created or changed: commit it \
             before the call."
                .into(),
        );
    }
    (!remedies.is_empty()).then(|| remedies.join(" "))
}

/// Shows the caller what a client tells.
fn show(line: &str) {
    pgrx::notice!("{line}");
}

/// Tells the caller what goes on: what clients tell and, as pgbench does, a progress line at every
/// multiple of the time asked for.
struct Ticker {
    watcher: Watcher,
    every_ns: Option<u64>,
    /// Whether lines have the time of the clock.
    timestamp: bool,
    options: ProgressOptions,
    last_ns: u64,
    tally: Tally,
    /// What is vacuumed before, until that is told.
    vacuum: Option<Vacuum>,
    /// Transactions of the warm-up that have been told.
    warmup_transactions: u64,
    /// pgio's workload, until the caller has been told what it measures here.
    pgio: Option<PgioSpec>,
}

impl Ticker {
    fn new(spec: &RunSpec, progress: Progress) -> Ticker {
        Ticker {
            watcher: Watcher::new(clock::now_ns()),
            every_ns: progress.every_us.map(|us| us as u64 * 1000),
            timestamp: progress.timestamp,
            options: ProgressOptions {
                mode: spec.mode,
                rate: spec.rate.is_some(),
                latency_limit: spec.latency_limit_ns.is_some(),
                max_tries: spec.max_tries,
            },
            last_ns: 0,
            tally: Tally::default(),
            vacuum: (progress.vacuum || progress.every_us.is_some())
                .then_some(spec.vacuum)
                .filter(|_| spec.vacuums())
                // A standby has nothing to vacuum.
                .filter(|_| spec.target.is_some() || !server::in_recovery()),
            warmup_transactions: 0,
            pgio: spec.pgio.clone().filter(|_| spec.target.is_none()),
        }
    }

    fn tick(&mut self, segment: &Segment) {
        self.tell_vacuum(segment);
        self.watcher.pass(segment, clock::now_ns(), show);
        self.tell_what_is_measured(segment);
        let Some(every) = self.every_ns else { return };
        let header = segment.header();
        if header.phase() != Phase::Running {
            return;
        }
        let (start, measure) = (
            header.start_ns.load(Relaxed),
            header.measure_ns.load(Relaxed),
        );
        if self.last_ns == 0 {
            self.last_ns = start;
        }
        let now = clock::now_ns();
        if self.last_ns < measure {
            // No line is for both the warm-up and the time that counts.
            let end = now.min(measure);
            if end >= self.last_ns + every {
                self.tell_warmup(segment, end);
                self.last_ns = start + (end - start) / every * every;
            }
            if now >= measure {
                self.last_ns = measure;
            }
        }
        if now >= measure && now >= self.last_ns + every {
            self.tell(segment, now);
            // The next line is due at the next multiple, however late this one is.
            self.last_ns = measure + (now - measure) / every * every;
        }
    }

    /// Prints the last line, if its time has come with the end of the run.
    fn end(&mut self, segment: &Segment) {
        // A short run may have ended before anybody looked.
        self.tell_vacuum(segment);
        self.watcher.end(segment, clock::now_ns(), show);
        self.tell_what_is_measured(segment);
        let Some(every) = self.every_ns else { return };
        let last = (0..segment.layout().clients)
            .map(|client| segment.client(client).0.finished_ns())
            .max()
            .unwrap_or(0);
        let begin = self.last_ns.max(segment.header().measure_ns.load(Relaxed));
        if self.last_ns != 0 && last >= begin + every {
            self.last_ns = begin;
            self.tell(segment, last);
        }
    }

    /// Tells, once the start barrier is open, what has been vacuumed.
    fn tell_vacuum(&mut self, segment: &Segment) {
        let started = segment.header().start_ns.load(Relaxed) != 0;
        let Some(vacuum) = self.vacuum.take_if(|_| started) else {
            return;
        };
        pgrx::notice!("starting vacuum...end.");
        if vacuum == Vacuum::All {
            pgrx::notice!("starting vacuum pgbench_accounts...end.");
        }
    }

    /// Tells, once the start barrier is open, whether the blocks of pgio's workload fit into
    /// memory, and what is measured then.
    fn tell_what_is_measured(&mut self, segment: &Segment) {
        let header = segment.header();
        let Some(pgio) = self.pgio.take_if(|_| header.start_ns.load(Relaxed) != 0) else {
            return;
        };
        let working_set = WorkingSet {
            bytes: pgio.working_set_bytes(header.scale.load(Relaxed)),
            shared_buffers_bytes: Some(server::shared_buffers_bytes()),
            memory_bytes: server::memory_bytes(),
        };
        if let Some(measured) = working_set.what_is_measured() {
            pgrx::notice!("{measured}");
        }
    }

    fn at(&self, segment: &Segment, now: u64) -> At {
        if self.timestamp {
            At::Epoch(server::epoch_us() as f64 / 1e6)
        } else {
            At::Elapsed((now - segment.header().start_ns.load(Relaxed)) as f64 / 1e9)
        }
    }

    fn tell_warmup(&mut self, segment: &Segment, now: u64) {
        let transactions = (0..segment.layout().clients)
            .map(|client| segment.client(client).0.warmup_transactions())
            .sum();
        let line = progress::warmup_line(
            self.at(segment, now),
            (now - self.last_ns) as f64 / 1e9,
            transactions - self.warmup_transactions,
            self.options.mode,
        );
        pgrx::notice!("{line}");
        self.warmup_transactions = transactions;
    }

    fn tell(&mut self, segment: &Segment, now: u64) {
        let tally = recorder::read_total(segment);
        let line = progress::line(
            self.at(segment, now),
            (now - self.last_ns) as f64 / 1e9,
            &tally.minus(&self.tally),
            self.options,
        );
        pgrx::notice!("{line}");
        self.tally = tally;
    }
}
