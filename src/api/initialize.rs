//! `bench.initialize`, also for workloads, and `bench.initialize_pgio`.

use super::warnings::{notice, tell};
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::backend::transaction;
use crate::check::argument;
use crate::clock;
use crate::error::{Error, Result, message};
use crate::initialize::tables::{TABLES, quote_identifier};
use crate::initialize::workload::spec::WORKLOADS;
use crate::initialize::{
    InitializeOptions, InitializeSpec, Job, PgioLoadOptions, WorkloadOptions, WorkloadSpec, pgio,
};
use crate::options::Options;
use crate::query;
use crate::run::workload;
use crate::server;
use crate::shared::{Phase, Segment, SegmentLayout, TaskKind};
use crate::worker::launch::Task;
use crate::worker::load::loader::StepSeconds;
use crate::worker::locks::{self, Access};
use pgrx::prelude::*;
use selfbench_model::InitializeStep;
use selfbench_report::initialize::{closing_line, progress_line};
use selfbench_report::readable;
use selfbench_workload::Loader;
use std::sync::atomic::Ordering::*;

/// Time between notices of the number of rows.
const PROGRESS_NS: u64 = 1_000_000_000;
/// Room for what the loader tells: the names of all of pgio's tables, cut if need be.
const MESSAGE_BYTES: usize = 16 << 10;
/// Time between them if it is to be quiet.
const QUIET_NS: u64 = 5_000_000_000;

#[pg_extern(sql = false)]
fn initialize(
    call: Call<'_>,
) -> TableIterator<'static, (name!(step, String), name!(seconds, f64))> {
    let horizon = call.horizon();
    returned(&call, || {
        let spec = call.read(InitializeOptions::take)?.check(false)?;
        execute(&spec, Telling::default(), &horizon)
    })
}

#[pg_extern(sql = false)]
fn initialize_pgio(
    call: Call<'_>,
) -> TableIterator<'static, (name!(step, String), name!(seconds, f64))> {
    let horizon = call.horizon();
    returned(&call, || {
        execute_pgio(&call.read(PgioLoadOptions::take)?, &horizon)
    })
}

#[pg_extern(sql = false)]
fn initialize_workload(
    call: Call<'_>,
) -> TableIterator<'static, (name!(step, String), name!(seconds, f64))> {
    let horizon = call.horizon();
    returned(&call, || {
        let (workload, options): (Option<String>, WorkloadOptions) =
            call.read(|arguments| Ok((arguments.take("workload")?, Options::take(arguments)?)))?;
        let workload = argument("workload", workload)?;
        execute_workload(&workload, &options, Telling::default(), &horizon)
    })
}

/// The rows that a call returns. Fails if the extension was dropped meanwhile: its types are gone.
fn returned(
    call: &Call<'_>,
    load: impl FnOnce() -> Result<Vec<(String, f64)>>,
) -> TableIterator<'static, (name!(step, String), name!(seconds, f64))> {
    let seconds = load();
    let seconds = call.require_extension().and(seconds).or_raise_in(call);
    TableIterator::new(seconds)
}

/// Options of the notices about an initialization.
#[derive(Clone, Copy, Default)]
pub(super) struct Telling {
    /// Whether the number of rows is told less often.
    pub quiet: bool,
    /// Whether in the words of `pgbench -i`.
    pub in_pgbench: bool,
}

/// Initializes pgbench's tables as specified; names and seconds of the steps.
pub(super) fn execute(
    spec: &InitializeSpec,
    telling: Telling,
    horizon: &Horizon,
) -> Result<Vec<(String, f64)>> {
    if spec.target.is_none() {
        let schema = match spec.is_in_first_schema() {
            true => first_schema()?,
            false => String::new(),
        };
        let tables = TABLES.map(|(table, _)| format!("{schema}{table}"));
        let tables: Vec<_> = tables
            .iter()
            .map(|t| (t.as_str(), Access::Replace))
            .collect();
        locks::require_none(&tables)?;
    }
    let notifier = Notifier {
        telling,
        steps: spec
            .steps
            .chars()
            .filter_map(InitializeStep::from_letter)
            .collect(),
        // As pgbench does: the other tables are small.
        tables: "pgbench_accounts".into(),
        rows: spec.accounts() as u64,
        partitions: spec.partitioning.map_or(0, |(count, _)| count),
        ..Notifier::default()
    };
    perform(&Job::Pgbench(spec.clone()), notifier, horizon)
}

/// Initializes pgio's tables with these options; names and seconds of the steps.
fn execute_pgio(options: &PgioLoadOptions, horizon: &Horizon) -> Result<Vec<(String, f64)>> {
    let spec = options.check()?;
    if spec.target.is_none() {
        let tables = pgio::present()?;
        let tables: Vec<_> = tables
            .iter()
            .map(|table| (table.as_str(), Access::Replace))
            .collect();
        locks::require_none(&tables)?;
    }
    let notifier = Notifier {
        steps: InitializeStep::PGIO.to_vec(),
        tables: "pgio's tables".into(),
        rows: spec.rows() as u64,
        ..Notifier::default()
    };
    perform(&Job::Pgio(spec), notifier, horizon)
}

/// Initializes the tables of a workload, a family or a mix; names and seconds of the steps.
pub(super) fn execute_workload(
    workload: &str,
    options: &WorkloadOptions,
    telling: Telling,
    horizon: &Horizon,
) -> Result<Vec<(String, f64)>> {
    match workload::named(workload)?.0.manifest.loader {
        None => execute_queries(options.check(workload)?, telling, horizon),
        Some(Loader::Pgbench) => execute(&options.of_pgbench()?.check(false)?, telling, horizon),
        Some(Loader::Pgio) => Err(Error::OptionConflict {
            message: format!("workload \"{workload}\" is loaded by a function of its own"),
            hint: match options.steps.as_deref() {
                Some("d") => match &pgio::present()?[..] {
                    [] => "There are no tables to drop in the first schema of search_path.".into(),
                    tables => format!("Drop its tables with DROP TABLE {}.", tables.join(", ")),
                },
                _ => format!(
                    "{} For a table of that scale: SELECT * FROM bench.initialize_pgio(size => '{}GB').",
                    workload::PGIO_FUNCTIONS,
                    options.scale
                ),
            },
        }),
    }
}

/// Initializes the tables of a workload that has queries of rows; names and seconds of the steps.
fn execute_queries(
    spec: WorkloadSpec,
    telling: Telling,
    horizon: &Horizon,
) -> Result<Vec<(String, f64)>> {
    if spec.target.is_none() {
        let schema = first_schema()?;
        let qualified = |name: &str| format!("{schema}{}", quote_identifier(name));
        let tables: Vec<_> = spec.tables.iter().map(|table| qualified(table)).collect();
        let workloads = qualified(WORKLOADS);
        let mut tables: Vec<_> = tables
            .iter()
            .map(|table| (table.as_str(), Access::Replace))
            .collect();
        tables.push((&workloads, Access::Write));
        locks::require_none(&tables)?;
    }
    let notifier = Notifier {
        telling,
        steps: match spec.drops_only {
            true => vec![InitializeStep::DropTables],
            false => InitializeStep::WORKLOAD.to_vec(),
        },
        tables: format!("the tables of {}", spec.family),
        rows: spec.rows() as u64,
        ..Notifier::default()
    };
    perform(&Job::Workload(spec), notifier, horizon)
}

/// The first schema of `search_path` with a dot behind it, quoted for SQL; empty if there is none.
fn first_schema() -> Result<String> {
    let schema = query::first_value::<String>(
        "SELECT pg_catalog.quote_ident(pg_catalog.current_schema()::pg_catalog.text)
                OPERATOR(pg_catalog.||) '.'",
        &[],
    )?;
    Ok(schema.unwrap_or_default())
}

fn perform(job: &Job, mut notifier: Notifier, horizon: &Horizon) -> Result<Vec<(String, f64)>> {
    // For what the loader tells.
    let layout = SegmentLayout {
        workers: 1,
        message_bytes: MESSAGE_BYTES,
        ..SegmentLayout::default()
    };
    let task = Task::launch(TaskKind::Initialize, layout, job, 1)?;
    if transaction::is_in_block() {
        notice(
            "tables are created in other transactions",
            "They stay, and tables that they replace are lost, even if the calling transaction is \
             rolled back.",
            "Call the function outside of a transaction block.",
        );
    }
    task.wait(Phase::Finished, horizon, |segment| {
        notifier.tick(segment);
        Ok(())
    })?;
    let outcome: Result<StepSeconds> = task.outcome();
    if outcome.is_ok() {
        notifier.tick(task.segment());
    }
    let seconds = outcome?;
    if seconds.len() != notifier.steps.len() {
        return Err(Error::Limit("the loader skipped a step".into()));
    }
    let steps: Vec<(InitializeStep, f64)> = notifier.steps.iter().copied().zip(seconds).collect();
    notifier.show(&closing_line(&steps, notifier.telling.in_pgbench));
    Ok(steps
        .into_iter()
        .map(|(step, seconds)| (step.name(false).to_owned(), readable("seconds", seconds)))
        .collect())
}

/// Sends the caller notices of the progress.
#[derive(Default)]
struct Notifier {
    telling: Telling,
    steps: Vec<InitializeStep>,
    /// Tables that get these rows.
    tables: String,
    rows: u64,
    partitions: i32,
    /// Steps that have been announced.
    announced: usize,
    generating_since_ns: Option<u64>,
    notified_ns: u64,
}

impl Notifier {
    /// Shows the caller a line: that of pgbench as it is.
    fn show(&self, line: &str) {
        match self.telling.in_pgbench {
            true => message::notice(line),
            false => tell(line),
        }
    }

    fn tick(&mut self, segment: &Segment) {
        let header = segment.header();
        let now = clock::now_ns();
        let finished = header.phase() == Phase::Finished;
        let current = header.step.load(Acquire) as usize;
        // The loader sends all of its messages before the first step.
        for messages in segment.all_messages() {
            messages.read(|line| self.show(line));
        }
        while self.announced < current {
            let begun = header.step_ns.load(Relaxed);
            // How many rows there are may turn out at their end.
            self.rows = self.rows.min(header.rows_total.load(Relaxed));
            self.end_generation(begun);
            let step = self.steps[self.announced];
            message::notice(step.announcement(self.telling.in_pgbench));
            if step == InitializeStep::CreateTables && self.partitions > 0 {
                message::notice(format_args!("creating {} partitions...", self.partitions));
            }
            if matches!(
                step,
                InitializeStep::Generate | InitializeStep::GenerateRows
            ) {
                self.generating_since_ns = Some(begun);
                self.notified_ns = now;
            }
            self.announced += 1;
        }
        if finished {
            self.end_generation(now);
        } else if let Some(since) = self.generating_since_ns
            && now - self.notified_ns >= self.every_ns()
        {
            self.notified_ns = now;
            self.tell(header.rows_done.load(Relaxed).min(self.rows), now - since);
        }
    }

    /// Time between notices of the number of rows.
    fn every_ns(&self) -> u64 {
        match self.telling.quiet {
            true => QUIET_NS,
            false => PROGRESS_NS,
        }
    }

    fn end_generation(&mut self, now: u64) {
        if let Some(since) = self.generating_since_ns.take() {
            self.tell(self.rows, now.saturating_sub(since));
        }
    }

    fn tell(&self, done: u64, elapsed_ns: u64) {
        let elapsed = elapsed_ns as f64 / 1e9;
        let server_major = server::version_num() / 10_000;
        let line = progress_line(done, self.rows, &self.tables, elapsed, server_major);
        message::notice(line);
    }
}
