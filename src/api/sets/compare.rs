//! `bench.compare`: arms with different options, run in rounds and compared.

use super::outcomes::Outcomes;
use super::series::{Planned, Series};
use super::verdicts::{self, Row};
use super::{Set, SetResult};
use crate::api::progress::Progress;
use crate::api::warnings::notice;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::error::{Error, Result};
use crate::options::{Options, options};
use crate::results::result::results;
use crate::results::sets::StoredSet;
use crate::run::RunOptions;
use pgrx::prelude::*;
use selfbench_model::SetKind;
use serde_json::{Value, json};

/// Most arms: each takes memory of its own.
const MAX_ARMS: usize = 100;

#[pg_extern(sql = false)]
fn compare(
    call: Call<'_>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.compare_result")> {
    let horizon = call.horizon();
    let rows = (|| {
        let rows = call.read(CompareOptions::take)?.perform(&horizon)?;
        results("bench.compare_result", &rows)
    })();
    SetOfIterator::new(rows.or_raise_in(&call))
}

options! {
    /// The options of a comparison.
    pub struct CompareOptions, ..run: RunOptions {
        /// Array of objects of run options; by default in the server, by socket and by TCP.
        arms: Option<Value>;
        /// Runs of each arm that count.
        repeats: i32 = 7;
    }
}

impl CompareOptions {
    /// Checks everything that can be checked before the first run.
    pub(in crate::api) fn check(&self) -> Result<Comparison> {
        let document = match &self.arms {
            Some(document) => document,
            None => &default_arms(&self.run)?,
        };
        Ok(Comparison {
            series: Series::new(document, &self.run, self.repeats, MAX_ARMS, &[])?,
        })
    }

    /// Makes the comparison.
    pub(in crate::api) fn perform(&self, horizon: &Horizon) -> Result<Vec<Row>> {
        let comparison = self.check()?;
        let series = &comparison.series;
        if series.arms.len() == 1 {
            notice(
                "one arm is compared with nothing",
                "Its rows say how fast it is, and how much its runs differ.",
                "Give two arms or more; the first one is the baseline.",
            );
        }
        let planned = comparison.plan().len();
        let new = series.new_set(SetKind::Compare, &self.run, series.document(), planned)?;
        super::begin(
            new,
            series.asked(),
            Progress::of(&self.run)?,
            horizon,
            |set| comparison.perform(set, Outcomes::default()),
        )
    }
}

/// Arms in this server, by socket and by TCP: what the way to the server costs.
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

/// A comparison: its baseline is one of the arms of the series.
pub struct Comparison {
    /// The arms.
    pub series: Series,
}

impl Comparison {
    /// The one that a set's row has.
    pub fn stored(set: &StoredSet) -> Result<Comparison> {
        Ok(Comparison {
            series: Series::stored(set)?,
        })
    }

    /// All runs, in their order.
    fn plan(&self) -> Vec<Planned> {
        let able: Vec<usize> = self.series.able().collect();
        self.series.rounds(&able, 0..=self.series.repeats)
    }

    /// Runs that have not been made.
    pub fn left(&self, outcomes: &Outcomes) -> Vec<Planned> {
        self.series.left(&self.plan(), outcomes)
    }

    /// Makes the runs that are left, and the rows of all.
    pub fn perform(
        &self,
        set: &mut Set<'_>,
        mut outcomes: Outcomes,
    ) -> Result<SetResult<Vec<Row>>> {
        let left = self.left(&outcomes);
        self.series.perform(set, &left, &mut outcomes);
        set.require_runs(&mut outcomes)?;
        let rows = verdicts::rows(set.id, &self.series, &outcomes);
        Ok(self.series.found(rows, &outcomes))
    }
}
