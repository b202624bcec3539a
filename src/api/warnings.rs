//! Notices and warnings to the caller of a run: about effects that distort the figures, and errors.

use crate::backend::horizon::Horizon;
use crate::backend::transaction;
use crate::error::{Error, Report, Result, message};
use crate::query;
use crate::results::load::load_evidence;
use crate::results::probes;
use crate::results::waits::SeenWaits;
use crate::run::{ClientProcess, RunSpec};
use crate::security::as_owner;
use crate::server;
use crate::shared::Segment;
use pgrx::prelude::*;
use scopeguard::guard;
use selfbench_model::{Run, RunRecord, RunState};
use selfbench_page::fitting_behind;
use selfbench_report::{
    Bottleneck, Setup, Severity, advice, bottleneck, counted, is_measurement, known_before,
    missed_rate, percentage, remedy_of_small_pool, stalled_clients,
};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::atomic::Ordering::Relaxed;

thread_local! {
    /// Texts sent so far, if each is to be sent only once.
    static TOLD: RefCell<Option<BTreeSet<String>>> = const { RefCell::new(None) };
}

/// Makes messages to the caller unique until the value is dropped: the runs of a set are alike.
pub(super) fn each_once() -> impl Drop {
    TOLD.set(Some(BTreeSet::new()));
    guard((), |()| TOLD.set(None))
}

/// Whether the caller is to be told this.
fn is_news(text: &str) -> bool {
    TOLD.with_borrow_mut(|told| {
        told.as_mut()
            .is_none_or(|told| told.insert(text.to_owned()))
    })
}

/// Tells the caller a line that may be long, in lines that fit a terminal.
pub(super) fn tell(line: &str) {
    let lines = fitting_behind("NOTICE:  ", line);
    message::notice(lines.join("\n"));
}

pub(super) fn notice(message: &str, detail: &str, hint: &str) {
    if !is_news(message) {
        return;
    }
    Report {
        detail: Some(detail.to_owned()),
        hint: Some(hint.to_owned()),
        ..Report::new(PgSqlErrorCode::ERRCODE_SUCCESSFUL_COMPLETION, message)
    }
    .send(PgLogLevel::NOTICE);
}

/// Warns the caller if waiting for the run affects it.
pub(super) fn advise(spec: &RunSpec, horizon: &Horizon) {
    if spec.target.is_some() {
        return;
    }
    if transaction::is_serializable() {
        notice(
            "the calling transaction keeps predicate locks from being released during the run",
            "It is SERIALIZABLE. If the run's transactions are, too, a long run ends with \"out of \
             shared memory\".",
            "Call the function after BEGIN ISOLATION LEVEL READ COMMITTED, or use bench.start: \
             default_transaction_isolation still applies to the run's transactions.",
        );
    } else if spec.writes() && !horizon.releasable() {
        notice(
            "the calling statement keeps dead rows from being removed during the run",
            "Its snapshot stays in use. Tables that are updated grow, and figures may be several \
             times too low.",
            "Use SELECT ... FROM bench.run(...) at top level, in READ COMMITTED mode, in a \
             transaction that has written nothing, and read no table in it. Functions, procedures \
             and DO blocks should only start runs, with bench.start; wait for them afterwards.",
        );
    }
}

/// Tells the caller of a run that has started, and that takes long enough to be a measurement, what is
/// wrong with its setup.
pub(super) fn tell_setup(spec: &RunSpec, segment: &Segment) {
    // The settings of a target are not known here.
    if spec.target.is_some() {
        return;
    }
    let chosen = spec.scripts.iter().filter(|script| script.weight > 0);
    let scripts: Vec<&str> = chosen.map(|script| script.description.as_str()).collect();
    let setup = Setup {
        mode: spec.run.mode,
        scripts: &scripts,
        writes: spec.writes(),
        clients: spec.clients() as i64,
        scale: segment.header().scale.load(Relaxed),
        setting: &|name| {
            let mut own = spec.client_settings.iter();
            match own.find(|setting| setting.name == name) {
                Some(setting) => Some(setting.shown.clone()),
                None => server::shown_setting(name),
            }
        },
    };
    for finding in known_before(&setup, spec.duration_us().map(|us| us as f64 / 1e6)) {
        let detail = format!("{}.", finding.evidence);
        notice(finding.finding, &detail, finding.remedy);
    }
}

/// Tells the caller of a started run about another run whose teardown is still due.
pub(super) fn tell_left_teardown(segment: &Segment) {
    let left = segment.header().left_teardown.load(Relaxed);
    if left != 0 {
        notice(
            "the teardown of an earlier run is still due",
            &format!("Run {left} ended without its teardown, or the teardown failed."),
            &format!(
                "Execute it with SELECT bench.finish_teardown({left}), or end it with give_up => \
                 true."
            ),
        );
    }
}

/// Tells the caller of a single run which one it was, if its query was canceled and the run is stored.
pub(super) fn tell_canceled(spec: &RunSpec, segment: &Segment, error: &Error) {
    let header = segment.header();
    let run_id = header.run_id.load(Relaxed);
    if run_id == 0 || !error.is_cancel() || spec.run.arm.is_some() {
        return;
    }
    if header.ended.load(Relaxed) {
        message::notice(format_args!(
            "run {run_id} had already ended; see bench.report({run_id})"
        ));
    } else if header.start_ns.load(Relaxed) != 0 {
        message::notice(format_args!(
            "run {run_id} was canceled; its results so far: bench.report({run_id})"
        ));
    } else if spec.run.setup.is_some() || spec.run.teardown.is_some() {
        message::notice(format_args!("run {run_id} was canceled before it began"));
    }
}

/// Tells the caller of a single run, if it was long enough to be a measurement, where its result is, and
/// whether there are reasons for doubt.
pub(super) fn tell_next(spec: &RunSpec, record: &RunRecord) -> Result<()> {
    let run_id = record.run.run_id;
    let is_whole = run_id != 0 && record.run.state == RunState::Finished;
    if !is_whole || !is_measurement(spec.duration_us().map(|us| us as f64 / 1e6)) {
        return Ok(());
    }
    let evidence = as_owner(|| load_evidence(run_id, &SeenWaits::load(run_id)?))?;
    let findings = advice(record, &evidence).into_iter();
    match findings.filter(|f| f.severity >= Severity::Warning).count() {
        0 => message::notice(format_args!("see bench.report({run_id})")),
        doubts => message::notice(format_args!(
            "see bench.report({run_id}), and bench.advice({run_id}), which has {}",
            counted(doubts, "warning")
        )),
    }
    Ok(())
}

/// A captured workload whose statements took less of the execution time is not the load of the application.
const MOST_OF_THE_TIME: f64 = 0.9;

/// Tells the caller what may make the result of a run doubtful, besides its errors.
pub(super) fn tell_circumstances(spec: &RunSpec, run: &Run) {
    if run.run_id == 0 && is_news("not stored") {
        message::notice("the result is not stored, because this server is a standby");
    }
    if run.backends > 0 && spec.client_process() == ClientProcess::Auto && is_news("in backends") {
        message::notice(format_args!(
            "{} of {} clients ran in backends, because no more background workers are free",
            run.backends, run.clients
        ));
    }
    if let (Some(workload), Some(share)) = (&spec.captured_workload, spec.captured_share)
        && share < MOST_OF_THE_TIME
    {
        let told = format!(
            "workload \"{workload}\" has statements that took {} of the execution time when it was captured",
            percentage(share)
        );
        notice(
            &told,
            "Other statements were left out, or are those of other roles.",
            "bench.captured_statements tells which, and why.",
        );
    }
    if run.warmup_steady == Some(false) {
        message::notice(format_args!(
            "the run was not steady when its warm-up was cut off after {} s",
            (run.warmup_s * 10.0).round() / 10.0
        ));
    }
    for note in run.failed_observations().filter(|note| is_news(note)) {
        message::notice(note);
    }
}

/// Tells the caller of a run how many clients completed hardly any transaction.
pub(super) fn tell_stalled(run: &Run) {
    if let Some(stalled) = stalled_clients(run) {
        let of_arm = run.arm.as_ref().map(|arm| format!(" of arm \"{arm}\""));
        let told = format!(
            "clients{} completed hardly any transaction",
            of_arm.unwrap_or_default()
        );
        notice(&told, &format!("{}.", stalled.evidence), stalled.remedy);
    }
}

/// Tells the caller how many conditions of the workload could not be judged, and why the first one.
pub(super) fn tell_not_judged(record: &RunRecord) {
    let mut failed = record.checks.iter().filter(|check| check.has_failed());
    let Some(first) = failed.next() else { return };
    let text = format!(
        "{} of the workload not judged: {}: {}",
        counted(1 + failed.count(), "condition"),
        first.condition,
        first.example.as_deref().unwrap_or_default()
    );
    if is_news(&text) {
        message::notice(text);
    }
}

/// Warns the caller if a run was aborted, or of its errors.
pub(super) fn tell_errors(run: &Run, hint: Option<String>) {
    if run.state != RunState::Finished || run.aborted_clients > 0 {
        let aborted = match run.aborted_clients {
            0 => "run was aborted".to_owned(),
            lost => format!("run was aborted for {lost} of {} clients", run.clients),
        };
        // Programs recognize this warning by its SQLSTATE; it corresponds to pgbench's exit status
        // 2.
        Report {
            detail: Some(run.errors.join("\n")),
            hint: hint.filter(|_| run.aborted_clients > 0),
            ..Report::new(
                PgSqlErrorCode::ERRCODE_OPERATOR_INTERVENTION,
                format!("{aborted}; its results are incomplete"),
            )
        }
        .send(PgLogLevel::WARNING);
    } else if !run.errors.is_empty() {
        Report {
            hint,
            ..Report::new(PgSqlErrorCode::ERRCODE_WARNING, run.errors.join("\n"))
        }
        .send(PgLogLevel::WARNING);
    }
}

/// Tells the caller that a run missed its rate, and what limited it, where that was observed.
pub(super) fn tell_missed_rate(run: &Run) -> Result<()> {
    let Some(missed) = missed_rate(run).filter(|_| run.is_complete()) else {
        return Ok(());
    };
    let probe = probes::of_run(run.run_id, 50.0)?;
    let limit = probe.and_then(|probe| bottleneck(&probe.strain));
    let limit = limit.filter(Bottleneck::is_known);
    let limit = limit.map(|limit| format!(" Limited by {}: {}.", limit.name, limit.meaning));
    let detail = format!(
        "{} missed it {}.{}",
        match &run.arm {
            Some(arm) => format!("Arm \"{arm}\", run {},", run.run_id),
            None => format!("Run {}", run.run_id),
        },
        missed.evidence,
        limit.unwrap_or_default()
    );
    notice(missed.finding, &detail, missed.remedy);
    Ok(())
}

/// Tells the caller which variables of the option "variables" no script of any of the runs mentions.
pub(super) fn tell_unused_variables<'s>(specs: impl Iterator<Item = &'s RunSpec>) -> Result<()> {
    let mut names = BTreeSet::new();
    let mut workloads = Vec::new();
    for spec in specs.filter(|spec| !spec.run.variables.is_empty()) {
        names.extend(spec.run.variables.keys());
        workloads.push(spec.checked_workload()?);
    }
    let is_used = |name: &str| workloads.iter().any(|w| w.symbols.find(name).is_some());
    for name in names.iter().filter(|name| !is_used(name)) {
        message::notice(format_args!(
            "variable \"{name}\" is set but no script mentions it"
        ));
    }
    Ok(())
}

/// Hints about a run whose clients have aborted, or whose transactions have all failed.
pub(super) fn remedy(spec: &RunSpec, run: &Run) -> Result<Option<String>> {
    if run.is_complete() && !run.all_failed() {
        return Ok(None);
    }
    let mut remedies = Vec::new();
    if let Ok(workload) = spec.workload() {
        let given = |name: &str| spec.variable(name).is_some();
        let Ok(unset) = workload.unset_variables(given, |_| Ok::<_, Infallible>(None));
        let mentions = unset.mentions.iter();
        let unset: Vec<_> = mentions.map(|m| format!("\"{}\"", m.name)).collect();
        if let Some(first) = unset.first() {
            remedies.push(format!(
                "The scripts use undefined variables: {}. Set them, for example with \
                 variables => '{{{first}: 1}}'.",
                unset.join(", ")
            ));
        }
    }
    if spec.target.is_none() && transaction::has_written() {
        remedies.push(
            "Clients do not see what the calling transaction has created or changed: commit it \
             before the call."
                .into(),
        );
    }
    let small_pool = run
        .errors
        .iter()
        .find_map(|error| remedy_of_small_pool(error));
    remedies.extend(small_pool.map(Into::into));
    if let Some(name) = run.errors.iter().find_map(|error| missing_relation(error)) {
        remedies.push(match spec.target.is_none() && is_temporary(name)? {
            true => format!(
                "\"{name}\" is a temporary table of this session: clients are background workers or \
                 other sessions, which do not see it."
            ),
            false => "bench.check_script(..., resolve => true) finds relations that do not exist \
                      before a run."
                .into(),
        });
    }
    Ok((!remedies.is_empty()).then(|| remedies.join(" ")))
}

/// The relation that does not exist according to a message of the server.
fn missing_relation(error: &str) -> Option<&str> {
    let (_, rest) = error.split_once("relation \"")?;
    Some(rest.split_once("\" does not exist")?.0)
}

/// Whether this session has a temporary table of that name.
fn is_temporary(name: &str) -> Result<bool> {
    let found = query::first_value::<bool>(
        "SELECT pg_catalog.to_regclass('pg_temp.' OPERATOR(pg_catalog.||) pg_catalog.quote_ident($1)) IS NOT NULL",
        &[name.into()],
    )?;
    Ok(found == Some(true))
}
