//! Finding about the times when clients completed hardly a transaction.

use super::Finding;
use crate::number::counted;
use selfbench_model::{Run, RunStall};

/// Name of the finding.
pub(super) const FINDING: &str = "clients were stalled";
/// Shorter stalls of all clients together, in seconds,
const LEAST_S: f64 = 0.5;
/// and a smaller fraction of their time, are worth a note.
const LEAST_SHARE: f64 = 0.02;
/// Characters of a statement or a name that are shown.
const STATEMENT: usize = 72;

/// The stalls of a run, the one that took most of the clients' time first.
pub(super) fn finding(run: &Run, stalls: &[RunStall]) -> Option<Finding> {
    let lost_s = |stall: &RunStall| {
        let done = stall.transactions as f64 / stall.expected.max(1) as f64;
        stall.length_s * f64::from(stall.clients) * (1.0 - done).clamp(0.0, 1.0)
    };
    let longest = stalls
        .iter()
        .max_by(|a, b| lost_s(a).total_cmp(&lost_s(b)))?;
    let mut evidence = sentence(run, longest);
    if stalls.len() > 1 {
        let seconds: f64 = stalls.iter().map(|stall| stall.length_s).sum();
        evidence += &format!(
            "; {} in all, {seconds:.1} s together",
            counted(stalls.len(), "stall")
        );
    }
    let clients_s = f64::from(run.clients) * run.seconds?;
    let (seconds, share) = stalls.iter().fold((0.0, 0.0), |(seconds, share), stall| {
        let of_all = lost_s(stall) / f64::from(run.clients.max(1));
        (seconds + of_all, share + lost_s(stall) / clients_s)
    });
    let of = match seconds >= LEAST_S && share >= LEAST_SHARE {
        true => Finding::warning,
        false => Finding::note,
    };
    let remedy = "bench.run_stalls has all of them, what their sessions waited for, and who held it, to members of \
                  pg_read_all_stats also by name.";
    Some(of(FINDING, evidence, remedy).explains(share.min(1.0)))
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
