//! The coordinator of a run: checks, starts the clients, opens the start barrier, takes the
//! figures at each interval, ends the run and stores its results.

use super::activity::{show, show_clients};
use super::checkpoint;
use super::client_process::ClientProcesses;
use super::collector::Collector;
use super::entry::{attach, my_segment};
use super::logbook::Logbook;
use super::tables::{self, Tables};
use crate::backend::identity::connect;
use crate::backend::interrupts::{
    asked_to_end, check_for_interrupts, end_task_if_canceled, enter_cooperative, leave_cooperative,
};
use crate::backend::process::at_exit;
use crate::backend::transaction::{abort, transaction};
use crate::backend::{fatal, settings};
use crate::clock;
use crate::database::Database;
use crate::error::{Error, Result, catch};
use crate::latch::{self, WaitEvent};
use crate::results::{load, store};
use crate::run::{RunSpec, Vacuum};
use crate::server;
use crate::shared::watcher::Watcher;
use crate::shared::{Phase, Segment, Stop, WorkerState};
use crate::telemetry::snapshots::Snapshots;
use pgrx::{pg_guard, pg_sys};
use selfbench_model::{Reply, Run, RunState};
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_coordinator_main(argument: pg_sys::Datum) {
    let Some(segment) = attach(argument) else {
        return;
    };
    let header = segment.header();
    header.coordinator.set_to_me();
    at_exit(coordinator_exit);
    header.advance(Phase::Preparing);
    let outcome = catch(|| {
        let spec: RunSpec = segment.spec()?;
        connect(spec.identity);
        show(header, "preparing");
        coordinate(segment, &spec)
    });
    abort();
    segment.finish(outcome.map_err(|error| error.report()));
}

fn coordinator_exit() {
    let Some(segment) = my_segment() else { return };
    if segment.header().phase() == Phase::Finished {
        return;
    }
    // The process may exit during a statement; no other process must wait for it.
    let report = fatal::failure().unwrap_or_else(|| {
        Error::Canceled {
            by: "because its coordinator was terminated".into(),
        }
        .report()
    });
    segment.finish(Err::<(), _>(report));
}

fn coordinate(segment: &'static Segment, spec: &RunSpec) -> Result<Reply> {
    transaction(|| settings::apply(&spec.settings))?;
    let mut database = Database::open(spec.target.as_ref())?;
    let tables = tables::look_up(spec, &mut database)?;
    checkpoint::require_right(spec, &mut database)?;
    segment.header().scale.store(tables.scale, Relaxed);
    let stores = !server::in_recovery();
    let run_id = if stores { store::next_run_id()? } else { 0 };
    segment.header().run_id.store(run_id, Relaxed);
    let mut run = transaction(|| describe(segment, spec, &database, &tables, run_id))?;

    show_clients(segment.header(), "starting", spec.clients);
    let launched_ns = clock::now_ns();
    let clients = ClientProcesses::start(segment, spec)?;
    run.backends = clients.backends() as i32;
    let prepared = catch(|| {
        clients.wait_until_ready()?;
        run.connection_ms = Some((clock::now_ns() - launched_ns) as f64 / 1e6);
        if stores {
            let settings = settings_of_target(&mut database)?;
            store::begin(&run, settings.as_deref())?;
        }
        Ok(())
    })
    .and_then(|()| {
        vacuum(segment, spec, &mut database, &mut run.errors);
        checkpoint::request(segment, spec, &mut database)?;
        if segment.header().stop() != Stop::No {
            return Err(Error::Canceled {
                by: "before it started".into(),
            });
        }
        show(segment.header(), "preparing");
        let logbook = match &spec.log {
            Some(log) => Some(Logbook::open(spec, log, run_id, stores, clock::now_ns())?),
            None => None,
        };
        let snapshots = Snapshots::before(&mut database);
        run.other_runs = load::other_runs(&run)?;
        enter_cooperative();
        end_task_if_canceled();
        Ok((logbook, snapshots))
    });
    // The coordinator's own connection to the target does not belong to the run.
    drop(database);
    match prepared {
        Ok((logbook, snapshots)) => {
            conduct(segment, spec, run, stores, &clients, logbook, snapshots)
        }
        Err(error) => {
            give_up(segment, run, stores, &clients, &error);
            Err(error)
        }
    }
}

/// Ends a run that cannot start because of an error. The error is stored if the run is stored.
fn give_up(
    segment: &Segment,
    mut run: Run,
    stores: bool,
    clients: &ClientProcesses,
    error: &Error,
) {
    abort();
    run.state = state_after(segment, error);
    let stopped = clients.stop(Stop::Requested, None);
    if stores && run.connection_ms.is_some() {
        run.errors.push(error.report().one_line());
        run.errors
            .extend(stopped.err().map(|e| e.report().one_line()));
        run.coordinator_pid = None;
        run.segment = None;
        if let Err(error) = store::update(&run) {
            tell_unstored(&run, &error);
        }
    }
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
    pgrx::log!("run {} of pg_selfbench: {text}", run.run_id);
    text
}

/// Runs the benchmark from the start barrier, at which all clients wait, to the stored result.
/// Errors become part of the result.
fn conduct(
    segment: &Segment,
    spec: &RunSpec,
    mut run: Run,
    stores: bool,
    clients: &ClientProcesses,
    mut logbook: Option<Logbook>,
    mut snapshots: Snapshots,
) -> Result<Reply> {
    let mut collector = match Collector::new(segment, spec) {
        Ok(collector) => collector,
        Err(error) => {
            give_up(segment, run, stores, clients, &error);
            return Err(error);
        }
    };
    run.state = RunState::Running;
    run.started_at = Some(server::wall_clock());
    show_clients(segment.header(), "running,", spec.clients);
    open_start_barrier(segment, spec);
    collector.begin();
    let mut watcher = Watcher::new(clock::now_ns());
    let ended = catch(|| {
        if stores {
            store::update(&run)?;
        }
        watch(
            segment,
            spec,
            stores,
            &mut collector,
            &mut logbook,
            &mut snapshots,
            &mut watcher,
        )
    });
    // In all cases, the workers must have exited and the figures must be stored.
    let mut failed_state = RunState::Failed;
    if let Err(error) = &ended {
        abort();
        failed_state = state_after(segment, error);
    }
    let stopped = match &ended {
        Ok(None) => clients.stop(Stop::No, logbook.as_mut()),
        _ => {
            let stopped = clients.stop(Stop::Requested, logbook.as_mut());
            collector.end_interval(clock::now_ns());
            stopped
        }
    };
    if segment.header().caller.pid() == 0 {
        watcher.end(segment, clock::now_ns(), note);
    }
    segment.header().advance(Phase::Storing);
    show(segment.header(), "storing results");
    let (mut record, intervals, sessions) = collector.conclude(run);
    let run = &mut record.run;
    match ended {
        // Other clients may have finished before the coordinator noticed the abort.
        Ok(_) if spec.switches.exit_on_abort && run.aborted_clients > 0 => {
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
    if let Some(Err(error)) = logbook.map(|logbook| logbook.close(segment)) {
        run.errors.push(error.report().one_line());
    }
    snapshots.after(segment, spec, run);
    // Other runs may have started or ended meanwhile.
    run.other_runs = run.other_runs.max(load::other_runs(run).unwrap_or(0));
    run.coordinator_pid = None;
    run.segment = None;
    if stores {
        match store::finish(&record, &intervals, &sessions) {
            Ok(()) => return Ok(Reply::Stored(record.run.run_id)),
            Err(error) => {
                let told = tell_unstored(&record.run, &error);
                record.run.errors.push(told);
            }
        }
    }
    Ok(Reply::NotStored(Box::new(record.abridged())))
}

/// Opens the start barrier at the current clock reading.
fn open_start_barrier(segment: &Segment, spec: &RunSpec) {
    let header = segment.header();
    let now = clock::now_ns();
    let measure = now + spec.warmup_us as u64 * 1000;
    header.start_ns.store(now, Relaxed);
    header.measure_ns.store(measure, Relaxed);
    if let Some(duration_us) = spec.duration_us {
        header
            .deadline_ns
            .store(measure + duration_us as u64 * 1000, Relaxed);
    }
    header.advance(Phase::Running);
    for worker in segment.workers() {
        worker.process.wake();
    }
}

/// The settings of a target, as `bench_internal.settings_of_run` returns them; `None` without
/// target.
fn settings_of_target(database: &mut Database) -> Result<Option<String>> {
    if matches!(database, Database::Here) {
        return Ok(None);
    }
    let mut settings = None;
    if let Some(query) = store::settings_query()? {
        database.transaction(|database| {
            database.execute("SET LOCAL search_path = pg_catalog, pg_temp")?;
            settings = database.first_row(&query)?.into_iter().flatten().next();
            Ok(())
        })?;
    }
    // This server's settings do not apply to the run.
    Ok(Some(settings.unwrap_or_else(|| "[]".into())))
}

/// The row of a run that is about to start.
fn describe(
    segment: &Segment,
    spec: &RunSpec,
    database: &Database,
    tables: &Tables,
    run_id: i64,
) -> Result<Run> {
    Ok(Run {
        run_id,
        owner: spec.identity.role.to_string(),
        database_name: server::database_name(),
        target: database.description(),
        label: spec.label.clone(),
        state: RunState::Starting,
        mode: spec.mode,
        protocol: spec.protocol.clone(),
        scripts: spec
            .scripts
            .iter()
            .map(|script| match script.weight {
                1 => script.name.clone(),
                weight => format!("{}@{weight}", script.name),
            })
            .collect(),
        clients: spec.clients as i32,
        jobs: spec.jobs as i32,
        workers: spec.workers as i32,
        // Those that have to be are counted when they are there.
        backends: 0,
        duration_s: spec.duration_us.map(|us| us as f64 / 1e6),
        transactions_per_client: spec.transactions,
        warmup_s: spec.warmup_us as f64 / 1e6,
        aggregate_interval_s: spec.aggregate_interval_us as f64 / 1e6,
        rate: spec.rate,
        latency_limit_ms: spec.latency_limit_ns.map(|ns| ns as f64 / 1e6),
        max_tries: spec.max_tries as i32,
        variables: spec.variables.iter().cloned().collect(),
        reconnect: spec.switches.reconnect,
        failures_detailed: spec.switches.failures_detailed,
        switches: spec.switches.by_name(),
        sampling_rate: spec.log.as_ref().and_then(|log| log.sampling_rate),
        log_prefix: spec.log.as_ref().and_then(|log| log.prefix.clone()),
        client_process: spec.client_process.as_str().into(),
        vacuum: spec.vacuum.as_str().into(),
        seed: spec.seed.to_string(),
        scale: tables.scale,
        partition_method: tables.partition_method.clone(),
        partitions: tables.partitions,
        server_version: database.version(),
        server_version_num: database.version_num(),
        extension_version: env!("CARGO_PKG_VERSION").into(),
        created_at: server::wall_clock(),
        processors: server::processors().and_then(|processors| i32::try_from(processors).ok()),
        coordinator_pid: Some(std::process::id() as i32),
        segment: Some(i64::from(segment.handle())),
        ..Run::default()
    })
}

/// Vacuums the tables that pgbench vacuums before a run. A failure is reported, and the run
/// continues.
fn vacuum(segment: &Segment, spec: &RunSpec, database: &mut Database, errors: &mut Vec<String>) {
    if !spec.vacuums() {
        return;
    }
    // A standby has nothing to vacuum.
    if matches!(database, Database::Here) && server::in_recovery() {
        return;
    }
    show(segment.header(), "vacuum");
    leave_cooperative();
    let mut statements = vec![
        "VACUUM pgbench_branches",
        "VACUUM pgbench_tellers",
        "TRUNCATE pgbench_history",
    ];
    if spec.vacuum == Vacuum::All {
        statements.push("VACUUM ANALYZE pgbench_accounts");
    }
    for statement in statements {
        if segment.header().stop() != Stop::No {
            return;
        }
        if let Err(error) = catch(|| database.execute_alone(statement)) {
            if error.is_cancel() {
                segment.header().request_stop(Stop::Requested);
                return;
            }
            errors.push(format!(
                "{}: {} (ignoring this error and continuing anyway)",
                statement.to_lowercase(),
                error.report().one_line()
            ));
        }
    }
}

/// Waits until the clients have finished. Meanwhile, reads the figures of each interval, and stores
/// them and the log from time to time. Returns the reason if the run ended early.
fn watch(
    segment: &Segment,
    spec: &RunSpec,
    stores: bool,
    collector: &mut Collector,
    logbook: &mut Option<Logbook>,
    snapshots: &mut Snapshots,
    watcher: &mut Watcher,
) -> Result<Option<String>> {
    let header = segment.header();
    let interval_ns = spec.aggregate_interval_us as u64 * 1000;
    let mut next = header.measure_ns.load(Relaxed) + interval_ns;
    loop {
        let now = clock::now_ns();
        let died = || {
            segment
                .workers()
                .find(|worker| worker.state() == WorkerState::Died)
        };
        let stop = header.stop();
        let reason = if stop == Stop::Abandoned {
            Some("the session that waited for it has ended".into())
        } else if asked_to_end() && stop == Stop::No {
            Some("its coordinator was terminated".into())
        } else if let Some(worker) = died() {
            let what = "a client worker was terminated";
            Some(match worker.failure() {
                Some(report) => format!("{what}: {}", report.one_line()),
                None => what.into(),
            })
        } else if let Some(report) = segment.workers().find_map(|worker| worker.failure()) {
            Some(format!("a client worker failed: {}", report.one_line()))
        } else if stop != Stop::No {
            Some(header.cause.get().unwrap_or_else(|| "on request".into()))
        } else {
            None
        };
        if let Some(reason) = reason {
            return Ok(Some(format!("canceled: {reason}")));
        }
        if segment
            .workers()
            .all(|worker| worker.state() >= WorkerState::Done)
        {
            collector.end_interval(now);
            return Ok(None);
        }
        let mut drains = Logbook::is_pressing(segment);
        if now >= next {
            collector.end_interval(now);
            if collector.fill_a_batch() {
                collector.store_intervals(stores)?;
                drains = true;
            }
            // An interval that ends late does not shift those after it.
            while next <= now {
                next += interval_ns;
            }
        }
        if drains && let Some(logbook) = logbook {
            logbook.drain(segment)?;
        }
        if header.caller.pid() == 0 {
            watcher.pass(segment, clock::now_ns(), note);
        }
        if now >= collector.due_ns() {
            collector.read(now);
        }
        check_for_interrupts();
        let wake_ns = next.min(collector.due_ns()).min(snapshots.sample(segment));
        let left_ns = wake_ns.saturating_sub(clock::now_ns());
        latch::wait(Duration::from_nanos(left_ns), WaitEvent::Interval);
    }
}

/// Writes the clients' messages to the server's log, unless a caller waits for them.
fn note(line: &str) {
    pgrx::log!("{line}");
}
