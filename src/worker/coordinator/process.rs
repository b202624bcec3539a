//! The coordinator of a run: checks what the run needs, starts the clients and prepares everything;
//! `conduct` takes over where the start barrier opens.

use super::checkpoint;
use super::client_process::ClientProcesses;
use super::conduct::{Conductor, caught, give_up, leave_cancels, store_failure};
use super::logbook::Logbook;
use super::statements;
use super::tables::{self, RunTables};
use crate::backend::identity::connect;
use crate::backend::interrupts::{enter_canceling, enter_cooperative};
use crate::backend::limits::{self, Limits};
use crate::backend::settings;
use crate::backend::transaction::{abort, transaction};
use crate::clock;
use crate::database::{Database, pooler};
use crate::error::{Error, Result, catch, message};
use crate::results::{load, store};
use crate::run::{RunSpec, Vacuum};
use crate::server;
use crate::shared::{Segment, Stop};
use crate::telemetry::Telemetry;
use crate::worker::activity::{show, show_clients};
use crate::worker::attach;
use pgrx::{pg_guard, pg_sys};
use selfbench_model::{Reply, Run};
use selfbench_script::Protocol;
use std::sync::atomic::Ordering::*;

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_coordinator_main(argument: pg_sys::Datum) {
    let defaults = limits::defaults();
    attach::perform(argument, "its coordinator", |segment| {
        let spec: RunSpec = segment.spec()?;
        connect(spec.identity);
        show(segment.header(), "preparing");
        let limits = transaction(|| Limits::of(spec.identity, &defaults))?;
        limits.require(&spec.asked())?;
        limits.enter(spec.identity)?;
        let outcome = catch(|| coordinate(segment, &spec, &limits));
        abort();
        // The next run of its caller does not count with it. Without that, the end of this process is what counts.
        let _ = limits::leave(spec.identity);
        outcome
    });
}

fn coordinate(segment: &'static Segment, spec: &RunSpec, limits: &Limits) -> Result<Reply> {
    let header = segment.header();
    transaction(|| {
        settings::apply(&spec.settings)?;
        settings::apply_exactly(spec.look_up_settings())
    })?;
    let mut database = Database::open(spec.target.as_ref())?;
    if let (Database::There(remote), Some(target)) = (&mut database, &spec.target) {
        if spec.protocol() == Protocol::Prepared {
            pooler::require_own_statements(remote, target)?;
        }
        remote.set(spec.look_up_settings())?;
        remote.require(spec.look_up_settings())?;
    }
    // A setup may create them.
    let has_statements = spec.run.setup.is_some() || spec.run.teardown.is_some();
    let tables = match has_statements {
        true => None,
        false => Some(tables::look_up(spec, &mut |sql| database.first_row(sql))?),
    };
    checkpoint::require_right(spec, &mut database)?;
    let stores = !server::in_recovery();
    let run_id = if stores { store::next_run_id()? } else { 0 };
    header.run_id.store(run_id, Relaxed);
    if stores {
        let left = transaction(|| load::left_teardown(spec.identity.role))?;
        header.left_teardown.store(left.unwrap_or(0), Relaxed);
    }
    let run = transaction(|| Ok(describe(segment, spec, &database, run_id)))?;
    // A SIGTERM cancels the run from here on: it is still to be stored, and its
    // teardown to be done.
    enter_cooperative();
    enter_canceling();
    if !has_statements {
        return perform(segment, spec, limits, database, tables, run, stores);
    }
    if header.stop() != Stop::No {
        return Err(Error::Canceled {
            by: "before it started".into(),
        });
    }
    // From here on, the teardown must not be forgotten: its row keeps it.
    header.owes_teardown.store(true, Relaxed);
    if stores {
        store::lock_teardown(run_id)?;
        store::begin(&run)?;
    }
    let outcome = match caught(segment, || statements::set_up(segment, spec, run_id)) {
        Ok(()) => catch(|| perform(segment, spec, limits, database, tables, run, stores)),
        Err(error) => {
            store_failure(segment, run, stores, &error);
            Err(error)
        }
    };
    abort();
    let failures = statements::tear_down(segment, spec, run_id);
    header.owes_teardown.store(false, Relaxed);
    match failures.is_empty() {
        true => outcome,
        false => with_failures(outcome, failures, run_id),
    }
}

/// The outcome of a run whose teardown has failed.
fn with_failures(outcome: Result<Reply>, mut failures: Vec<String>, run_id: i64) -> Result<Reply> {
    let hint = format!(
        "Repeat the teardown with SELECT bench.finish_teardown({run_id}), or end it with give_up => true."
    );
    if run_id != 0 {
        failures.push(hint.clone());
        if let Err(error) = catch(|| store::add_errors(run_id, &failures)) {
            abort();
            message::log(format_args!(
                "run {run_id} of pg_selfbench: {}: {error}",
                failures.join("; ")
            ));
        }
    }
    match outcome {
        Ok(Reply::NotStored(mut record)) => {
            record.run.errors.append(&mut failures);
            Ok(Reply::NotStored(record))
        }
        Ok(reply) => Ok(reply),
        Err(error) => {
            let mut report = error.report();
            let detail = report.detail.into_iter().chain(failures);
            report.detail = Some(detail.collect::<Vec<_>>().join("\n"));
            Err(report.into())
        }
    }
}

/// Performs the run between its setup and its teardown.
fn perform(
    segment: &'static Segment,
    spec: &RunSpec,
    limits: &Limits,
    mut database: Database,
    tables: Option<RunTables>,
    mut run: Run,
    stores: bool,
) -> Result<Reply> {
    let begun = stores && segment.header().owes_teardown.load(Relaxed);
    let started = caught(segment, || {
        let tables = match tables {
            Some(tables) => tables,
            None => tables::look_up(spec, &mut |sql| database.first_row(sql))?,
        };
        segment.header().scale.store(tables.scale, Relaxed);
        run.scale = tables.scale;
        run.partition_method = tables.partition_method;
        run.partitions = tables.partitions;
        show_clients(segment.header(), "starting", spec.clients());
        let launched_ns = clock::now_ns();
        let clients = ClientProcesses::start(segment, spec)?;
        run.backends = clients.backends() as i32;
        Ok((clients, launched_ns))
    });
    let (clients, launched_ns) = match started {
        Ok(started) => started,
        Err(error) => {
            store_failure(segment, run, begun, &error);
            return Err(error);
        }
    };
    let mut stored = begun;
    let prepared = caught(segment, || {
        clients.wait_until_ready()?;
        run.connection_ms = Some((clock::now_ns() - launched_ns) as f64 / 1e6);
        if stores {
            let settings = settings_of_target(&mut database)?;
            match begun {
                true => store::update(&run)?,
                false => store::begin(&run)?,
            }
            stored = true;
            store::settings(run.run_id, settings.as_deref(), &spec.client_settings)?;
        }
        vacuum(segment, spec, limits, &mut database, &mut run.errors)?;
        checkpoint::request(segment, spec, &mut database)?;
        if segment.header().stop() != Stop::No {
            return Err(Error::Canceled {
                by: "before it started".into(),
            });
        }
        show(segment.header(), "preparing");
        let logbook = match &spec.log {
            Some(log) => Some(Logbook::open(
                spec,
                log,
                limits,
                run.run_id,
                stores,
                clock::now_ns(),
            )?),
            None => None,
        };
        run.other_runs = transaction(|| load::other_runs(&run))?;
        let telemetry = Telemetry::prepare(segment, spec, stores, database);
        leave_cancels();
        Ok((logbook, telemetry))
    });
    match prepared {
        Ok((logbook, telemetry)) => {
            let conductor = Conductor {
                segment,
                spec,
                limits,
                stores,
                clients: &clients,
                logbook,
                telemetry,
            };
            conductor.conduct(run)
        }
        Err(error) => {
            give_up(segment, run, stored, &clients, &error);
            Err(error)
        }
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

/// The row of a run that is about to start; what depends on its tables is filled in later.
fn describe(segment: &Segment, spec: &RunSpec, database: &Database, run_id: i64) -> Run {
    Run {
        run_id,
        owner: spec.identity.role.to_string(),
        database_name: server::database_name(),
        target: database.description(),
        seed: spec.seed.to_string(),
        server_version: database.version(),
        server_version_num: database.version_num(),
        extension_version: env!("CARGO_PKG_VERSION").into(),
        created_at: server::wall_clock(),
        processors: server::processors().and_then(|processors| i32::try_from(processors).ok()),
        coordinator_pid: Some(std::process::id() as i32),
        segment: Some(i64::from(segment.handle())),
        ..spec.run.clone()
    }
}

/// Statements of pgbench's vacuum before a run; the last one only on request.
const PGBENCH_VACUUM: [&str; 4] = [
    "VACUUM pgbench_branches",
    "VACUUM pgbench_tellers",
    "TRUNCATE pgbench_history",
    "VACUUM ANALYZE pgbench_accounts",
];

/// Vacuums the tables that pgbench vacuums before a run, and others that the run names. A failure is
/// reported, and the run continues unless it was canceled.
fn vacuum(
    segment: &Segment,
    spec: &RunSpec,
    limits: &Limits,
    database: &mut Database,
    errors: &mut Vec<String>,
) -> Result<()> {
    if !spec.vacuums() && spec.vacuum_tables.is_empty() {
        return Ok(());
    }
    // A standby has nothing to vacuum.
    if matches!(database, Database::Here) && server::in_recovery() {
        return Ok(());
    }
    show(segment.header(), "vacuum");
    let of_pgbench: &[&str] = match (spec.vacuums(), spec.vacuum()) {
        (false, _) => &[],
        (true, Vacuum::All) => &PGBENCH_VACUUM,
        (true, _) => &PGBENCH_VACUUM[..3],
    };
    let of_pgbench = of_pgbench.iter().map(|statement| (*statement).to_owned());
    // Skips tables that another session has locked instead of waiting for them.
    let others = spec.vacuum_tables.iter();
    let others = others.map(|table| format!("VACUUM (SKIP_LOCKED) {table}"));
    for statement in of_pgbench.chain(others) {
        if segment.header().stop() != Stop::No {
            return Ok(());
        }
        if let Err(error) = catch(|| database.execute_alone(&statement)) {
            if error.is_cancel() {
                return Err(error);
            }
            errors.push(format!(
                "{}: {} (ignoring this error and continuing anyway)",
                statement.to_lowercase(),
                error.report().one_line()
            ));
        }
        limits.enter(spec.identity)?;
    }
    Ok(())
}
