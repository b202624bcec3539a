//! `bench.compare` and `bench.verdicts`: arms with different options, run in rounds and compared.

use super::arms::{self, Arm};
use super::rounds::{self, Outcomes, Planned};
use super::verdicts::{self, Row};
use super::{Found, Set};
use crate::api::progress::Progress;
use crate::backend::call::Call;
use crate::backend::horizon::Horizon;
use crate::check;
use crate::error::{Error, OrRaise, Result};
use crate::options::Options;
use crate::results::load;
use crate::results::result::composites;
use crate::results::sets::{self, StoredSet};
use crate::run::{RunOptions, Vacuum};
use crate::security;
use pgrx::prelude::*;
use selfbench_model::{NewSet, SetKind};
use serde_json::{Map, Value, json};

/// Most arms: each takes memory of its own.
const MAX_ARMS: usize = 100;
/// Most rounds that count.
pub const MAX_REPEATS: i32 = 1000;
/// The duration of a run, unless the caller gives one or a number of transactions.
const DURATION: &str = "5 s";

#[pg_extern(sql = false)]
fn compare(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.verdict")> {
    let horizon = call.horizon();
    let rows = execute(&call, &horizon).and_then(|rows| composites("bench.verdict", &rows));
    SetOfIterator::new(rows.or_raise())
}

fn execute(call: &Call<'_>, horizon: &Horizon) -> Result<Vec<Row>> {
    let (given, repeats, mut common) = call.read(|arguments| {
        Ok((
            arguments.take::<Option<Value>>("arms")?,
            arguments.take::<i32>("repeats")?,
            RunOptions::take(arguments)?,
        ))
    })?;
    let repeats = check::in_range("repeats", repeats, 1, MAX_REPEATS)?;
    if common.duration.is_none() && common.transactions.is_none() {
        common.set_given("duration", &DURATION.into())?;
    }
    let seed = check::seed(common.seed.as_deref())?;
    let document = match given {
        Some(document) => document,
        None => default_arms(&common)?,
    };
    // Everything is looked up before the first wait: what is wrong is told before anything has run,
    // and what others change meanwhile changes no run.
    let mut arms = arms::parse(&document, &common, MAX_ARMS)?;
    check_all(&mut arms)?;
    let comparison = Comparison {
        arms,
        repeats,
        seed,
    };
    let new = NewSet {
        kind: SetKind::Compare,
        label: common.label.clone(),
        options: comparison.document(),
        seed,
        planned_runs: Some(comparison.plan().len() as i32),
    };
    let progress = Progress {
        every_us: common.progress_us()?,
        ..Progress::default()
    };
    super::begin(new, progress, horizon, |set| {
        comparison.perform(set, Outcomes::default())
    })
}

/// In this server, by socket and by TCP: what the way to the server costs.
fn default_arms(common: &RunOptions) -> Result<Value> {
    if common.mode != RunOptions::default().mode {
        return Err(Error::OptionConflict {
            message: "the arms of bench.compare differ in their mode by default".into(),
            hint: "Give it with the arms, such as arms => '[{\"mode\": \"libpq\", \"protocol\": \
                   \"simple\"}, {\"mode\": \"libpq\", \"protocol\": \"prepared\"}]'."
                .into(),
        });
    }
    Ok(json!([
        {"name": "in-server", "mode": "spi"},
        {"name": "socket", "mode": "libpq", "connection": "socket"},
        {"name": "tcp", "mode": "libpq", "connection": "tcp"},
    ]))
}

/// Checks arms, and has a vacuum and a checkpoint before each run that writes: what one run leaves is
/// not to be paid by the next. Fails if none can run.
pub fn check_all(arms: &mut [Arm]) -> Result<()> {
    let mut first = None;
    let mut without_checkpoint = false;
    for arm in arms.iter_mut() {
        if let Some(error) = arm.check()? {
            first.get_or_insert(error);
            continue;
        }
        let Some(spec) = arm.spec.as_mut().filter(|spec| spec.writes()) else {
            continue;
        };
        if spec.vacuum == Vacuum::Auto && spec.uses_pgbench_tables() {
            spec.vacuum = Vacuum::All;
            arm.options.vacuum = Vacuum::All.as_str().into();
        }
        // Of a target it is not known whether the role may.
        if !spec.switches.checkpoint && spec.target.is_none() {
            let may = security::may_checkpoint()?;
            spec.switches.checkpoint = may;
            arm.options.switches.checkpoint = may;
            without_checkpoint |= !may;
        }
    }
    if let Some(error) = first
        && arms.iter().all(|arm| arm.spec.is_none())
    {
        return Err(error);
    }
    if without_checkpoint {
        crate::api::warnings::notice(
            "runs that write do not begin with a checkpoint",
            "This role may not request one. A run may pay for what earlier ones have written.",
            "GRANT pg_checkpoint to the role.",
        );
    }
    Ok(())
}

/// A comparison: all that its runs follow from.
pub struct Comparison {
    arms: Vec<Arm>,
    repeats: i32,
    seed: u64,
}

impl Comparison {
    /// What is stored of it.
    fn document(&self) -> Value {
        let arms: Vec<Value> = self.arms.iter().map(Arm::document).collect();
        json!({"repeats": self.repeats, "arms": arms})
    }

    /// What [`document`](Self::document) has stored.
    pub fn stored(set: &StoredSet) -> Result<Comparison> {
        let unreadable = || Error::Limit("cannot read the options of a stored set".into());
        let arms = set.options.get("arms").ok_or_else(unreadable)?;
        let repeats = set.options.get("repeats").and_then(Value::as_i64);
        let mut arms = arms::parse(arms, &RunOptions::default(), usize::MAX)?;
        let cannot = set
            .result
            .as_ref()
            .and_then(|found| found.get("cannot_run"));
        for arm in &mut arms {
            let why = cannot.and_then(|cannot| cannot.get(&arm.name)?.as_str());
            arm.cannot = why.map(str::to_owned);
        }
        Ok(Comparison {
            arms,
            repeats: repeats
                .and_then(|n| i32::try_from(n).ok())
                .ok_or_else(unreadable)?,
            seed: set.seed.parse().map_err(|_| unreadable())?,
        })
    }

    /// Its arms.
    pub fn arms(&mut self) -> &mut [Arm] {
        &mut self.arms
    }

    /// All runs, in their order.
    fn plan(&self) -> Vec<Planned> {
        let able: Vec<usize> = (0..self.arms.len())
            .filter(|arm| self.arms[*arm].cannot.is_none())
            .collect();
        rounds::rounds(&able, 0..=self.repeats, self.seed)
    }

    /// Runs that have not been made.
    pub fn left(&self, outcomes: &Outcomes) -> Vec<Planned> {
        rounds::left(&self.plan(), &self.arms, outcomes)
    }

    /// Makes the runs that are left, and the rows of all.
    pub fn perform(&self, set: &mut Set<'_>, mut outcomes: Outcomes) -> Result<Found<Vec<Row>>> {
        let left = self.left(&outcomes);
        rounds::perform(set, &self.arms, &left, self.seed, &mut outcomes)?;
        warn_of_missing(&self.arms, self.repeats, &outcomes);
        let cannot: Map<String, Value> = self
            .arms
            .iter()
            .filter_map(|arm| Some((arm.name.clone(), json!(arm.cannot.as_ref()?))))
            .collect();
        Ok(Found {
            rows: self.rows(set.id, &outcomes),
            result: Some(json!({"cannot_run": cannot, "failures": outcomes.failures})),
        })
    }

    fn rows(&self, set_id: Option<i64>, outcomes: &Outcomes) -> Vec<Row> {
        verdicts::rows(set_id, self.seed, self.repeats, &self.arms, outcomes)
    }
}

/// Warns the caller if runs do not count.
pub fn warn_of_missing(arms: &[Arm], repeats: i32, outcomes: &Outcomes) {
    let able = arms.iter().filter(|arm| arm.cannot.is_none());
    let (mut planned, mut missing, mut run_ids) = (0, 0, Vec::new());
    for arm in able {
        let counting = outcomes.counting(&arm.name).len();
        planned += repeats as usize;
        missing += (repeats as usize).saturating_sub(counting);
        let unmade = outcomes.missing(&arm.name);
        run_ids.extend(unmade.iter().map(|record| record.run.run_id));
    }
    if missing > 0 {
        pgrx::ereport!(
            PgLogLevel::WARNING,
            PgSqlErrorCode::ERRCODE_WARNING,
            format!("{missing} of {planned} runs are missing in the comparison"),
            format!("They failed, were canceled or lost clients: {run_ids:?}.")
        );
    }
}

/// The outcomes of a set so far, of runs that the caller may see.
pub fn stored_outcomes(set_id: i64, set: &StoredSet) -> Result<Outcomes> {
    let mut outcomes = Outcomes::default();
    for run_id in sets::run_ids(set_id)? {
        if let Some(record) = load::load(run_id)? {
            outcomes.add(record);
        }
    }
    let failures = set.result.as_ref().and_then(|found| found.get("failures"));
    if let Some(Value::Object(failures)) = failures {
        let text = |why: &Value| why.as_str().map(str::to_owned);
        let failures = failures.iter();
        outcomes.failures = failures
            .filter_map(|(arm, why)| Some((arm.clone(), text(why)?)))
            .collect();
    }
    Ok(outcomes)
}

#[pg_extern(sql = false)]
fn verdicts(
    set_id: Option<i64>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.verdict")> {
    let rows = (|| {
        let set_id = check::argument("set_id", set_id)?;
        let set = sets::load(set_id)?.ok_or(Error::UnknownSet { set_id })?;
        if set.kind != SetKind::Compare {
            return Err(Error::OptionConflict {
                message: format!("set {set_id} is not a comparison"),
                hint: "Sets and their kinds are listed in bench.set_summary.".into(),
            });
        }
        let outcomes = stored_outcomes(set_id, &set)?;
        let rows = Comparison::stored(&set)?.rows(Some(set_id), &outcomes);
        composites("bench.verdict", &rows)
    })();
    SetOfIterator::new(rows.or_raise())
}
