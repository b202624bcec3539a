//! The page over all runs and sets: what got slower, labels over time, sets, runs.

mod course;

use crate::Document;
use crate::Report;
use crate::content::{decimal, grouped};
use crate::html::{Ids, scripts, text_cell};
use course::{answer, labels, slower};
use maud::{Markup, html};
use selfbench_markup::{Constant, constant};
use selfbench_report::counted;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

pub use course::{Course, Figure};

/// Filters and sorts the tables.
const SCRIPT: Constant = constant(include_str!("dashboard.js"));

/// All that the page shows.
#[derive(Clone, Debug, Default)]
pub struct Dashboard {
    /// Role, server and time of the page.
    pub origin: Origin,
    /// Series of runs with a label, that with the newest run first.
    pub courses: Vec<Course>,
    /// The newest runs, newest first.
    pub runs: Vec<Run>,
    /// The newest sets, newest first.
    pub sets: Vec<Set>,
    /// Reports of runs that are part of the page.
    pub reports: Vec<(i64, Report)>,
}

/// Role, server and time of the page.
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
    /// Number of runs that the role may see.
    pub runs: u64,
    /// Number of sets that it may see.
    pub sets: u64,
}

/// A run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Run {
    /// Its number.
    pub run_id: i64,
    /// Its label.
    pub label: Option<String>,
    /// The set that it belongs to.
    pub set_id: Option<i64>,
    /// Its arm in that set.
    pub arm: Option<String>,
    /// Outcome.
    pub state: String,
    /// Workload: scripts, mode, protocol, clients, and what else distinguishes workloads.
    pub workload: String,
    /// When it started, UTC.
    pub started_at: String,
    /// Length of the measurement.
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
    /// Outcome.
    pub state: String,
    /// Number of planned runs, if that was known.
    pub planned_runs: Option<i64>,
    /// Number of finished runs.
    pub finished_runs: i64,
    /// When it started, UTC.
    pub started_at: String,
    /// Verdict of a search, in words.
    pub verdict: Option<String>,
    /// Arms of a comparison, points of a sweep.
    #[serde(skip)]
    pub arms: Vec<Arm>,
}

/// An arm or point, as `bench.arms` has it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Mean of transactions per second of its runs.
    pub tps: Option<f64>,
    /// Its verdict; of a point, why runs are missing.
    pub verdict: Option<String>,
}

impl Dashboard {
    /// The page as an HTML document in one file.
    pub fn html(&self) -> String {
        let origin = &self.origin;
        let query = "psql -XAtc \"SELECT bench.dashboard()\" > dashboard.html";
        let of_reports = scripts(self.reports.iter().map(|(_, report)| report));
        let inline = Inline::of(self);
        let scripts: Vec<Constant> = [SCRIPT].into_iter().chain(of_reports).collect();
        Document {
            title: "Benchmark runs",
            badge: None,
            intro: html! {
                p.lead {
                    (many(origin.runs, "run")) ", " (many(origin.sets, "set")) ", "
                    (many(self.courses.len() as u64, "workload")) " with a label. "
                    (answer(&self.courses))
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
                nav.contents aria-label="Contents" {
                    @for (id, heading) in PARTS {
                        @if id != "reports" || !self.reports.is_empty() {
                            a href={ "#" (id) } { (heading) }
                        }
                    }
                }
                (slower(&self.courses))
                (labels(&self.courses, &inline.labels))
                (self.set_list(&inline.sets))
                (self.run_list(&inline.runs))
                @if !self.reports.is_empty() {
                    section aria-labelledby="reports" {
                        h2 id="reports" { "Reports" }
                        (inline.reports)
                    }
                }
            },
            footer: html! {
                p {
                    "Made by " code { (query) } ". Times are UTC. All runs: "
                    code { "SELECT * FROM bench.run_summary" } "."
                }
            },
            scripts: &scripts,
        }
        .render()
    }

    fn set_list(&self, linked: &BTreeSet<i64>) -> Markup {
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
                    tr id=[linked.contains(&set.set_id).then(|| of_set(set.set_id))] {
                        td.number { (set.set_id) }
                        td { (set.kind) }
                        (text_cell(set.label.as_deref().unwrap_or("-")))
                        td { (state(&set.state)) }
                        td.number {
                            (set.finished_runs)
                            @if let Some(planned) = set.planned_runs { " of " (planned) }
                        }
                        td { (set.started_at) }
                        (text_cell(&set.found()))
                        td { code { "SELECT bench.report(set_ids => '{" (set.set_id) "}', format => 'html')" } }
                    }
                }
            },
        )
    }

    fn run_list(&self, links: &BTreeMap<i64, String>) -> Markup {
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
                        td.number {
                            @match links.get(&run.run_id) {
                                Some(id) => a href={ "#" (id) } { (run.run_id) },
                                None => (run.run_id),
                            }
                        }
                        (text_cell(run.label.as_deref().unwrap_or("-")))
                        (text_cell(&run.of_set()))
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

    /// Says how much of a list is shown, if not all.
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

/// The parts of the page: their ids and headings.
const PARTS: [(&str, &str); 5] = [
    ("slower", "Slower than before"),
    ("labels", "Labels"),
    ("sets", "Sets"),
    ("runs", "Runs"),
    ("reports", "Reports"),
];

/// The id of the row of a set.
fn of_set(set_id: i64) -> String {
    format!("set-{set_id}")
}

/// The reports in the page, and what links lead to and from them.
#[derive(Default)]
struct Inline {
    reports: Markup,
    /// The id of the report of each run.
    runs: BTreeMap<i64, String>,
    /// Sets of these runs.
    sets: BTreeSet<i64>,
    /// The id of the row of each label.
    labels: BTreeMap<String, String>,
}

impl Inline {
    fn of(page: &Dashboard) -> Inline {
        let mut inline = Inline::default();
        let mut ids = Ids::default();
        let mut reports = Vec::new();
        for (run_id, report) in &page.reports {
            let run = page.runs.iter().find(|run| run.run_id == *run_id);
            let mut links = Vec::new();
            let set = run.and_then(|run| run.set_id);
            if let Some(set_id) = set.filter(|id| page.sets.iter().any(|set| set.set_id == *id)) {
                inline.sets.insert(set_id);
                links.push((format!("Set {set_id}"), of_set(set_id)));
            }
            let label = run.and_then(|run| run.label.as_ref());
            if let Some(label) =
                label.filter(|label| page.courses.iter().any(|of| of.label == **label))
            {
                let next = format!("label-{}", inline.labels.len() + 1);
                let id = inline.labels.entry(label.clone()).or_insert(next);
                links.push((format!("Label {label}"), id.clone()));
            }
            let (markup, id) = report.folded(&mut ids, &links);
            inline.runs.insert(*run_id, id);
            reports.push(markup);
        }
        inline.reports = html! { @for report in &reports { (report) } };
        inline
    }
}

impl Run {
    /// Its set and arm.
    fn of_set(&self) -> String {
        match (self.set_id, &self.arm) {
            (None, _) => "-".into(),
            (Some(set), None) => set.to_string(),
            (Some(set), Some(arm)) => format!("{set}: {arm}"),
        }
    }
}

impl Set {
    fn found(&self) -> String {
        if let Some(verdict) = &self.verdict {
            return verdict.clone();
        }
        let measured = self.arms.iter().filter_map(|arm| Some((arm, arm.tps?)));
        if self.kind != "sweep" {
            // Which arm is faster, or whether that is known, is what verdicts say.
            let found: Vec<_> = measured
                .map(|(arm, tps)| {
                    let verdict = arm.verdict.as_deref().unwrap_or_default();
                    format!("{}: {} tps, {verdict}", arm.name, decimal(tps))
                })
                .collect();
            return match found.is_empty() {
                true => "-".into(),
                false => found.join("; "),
            };
        }
        let points = measured.clone().count() as u64;
        let highest = measured.max_by(|a, b| a.1.total_cmp(&b.1));
        highest.map_or("-".into(), |(arm, tps)| {
            let points = many(points, "point");
            format!("highest tps of {points}: {}, {}", arm.name, decimal(tps))
        })
    }
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

/// State of a run or a set; marked unless it finished.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Block, Picture, Section};
    use selfbench_chart::{About, Across, Unit, curve, flame};

    fn run(run_id: i64, label: &str) -> Run {
        Run {
            run_id,
            label: Some(label.into()),
            state: "finished".into(),
            workload: "select-only: spi".into(),
            ..Run::default()
        }
    }

    fn dashboard(runs: Vec<Run>) -> Dashboard {
        Dashboard {
            origin: Origin {
                runs: runs.len() as u64,
                ..Origin::default()
            },
            runs,
            ..Dashboard::default()
        }
    }

    /// A series whose tps was 100.
    fn course(state: &str, value: f64, level: f64) -> Course {
        Course {
            label: "nightly".into(),
            tps: Figure {
                value: Some(value),
                state: state.into(),
                level: Some(level),
                before: Some(100.0),
                since: Some(6),
                disturbances: vec!["autovacuum".into()],
                curve: vec![Some(100.0), None, Some(value)],
            },
            latency: Figure {
                state: "ok".into(),
                ..Figure::default()
            },
            ..Course::default()
        }
    }

    fn answered(course: Course) -> String {
        let page = Dashboard {
            courses: vec![course],
            ..Dashboard::default()
        };
        page.html()
    }

    #[test]
    fn a_series_that_got_slower_is_listed() {
        let html = answered(course("slower", 51.0, 50.0));
        assert!(html.contains("1 workload with a label. Of 1 with enough runs, 1 got slower."));
        assert!(html.contains("-50.0 %"));
        let html = answered(course("suspect", 80.0, 100.0));
        assert!(html.contains("1 got slower.") && html.contains("-20.0 %"));
    }

    #[test]
    fn states_are_told_in_words_and_changes_in_colors() {
        let html = answered(course("slower", 51.0, 50.0));
        assert!(html.contains("<td class=\"number worse\">-50.0 %</td>"));
        assert!(html.contains("slower since run 6"));
        let html = answered(course("faster", 200.0, 200.0));
        assert!(html.contains("<td class=\"number better\">+100.0 %</td>"));
        assert!(answered(course("noisy", 10.0, 100.0)).contains("noisy: autovacuum"));
        assert!(answered(course("no history", 1.0, 1.0)).contains("too few nights to tell"));
    }

    #[test]
    fn the_largest_change_comes_first() {
        let named = |label: &str, level| Course {
            label: label.into(),
            ..course("slower", level, level)
        };
        let page = Dashboard {
            courses: vec![named("a tenth", 90.0), named("most", 30.0)],
            ..Dashboard::default()
        };
        let html = page.html();
        assert!(html.find(">most<").unwrap() < html.find(">a tenth<").unwrap());
    }

    #[test]
    fn others_are_not() {
        for found in [
            course("faster", 200.0, 200.0),
            course("ok", 100.0, 100.0),
            course("noisy", 10.0, 100.0),
            course("suspect", 200.0, 100.0),
        ] {
            assert!(answered(found).contains("Of 1 with enough runs, none got slower."));
        }
        assert!(answered(course("no history", 1.0, 1.0)).contains("None has enough runs"));
    }

    #[test]
    fn sets_tell_what_was_found() {
        let arm = |name: &str, tps, verdict: Option<&str>| Arm {
            name: name.into(),
            tps,
            verdict: verdict.map(str::to_owned),
        };
        let set = |kind: &str, arms| Set {
            kind: kind.into(),
            arms,
            ..Set::default()
        };
        let arms = vec![
            arm("a", Some(1000.0), Some("baseline")),
            arm("b", Some(2000.0), Some("no difference can be seen")),
        ];
        assert_eq!(
            set("compare", arms).found(),
            "a: 1,000 tps, baseline; b: 2,000 tps, no difference can be seen"
        );
        let points = vec![
            arm("clients=1", Some(1000.0), None),
            arm("clients=2", Some(2000.0), None),
            arm("clients=3", None, Some("no run")),
        ];
        assert_eq!(
            set("sweep", points).found(),
            "highest tps of 2 points: clients=2, 2,000"
        );
        assert_eq!(set("compare", Vec::new()).found(), "-");
    }

    #[test]
    fn texts_from_outside_are_texts() {
        let mut hostile = run(1, "</td><script>alert(1)</script>");
        hostile.workload = "\" onmouseover=\"alert(1) \u{202E}x".into();
        let mut page = dashboard(vec![hostile.clone()]);
        page.courses = vec![Course {
            label: hostile.label.unwrap_or_default(),
            workload: hostile.workload,
            ..course("slower", 1.0, 1.0)
        }];
        let html = page.html();
        assert!(!html.contains("<script>alert"));
        assert!(!html.contains("\" onmouseover=\""));
        assert!(html.contains("[U+202E]x"));
        assert!(html.is_ascii());
    }

    #[test]
    fn what_is_left_out_is_said() {
        let mut page = dashboard(vec![run(2, "a"), run(1, "a")]);
        page.origin.runs = 12_345;
        assert!(page.html().contains("The newest 2 of 12,345 runs."));
        assert!(!dashboard(Vec::new()).html().contains("The newest"));
    }

    #[test]
    fn runs_and_their_reports_lead_to_each_other() {
        let of_set = Run {
            set_id: Some(7),
            ..run(2, "nightly")
        };
        let mut page = dashboard(vec![of_set, run(1, "other")]);
        page.courses = vec![course("ok", 1.0, 1.0), course("ok", 2.0, 2.0)];
        page.sets = vec![Set {
            set_id: 7,
            ..Set::default()
        }];
        assert!(!page.html().contains("href=\"#reports\""));
        page.reports = vec![(2, Report::default())];
        let html = page.html();
        for part in [
            "<td class=\"number\"><a href=\"#part-2\">2</a></td>",
            "<td class=\"number\">1</td>",
            "<p class=\"muted\" id=\"part-2\"> <a href=\"#set-7\">Set 7</a> <a href=\"#label-1\">Label nightly</a></p>",
            "<tr id=\"set-7\">",
            "<a href=\"#reports\">Reports</a>",
        ] {
            assert!(html.contains(part), "{part}");
        }
        assert_eq!(html.matches("id=\"label-1\"").count(), 1);
    }

    #[test]
    fn reports_bring_their_script_once() {
        let mut page = dashboard(vec![run(1, "a")]);
        let chart = || {
            Block::Chart(Picture::of(
                curve(
                    &About::default(),
                    &Across::Numbers(Unit::Count("")),
                    Unit::Count(""),
                    &[],
                ),
                None,
            ))
        };
        let report = |blocks| Report {
            sections: vec![Section {
                heading: "a".into(),
                blocks,
            }],
            ..Report::default()
        };
        page.reports = vec![(1, report(Vec::new()))];
        assert_eq!(page.html().matches("<script>").count(), 1);
        page.reports = vec![(1, report(vec![chart()])), (2, report(vec![chart()]))];
        let html = page.html();
        assert_eq!(html.matches("<script>").count(), 2);
        assert_eq!(html.matches("'sha256-").count(), 4);
        let scripts: usize = html
            .split("<script>")
            .skip(1)
            .filter_map(|text| text.find("</script>"))
            .sum();
        assert!(scripts < 24_000);
        let graph = flame(&About::default(), &[("a;b".into(), 1)], None);
        let graph = Block::Chart(Picture::of(graph, None));
        page.reports.push((1, report(vec![graph])));
        assert_eq!(page.html().matches("<script>").count(), 3);
    }
}
