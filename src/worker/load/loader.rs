//! The loader: the worker that initializes pgbench's tables, each step in transactions of its own,
//! pgio's or those of a workload, in this server or in a target.

use super::fill;
use crate::backend::identity::connect;
use crate::backend::transaction::transaction;
use crate::backend::{parallel, settings};
use crate::clock;
use crate::database::{Database, pooler};
use crate::error::{Error, Result};
use crate::initialize::pages::AddedKeys;
use crate::initialize::pgio::Schema;
use crate::initialize::rows::{Rows, Table};
use crate::initialize::tables::{Tables, announce_drop};
use crate::initialize::workload::spec::WORKLOADS;
use crate::initialize::workload::tables::Schema as WorkloadSchema;
use crate::initialize::{InitializeSpec, Job, PgioLoadSpec, WorkloadSpec, space, wal};
use crate::shared::{Header, Phase, Segment, Stop};
use crate::worker::activity::show;
use crate::worker::attach;
use pgrx::{pg_guard, pg_sys};
use std::sync::atomic::Ordering::*;

/// Result of the loader: the seconds that each step took.
pub type StepSeconds = Vec<f64>;

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_loader_main(argument: pg_sys::Datum) {
    attach::perform(argument, "its loader", |segment| {
        let job: Job = segment.spec()?;
        connect(job.identity());
        show(segment.header(), "preparing");
        transaction(|| settings::apply(job.settings()))?;
        initialize(segment, &job)
    });
}

fn initialize(segment: &'static Segment, job: &Job) -> Result<StepSeconds> {
    let header = segment.header();
    let tell = |line: &str| {
        if let Some(messages) = segment.messages(0) {
            messages.send(header, line);
        }
    };
    // For the WAL of the tables that the loader fills and of their indexes.
    let kept = wal::compress()?;
    if job.logs_rows()
        && let Some(line) = kept.as_deref().and_then(wal::cost)
    {
        tell(&line);
    }
    let mut database = Database::open(job.target())?;
    if let (Database::There(remote), Some(target)) = (&mut database, job.target()) {
        let hint = "Connect to the server itself, or use a pool in session mode.";
        pooler::require_own_session(remote, target, "an initialization", hint)?;
    }
    let mut steps = Steps::new(header, job.rows());
    let lock = job.lock(&mut database)?;
    if !database.lock(lock, false)? {
        show(header, "waiting for another initialization");
        tell("waiting for another initialization of the same tables");
        database.lock(lock, true)?;
    }
    match job {
        Job::Pgbench(spec) => pgbench(&mut database, &mut steps, spec, tell)?,
        Job::Pgio(spec) => pgio(&mut database, &mut steps, spec, tell)?,
        Job::Workload(spec) => workload(&mut database, &mut steps, spec, tell)?,
    }
    steps.end();
    database.unlock(lock)?;
    Ok(steps.seconds)
}

/// The steps of an initialization, reported to the caller as they start.
struct Steps {
    header: &'static Header,
    /// Rows of all tables; at most, until they are there.
    rows: u64,
    begun_ns: Option<u64>,
    seconds: StepSeconds,
}

impl Steps {
    fn new(header: &'static Header, rows: i64) -> Steps {
        Steps {
            header,
            rows: rows as u64,
            begun_ns: None,
            seconds: StepSeconds::new(),
        }
    }

    /// Ends the last step, and begins the next one, shown with that text. A commit belongs to the step before it.
    fn begin(&mut self, what: &str) -> Result<()> {
        self.end();
        let header = self.header;
        header.advance(Phase::Running);
        if header.stop() != Stop::No {
            return Err(Error::Canceled {
                by: "on request".into(),
            });
        }
        let now = clock::now_ns();
        self.begun_ns = Some(now);
        header.rows_done.store(0, Relaxed);
        header.rows_total.store(self.rows, Relaxed);
        header.step_ns.store(now, Relaxed);
        header.step.store(self.seconds.len() as u32 + 1, Release);
        header.caller.wake();
        show(header, what);
        Ok(())
    }

    /// Counts time of the step that is under way for a later one instead, or an earlier one.
    fn shift(&mut self, ns: i64) {
        self.begun_ns = self.begun_ns.map(|begun| begun.saturating_add_signed(ns));
    }

    fn end(&mut self) {
        if let Some(begun) = self.begun_ns.take() {
            self.seconds
                .push(clock::now_ns().saturating_sub(begun) as f64 / 1e9);
        }
    }
}

/// Activity in `pg_stat_activity` during a step.
fn activity_of(letter: char) -> &'static str {
    match letter {
        'd' => "dropping tables",
        't' => "creating tables",
        'g' | 'G' => "generating data",
        'v' => "vacuum",
        'p' => "primary keys",
        _ => "foreign keys",
    }
}

fn pgbench(
    database: &mut Database,
    steps: &mut Steps,
    spec: &InitializeSpec,
    tell: impl Fn(&str),
) -> Result<()> {
    // This check precedes dropping and emptying tables.
    let tables = Tables::find(database, spec)?;
    if let (Database::Here, false) = (&database, spec.force) {
        transaction(|| space::require_for_pgbench(spec, &tables))?;
    }
    if spec.steps.contains('d')
        && let Some(line) = announce_drop(tables.old())
    {
        tell(&line);
    }
    let mut keyed = AddedKeys::default();
    for (at, letter) in spec.steps.char_indices() {
        steps.begin(activity_of(letter))?;
        let header = steps.header;
        match letter {
            'g' => {
                // VACUUM may come before the keys or after them.
                let keys_follow = spec.steps[at + 1..]
                    .trim_start_matches('v')
                    .starts_with('p');
                keyed = generate(database, header, spec, &tables, keys_follow)?;
                steps.shift(keyed.spent_ns as i64);
            }
            'p' => {
                steps.shift(-(keyed.spent_ns as i64));
                add_primary_keys(database, spec, &tables, std::mem::take(&mut keyed))?;
            }
            _ => step(spec, &tables, database, letter)?,
        }
    }
    Ok(())
}

/// Drops existing tables first, so that new ones can use their space. Everything else is one
/// transaction, so that other sessions never see incomplete tables and a failure removes them.
fn pgio(
    database: &mut Database,
    steps: &mut Steps,
    spec: &PgioLoadSpec,
    tell: impl Fn(&str),
) -> Result<()> {
    let schema = Schema::find(database, spec)?;
    if let (Database::Here, false) = (&database, spec.force) {
        transaction(|| space::require_for_pgio(spec, &schema))?;
    }
    if let Some(line) = schema.announce_drop() {
        tell(&line);
    }
    steps.begin(activity_of('d'))?;
    if let Some(drop) = schema.drop() {
        database.execute_alone(&drop)?;
    }
    database.transaction(|database| {
        steps.begin(activity_of('t'))?;
        for number in 1..=spec.tables {
            database.execute(&schema.create(spec, number))?;
        }
        steps.begin(activity_of('g'))?;
        fill::pgio(database, spec, &schema, steps.header)?;
        steps.begin("indexes")?;
        for number in 1..=spec.tables {
            database.execute(&schema.create_index(spec, number))?;
        }
        Ok(())
    })?;
    steps.begin(activity_of('v'))?;
    for number in 1..=spec.tables {
        database.execute_alone(&schema.vacuum(number))?;
    }
    Ok(())
}

/// The new tables are committed together with a row that says that they are not loaded, and their rows in
/// parts: after a failure or a crash, the row tells the next initialization to drop them.
fn workload(
    database: &mut Database,
    steps: &mut Steps,
    spec: &WorkloadSpec,
    tell: impl Fn(&str),
) -> Result<()> {
    let mut schema = WorkloadSchema::enter(database, spec)?;
    if let (Database::Here, false) = (&database, spec.force || spec.drops_only) {
        transaction(|| space::require_for_workload(spec, &schema))?;
    }
    for line in schema.announce_drop(spec) {
        tell(&line);
    }
    if spec.drops_only {
        if schema.old.is_empty() {
            tell(&format!(
                "no tables of workload \"{}\" are in the first schema of search_path",
                spec.family
            ));
        }
        steps.begin(activity_of('d'))?;
        return database.transaction(|database| {
            if schema.forget(spec).is_some() {
                schema.lock_row(database)?;
            }
            let mut statements = schema.drop();
            statements.extend(schema.forget(spec));
            statements.iter().try_for_each(|sql| database.execute(sql))
        });
    }
    database.transaction(|database| {
        steps.begin(activity_of('d'))?;
        for statement in schema.drop() {
            database.execute(&statement)?;
        }
        steps.begin(activity_of('t'))?;
        for statement in schema.create(spec) {
            database.execute(&statement)?;
        }
        schema.lock_row(database)?;
        schema.begin(database, spec)
    })?;
    let tables = spec.tables.iter().map(String::as_str);
    steps.begin(activity_of('g'))?;
    fill::workload(database, spec, &schema, steps.header)?;
    steps.rows = steps.header.rows_done.load(Relaxed);
    steps.begin("indexes")?;
    parallel::consider_parallel_plans();
    for statement in &spec.finish {
        database.execute_after(
            |database| schema.lock_created(database, &spec.tables),
            statement,
        )?;
    }
    steps.begin(activity_of('v'))?;
    // VACUUM marks pages as all-visible only if the WAL of the commits of their rows has been written, for
    // which parts do not wait, nor do the ANALYZE of other tables with `synchronous_commit` off. This commit
    // of a change and those that follow do.
    database.transaction(|database| {
        schema.require_row(database, spec)?;
        database.execute(
            "SELECT pg_catalog.set_config('synchronous_commit', 'local', false)
              WHERE pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'",
        )?;
        database.execute(&schema.touch(spec))
    })?;
    for table in &spec.tables {
        database.execute_alone(&schema.vacuum(table))?;
    }
    database.transaction(|database| {
        schema.require_row(database, spec)?;
        database.execute(&schema.complete(spec))?;
        schema.require_created(tables.chain([WORKLOADS]), &mut |sql| database.row(sql))
    })
}

/// Step `g`: all or none of the rows. If the step `p` comes next, or behind `v` alone, the primary
/// key of accounts is filled together with them.
fn generate(
    database: &mut Database,
    header: &'static Header,
    spec: &InitializeSpec,
    tables: &Tables,
    keys_follow: bool,
) -> Result<AddedKeys> {
    let mut keyed = AddedKeys::default();
    database.transaction(|database| {
        database.execute(&tables.truncate())?;
        for table in [Table::Branches, Table::Tellers] {
            let name = tables.name(table.name());
            let rows = Rows::of_pgbench(name, table, spec.scale, &header.rows_done);
            fill::copy(database, rows)?;
        }
        let accounts = tables.name(Table::Accounts.name());
        let [.., add_key] = tables.primary_keys(spec);
        let add_key = keys_follow.then_some(add_key.as_str());
        keyed = fill::accounts(database, spec, accounts, add_key, header)?;
        Ok(())
    })?;
    Ok(keyed)
}

/// Step `p`, for tables that do not have their keys yet.
fn add_primary_keys(
    database: &mut Database,
    spec: &InitializeSpec,
    tables: &Tables,
    keyed: AddedKeys,
) -> Result<()> {
    let [others @ .., accounts] = tables.primary_keys(spec);
    for statement in others {
        database.execute_alone(&statement)?;
    }
    if !keyed.added {
        return database.execute_alone(&accounts);
    }
    database.transaction(|_| keyed.tell_sizes())
}

fn step(
    spec: &InitializeSpec,
    tables: &Tables,
    database: &mut Database,
    letter: char,
) -> Result<()> {
    match letter {
        'd' => database.execute_alone(&tables.drop()),
        't' => tables
            .create(spec, database.version_num())
            .try_for_each(|statement| database.execute_alone(&statement)),
        'G' => database.transaction(|database| {
            database.execute(&tables.truncate())?;
            tables
                .generate_on_server(spec)
                .iter()
                .try_for_each(|statement| database.execute(statement))
        }),
        'v' => tables
            .vacuum()
            .iter()
            .try_for_each(|statement| database.execute_alone(statement)),
        _ => {
            parallel::consider_parallel_plans();
            tables
                .foreign_keys()
                .iter()
                .try_for_each(|statement| database.execute_alone(statement))
        }
    }
}
