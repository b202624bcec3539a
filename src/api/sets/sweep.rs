//! `bench.sweep`: every combination of the values that a grid has for options.

use super::outcomes::Outcomes;
use super::series::{Planned, Series};
use super::verdicts::Row;
use super::{Set, SetResult, arms};
use crate::api::initialize::{self, Telling};
use crate::api::progress::Progress;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::check;
use crate::error::{Error, Result};
use crate::initialize::WorkloadOptions;
use crate::options::{Options, options};
use crate::results::result::results;
use crate::results::sets::StoredSet;
use crate::run::RunOptions;
use crate::run::script::{PGBENCH, ScriptSpec};
use pgrx::prelude::*;
use selfbench_model::SetKind;
use selfbench_report::verdict::missing_runs;
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// Most points of a grid: each takes memory of its own.
const MAX_POINTS: usize = 1000;
/// The one key of a grid that is not an option of runs.
const SCALE: &str = "scale";
/// The key under which a set's row keeps the grid.
pub const GRID: &str = "grid";

#[pg_extern(sql = false)]
fn sweep(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.sweep_result")> {
    let horizon = call.horizon();
    let rows = (|| {
        let rows = call.read(SweepOptions::take)?.perform(&horizon)?;
        results("bench.sweep_result", &rows)
    })();
    SetOfIterator::new(rows.or_raise_in(&call))
}

options! {
    /// The options of a sweep.
    pub struct SweepOptions, ..run: RunOptions {
        /// Object with an array of values for each option that varies.
        grid: Option<Value>;
        /// Runs of each point.
        repeats: i32 = 3;
        /// Whether the grid may have scale.
        initialize: bool = false;
    }
}

impl SweepOptions {
    /// Checks everything that can be checked before the first run.
    pub(in crate::api) fn check(&self) -> Result<Sweep> {
        let points = points(check::argument(GRID, self.grid.as_ref())?)?;
        let scales = points.iter().map(scale_of).collect::<Result<Vec<_>>>()?;
        let has_scale = scales.iter().any(Option::is_some);
        if has_scale != self.initialize {
            return Err(Error::OptionConflict {
                message: match has_scale {
                    true => "a grid with \"scale\" needs initialize => true".into(),
                    false => "initialize => true needs \"scale\" in the grid".into(),
                },
                hint: "It drops the tables of the scripts' workload and loads them anew for each scale."
                    .into(),
            });
        }
        let arms = arms_of(&points);
        let sweep = Sweep {
            series: Series::new(&arms, &self.run, self.repeats, MAX_POINTS, &scales)?,
            points,
        };
        if has_scale {
            sweep.family()?;
        }
        Ok(sweep)
    }

    /// Makes the sweep.
    pub(in crate::api) fn perform(&self, horizon: &Horizon) -> Result<Vec<Row>> {
        let sweep = self.check()?;
        let planned = sweep.plan().iter().map(Vec::len).sum();
        let mut document = sweep.series.document();
        document.insert(GRID.into(), self.grid.clone().unwrap_or_default());
        let new = sweep
            .series
            .new_set(SetKind::Sweep, &self.run, document, planned)?;
        let asked = sweep.series.asked();
        super::begin(new, asked, Progress::of(&self.run)?, horizon, |set| {
            sweep.perform(set, Outcomes::default())
        })
    }
}

/// All combinations of the values of a grid; the last key changes first.
fn points(grid: &Value) -> Result<Vec<Map<String, Value>>> {
    let object = grid.as_object().filter(|object| !object.is_empty());
    let object = object.ok_or_else(|| Error::OptionConflict {
        message: "a grid must be a JSON object".into(),
        hint: "Write it such as {\"clients\": [1, 2, 4], \"mode\": [\"spi\", \"libpq\"]}.".into(),
    })?;
    let mut points = vec![Map::new()];
    for (key, values) in object {
        if arms::OWN.contains(&key.as_str()) {
            return Err(check::invalid(
                "grid",
                format!("\"{key}\""),
                "Options of bench.run and \"scale\". A point is named after its values, and no point is \
                 the baseline of others.",
            ));
        }
        let values = match values {
            Value::Array(values) => values.clone(),
            one => vec![one.clone()],
        };
        if points.len() * values.len() > MAX_POINTS {
            return Err(check::invalid(
                "grid",
                format!("more than {MAX_POINTS} points"),
                &format!("At most {MAX_POINTS} points."),
            ));
        }
        let twice = |i: usize| values[..i].contains(&values[i]);
        if values.is_empty() || (0..values.len()).any(twice) {
            return Err(check::invalid(
                "grid",
                format!("\"{key}\" has {}", Value::from(values.clone())),
                "At least one value for each option, and none of them twice.",
            ));
        }
        points = points
            .iter()
            .flat_map(|point| {
                values.iter().map(move |value| {
                    let mut point = point.clone();
                    point.insert(key.clone(), value.clone());
                    point
                })
            })
            .collect();
    }
    Ok(points)
}

/// The scale of a point, if its grid has scales.
fn scale_of(point: &Map<String, Value>) -> Result<Option<i32>> {
    let Some(scale) = point.get(SCALE) else {
        return Ok(None);
    };
    let number = scale.as_i64().and_then(|scale| i32::try_from(scale).ok());
    match number.filter(|scale| *scale > 0) {
        Some(scale) => Ok(Some(scale)),
        None => Err(check::invalid(
            SCALE,
            scale.to_string(),
            "An integer above 0.",
        )),
    }
}

/// The points as arms, with the names that they get.
fn arms_of(points: &[Map<String, Value>]) -> Value {
    let mut names = BTreeSet::new();
    let arm = |(number, point): (usize, &Map<String, Value>)| {
        let parts = point.iter().map(|(key, value)| arms::part(key, value));
        let name = parts.collect::<Vec<_>>().join(", ");
        // Long values may begin alike.
        let name = arms::unused_name(name, &format!("point {}", number + 1), &names);
        names.insert(name.clone());
        let mut arm = point.clone();
        arm.remove(SCALE);
        arm.insert("name".into(), name.into());
        Value::Object(arm)
    };
    points.iter().enumerate().map(arm).collect()
}

/// A sweep: its arms are the points of a grid.
pub struct Sweep {
    /// The arms.
    pub series: Series,
    /// The point of each arm.
    points: Vec<Map<String, Value>>,
}

impl Sweep {
    /// The one that a set's row has.
    pub fn stored(set: &StoredSet) -> Result<Sweep> {
        let points = points(set.option(GRID)?)?;
        let mut series = Series::stored(set)?;
        if series.arms.len() != points.len() {
            return Err(StoredSet::unreadable());
        }
        let scales = points.iter().map(scale_of).collect::<Result<Vec<_>>>()?;
        series.set_scales(&scales);
        Ok(Sweep { series, points })
    }

    /// Its points and their arms.
    pub fn points(&self) -> impl Iterator<Item = (&Map<String, Value>, &arms::Arm)> {
        self.points.iter().zip(&self.series.arms)
    }

    /// The family of workloads whose tables are loaded for each scale: that of the scripts, or pgbench's if
    /// they are the user's own.
    fn family(&self) -> Result<&str> {
        let specs = self.series.arms.iter().filter_map(|arm| arm.spec.as_ref());
        let scripts = specs.flat_map(|spec| &spec.scripts);
        let mut families = scripts.filter_map(ScriptSpec::family);
        let first = families.next();
        match families.find(|family| Some(*family) != first) {
            Some(other) => Err(Error::OptionConflict {
                message: format!(
                    "a grid with \"scale\" cannot have scripts of the workloads \"{}\" and \"{other}\"",
                    first.unwrap_or_default()
                ),
                hint: "It loads the tables of one workload. Call bench.sweep for each workload."
                    .into(),
            }),
            None => Ok(first.unwrap_or(PGBENCH)),
        }
    }

    /// All runs, in their order: for each scale a run that warms up, and the rounds.
    fn plan(&self) -> Vec<Vec<Planned>> {
        let mut scales: Vec<_> = self.series.arms.iter().map(|arm| arm.scale).collect();
        let mut seen = Vec::new();
        scales.retain(|scale| {
            let first = !seen.contains(scale);
            seen.push(*scale);
            first
        });
        scales
            .into_iter()
            .map(|scale| {
                let able = self.series.able();
                let able: Vec<usize> = able
                    .filter(|arm| self.series.arms[*arm].scale == scale)
                    .collect();
                let warm_up = able.first().map(|arm| Planned {
                    arm: *arm,
                    round: 0,
                });
                let rounds = self.series.rounds(&able, 1..=self.series.repeats);
                warm_up.into_iter().chain(rounds).collect()
            })
            .collect()
    }

    /// Runs that have not been made, by scale. A warm-up is made again before others.
    pub fn left(&self, outcomes: &Outcomes) -> Vec<Vec<Planned>> {
        let plan = self.plan().into_iter();
        plan.map(|runs| {
            let left: BTreeSet<_> = self.series.left(&runs, outcomes).into_iter().collect();
            match left.iter().any(|planned| planned.round > 0) {
                true => {
                    let again = |run: &&Planned| run.round == 0 || left.contains(run);
                    runs.iter().filter(again).copied().collect()
                }
                false => Vec::new(),
            }
        })
        .collect()
    }

    /// Makes the runs that are left, and the rows of all.
    pub fn perform(
        &self,
        set: &mut Set<'_>,
        mut outcomes: Outcomes,
    ) -> Result<SetResult<Vec<Row>>> {
        for runs in self.left(&outcomes) {
            // Loading may take long, or fail.
            outcomes.tell();
            let mut loaded = Vec::new();
            for planned in &runs {
                let arm = &self.series.arms[planned.arm];
                let Some(scale) = arm.scale else { continue };
                if loaded.contains(&&arm.options.target) {
                    continue;
                }
                loaded.push(&arm.options.target);
                let family = self.family()?;
                let options = WorkloadOptions {
                    scale,
                    seed: arm.options.seed.clone().filter(|_| family != PGBENCH),
                    target: arm.options.target.clone(),
                    ..WorkloadOptions::default()
                };
                let telling = Telling {
                    quiet: true,
                    ..Telling::default()
                };
                initialize::execute_workload(family, &options, telling, set.horizon())?;
            }
            self.series.perform(set, &runs, &mut outcomes);
        }
        set.require_runs(&mut outcomes)?;
        Ok(self.series.found(self.rows(set.id, &outcomes), &outcomes))
    }

    /// The rows of all points.
    pub fn rows(&self, set_id: Option<i64>, outcomes: &Outcomes) -> Vec<Row> {
        self.points()
            .map(|(point, arm)| {
                let counting = outcomes.counting(&arm.name);
                let note = missing_runs(self.series.missing(counting.len())).map(|missing| {
                    let why = arm.cannot.as_deref();
                    why.or(outcomes.why_missing(&arm.name))
                        .map_or(missing, str::to_owned)
                });
                Row::of(set_id, arm, outcomes).of_point(point.clone(), note)
            })
            .collect()
    }
}
