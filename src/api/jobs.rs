//! `bench.schedule`, `bench.unschedule`, `bench.run_job`, and what is done with alerts of jobs.

use super::last;
use super::run;
use super::sets::arms::{Arm, baseline, require_storable};
use super::sets::capacity::CapacityOptions;
use super::sets::compare::CompareOptions;
use super::sets::sweep::SweepOptions;
use super::sets::verdicts::Row;
use super::trend::{has_figure, require_figure, require_least_change};
use super::warnings;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::backend::limits;
use crate::check::{argument, in_range, invalid, list, one_of};
use crate::error::{Error, OrRaise, Result, catch, message};
use crate::options::Options;
use crate::query;
use crate::results::alerts;
use crate::results::jobs::{self, Job, Made, State};
use crate::run::{PgioOptions, RunOptions, RunSpec};
use crate::security::with_pinned_settings;
use crate::server;
use crate::worker::coordinator::tables;
use crate::worker::job;
use pgrx::prelude::*;
use selfbench_model::RunState;
use selfbench_stats::due;
use serde_json::Value;

/// Longest name of a job, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Most runs each time.
const MAX_REPEATS: i32 = 1000;

type Scheduled = TableIterator<
    'static,
    (
        name!(job_name, String),
        name!(cron_jobid, Option<i64>),
        name!(statement, Option<String>),
    ),
>;

/// Work of a job: a run or a set, with the options of the function that makes it.
enum Work {
    Run(RunOptions),
    Pgio(PgioOptions),
    Compare(CompareOptions),
    Sweep(SweepOptions),
    FindCapacity(CapacityOptions),
}

impl Work {
    /// Reads the options of a job.
    fn of(document: &Value) -> Result<Work> {
        let only = document
            .as_object()
            .filter(|object| object.len() == 1)
            .and_then(|object| object.iter().next());
        fn below<T: Options>(name: &str, options: &Value) -> Result<T> {
            T::from_json(options).map_err(|error| {
                let mut report = error.within(name).report();
                if matches!(error, Error::UnknownOption { nearest: None, .. }) {
                    let function = if name == "pgio" { "run_pgio" } else { name };
                    report.hint = Some(format!("Options are those of bench.{function}."));
                }
                report.into()
            })
        }
        Ok(match only.map(|(name, options)| (name.as_str(), options)) {
            Some((name @ "compare", options)) => Work::Compare(below(name, options)?),
            Some((name @ "sweep", options)) => Work::Sweep(below(name, options)?),
            Some((name @ "find_capacity", options)) => Work::FindCapacity(below(name, options)?),
            Some((name @ "pgio", options)) => Work::Pgio(below(name, options)?),
            _ => Work::Run(RunOptions::from_json(document)?),
        })
    }

    /// Checks everything that can be checked before a run.
    fn check(&self) -> Result<()> {
        match self {
            Work::Run(options) => {
                require_storable(options)?;
                let spec = options.check()?;
                warnings::tell_unused_variables(std::iter::once(&spec))?;
                check_for_later(options, &spec)
            }
            Work::Pgio(options) => {
                require_storable(&options.run)?;
                check_for_later(&options.run, &options.check()?)
            }
            Work::Compare(_) | Work::Sweep(_) => check_arms_for_later(&self.arms()?),
            Work::FindCapacity(options) => check_for_later(&options.run, &options.check()?),
        }
    }

    /// Arms of a comparison, points of a sweep; others have none.
    fn arms(&self) -> Result<Vec<Arm>> {
        Ok(match self {
            Work::Compare(options) => options.check()?.series.arms,
            Work::Sweep(options) => options.check()?.series.arms,
            Work::Run(_) | Work::Pgio(_) | Work::FindCapacity(_) => Vec::new(),
        })
    }

    /// Whether it makes runs that no trend has, because they have no label.
    fn lacks_label(&self) -> Result<bool> {
        Ok(match self {
            Work::Run(run)
            | Work::Pgio(PgioOptions { run, .. })
            | Work::FindCapacity(CapacityOptions { run, .. }) => run.label.is_none(),
            Work::Compare(_) | Work::Sweep(_) => {
                let lacks = |arm: &Arm| arm.options.label.is_none();
                self.arms()?.iter().all(lacks)
            }
        })
    }

    /// Tells which figures and arms have no nights, so that no alert comes of them.
    fn tell_nightless(&self, figures: &[String]) -> Result<()> {
        let arms = self.arms()?;
        let observes = match self {
            Work::Run(run) | Work::Pgio(PgioOptions { run, .. }) => run.observe,
            _ => arms.iter().any(|arm| arm.options.observe),
        };
        let is_lacking = |figure: &&String| match self {
            Work::FindCapacity(_) => *figure != "tps",
            _ => !has_figure(figure, matches!(self, Work::Pgio(_)), observes),
        };
        let lacking: Vec<&String> = figures.iter().filter(is_lacking).collect();
        if !lacking.is_empty() {
            warnings::notice(
                &format!("nights of the job lack figures: {}", list(&lacking)),
                "No alert comes of a figure that nights lack, and nothing is repeated for it.",
                match self {
                    Work::FindCapacity(_) => "Nights of a search have the figure tps alone.",
                    _ => {
                        "CPU time and WAL need the option \"observe\"; the figures of \
                         bench.pgio_runs need a job of pgio."
                    }
                },
            );
        }
        let label_of = |arm: &Arm| arm.options.label.clone();
        let label = baseline(&arms).and_then(label_of);
        let is_other = |arm: &&Arm| label_of(arm) != label;
        let others: Vec<&str> = arms.iter().filter(is_other).map(|arm| &*arm.name).collect();
        if matches!(self, Work::Compare(_)) && !others.is_empty() {
            warnings::notice(
                &format!("arms of the job have no nights: {}", list(&others)),
                "A night is an arm's runs beside those of the baseline, with the same label.",
                "Give all arms one label.",
            );
        }
        Ok(())
    }

    fn is_set(&self) -> bool {
        !matches!(self, Work::Run(_) | Work::Pgio(_))
    }

    /// Makes the run or the set.
    fn perform(self, horizon: &Horizon) -> Result<Made> {
        match self {
            Work::Run(options) => run_once(&options.check()?, horizon),
            Work::Pgio(options) => run_once(&options.check()?, horizon),
            Work::Compare(options) => Ok(of_arms(&options.perform(horizon)?, options.repeats)),
            Work::Sweep(options) => Ok(of_arms(&options.perform(horizon)?, options.repeats)),
            Work::FindCapacity(options) => options.perform(horizon).map(|_| Made::default()),
        }
    }
}

/// Checks what a run checks when it starts, and what the caller cannot check again then.
fn check_for_later(options: &RunOptions, spec: &RunSpec) -> Result<()> {
    options.require_own_scripts()?;
    limits::foresee(&[spec.asked()])?;
    // A setup may create the tables, and settings may be those by which they are found.
    match (
        &options.target,
        &options.setup,
        spec.client_settings.is_empty(),
    ) {
        (None, None, true) => tables::look_up(spec, &mut |sql| query::first_row(sql)).map(drop),
        _ => Ok(()),
    }
}

/// Checks arms by [`check_for_later`], tables only where the set does not make them. Tells which arms cannot run.
fn check_arms_for_later(arms: &[Arm]) -> Result<()> {
    for arm in arms {
        if let Some(why) = &arm.cannot {
            message::notice(format_args!("arm \"{}\" cannot run: {why}", arm.name));
        }
        match (&arm.spec, arm.scale) {
            (Some(spec), None) => check_for_later(&arm.options, spec)?,
            _ => arm.options.require_own_scripts()?,
        }
    }
    Ok(())
}

/// Outcome of a set whose arms have these rows: it has failed if runs of them are missing.
fn of_arms(rows: &[Row], repeats: i32) -> Made {
    let missing = rows.iter().filter(|row| row.runs < repeats as usize);
    let missing: Vec<String> = missing.filter_map(Row::line).collect();
    match missing.is_empty() {
        true => Made::default(),
        false => Made {
            state: State::Failed,
            message: Some(missing.join("\n")),
            ..Made::default()
        },
    }
}

/// Makes a run; how it ended.
fn run_once(spec: &RunSpec, horizon: &Horizon) -> Result<Made> {
    let run = run::perform(spec, Default::default(), horizon)?.run;
    run::conclude(&run, None)?;
    Ok(Made {
        state: match run.state {
            RunState::Finished => State::Finished,
            RunState::Canceled => State::Canceled,
            _ => State::Failed,
        },
        message: (!run.errors.is_empty()).then(|| run.errors.join("\n")),
        ..Made::default()
    })
}

#[pg_extern(sql = false)]
fn schedule(call: Call<'_>) -> Scheduled {
    (|| {
        let (job_name, schedule, options, repeats, confirm, least_change, figures, on_alert) = call
            .read(|arguments| {
                Ok((
                    arguments.take::<Option<String>>("job_name")?,
                    arguments.take::<Option<String>>("schedule")?,
                    arguments.take::<Option<Value>>("options")?,
                    arguments.take::<i32>("repeats")?,
                    arguments.take::<i32>("confirm")?,
                    arguments.take::<f64>("least_change")?,
                    arguments.take::<Option<Vec<Option<String>>>>("figures")?,
                    arguments.take::<Option<String>>("on_alert")?,
                ))
            })?;
        let job_name = argument("job_name", job_name)?;
        server::require_writable_transaction("schedule a job")?;
        if job_name.trim().is_empty() || job_name.len() > MAX_NAME_BYTES {
            let valid = format!("A text of 1 to {MAX_NAME_BYTES} bytes.");
            return Err(invalid("job_name", format!("\"{job_name}\""), &valid));
        }
        let schedule = argument("schedule", schedule)?;
        let options = argument("options", options)?;
        let work = Work::of(&options)?;
        let job = Job {
            job_id: 0,
            job_name: job_name.clone(),
            options: options.to_string(),
            repeats: in_range("repeats", repeats, 1, MAX_REPEATS)?,
            confirm: in_range("confirm", confirm, 0, MAX_REPEATS)?,
            least_change: require_least_change(least_change)?,
            figures: figures.map(without_nulls).transpose()?,
            on_alert,
        };
        job.figures
            .iter()
            .flatten()
            .try_for_each(|figure| require_figure("figures", figure))?;
        if work.is_set() && repeats > 1 {
            return Err(Error::OptionConflict {
                message: "a job that makes a set cannot repeat it".into(),
                hint: "Give the repeats of the set with its options.".into(),
            });
        }
        work.check()?;
        job.on_alert
            .as_deref()
            .map_or(Ok(()), alerts::check_answer)?;
        work.tell_nightless(job.figures.as_deref().unwrap_or_default())?;
        if confirm > 0 && work.lacks_label()? {
            warnings::notice(
                "the job repeats nothing when a night is suspect",
                "Its runs have no label, and runs without one have no nights to be compared with.",
                "Give the option \"label\", or confirm => 0.",
            );
        }
        jobs::store(&job, &schedule)?;
        let sql = "SELECT cron_jobid, statement FROM bench_internal.schedule_in_cron($1, $2, $3)";
        let cron_database = jobs::cron_database()?;
        let arguments = [
            job_name.as_str().into(),
            schedule.as_str().into(),
            cron_database.as_deref().into(),
        ];
        with_pinned_settings(|| in_cron(job_name.clone(), sql, &arguments))
    })()
    .or_raise_in(&call)
}

#[pg_extern(sql = false)]
fn unschedule(call: Call<'_>) -> Scheduled {
    (|| {
        let job_name = call.read(|arguments| arguments.take::<Option<String>>("job_name"))?;
        let job_name = argument("job_name", job_name)?;
        server::require_writable_transaction("remove a job")?;
        jobs::delete(&job_name)?;
        let sql = "SELECT cron_jobid, statement FROM bench_internal.unschedule_in_cron($1, $2)";
        let cron_database = jobs::cron_database()?;
        let arguments = [job_name.as_str().into(), cron_database.as_deref().into()];
        with_pinned_settings(|| in_cron(job_name.clone(), sql, &arguments))
    })()
    .or_raise_in(&call)
}

fn without_nulls(figures: Vec<Option<String>>) -> Result<Vec<String>> {
    let figure = |figure: Option<String>| figure.ok_or(Error::NullElement { name: "figures" });
    figures.into_iter().map(figure).collect()
}

/// The row of a query that changes the jobs of pg_cron as the caller.
fn in_cron(
    job_name: String,
    sql: &str,
    arguments: &[pgrx::datum::DatumWithOid<'_>],
) -> Result<Scheduled> {
    let (cron_jobid, statement) = Spi::connect_mut(|client| {
        let row = client.update(sql, Some(1), arguments)?.first();
        Ok::<_, pgrx::spi::Error>((row.get::<i64>(1)?, row.get::<String>(2)?))
    })?;
    Ok(TableIterator::once((job_name, cron_jobid, statement)))
}

#[pg_extern(sql = false)]
fn cron_timezone() -> Option<String> {
    jobs::cron_timezone().or_raise()
}

#[pg_extern(sql = false)]
fn run_job(call: Call<'_>) -> i64 {
    let horizon = call.horizon();
    (|| {
        let job_name = call.read(|arguments| arguments.take::<Option<String>>("job_name"))?;
        server::require_writable("run a job")?;
        let job = jobs::find(&argument("job_name", job_name)?)?;
        match job::start(&job, &horizon) {
            // Its row tells it: nobody may read the errors of a scheduler.
            Err(error @ Error::WorkerSlots { .. }) => {
                let message = error.report().one_line();
                let (row, failed) = jobs::fail(&job, &message)?;
                if !failed {
                    return Ok(row.job_run_id);
                }
                message::warning(format_args!(
                    "job \"{}\" could not start: {message}",
                    job.job_name
                ));
                let made = Made {
                    state: State::Failed,
                    message: Some(message.clone()),
                    ..Made::default()
                };
                for alert in alerts::raise(&job, row, server::role().to_u32(), &made)? {
                    alert.warn(&job);
                    if job.on_alert.is_some() {
                        alert.store_error(Some(&message))?;
                    }
                }
                Ok(row.job_run_id)
            }
            started => started,
        }
    })()
    .or_raise_in(&call)
}

#[pg_extern(sql = false)]
fn acknowledge(call: Call<'_>) {
    (|| {
        let (alert_id, state, comment) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<i64>>("alert_id")?,
                arguments.take::<Option<String>>("state")?,
                arguments.take::<Option<String>>("comment")?,
            ))
        })?;
        server::require_writable_transaction("acknowledge an alert")?;
        let alert_id = argument("alert_id", alert_id)?;
        let state = argument("state", state)?;
        one_of("state", &state, alerts::STATES.map(|state| (state, ())))?;
        alerts::acknowledge(alert_id, &state, comment.as_deref())
    })()
    .or_raise_in(&call);
}

#[pg_extern(sql = false)]
fn set_baseline(call: Call<'_>) {
    (|| {
        let (run_id, is_baseline) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<i64>>("run_id")?,
                arguments.take::<bool>("is_baseline")?,
            ))
        })?;
        server::require_writable_transaction("set a baseline")?;
        alerts::set_baseline(argument("run_id", run_id)?, is_baseline)
    })()
    .or_raise_in(&call);
}

/// The last minute up to `now` at which a schedule was due, both since 1970-01-01 in its time zone.
#[pg_extern(sql = false)]
fn last_due(schedule: &str, now: i64) -> Option<i64> {
    due::last_due(schedule, now)
}

#[pg_extern(sql = false)]
fn perform_job(call: Call<'_>) {
    let horizon = call.horizon();
    let options = call
        .read(|arguments| arguments.take::<Option<Value>>("options"))
        .and_then(|options| argument("options", options))
        .or_raise();
    let performed = catch(|| {
        let work = Work::of(&options)?;
        let ended = work.perform(&horizon)?;
        call.require_extension()?;
        Ok(ended)
    });
    let (run_id, set_id) = last::take();
    let (ended, error) = match performed {
        Ok(ended) => (ended, None),
        Err(error) => (Made::default(), Some(error)),
    };
    job::made(Made {
        run_ids: run_id.into_iter().filter(|_| set_id.is_none()).collect(),
        set_ids: set_id.into_iter().collect(),
        ..ended
    });
    error.map_or(Ok(()), Err).or_raise_in(&call);
}
