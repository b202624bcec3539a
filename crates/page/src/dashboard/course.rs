//! The courses of labels on the page over all runs: what got slower, and curves.

use super::{Run, figure, list, state};
use crate::content::decimal;
use crate::html::text_cell;
use maud::{Markup, html};
use selfbench_chart::sparkline;
use selfbench_stats::last_value::{LEAST_CHANGE, LEAST_EARLIER, LastValue, MOST_EARLIER};

/// Number of values that a curve shows.
const CURVE: usize = 40;

/// Runs with the same label and the same workload, oldest first.
pub(super) struct Course<'a> {
    runs: Vec<&'a Run>,
    tps: Vec<f64>,
    latency: Vec<f64>,
}

impl<'a> Course<'a> {
    fn last(&self) -> &'a Run {
        self.runs[self.runs.len() - 1]
    }

    fn add(&mut self, run: &'a Run) {
        self.runs.push(run);
        if run.counts {
            self.tps.extend(run.tps);
            self.latency.extend(run.latency_p95_ms);
        }
    }

    /// Changes of tps and of latency by the last run, if it counts.
    fn changes(&self) -> [Option<LastValue>; 2] {
        match self.last().counts {
            true => [LastValue::of(&self.tps), LastValue::of(&self.latency)],
            false => [None, None],
        }
    }

    /// Whether there are enough runs to judge the last one.
    fn is_judged(&self) -> bool {
        self.changes().iter().any(Option::is_some)
    }
}

/// A figure that got worse.
pub(super) struct Regression<'a> {
    pub run: &'a Run,
    pub figure: &'static str,
    pub change: LastValue,
}

/// The courses of all labels, the one with the newest run first.
pub(super) fn courses(runs: &[Run]) -> Vec<Course<'_>> {
    let mut courses: Vec<Course<'_>> = Vec::new();
    let mut places = std::collections::HashMap::new();
    // Runs of sets differ from each other on purpose.
    let own = |run: &&Run| run.label.is_some() && run.set_id.is_none();
    for run in runs.iter().rev().filter(own) {
        let place = *places
            .entry((&run.label, &run.workload_key))
            .or_insert(courses.len());
        if place == courses.len() {
            courses.push(Course {
                runs: Vec::new(),
                tps: Vec::new(),
                latency: Vec::new(),
            });
        }
        courses[place].add(run);
    }
    courses.sort_by_key(|course| std::cmp::Reverse(course.last().run_id));
    courses
}

pub(super) fn regressions<'a>(courses: &[Course<'a>]) -> Vec<Regression<'a>> {
    let mut found = Vec::new();
    for course in courses {
        let [tps, latency] = course.changes();
        let worse = [
            ("tps", tps.filter(|change| change.ratio < 1.0)),
            ("p95 ms", latency.filter(|change| change.ratio > 1.0)),
        ];
        for (figure, change) in worse {
            found.extend(change.filter(|c| c.has_changed).map(|change| Regression {
                run: course.last(),
                figure,
                change,
            }));
        }
    }
    found
}

/// The answer in words.
pub(super) fn answer(courses: &[Course<'_>], regressions: &[Regression<'_>]) -> String {
    let judged = courses.iter().filter(|course| course.is_judged()).count();
    let mut slower: Vec<i64> = regressions.iter().map(|found| found.run.run_id).collect();
    slower.dedup();
    match (slower.len(), judged) {
        (_, 0) => "None has enough runs to tell whether the last one is slower.".into(),
        (0, _) => format!("Of {judged} with enough runs, none got slower with its last run."),
        (slower, _) => {
            format!("Of {judged} with enough runs, {slower} got slower with the last run.")
        }
    }
}

pub(super) fn slower(regressions: &[Regression<'_>]) -> Markup {
    let heads = [
        ("Label", false),
        ("Workload", false),
        ("Figure", false),
        ("Last run", true),
        ("Last value", true),
        ("Median before", true),
        ("Change", true),
        ("Runs before", true),
        ("Report", false),
    ];
    let explained = format!(
        "A label's last run is listed if its tps is lower, or its 95th percentile of the latency higher, \
         than that of all of the {LEAST_EARLIER} to {MOST_EARLIER} runs of the same workload before it, \
         and differs by more than {:.0} % from their median. Even if nothing has changed, this happens now \
         and then: run it again.",
        100.0 * LEAST_CHANGE
    );
    list(
        "slower",
        "Slower than before",
        &explained,
        &heads,
        html! {
            @for Regression { run, figure, change } in regressions {
                tr {
                    (text_cell(run.label.as_deref().unwrap_or("-")))
                    td.text.workload { (run.workload) }
                    td { (figure) }
                    td.number { (run.run_id) }
                    td.number { (decimal(change.value)) }
                    td.number { (decimal(change.median)) }
                    td.number { (percent(change.ratio)) }
                    td.number { (change.earlier) }
                    td { code { "SELECT bench.report(" (run.run_id) ", 'html')" } }
                }
            }
        },
    )
}

pub(super) fn labels(courses: &[Course<'_>]) -> Markup {
    let heads = [
        ("Label", false),
        ("Workload", false),
        ("Runs", true),
        ("Last run", true),
        ("Started", false),
        ("State", false),
        ("tps", true),
        ("Change", true),
        ("tps over time", false),
        ("p95 ms", true),
        ("Change", true),
        ("p95 over time", false),
        ("Report", false),
    ];
    list(
        "labels",
        "Labels",
        &format!(
            "Runs with the same label and workload, without those of sets. Curves show the last {CURVE} \
         runs that count, the newest at the right; changes compare the last one with the median of those before."
        ),
        &heads,
        html! {
            @for course in courses {
                @let last = course.last();
                @let [tps, latency] = course.changes();
                tr {
                    (text_cell(last.label.as_deref().unwrap_or("-")))
                    td.text.workload { (last.workload) }
                    td.number { (course.runs.len()) }
                    td.number { (last.run_id) }
                    td { (last.started_at) }
                    td { (state(&last.state)) }
                    td.number { (figure(last.tps)) }
                    td.number { (change(tps)) }
                    td { (curve("tps", &course.tps)) }
                    td.number { (figure(last.latency_p95_ms)) }
                    td.number { (change(latency)) }
                    td { (curve("p95 in ms", &course.latency)) }
                    td {
                        @if let Some(literal) = &last.label_literal {
                            code { "SELECT bench.report(label => " (literal) ", format => 'html')" }
                        }
                    }
                }
            }
        },
    )
}

/// The last values of a series as a small picture.
fn curve(name: &str, values: &[f64]) -> Markup {
    let last = &values[values.len().saturating_sub(CURVE)..];
    if last.len() < 2 {
        return html! { "-" };
    }
    let says = format!(
        "{name} of {} runs: {} to {}, last {}",
        last.len(),
        decimal(last.iter().copied().fold(f64::INFINITY, f64::min)),
        decimal(last.iter().copied().fold(f64::NEG_INFINITY, f64::max)),
        decimal(last[last.len() - 1])
    );
    let points: Vec<_> = last.iter().copied().map(Some).collect();
    sparkline(&says, &points)
}

fn change(last: Option<LastValue>) -> String {
    last.map_or("-".into(), |last| percent(last.ratio))
}

/// A ratio as a difference in percent.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}
