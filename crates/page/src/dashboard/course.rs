//! The series of labels on the page over all runs: what got slower, and curves.

use super::{figure, list};
use crate::content::decimal;
use crate::html::text_cell;
use maud::{Markup, html};
use selfbench_chart::sparkline;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A series of runs with the same label.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Course {
    /// Label of the runs.
    pub label: String,
    /// Label as an SQL literal, for a statement to copy.
    #[serde(default)]
    pub label_literal: String,
    /// Scripts of the last run, and what the runs of the series have in common.
    pub workload: String,
    /// Number of nights.
    pub nights: u64,
    /// The last run.
    pub run_id: i64,
    /// When it started, UTC.
    pub started_at: String,
    /// Transactions per second.
    pub tps: Figure,
    /// 95th percentile of the latency in milliseconds; searches have none.
    #[serde(default)]
    pub latency: Figure,
}

/// A figure of a series.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Figure {
    /// Value of the last night.
    pub value: Option<f64>,
    /// State of the last night, as of `bench.trend`.
    pub state: String,
    /// Level of the last night.
    pub level: Option<f64>,
    /// Level before the last change.
    pub before: Option<f64>,
    /// First run of the level of the last night, if it has changed.
    pub since: Option<i64>,
    /// Reasons why the last night is noisy: findings of `bench.advice`.
    #[serde(default)]
    pub disturbances: Vec<String>,
    /// Values of the last nights.
    pub curve: Vec<Option<f64>>,
}

/// A figure of a series that is worse than before.
struct Regression<'a> {
    course: &'a Course,
    name: &'static str,
    figure: &'a Figure,
}

impl Course {
    fn figures(&self) -> [(&'static str, &Figure, bool); 2] {
        [("tps", &self.tps, true), ("p95 ms", &self.latency, false)]
    }
}

impl Figure {
    /// The state of the last night and the reason for it, in words.
    fn words(&self) -> String {
        let since = |what: &str| match self.since {
            Some(run_id) => format!("{what} since run {run_id}"),
            None => what.to_owned(),
        };
        match self.state.as_str() {
            "" => "-".into(),
            "ok" => "as before".into(),
            "suspect" => "suspect: far from its level".into(),
            "noisy" if !self.disturbances.is_empty() => {
                format!("noisy: {}", self.disturbances.join(", "))
            }
            "no history" => "too few nights to tell".into(),
            state => since(state),
        }
    }

    /// The change, from what to what: of the level, or of the last night beside it.
    fn change(&self) -> Option<(f64, f64)> {
        match self.state.as_str() {
            "suspect" => Some((self.level?, self.value?)),
            "slower" | "faster" => Some((self.before?, self.level?)),
            _ => None,
        }
    }

    /// Whether the level is worse than the one before, or the last night is worse than its level.
    fn is_worse(&self, higher_is_better: bool) -> bool {
        match self.state.as_str() {
            "slower" => true,
            "suspect" => match (self.value, self.level) {
                (Some(value), Some(level)) => (value < level) == higher_is_better,
                _ => false,
            },
            _ => false,
        }
    }
}

fn regressions(courses: &[Course]) -> Vec<Regression<'_>> {
    let figures = courses.iter().flat_map(|course| {
        let worse = course.figures().into_iter();
        worse.filter_map(move |(name, figure, higher_is_better)| {
            figure.is_worse(higher_is_better).then_some(Regression {
                course,
                name,
                figure,
            })
        })
    });
    let size = |found: &Regression<'_>| {
        let (before, now) = found.figure.change().unwrap_or((1.0, 1.0));
        (now / before).ln().abs()
    };
    let mut found: Vec<Regression<'_>> = figures.collect();
    found.sort_by(|a, b| size(b).total_cmp(&size(a)));
    found
}

/// The answer in words.
pub(super) fn answer(courses: &[Course]) -> String {
    let is_judged = |course: &&Course| course.tps.state != "no history";
    let judged = courses.iter().filter(is_judged).count();
    let mut slower: Vec<i64> = regressions(courses)
        .iter()
        .map(|found| found.course.run_id)
        .collect();
    slower.sort_unstable();
    slower.dedup();
    match (slower.len(), judged) {
        (_, 0) => "None has enough runs to tell whether it got slower.".into(),
        (0, _) => format!("Of {judged} with enough runs, none got slower."),
        (slower, _) => format!("Of {judged} with enough runs, {slower} got slower."),
    }
}

pub(super) fn slower(courses: &[Course]) -> Markup {
    let heads = [
        ("Label", false),
        ("Workload", false),
        ("Figure", false),
        ("State", false),
        ("Since run", true),
        ("Before", true),
        ("Now", true),
        ("Change", true),
        ("Why", false),
    ];
    list(
        "slower",
        "Slower than before",
        "The largest change first. A series is slower for 50 nights after its level got worse; a suspect is a last night that is far \
         from its level, which may be chance: run it again.",
        &heads,
        html! {
            @for Regression { course, name, figure: found } in regressions(courses) {
                @let is_suspect = found.state == "suspect";
                @let (before, now) = found.change().unzip();
                tr {
                    (text_cell(&course.label))
                    td.text.workload { (course.workload) }
                    td { (name) }
                    (text_cell(&found.words()))
                    td.number { (if is_suspect { course.run_id } else { found.since.unwrap_or(course.run_id) }) }
                    td.number { (figure(before)) }
                    td.number { (figure(now)) }
                    (change(found, name == "tps"))
                    td { code { "SELECT * FROM bench.changes(" (course.label_literal) ")" } }
                }
            }
        },
    )
}

/// Series; `ids` are those of labels that links lead to, whose first row has it.
pub(super) fn labels(courses: &[Course], ids: &BTreeMap<String, String>) -> Markup {
    let is_first = |i: usize| courses[..i].iter().all(|of| of.label != courses[i].label);
    let id = |i: usize| ids.get(&courses[i].label).filter(|_| is_first(i));
    let heads = [
        ("Label", false),
        ("Workload", false),
        ("Nights", true),
        ("Last run", true),
        ("Started", false),
        ("tps", true),
        ("Change", true),
        ("State", false),
        ("tps over time", false),
        ("p95 ms", true),
        ("Change", true),
        ("State", false),
        ("p95 over time", false),
        ("Report", false),
    ];
    list(
        "labels",
        "Labels",
        "Series of runs with the same label, as of bench.trend; of a comparison, figures are ratios to the baseline. \
         Curves show the last nights, the newest at the right.",
        &heads,
        html! {
            @for (i, course) in courses.iter().enumerate() {
                tr id=[id(i)] {
                    (text_cell(&course.label))
                    td.text.workload { (course.workload) }
                    td.number { (course.nights) }
                    td.number { (course.run_id) }
                    td { (course.started_at) }
                    (cells("tps", &course.tps, true))
                    (cells("p95 in ms", &course.latency, false))
                    td { code { "SELECT bench.report(label => " (course.label_literal) ", format => 'html')" } }
                }
            }
        },
    )
}

fn cells(name: &str, of: &Figure, higher_is_better: bool) -> Markup {
    html! {
        td.number { (figure(of.value)) }
        (change(of, higher_is_better))
        (text_cell(&of.words()))
        td { (curve(name, &of.curve)) }
    }
}

/// The last values of a series as a small picture.
fn curve(name: &str, points: &[Option<f64>]) -> Markup {
    let values: Vec<f64> = points.iter().copied().flatten().collect();
    let [.., last] = values[..] else {
        return html! { "-" };
    };
    if values.len() < 2 {
        return html! { "-" };
    }
    let says = format!(
        "{name} of {} runs: {} to {}, last {}",
        values.len(),
        decimal(values.iter().copied().fold(f64::INFINITY, f64::min)),
        decimal(values.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        decimal(last)
    );
    sparkline(&says, points)
}

/// A change in percent, with the color of a better or a worse figure.
fn change(of: &Figure, higher_is_better: bool) -> Markup {
    let Some((before, now)) = of.change().filter(|(before, _)| *before > 0.0) else {
        return html! { td.number { "-" } };
    };
    let class = match (now > before) == higher_is_better {
        true => "better",
        false => "worse",
    };
    html! { td.number.(class) { (format!("{:+.1} %", 100.0 * (now / before - 1.0))) } }
}
