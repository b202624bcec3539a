//! Charts of runs: `bench.chart`, `bench.charts`, `bench.plot`.

use super::last;
use super::live;
use super::result::tell_without_profile;
use crate::backend::call::{Call, OrRaiseIn};
use crate::check::{argument, in_range, one_of};
use crate::error::{Error, OrRaise, Result};
use crate::query;
use crate::results::series;
use pgrx::prelude::*;
use selfbench_chart::run::{RunChart, RunFigure, Source};
use selfbench_chart::text::{self, Glyphs, WIDTHS};
use selfbench_model::{Run, RunRecord};

/// Intervals that make a course.
const SHORTEST_COURSE: usize = 3;

/// Its width in characters.
const COURSE_WIDTH: usize = 48;

/// A chart of a run as SVG.
#[pg_extern(sql = false)]
fn chart(call: Call<'_>) -> String {
    (|| {
        let (run_id, name, against) = call.read(|arguments| {
            let run_id = arguments.take("run_id")?;
            let name: Option<String> = arguments.take("name")?;
            let against = argument("against", arguments.take("against")?)?;
            Ok((run_id, name, against))
        })?;
        let run = live::visible(last::run(run_id)?)?.run;
        let against = other(run.run_id, against)?.map(|record| record.run);
        let valid: Vec<_> = RunChart::ALL
            .iter()
            .map(|chart| (chart.name(), *chart))
            .collect();
        let chart = one_of("name", &argument("name", name)?, &valid)?;
        if against.is_some() && !chart.takes_two() {
            let all = RunChart::ALL.iter().filter(|chart| chart.takes_two());
            let names: Vec<&str> = all.map(|chart| chart.name()).collect();
            return Err(Error::OptionConflict {
                message: format!("chart \"{}\" does not show two runs", chart.name()),
                hint: format!("Charts that do are {}.", names.join(", ")),
            });
        }
        let runs: Vec<&Run> = [&run].into_iter().chain(&against).collect();
        let mut data = Vec::new();
        for run in &runs {
            if chart.source() == Source::Stacks {
                tell_without_profile(run.run_id)?;
            }
            let other = runs.iter().find(|other| other.run_id != run.run_id);
            let of_run = series::load(run, &[chart.source()], None, other.copied())?;
            data.push(match other {
                Some(_) => of_run.since_warm_up(),
                None => of_run,
            });
        }
        Ok(chart.draw(&data.iter().collect::<Vec<_>>()).alone())
    })()
    .or_raise_in(&call)
}

/// The run of an argument `against`, beside another one; `None` for its default, 0.
pub(super) fn other(run_id: i64, against: i64) -> Result<Option<RunRecord>> {
    match against {
        0 => Ok(None),
        against if against == run_id => Err(Error::OptionConflict {
            message: format!("run {run_id} cannot be shown against itself"),
            hint: "Give another run as \"against\".".into(),
        }),
        against => live::visible(against).map(Some),
    }
}

/// The charts of a run for which there are data.
#[pg_extern(sql = false)]
fn charts(
    run_id: Option<i64>,
) -> TableIterator<'static, (name!(name, &'static str), name!(shows, &'static str))> {
    let charts = (|| series::charts(&live::visible(last::run(run_id)?)?.run))().or_raise();
    TableIterator::new(
        charts
            .into_iter()
            .map(|chart| (chart.name(), chart.shows())),
    )
}

/// A figure of a run over time as text. Braille patterns need a client and a database that have them.
#[pg_extern(sql = false)]
fn plot(call: Call<'_>) -> String {
    (|| {
        let (run_id, figure, width) = call.read(|arguments| {
            Ok((
                arguments.take("run_id")?,
                arguments.take::<Option<String>>("figure")?,
                arguments.take("width")?,
            ))
        })?;
        let run = live::visible(last::run(run_id)?)?.run;
        let valid: Vec<_> = RunFigure::ALL
            .iter()
            .map(|figure| (figure.name(), *figure))
            .collect();
        let figure = one_of("figure", &argument("figure", figure)?, &valid)?;
        let width = argument("width", width)?;
        let width = in_range("width", width, *WIDTHS.start(), *WIDTHS.end())?;
        let data = series::load(&run, &[Source::Intervals, Source::Server], None, None)?;
        let lines = data.plot(figure).lines(width as usize, glyphs()?);
        Ok(lines.join("\n"))
    })()
    .or_raise_in(&call)
}

/// Throughput over time as a line of text; `None` if it is too short for a course.
pub(super) fn course_of(run_id: i64) -> Result<Option<String>> {
    let tps = series::tps(run_id)?;
    if tps.points.len() < SHORTEST_COURSE {
        return Ok(None);
    }
    let line = text::line(&tps, COURSE_WIDTH, glyphs()?);
    Ok(text::bounds(&tps).map(|(low, high)| format!("tps over time: {line} {low} to {high}")))
}

/// Characters that the caller's terminal can be assumed to show.
pub(super) fn glyphs() -> Result<Glyphs> {
    let encodings = query::first_row(
        "SELECT pg_catalog.current_setting('server_encoding'), pg_catalog.current_setting('client_encoding')",
    )?;
    let is_utf8 = |encoding: &Option<String>| encoding.as_deref() == Some("UTF8");
    match encodings.iter().all(is_utf8) {
        true => Ok(Glyphs::Unicode),
        false => Ok(Glyphs::Ascii),
    }
}
