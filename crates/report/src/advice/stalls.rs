//! Finding about the times when clients completed hardly a transaction.

use super::Finding;
use crate::number::counted;
use selfbench_model::{Run, RunStall};

/// Name of the finding.
pub(super) const FINDING: &str = "clients were stalled";
/// Stalls that cost less of the run, in seconds,
const LEAST_S: f64 = 0.5;
/// or a smaller fraction of its transactions, are worth a note.
const LEAST_SHARE: f64 = 0.02;
/// Characters of a statement or a name that are shown.
const STATEMENT: usize = 72;

/// Transactions that a stall cost.
fn lost(stall: &RunStall) -> f64 {
    stall.expected.saturating_sub(stall.transactions).max(0) as f64
}

/// Transactions that all stalls cost. At a time at which several go on, the one that costs most counts: what some
/// clients lost is part of what all lost.
fn lost_by_all(stalls: &[RunStall]) -> f64 {
    let end = |stall: &RunStall| stall.begin_s + stall.length_s;
    let mut moments: Vec<f64> = stalls
        .iter()
        .flat_map(|stall| [stall.begin_s, end(stall)])
        .collect();
    moments.sort_by(f64::total_cmp);
    let between = moments.windows(2).map(|ends| {
        let goes_on = |stall: &&RunStall| stall.begin_s <= ends[0] && ends[1] <= end(stall);
        let per_second = stalls
            .iter()
            .filter(goes_on)
            .map(|stall| lost(stall) / stall.length_s);
        (ends[1] - ends[0])
            * per_second
                .filter(|lost| lost.is_finite())
                .fold(0.0, f64::max)
    });
    between.sum()
}

/// The stalls of a run, the one that cost most first.
pub(super) fn finding(run: &Run, stalls: &[RunStall]) -> Option<Finding> {
    let first = stalls.iter().max_by(|a, b| lost(a).total_cmp(&lost(b)))?;
    let mut evidence = sentence(run, first);
    if stalls.len() > 1 {
        let seconds: f64 = stalls.iter().map(|stall| stall.length_s).sum();
        evidence += &format!(
            "; {} in all, {seconds:.1} s together",
            counted(stalls.len(), "stall")
        );
    }
    let counts = &run.figures.counts;
    let lost = lost_by_all(stalls);
    let share = lost / (lost + (counts.transactions + counts.failed()) as f64).max(1.0);
    let seconds = share * run.seconds?;
    let of = match seconds >= LEAST_S && share >= LEAST_SHARE {
        true => Finding::warning,
        false => Finding::note,
    };
    let remedy = "bench.run_stalls has all of them, what their sessions waited for, and who held it, to members of \
                  pg_read_all_stats also by name.";
    Some(of(FINDING, evidence, remedy).explains(share))
}

/// A stall in words.
fn sentence(run: &Run, stall: &RunStall) -> String {
    let what = match stall.transactions {
        0 => "no transaction".into(),
        few => format!("only {}", counted(few, "transaction")),
    };
    let whose = match stall.clients < run.clients {
        true => format!(" by {} of {} clients", stall.clients, run.clients),
        false => String::new(),
    };
    let cause = cause(stall).map(|cause| format!(": {cause}"));
    format!(
        "{what}{whose} for {:.1} s from {:.1} s on{}",
        stall.length_s,
        stall.begin_s,
        cause.unwrap_or_default()
    )
}

/// Cause of a stall; `None` if that is not known.
fn cause(stall: &RunStall) -> Option<String> {
    let on = stall.relation.iter();
    let on: String = on
        .map(|relation| format!(" on {}", shortened(relation)))
        .collect();
    let lock = || match &stall.locktype {
        Some(locktype) => format!("a lock{on} ({locktype})"),
        None => format!("a lock{on}"),
    };
    if stall.class.as_deref() == Some("Lock")
        && let Some(blocker) = stall.blocker.as_deref()
    {
        let statement = stall.blocker_statement.as_deref().map(shortened);
        let name = match (&stall.blocker_application, &stall.blocker_role) {
            (Some(application), _) => format!("application {}", shortened(application)),
            (None, Some(role)) => format!("role {}", shortened(role)),
            (None, None) => "another session".into(),
        };
        return Some(match (blocker, statement) {
            ("own client", _) => format!("{} that another client of the run held", lock()),
            ("another role", _) => format!("{} held by another role", lock()),
            ("prepared transaction", Some(gid)) => {
                format!("{} held by the prepared transaction {gid}", lock())
            }
            ("client backend", Some(statement)) => {
                let is_idle = stall.blocker_state.as_deref() != Some("active");
                let idle = if is_idle { ", idle in transaction" } else { "" };
                format!("{statement} by {name}{idle}")
            }
            (_, Some(statement)) => format!("{statement} by {blocker}"),
            (blocker, None) => format!("{} held by {blocker}", lock()),
        });
    }
    match (stall.class.as_deref()?, stall.event.as_deref()) {
        ("no answer", _) => Some("the target did not answer".into()),
        ("Lock", _) => Some("sessions waited for locks".into()),
        (class, Some(event)) => Some(format!("sessions waited for {class}:{event}")),
        (_, None) => None,
    }
}

/// The start of a statement or a name, in one line.
fn shortened(statement: &str) -> String {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let line = words.join(" ");
    let line = line.trim_end_matches([' ', ';']);
    match line.char_indices().nth(STATEMENT) {
        Some((end, _)) => format!("{}...", &line[..end]),
        None => line.into(),
    }
}
