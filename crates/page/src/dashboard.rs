//! The page over all runs and sets: what got slower, labels over time, sets, runs.

use crate::Document;
use crate::Report;
use crate::content::{decimal, grouped};
use crate::html::Ids;
use maud::{Markup, html};
use selfbench_chart::sparkline;
use selfbench_markup::{Constant, constant};
use selfbench_report::counted;
use selfbench_stats::last_value::{LEAST_CHANGE, LEAST_EARLIER, LastValue, MOST_EARLIER};
use serde::Deserialize;

/// Filters and sorts the tables.
const SCRIPT: Constant = constant(include_str!("dashboard.js"));

/// How many values a curve shows.
const CURVE: usize = 40;

/// All that the page shows.
#[derive(Clone, Debug, Default)]
pub struct Dashboard {
    /// Who sees what, where and when.
    pub origin: Origin,
    /// The newest runs, newest first.
    pub runs: Vec<Run>,
    /// The newest sets, newest first.
    pub sets: Vec<Set>,
    /// Reports that are part of the page.
    pub reports: Vec<Report>,
}

/// Who sees what, where and when.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Origin {
    /// The role with whose rights the tables were read.
    pub role: String,
    /// The database.
    pub database: String,
    /// The version of the server.
    pub server_version: String,
    /// When it was read, UTC.
    pub at: String,
    /// How many runs the role may see.
    pub runs: u64,
    /// How many sets.
    pub sets: u64,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Run {
    /// Its number.
    pub run_id: i64,
    /// Its label.
    pub label: Option<String>,
    /// The same as an SQL literal.
    pub label_literal: Option<String>,
    /// The set that it belongs to.
    pub set_id: Option<i64>,
    /// Its arm in that set.
    pub arm: Option<String>,
    /// How it ended.
    pub state: String,
    /// Whether it ran to its end with all clients, by itself: then it counts in the course of its label.
    pub counts: bool,
    /// What was run: scripts, mode, protocol, clients, and what else distinguishes workloads.
    pub workload: String,
    /// The same for all runs of the same workload: that text may be shortened.
    pub workload_key: String,
    /// When it started, UTC.
    pub started_at: String,
    /// How long it measured.
    pub seconds: Option<f64>,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Mean latency.
    pub latency_avg_ms: Option<f64>,
    /// 95th percentile of the latency.
    pub latency_p95_ms: Option<f64>,
    /// Failed transactions.
    pub failed: i64,
}

/// A set of runs.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Set {
    /// Its number.
    pub set_id: i64,
    /// The function that made it.
    pub kind: String,
    /// Its label.
    pub label: Option<String>,
    /// How it ended.
    pub state: String,
    /// How many runs it was to have, if that was known.
    pub planned_runs: Option<i64>,
    /// How many have finished.
    pub finished_runs: i64,
    /// When it started, UTC.
    pub started_at: String,
    /// How many arms or points have runs that count.
    pub arms: i64,
    /// The one with the highest mean of transactions per second.
    pub fastest: Option<String>,
    /// That mean.
    pub fastest_tps: Option<f64>,
    /// What it has found, in words.
    pub verdict: Option<String>,
}

/// Runs with the same label and the same workload, oldest first.
struct Course<'a> {
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

    /// What the last run changed, of tps and of latency, if it counts.
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
struct Regression<'a> {
    run: &'a Run,
    figure: &'static str,
    change: LastValue,
}

impl Dashboard {
    /// The page as an HTML document in one file.
    pub fn html(&self) -> String {
        let courses = self.courses();
        let regressions = regressions(&courses);
        let origin = &self.origin;
        let query = "psql -XAtc \"SELECT bench.dashboard()\" > dashboard.html";
        Document {
            title: "Benchmark runs",
            intro: html! {
                p.lead {
                    (many(origin.runs, "run")) ", " (many(origin.sets, "set")) ", "
                    (many(courses.len() as u64, "workload")) " with a label. "
                    (answer(&courses, &regressions))
                }
                p.muted {
                    "What role " (origin.role) " sees in database " (origin.database)
                    ", PostgreSQL " (origin.server_version) ", " (origin.at) " UTC."
                }
                form.filter role="search" hidden {
                    label for="words" { "Show rows with " }
                    input type="search" id="words" autocomplete="off" aria-describedby="found";
                    output id="found" for="words" {}
                }
            },
            main: html! {
                (slower(&regressions))
                (labels(&courses))
                (self.set_list())
                (self.run_list())
                (self.report_list())
            },
            footer: html! {
                p {
                    "Made by " code { (query) } ". Times are UTC. All runs: "
                    code { "SELECT * FROM bench.run_summary" } "."
                }
            },
            script: Some(SCRIPT),
        }
        .render()
    }

    /// The courses of all labels, the one with the newest run first.
    fn courses(&self) -> Vec<Course<'_>> {
        let mut courses: Vec<Course<'_>> = Vec::new();
        let mut places = std::collections::HashMap::new();
        // Runs of sets differ from each other on purpose.
        let own = |run: &&Run| run.label.is_some() && run.set_id.is_none();
        for run in self.runs.iter().rev().filter(own) {
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

    fn set_list(&self) -> Markup {
        let heads = [
            ("Set", true),
            ("Kind", false),
            ("Label", false),
            ("State", false),
            ("Runs", true),
            ("Started", false),
            ("Found", false),
            ("Report", false),
        ];
        list(
            "sets",
            "Sets",
            &self.cut("sets", self.sets.len(), self.origin.sets),
            &heads,
            html! {
                @for set in &self.sets {
                    tr {
                        td.number { (set.set_id) }
                        td { (set.kind) }
                        td.text { (set.label.as_deref().unwrap_or("-")) }
                        td { (state(&set.state)) }
                        td.number {
                            (set.finished_runs)
                            @if let Some(planned) = set.planned_runs { " of " (planned) }
                        }
                        td { (set.started_at) }
                        td.text { (set.found()) }
                        td { code { "SELECT bench.report_set('{" (set.set_id) "}', 'html')" } }
                    }
                }
            },
        )
    }

    fn run_list(&self) -> Markup {
        let heads = [
            ("Run", true),
            ("Label", false),
            ("Set", false),
            ("State", false),
            ("Workload", false),
            ("Started", false),
            ("Seconds", true),
            ("tps", true),
            ("Mean ms", true),
            ("p95 ms", true),
            ("Failed", true),
            ("Report", false),
        ];
        list(
            "runs",
            "Runs",
            &self.cut("runs", self.runs.len(), self.origin.runs),
            &heads,
            html! {
                @for run in &self.runs {
                    tr {
                        td.number { (run.run_id) }
                        td.text { (run.label.as_deref().unwrap_or("-")) }
                        td.text {
                            @match run.set_id {
                                None => "-",
                                Some(set) => { (set) @if let Some(arm) = &run.arm { ": " (arm) } }
                            }
                        }
                        td { (state(&run.state)) }
                        td.text.workload { (run.workload) }
                        td { (run.started_at) }
                        td.number { (figure(run.seconds)) }
                        td.number { (figure(run.tps)) }
                        td.number { (figure(run.latency_avg_ms)) }
                        td.number { (figure(run.latency_p95_ms)) }
                        td.number { (run.failed) }
                        td { code { "SELECT bench.report(" (run.run_id) ", 'html')" } }
                    }
                }
            },
        )
    }

    fn report_list(&self) -> Markup {
        let mut ids = Ids::default();
        html! {
            @if !self.reports.is_empty() {
                section aria-labelledby="reports" {
                    h2 id="reports" { "Reports" }
                    @for report in &self.reports { (report.folded(&mut ids)) }
                }
            }
        }
    }

    /// What a list leaves out.
    fn cut(&self, what: &str, shown: usize, all: u64) -> String {
        match all > shown as u64 {
            true => format!(
                "The newest {} of {} {what}.",
                grouped(shown as f64),
                grouped(all as f64)
            ),
            false => String::new(),
        }
    }
}

impl Set {
    fn found(&self) -> String {
        if let Some(verdict) = &self.verdict {
            return verdict.clone();
        }
        match (&self.fastest, self.fastest_tps) {
            (Some(arm), Some(tps)) => format!(
                "highest tps of {}: {arm}, {}",
                many(self.arms as u64, "arm"),
                decimal(tps)
            ),
            _ => "-".into(),
        }
    }
}

fn regressions<'a>(courses: &[Course<'a>]) -> Vec<Regression<'a>> {
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
fn answer(courses: &[Course<'_>], regressions: &[Regression<'_>]) -> String {
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

fn slower(regressions: &[Regression<'_>]) -> Markup {
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
                    td.text { (run.label.as_deref().unwrap_or("-")) }
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

fn labels(courses: &[Course<'_>]) -> Markup {
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
                    td.text { (last.label.as_deref().unwrap_or("-")) }
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
                            code { "SELECT bench.report_label(" (literal) ", 'html')" }
                        }
                    }
                }
            }
        },
    )
}

/// A section with a table that can be filtered and sorted; columns are names, and whether they are
/// numbers.
fn list(id: &str, heading: &str, text: &str, heads: &[(&str, bool)], rows: Markup) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (heading) }
            @if !text.is_empty() { p { (text) } }
            @if rows.0.is_empty() {
                p.muted { "None." }
            } @else {
                div.scroll tabindex="0" role="group" aria-label=(heading) {
                    table.list {
                        thead {
                            tr {
                                @for (name, is_number) in heads {
                                    th scope="col" class=[is_number.then_some("number")] { (name) }
                                }
                            }
                        }
                        tbody { (rows) }
                    }
                }
            }
        }
    }
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

/// How a run or a set ended; what did not finish is marked.
fn state(state: &str) -> Markup {
    match state {
        "finished" => html! { (state) },
        "failed" | "lost" => html! { b.error { (state) } },
        _ => html! { b { (state) } },
    }
}

/// A number of things, with commas.
fn many(number: u64, noun: &str) -> String {
    counted(grouped(number as f64), noun)
}

fn figure(value: Option<f64>) -> String {
    value.map_or("-".into(), decimal)
}

fn change(last: Option<LastValue>) -> String {
    last.map_or("-".into(), |last| percent(last.ratio))
}

/// A ratio as a difference in percent.
fn percent(ratio: f64) -> String {
    format!("{:+.1} %", 100.0 * (ratio - 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(run_id: i64, label: &str, tps: f64) -> Run {
        Run {
            run_id,
            label: Some(label.into()),
            label_literal: Some(format!("'{label}'")),
            state: "finished".into(),
            counts: true,
            workload: "select-only: spi".into(),
            tps: Some(tps),
            latency_p95_ms: Some(1000.0 / tps),
            ..Run::default()
        }
    }

    fn dashboard(mut runs: Vec<Run>) -> Dashboard {
        runs.reverse();
        Dashboard {
            origin: Origin {
                runs: runs.len() as u64,
                ..Origin::default()
            },
            runs,
            ..Dashboard::default()
        }
    }

    fn course(label: &str, tps: &[f64]) -> Vec<Run> {
        (1..)
            .zip(tps)
            .map(|(run_id, &tps)| run(run_id, label, tps))
            .collect()
    }

    #[test]
    fn a_label_whose_last_run_is_slower_is_a_regression() {
        let page = dashboard(course("nightly", &[100.0, 102.0, 99.0, 101.0, 100.0, 50.0]));
        let courses = page.courses();
        let found = regressions(&courses);
        let figures: Vec<_> = found
            .iter()
            .map(|found| (found.run.run_id, found.figure))
            .collect();
        assert_eq!(figures, [(6, "tps"), (6, "p95 ms")]);
        let html = page.html();
        assert!(html.contains("Of 1 with enough runs, 1 got slower with the last run."));
        assert!(html.contains("-50.0 %"));
    }

    #[test]
    fn a_faster_run_is_not() {
        let page = dashboard(course(
            "nightly",
            &[100.0, 102.0, 99.0, 101.0, 100.0, 200.0],
        ));
        assert!(regressions(&page.courses()).is_empty());
    }

    #[test]
    fn other_workloads_and_runs_that_do_not_count_are_not_compared() {
        let mut runs = course("nightly", &[100.0, 102.0, 99.0, 101.0, 100.0, 50.0]);
        runs[5].workload_key = "another".into();
        let page = dashboard(runs.clone());
        assert_eq!(page.courses().len(), 2);
        assert!(regressions(&page.courses()).is_empty());
        runs[5].workload_key = String::new();
        runs[5].counts = false;
        let page = dashboard(runs.clone());
        assert_eq!(page.courses().len(), 1);
        assert!(regressions(&page.courses()).is_empty());
        runs[5].counts = true;
        runs[5].set_id = Some(1);
        assert!(regressions(&dashboard(runs).courses()).is_empty());
    }

    #[test]
    fn texts_from_outside_are_texts() {
        let mut runs = course("</td><script>alert(1)</script>", &[1.0]);
        runs[0].workload = "\" onmouseover=\"alert(1) \u{202E}x".into();
        let html = dashboard(runs).html();
        assert!(!html.contains("<script>alert"));
        assert!(!html.contains("\" onmouseover=\""));
        assert!(html.contains("[U+202E]x"));
        assert!(html.is_ascii());
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut page = dashboard(course("a", &[1.0, 2.0]));
        page.origin.runs = 12_345;
        assert!(page.html().contains("The newest 2 of 12,345 runs."));
        assert!(!dashboard(Vec::new()).html().contains("The newest"));
    }

    #[test]
    fn the_script_is_small() {
        assert!(SCRIPT.0.len() < 20_000);
    }
}
