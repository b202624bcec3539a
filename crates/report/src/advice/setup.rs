//! Findings before a run starts: from its options and the settings of the server.

use super::outcome::SHORT_SECONDS;
use super::{Finding, Severity, writes};
use selfbench_model::{Evidence, Mode, Run, RunRecord};

/// Options and settings of a run.
pub struct Setup<'s> {
    /// Path of its statements to the server.
    pub mode: Mode,
    /// Descriptions of the scripts that can be chosen.
    pub scripts: &'s [&'s str],
    /// Whether they change tables, as far as is known.
    pub writes: bool,
    /// Number of clients.
    pub clients: i64,
    /// Scale of pgbench's tables.
    pub scale: i64,
    /// The value of a setting, if it is known.
    pub setting: &'s dyn Fn(&str) -> Option<String>,
}

/// Warnings about the setup of a run that is long enough to be a measurement, for its caller.
pub fn known_before(setup: &Setup, seconds: Option<f64>) -> Vec<Finding> {
    if !is_measurement(seconds) {
        return Vec::new();
    }
    let mut findings = of(setup);
    findings.retain(|finding| finding.severity >= Severity::Warning);
    findings
}

/// Whether a run of this duration takes long enough to be a measurement.
pub fn is_measurement(seconds: Option<f64>) -> bool {
    seconds.is_some_and(|seconds| seconds >= SHORT_SECONDS)
}

pub(super) fn findings(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    let run = &record.run;
    let chosen = record.scripts.iter().filter(|script| script.weight > 0);
    let scripts: Vec<&str> = chosen.map(|script| script.description.as_str()).collect();
    let mut all = of(&Setup {
        mode: run.mode,
        scripts: &scripts,
        writes: writes(record, evidence),
        clients: i64::from(run.clients),
        scale: run.scale,
        setting: &|name| evidence.setting(name).map(str::to_owned),
    });
    let sleeps = run.figures.sleep_avg_ms.unwrap_or(0.0) * run.figures.counts.transactions as f64;
    // Where the run queue was measured, `server` judges by it.
    if let Some(sharing) = sharing(run)
        && evidence.run_queue_share.is_none()
        && run.rate.is_none()
        && sleeps <= run.figures.latency_sum_ms / 2.0
    {
        all.push(Finding::warning(
            "clients of mode spi shared processors",
            sharing,
            "Latency includes the time that clients waited for a processor. Use at most as many \
             clients as processors, or a rate. More clients help only if transactions wait for \
             locks or for the disk.",
        ));
    }
    all
}

/// Numbers of clients of mode spi and of their processors, if there were fewer of these.
pub(super) fn sharing(run: &Run) -> Option<String> {
    let processors = run.processors?;
    (run.mode == Mode::Spi && run.clients > processors)
        .then(|| format!("{} clients, processors: {processors}", run.clients))
}

fn of(setup: &Setup) -> Vec<Finding> {
    let mut all = Vec::new();
    let is = |name: &str, value: &str| (setup.setting)(name).as_deref() == Some(value);
    if setup.scripts.contains(&"<builtin: TPC-B (sort of)>") && setup.scale < setup.clients {
        all.push(Finding::warning(
            "clients update the same rows of pgbench_branches",
            format!("scale {}, {} clients", setup.scale, setup.clients),
            "Initialize with a scale of at least the number of clients.",
        ));
    }
    if setup.writes && is("fsync", "off") {
        all.push(Finding::warning(
            "commits do not wait for the disk",
            "fsync = off".into(),
            "Set fsync = on; without it, a crash can corrupt the database.",
        ));
    }
    if setup.writes && is("full_page_writes", "off") {
        all.push(Finding::warning(
            "the server writes less WAL than in a safe configuration",
            "full_page_writes = off".into(),
            "Set full_page_writes = on, unless the storage prevents torn pages.",
        ));
    }
    if setup.writes && is("synchronous_commit", "off") {
        all.push(Finding::note(
            "commits do not wait for the disk",
            "synchronous_commit = off".into(),
            "Compare it only with runs with the same setting, or SET synchronous_commit = on.",
        ));
    }
    if is("debug_assertions", "on") {
        all.push(Finding::warning(
            "the server checks assertions",
            "debug_assertions = on".into(),
            "Use a server that was built without --enable-cassert; assertions make it much slower.",
        ));
    }
    all.extend(logging(setup));
    all.extend(auto_explain(setup));
    all
}

/// Whether the server logs all statements, or the slow ones. Most of its settings are about what
/// clients send: statements of mode spi are not logged.
fn logging(setup: &Setup) -> Option<Finding> {
    const OF_MESSAGES: [&str; 5] = [
        "log_statement",
        "log_min_duration_statement",
        "log_min_duration_sample",
        "log_duration",
        "log_statement_stats",
    ];
    let value = |name: &str| match setup.mode {
        Mode::Spi if OF_MESSAGES.contains(&name) => String::new(),
        Mode::Spi | Mode::Libpq => (setup.setting)(name).unwrap_or_default(),
    };
    let named = |name: &str| format!("{name} = {}", value(name));
    let mut all = Vec::new();
    if value("log_statement") == "all" || (setup.writes && value("log_statement") == "mod") {
        all.push(named("log_statement"));
    }
    if value("log_min_duration_statement") == "0" {
        all.push(named("log_min_duration_statement"));
    }
    for name in [
        "log_duration",
        "log_parser_stats",
        "log_planner_stats",
        "log_executor_stats",
        "log_statement_stats",
    ] {
        if value(name) == "on" {
            all.push(named(name));
        }
    }
    if !all.is_empty() {
        return Some(Finding::warning(
            "statements are logged",
            all.join(", "),
            "Writing the log takes part of each transaction: turn it off, or compare only with \
             runs with the same setting.",
        ));
    }
    let some = ["log_min_duration_statement", "log_min_duration_sample"]
        .into_iter()
        .find(|name| value(name).starts_with(|c: char| c.is_ascii_digit()));
    some.map(|name| {
        Finding::note(
            "slow statements are logged",
            named(name),
            "Check the server's log for how many there were.",
        )
    })
}

/// Whether auto_explain watches the statements. Workers, as the clients of mode spi, load only what all
/// processes of the server load.
fn auto_explain(setup: &Setup) -> Option<Finding> {
    let value = |name: &str| (setup.setting)(name);
    const LIMIT: &str = "auto_explain.log_min_duration";
    let preloaded = [
        "shared_preload_libraries",
        "session_preload_libraries",
        "local_preload_libraries",
    ]
    .into_iter()
    .find(|name| value(name).is_some_and(|list| list.contains("auto_explain")));
    if setup.mode == Mode::Spi && preloaded.is_some_and(|name| name != "shared_preload_libraries") {
        return None;
    }
    let (limit, preloaded) = (value(LIMIT), preloaded.map(|name| format!("{name} has it")));
    let mut evidence: Vec<String> = limit
        .iter()
        .map(|limit| format!("{LIMIT} = {limit}"))
        .collect();
    for name in ["auto_explain.log_analyze", "auto_explain.sample_rate"] {
        evidence.extend(value(name).map(|value| format!("{name} = {value}")));
    }
    evidence.extend(preloaded);
    if evidence.is_empty() {
        return None;
    }
    let acts = limit.is_some_and(|limit| limit != "-1");
    let finding = Finding::note(
        "auto_explain is loaded",
        evidence.join(", "),
        "It measures statements, with log_analyze each node of their plans: remove it, or compare \
         only with runs with the same setting.",
    );
    Some(Finding {
        severity: if acts {
            Severity::Warning
        } else {
            Severity::Note
        },
        ..finding
    })
}
