//! The coordinator of a run: checks, starts the clients, opens the start barrier, takes the
//! figures at each interval, ends the run and stores its results.

use super::client_process::ClientProcess;
use super::database::Database;
use super::harvest::Harvest;
use super::libpq_client::STOP_GRACE_NS;
use super::logbook::Logbook;
use super::transaction::transaction;
use super::{
    asked_to_end, at_exit, attach, check_for_interrupts, connect, enter_cooperative,
    leave_cooperative, my_segment, settings,
};
use crate::clock;
use crate::error::{Error, Result, catch};
use crate::results::rows::{Finished, PgioSession, Run, RunInterval, RunScript, RunStatement};
use crate::results::{convert, store};
use crate::run::pgio::{self, Scan};
use crate::run::{ClientProcess as Process, Mode, PgioSpec, RunSpec, ScriptSpec, Vacuum};
use crate::server;
use crate::shared::effort::Effort;
use crate::shared::process::{self, WorkerHandle, WorkerStatus, no_slot};
use crate::shared::recorder::{self, ClientState};
use crate::shared::segment::{Phase, Segment, Stop, WorkerState};
use pgrx::{pg_guard, pg_sys};
use rustix::process::Signal;
use selfbench_client::Usage;
use selfbench_stats::{LatencyHistogram, Tally};
use std::sync::atomic::Ordering::*;
use std::time::Duration;

/// Intervals are written in batches, so that storing them disturbs the run less.
const INTERVALS_PER_BATCH: usize = 60;
/// Clients that are asked to stop get that long before they are terminated.
const TERMINATE_NS: u64 = 3_000_000_000;
/// How long to wait for workers to be gone at the end.
const EXIT_LIMIT: Duration = Duration::from_secs(10);
/// At most that many reasons are stored with a run; the clients of a run often fail alike.
const MAX_ERRORS: usize = 20;

/// Entry point of the process.
#[pg_guard]
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_coordinator_main(argument: pg_sys::Datum) {
    let Some(segment) = attach(argument) else {
        return;
    };
    let header = segment.header();
    header.coordinator.set_to_me();
    at_exit(coordinator_exit, 0);
    header.advance(Phase::Preparing);
    let outcome = catch(|| {
        let spec: RunSpec = segment.spec()?;
        connect(spec.identity);
        coordinate(segment, &spec)
    });
    super::transaction::abort();
    segment.finish(outcome.map_err(|error| error.report()));
}

unsafe extern "C-unwind" fn coordinator_exit(_code: i32, _argument: pg_sys::Datum) {
    let Some(segment) = my_segment() else { return };
    if segment.header().phase() == Phase::Finished {
        return;
    }
    // Terminated in the middle of a statement: nobody must wait for this process, and its workers
    // must not go on without it.
    segment.header().request_stop(Stop::Terminated);
    for worker in segment.workers() {
        worker.process.wake();
        worker.process.signal(Signal::TERM);
    }
    let error = Error::Canceled {
        by: "because its coordinator was terminated".into(),
    };
    segment.finish(Err::<(), _>(error.report()));
}

/// What a run needs to know about pgbench's tables.
struct Tables {
    scale: i64,
    partition_method: Option<String>,
    partitions: Option<i32>,
}

fn coordinate(segment: &'static Segment, spec: &RunSpec) -> Result<Finished> {
    let header = segment.header();
    transaction(|| settings::apply(&spec.settings))?;
    let mut database = Database::open(spec.target.as_ref())?;
    let tables = look_at_tables(spec, &mut database)?;
    header.scale.store(tables.scale, Relaxed);
    let stores = !server::in_recovery();
    let run_id = if stores { store::next_run_id()? } else { 0 };
    header.run_id.store(run_id, Relaxed);
    let mut run = transaction(|| describe(segment, spec, &database, &tables, run_id))?;

    let launched_ns = clock::now_ns();
    let workers = start_workers(segment, spec)?;
    run.backends = workers
        .iter()
        .filter(|worker| matches!(worker, ClientProcess::Backend(_)))
        .count() as i32;
    let mut logbook = None;
    let result = catch(|| {
        wait_for_workers(segment, &workers)?;
        run.connection_ms = Some((clock::now_ns() - launched_ns) as f64 / 1e6);
        if stores {
            let settings = settings_of_target(&mut database)?;
            store::begin(&run, settings.as_deref())?;
        }
        Ok(())
    })
    .and_then(|()| {
        vacuum(segment, spec, &mut database, &mut run.errors);
        if header.stop() != Stop::No {
            return Err(Error::Canceled {
                by: "before it started".into(),
            });
        }
        let now = clock::now_ns();
        logbook = match &spec.log {
            Some(log) => Some(Logbook::open(spec, log, run_id, stores, now)?),
            None => None,
        };
        enter_cooperative();
        Ok(())
    });
    // A connection of its own would be none of the run's.
    drop(database);
    if let Err(error) = result {
        super::transaction::abort();
        stop_workers(segment, spec.mode, &workers, Stop::Requested, None)?;
        if stores && run.connection_ms.is_some() {
            let canceled = matches!(error, Error::Canceled { .. });
            run.state = if canceled { "canceled" } else { "failed" }.into();
            run.errors.push(error.report().one_line());
            run.coordinator_pid = None;
            run.segment = None;
            store::update(&run)?;
        }
        return Err(error);
    }

    run.state = "running".into();
    run.started_at = Some(server::wall_clock());
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
    if stores {
        store::update(&run)?;
    }

    let mut harvest = Harvest::new(segment, measure);
    let mut intervals = Vec::new();
    let ended = watch(
        segment,
        spec,
        &workers,
        logbook.as_mut(),
        |now, last, logbook| {
            if now > measure
                && let Some(interval) = harvest.interval(segment, now)
            {
                let length = (now - interval.begins_ns) as f64 / 1e9;
                let records = spec.pgio.is_some() && spec.mode == Mode::Spi;
                let blocks = |i: usize| records.then_some(interval.blocks[i] as i64);
                intervals.push(RunInterval {
                    run_id,
                    interval_no: interval.number,
                    begins_s: (interval.begins_ns - header.start_ns.load(Relaxed)) as f64 / 1e9,
                    seconds: length,
                    figures: convert::figures(&interval.tally, &interval.histogram, length),
                    blocks_hit: blocks(0),
                    blocks_read: blocks(1),
                    wal_bytes: blocks(2),
                });
            }
            if !last && intervals.len() >= INTERVALS_PER_BATCH {
                if stores {
                    store::intervals(&intervals)?;
                    intervals.clear();
                }
                if let Some(logbook) = logbook {
                    logbook.drain(segment)?;
                }
            }
            Ok(())
        },
    );
    // Whatever ended the run, its workers must be gone and its figures stored.
    let urgency = if ended.is_ok() {
        Stop::No
    } else {
        Stop::Requested
    };
    let stopped = stop_workers(segment, spec.mode, &workers, urgency, logbook.as_mut());
    pass_messages(segment);
    header.advance(Phase::Storing);
    let mut finished = Finished {
        run,
        ..Finished::default()
    };
    conclude(segment, spec, &mut harvest, &mut finished);
    let sessions = conclude_pgio(segment, spec, &harvest, &mut finished);
    match ended {
        // The others may have ended before anybody looked.
        Ok(_) if spec.exit_on_abort && finished.run.aborted_clients > 0 => {
            finished.run.state = "failed".into();
            finished.run.errors.push(
                "the run was ended since a client was aborted, as \"exit_on_abort\" asks".into(),
            );
        }
        Ok(None) => {}
        Ok(Some(reason)) => {
            finished.run.state = "canceled".into();
            finished.run.errors.insert(0, reason);
        }
        Err(error) => {
            super::transaction::abort();
            finished.run.state = "failed".into();
            finished.run.errors.insert(0, error.report().one_line());
        }
    }
    if let Err(error) = stopped {
        finished.run.errors.push(error.report().one_line());
    }
    if let Some(Err(error)) = logbook.map(|logbook| logbook.close(segment)) {
        finished.run.errors.push(error.report().one_line());
    }
    finished.run.coordinator_pid = None;
    finished.run.segment = None;
    if stores && let Err(error) = store::finish(&finished, &intervals, &sessions) {
        finished.run.errors.push(format!(
            "results could not be stored: {}",
            error.report().one_line()
        ));
    }
    Ok(finished)
}

/// Checks that the tables are there which the scripts need, and finds their scale.
fn look_at_tables(spec: &RunSpec, database: &mut Database) -> Result<Tables> {
    if let Some(pgio) = &spec.pgio {
        return Ok(Tables {
            scale: pgio_scale(pgio, database)?,
            partition_method: None,
            partitions: None,
        });
    }
    if !spec.uses_pgbench_tables() {
        return Ok(Tables {
            // Scripts of the user's have the scale that the user says they have.
            scale: spec
                .scale
                .or_else(|| spec.variable("scale")?.parse().ok())
                .unwrap_or(1),
            partition_method: None,
            partitions: None,
        });
    }
    let write_them = |script: &ScriptSpec| script.builtin && script.writes && script.weight > 0;
    let needed: &[&str] = if spec.scripts.iter().any(write_them) {
        &[
            "pgbench_accounts",
            "pgbench_branches",
            "pgbench_tellers",
            "pgbench_history",
        ]
    } else {
        &["pgbench_accounts", "pgbench_branches"]
    };
    for table in needed {
        if !has_table(database, table)? {
            return Err(Error::TableMissing {
                table: (*table).into(),
                mode_hint: match database {
                    Database::Here => {
                        "Create pgbench's tables with SELECT * FROM bench.initialize(), or set \
                         search_path so that they are found."
                    }
                    Database::There(_) => {
                        "Create pgbench's tables in the target with SELECT * FROM \
                         bench.initialize(target => ...), or connect to where they are found."
                    }
                }
                .into(),
            });
        }
    }
    let rows = database
        .first_row("SELECT pg_catalog.count(*)::pg_catalog.text FROM pgbench_branches")?
        .into_iter()
        .flatten()
        .next();
    let scale = rows.and_then(|text| text.parse().ok()).unwrap_or(0);
    if scale <= 0 {
        return Err(Error::TableEmpty {
            table: "pgbench_branches".into(),
            hint: match database {
                Database::Here => "Fill pgbench's tables with SELECT * FROM bench.initialize().",
                Database::There(_) => {
                    "Fill pgbench's tables in the target with SELECT * FROM \
                     bench.initialize(target => ...)."
                }
            }
            .into(),
        });
    }
    let partitioning = database.first_row(
        "SELECT CASE p.partstrat WHEN 'r' THEN 'range' WHEN 'h' THEN 'hash' END,
                (SELECT pg_catalog.count(*)::pg_catalog.text FROM pg_catalog.pg_inherits i
                  WHERE i.inhparent OPERATOR(pg_catalog.=) c.oid)
           FROM pg_catalog.pg_class c
           LEFT JOIN pg_catalog.pg_partitioned_table p
             ON p.partrelid OPERATOR(pg_catalog.=) c.oid
          WHERE c.oid OPERATOR(pg_catalog.=) 'pgbench_accounts'::pg_catalog.regclass",
    )?;
    let mut partitioning = partitioning.into_iter();
    let partition_method = partitioning.next().flatten();
    let partitions = partitioning.next().flatten();
    Ok(Tables {
        scale,
        partitions: match &partition_method {
            Some(_) => partitions.and_then(|text| text.parse().ok()),
            None => None,
        },
        partition_method,
    })
}

/// The number of keys of each of pgio's tables; the smallest one's if they differ.
fn pgio_scale(pgio: &PgioSpec, database: &mut Database) -> Result<i64> {
    let mut scale = i64::MAX;
    for number in 1..=pgio.tables {
        let table = PgioSpec::table(number);
        if !has_table(database, &table)? {
            return Err(Error::TableMissing {
                table,
                mode_hint: match database {
                    Database::Here => pgio::MISSING_HERE,
                    Database::There(_) => pgio::MISSING_THERE,
                }
                .into(),
            });
        }
        let rows = database.first_row(&format!(
            "SELECT pg_catalog.max(mykey)::pg_catalog.text FROM {table}"
        ))?;
        let rows = rows.into_iter().flatten().next();
        match rows.and_then(|text| text.parse().ok()) {
            Some(rows) if rows > 0 => scale = scale.min(rows),
            _ => {
                return Err(Error::TableEmpty {
                    table,
                    hint: "Fill pgio's tables with SELECT * FROM bench.initialize_pgio().".into(),
                });
            }
        }
    }
    pgio.require_keys(scale)?;
    Ok(scale)
}

fn has_table(database: &mut Database, table: &str) -> Result<bool> {
    let oid = database.first_row(&format!(
        "SELECT pg_catalog.to_regclass('{table}')::pg_catalog.text"
    ))?;
    Ok(oid.into_iter().flatten().next().is_some())
}

/// What `bench.settings_of_run` would tell of a target; `None` if there is no target.
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
    // Those of this server are none of the run's.
    Ok(Some(settings.unwrap_or_else(|| "[]".into())))
}

fn describe(
    segment: &Segment,
    spec: &RunSpec,
    database: &Database,
    tables: &Tables,
    run_id: i64,
) -> Result<Run> {
    Ok(Run {
        run_id,
        role_name: server::role_name(),
        database_name: server::database_name(),
        target: database.description(),
        label: spec.label.clone(),
        state: "starting".into(),
        mode: spec.mode.name().into(),
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
        // Those that have to be are counted when they are there.
        backends: 0,
        duration_s: spec.duration_us.map(|us| us as f64 / 1e6),
        transactions_per_client: spec.transactions,
        warmup_s: spec.warmup_us as f64 / 1e6,
        interval_s: spec.interval_us as f64 / 1e6,
        rate: spec.rate,
        latency_limit_ms: spec.latency_limit_ns.map(|ns| ns as f64 / 1e6),
        max_tries: spec.max_tries as i32,
        reconnect: spec.reconnect,
        per_statement: spec.per_statement,
        failures_detailed: spec.failures_detailed,
        log: spec.log.is_some(),
        sampling_rate: spec.log.as_ref().and_then(|log| log.sampling_rate),
        vacuum: spec.vacuum.as_str().into(),
        seed: spec.seed.to_string(),
        scale: tables.scale,
        partition_method: tables.partition_method.clone(),
        partitions: tables.partitions,
        server_version: database.version(),
        server_version_num: database.version_num(),
        extension_version: env!("CARGO_PKG_VERSION").into(),
        created_at: server::wall_clock(),
        // SAFETY: the id of this process.
        coordinator_pid: Some(unsafe { pg_sys::MyProcPid }),
        segment: Some(i64::from(segment.handle())),
        ..Run::default()
    })
}

/// What pgbench vacuums before a run. A failure there is no reason not to run; it is told.
fn vacuum(segment: &Segment, spec: &RunSpec, database: &mut Database, errors: &mut Vec<String>) {
    if !spec.vacuums() {
        return;
    }
    // A standby has nothing to vacuum.
    if matches!(database, Database::Here) && server::in_recovery() {
        return;
    }
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

fn start_workers(segment: &Segment, spec: &RunSpec) -> Result<Vec<ClientProcess>> {
    let wanted = spec.workers();
    let (function, kind) = match spec.mode {
        Mode::Spi => ("pg_selfbench_spi_client_main", "pg_selfbench spi client"),
        Mode::Libpq => (
            "pg_selfbench_libpq_client_main",
            "pg_selfbench libpq client",
        ),
    };
    let may_be_backends = spec.mode == Mode::Spi && spec.client_process != Process::Worker;
    let mut workers = Vec::with_capacity(wanted);
    let mut worker_slots = spec.mode == Mode::Libpq || spec.client_process != Process::Backend;
    for index in 0..wanted {
        let started = if worker_slots {
            let name = format!("{kind} {index}");
            WorkerHandle::register(function, kind, &name, segment.handle())
                .map(ClientProcess::Worker)
        } else {
            None
        };
        worker_slots = started.is_some();
        let started = match started {
            Some(worker) => Ok(worker),
            None if may_be_backends => {
                ClientProcess::backend(index, &spec.connect_with(), segment.handle())
            }
            // One more for this process.
            None => Err(no_slot(wanted + 1, workers.len() + 1)),
        };
        match started {
            Ok(worker) => workers.push(worker),
            Err(error) => {
                stop_workers(segment, spec.mode, &workers, Stop::Requested, None)?;
                return Err(error);
            }
        }
    }
    Ok(workers)
}

fn wait_for_workers(segment: &Segment, workers: &[ClientProcess]) -> Result<()> {
    let header = segment.header();
    loop {
        if header.stop() != Stop::No {
            return Err(Error::Canceled {
                by: "before it started".into(),
            });
        }
        let mut ready = 0;
        for worker in segment.workers() {
            match worker.state() {
                WorkerState::Ready => ready += 1,
                WorkerState::Done | WorkerState::Died => {
                    return Err(match worker.failure() {
                        Some(report) => report.into(),
                        None => Error::WorkerDied {
                            what: "a client worker".into(),
                        },
                    });
                }
                WorkerState::Absent | WorkerState::Attached => {}
            }
        }
        if ready == workers.len() {
            return Ok(());
        }
        // One that ended before it had a place in the segment.
        let ended = workers
            .iter()
            .find(|worker| worker.status() == WorkerStatus::Stopped);
        if let Some(ended) = ended
            && !segment
                .workers()
                .any(|worker| worker.state() >= WorkerState::Done)
        {
            return Err(match ended.complaint() {
                Some(message) => Error::Connect {
                    client: 0,
                    sqlstate: None,
                    message,
                },
                None => Error::WorkerDied {
                    what: "a client worker".into(),
                },
            });
        }
        check_for_interrupts();
        process::wait(Duration::from_secs(1));
    }
}

/// Waits until the clients are done, calling `tick` at the end of each interval and at the end.
/// The reason, if the run was ended early.
fn watch(
    segment: &Segment,
    spec: &RunSpec,
    workers: &[ClientProcess],
    mut logbook: Option<&mut Logbook>,
    mut tick: impl FnMut(u64, bool, Option<&mut Logbook>) -> Result<()>,
) -> Result<Option<String>> {
    let header = segment.header();
    let interval_ns = spec.interval_us as u64 * 1000;
    let mut next = header.measure_ns.load(Relaxed) + interval_ns;
    loop {
        let now = clock::now_ns();
        let is_in = |state| segment.workers().any(|worker| worker.state() == state);
        let reason = if asked_to_end() && header.stop() == Stop::No {
            Some("its coordinator was terminated")
        } else if is_in(WorkerState::Died) {
            Some("a client worker was terminated")
        } else if segment.workers().any(|worker| worker.failure().is_some()) {
            Some("a client worker failed")
        } else if header.stop() != Stop::No {
            Some("on request")
        } else {
            None
        };
        if let Some(reason) = reason {
            let log = logbook.as_deref_mut();
            stop_workers(segment, spec.mode, workers, Stop::Requested, log)?;
            tick(clock::now_ns(), true, logbook)?;
            return Ok(Some(format!("canceled: {reason}")));
        }
        if segment
            .workers()
            .all(|worker| worker.state() >= WorkerState::Done)
        {
            tick(now, true, logbook)?;
            return Ok(None);
        }
        if now >= next {
            tick(now, false, logbook.as_deref_mut())?;
            // A tick that comes late does not shift those after it.
            while next <= now {
                next += interval_ns;
            }
        }
        if Logbook::is_pressing(segment)
            && let Some(logbook) = &mut logbook
        {
            logbook.drain(segment)?;
        }
        pass_messages(segment);
        check_for_interrupts();
        process::wait(Duration::from_nanos(next.saturating_sub(clock::now_ns())));
    }
}

/// What clients tell goes to the server's log, unless a caller waits for it.
fn pass_messages(segment: &Segment) {
    if segment.header().caller.pid() == 0 {
        segment.read_messages(|line| pgrx::log!("{line}"));
    }
}

/// The figures of single commands, if they were measured.
fn statements(segment: &Segment, spec: &RunSpec, run_id: i64) -> Vec<RunStatement> {
    // It has been parsed before.
    let (true, Ok(workload)) = (spec.per_statement, spec.workload()) else {
        return Vec::new();
    };
    let mut tallies = recorder::read_commands(segment).into_iter();
    let mut rows = Vec::new();
    for (script_no, script) in workload.scripts.iter().enumerate() {
        let measured = script.commands.iter().zip(&mut tallies);
        rows.extend(measured.enumerate().map(|(command_no, (command, tally))| {
            let latency = &tally.latency;
            let some = |value: f64| (latency.count > 0).then_some(value);
            RunStatement {
                run_id,
                script_no: script_no as i32,
                command_no: command_no as i32,
                line: command.line as i32,
                command: command.text.clone(),
                executions: latency.count as i64,
                failures: tally.failures as i64,
                retries: tally.retries as i64,
                latency_avg_ms: some(latency.mean_ms()),
                latency_stddev_ms: some(latency.stddev_ms()),
                latency_min_ms: some(latency.min_ms()),
                latency_max_ms: some(latency.max_ms()),
            }
        }));
    }
    rows
}

/// Makes sure that all client workers are gone: those that have not ended are asked, then have
/// their statement cancelled, then are terminated.
fn stop_workers(
    segment: &Segment,
    mode: Mode,
    workers: &[ClientProcess],
    stop: Stop,
    mut logbook: Option<&mut Logbook>,
) -> Result<()> {
    let header = segment.header();
    if stop != Stop::No {
        header.request_stop(stop);
    }
    let begin = clock::now_ns();
    let mut signalled = false;
    let mut terminated = false;
    loop {
        if workers
            .iter()
            .all(|worker| worker.status() == WorkerStatus::Stopped)
        {
            return Ok(());
        }
        let now = clock::now_ns();
        if stop != Stop::No {
            for worker in segment.workers() {
                worker.process.wake();
            }
            // A libpq client worker cancels its clients' statements itself.
            if !signalled && now - begin > STOP_GRACE_NS && mode == Mode::Spi {
                segment
                    .workers()
                    .filter(|worker| worker.state() < WorkerState::Done)
                    .for_each(|worker| worker.process.signal(Signal::INT));
                signalled = true;
            }
        }
        if !terminated && (now - begin > TERMINATE_NS) {
            workers.iter().for_each(ClientProcess::terminate);
            terminated = true;
        }
        // A client that waits for room in the log must not wait for longer.
        if let Some(logbook) = &mut logbook {
            logbook.drain(segment)?;
        }
        if now - begin > EXIT_LIMIT.as_nanos() as u64 {
            return Err(Error::WorkerDied {
                what: "a client worker that does not end".into(),
            });
        }
        process::wait(Duration::from_millis(50));
    }
}

/// Puts the figures of the whole run together.
fn conclude(segment: &Segment, spec: &RunSpec, harvest: &mut Harvest, finished: &mut Finished) {
    let header = segment.header();
    let measure = header.measure_ns.load(Relaxed);
    let run = &mut finished.run;
    let mut last = 0;
    let mut aborted = 0;
    let mut connection_ns = 0;
    for client in 0..spec.clients {
        let (head, _) = segment.client(client);
        last = last.max(head.finished_ns());
        connection_ns += head.connection_ns();
        run.warmup_transactions += head.warmup_transactions() as i64;
        if head.state() == ClientState::Aborted {
            aborted += 1;
            if run.errors.len() < MAX_ERRORS {
                run.errors.extend(head.reason());
            }
        }
    }
    // A client that was terminated has no end of its own.
    let now = clock::now_ns();
    let end = if last == 0 || segment.workers().any(|w| w.state() == WorkerState::Died) {
        now
    } else {
        last
    };
    let seconds = end.saturating_sub(measure) as f64 / 1e9;
    let (tallies, histograms) = harvest.totals(segment);
    let mut total = Tally::default();
    let mut all = LatencyHistogram::new();
    for (index, script) in spec.scripts.iter().enumerate() {
        total.merge(&tallies[index]);
        if all.merge(&histograms[index]).is_err() {
            run.errors
                .push("too many transactions for one histogram".into());
        }
        finished.scripts.push(RunScript {
            run_id: run.run_id,
            script_no: index as i32,
            name: script.name.clone(),
            description: script.description.clone(),
            body: script.body.clone(),
            weight: script.weight,
            figures: convert::figures(&tallies[index], &histograms[index], seconds),
        });
    }
    finished.statements = statements(segment, spec, run.run_id);
    run.state = if aborted == spec.clients {
        "failed"
    } else {
        "finished"
    }
    .into();
    run.aborted_clients = aborted as i32;
    run.finished_at = Some(server::wall_clock());
    run.seconds = Some(seconds);
    run.figures = convert::figures(&total, &all, seconds);
    measure_harness(segment, spec, &total, run);
    if spec.reconnect {
        let made = total.transactions + total.failed.total();
        run.connection_ms = (made > 0).then(|| connection_ns as f64 / made as f64 / 1e6);
    }
}

/// The figures of pgio's workload: those of the run, and of each session; none for other runs.
fn conclude_pgio(
    segment: &Segment,
    spec: &RunSpec,
    harvest: &Harvest,
    finished: &mut Finished,
) -> Vec<PgioSession> {
    let Some(pgio) = &spec.pgio else {
        return Vec::new();
    };
    let run = &finished.run;
    let seconds = run.seconds.unwrap_or(0.0);
    let layout = segment.layout();
    // Index scans read for themselves, block by block.
    let elsewhere =
        pgio.scan != Scan::Index && spec.target.is_none() && server::reads_ahead_by_workers();
    let used = |client| {
        let usage: Usage = segment.client(client).0.usage()?;
        Some(Usage {
            device_read_bytes: usage.device_read_bytes.filter(|_| !elsewhere),
            ..usage
        })
    };
    let scripts: Vec<&str> = spec.scripts.iter().map(|s| s.name.as_str()).collect();
    let mut tallies = vec![Tally::default(); layout.scripts];
    let sessions: Vec<PgioSession> = (0..spec.clients)
        .map(|client| {
            recorder::read_client(segment, client, &mut tallies);
            let histograms: Vec<_> = (0..layout.histograms())
                .map(|number| harvest.of_set(segment, client, number))
                .collect();
            convert::pgio_session(&convert::Session {
                run_id: run.run_id,
                number: client,
                table: pgio.table_of(client),
                scripts: &scripts,
                tallies: &tallies,
                histograms: &histograms,
                usage: used(client),
                seconds,
            })
        })
        .collect();
    let usage = (0..spec.clients)
        .map(used)
        .reduce(|sum, next| Some(sum?.plus(&next?)))
        .flatten();
    let reads = harvest.reads(segment);
    finished.pgio = Some(convert::pgio_run(
        run,
        &finished.scripts,
        pgio,
        usage,
        reads,
    ));
    sessions
}

/// What the harness itself cost; nothing if a client worker could not tell.
fn measure_harness(segment: &Segment, spec: &RunSpec, total: &Tally, run: &mut Run) {
    let accounts = segment.workers().map(|worker| worker.account.get());
    let effort = match spec.mode {
        // A client with too few transactions has no sample.
        Mode::Spi => accounts.flatten().reduce(Effort::plus),
        Mode::Libpq => accounts
            .reduce(|sum, next| Some(sum?.plus(next?)))
            .flatten(),
    };
    let Some(effort) = effort else { return };
    let transactions = match spec.mode {
        Mode::Spi => effort.turns,
        // Their workers' time has those of the warm-up and those that failed in it, too.
        Mode::Libpq => total.transactions + total.failed.total() + run.warmup_transactions as u64,
    };
    let us = effort.harness_ns as f64 / 1e3;
    run.harness_us = (transactions > 0).then(|| us / transactions as f64);
    run.harness_share = Some(effort.harness_ns as f64 / effort.of_ns as f64);
}
