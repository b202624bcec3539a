//! What the sessions of a run waited for: locks, their own and others'.

use super::Finding;
use selfbench_model::{Blocked, Evidence, Waited};
use selfbench_stats::summary;

/// Waits for locks that matter, as a fraction of all samples.
const LOCKED_SHARE: f64 = 0.1;
/// Fewer of them may be chance: a run of a moment has a few samples in all.
const FEW_LOCKED: f64 = 10.0;
/// At most this many tables and events are named.
const NAMED: usize = 3;

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let samples = |waits: &[&Waited]| waits.iter().map(|wait| wait.samples).sum::<i64>() as f64;
    let all: Vec<&Waited> = evidence.waits.iter().collect();
    let locks: Vec<&Waited> = all
        .iter()
        .copied()
        .filter(|wait| wait.class == "Lock")
        .collect();
    let Some(share) = summary::ratio(samples(&locks), samples(&all)) else {
        return Vec::new();
    };
    if share <= LOCKED_SHARE || samples(&locks) < FEW_LOCKED {
        return Vec::new();
    }
    let events = locks
        .iter()
        .map(|wait| (wait.event.as_deref().unwrap_or("lock"), wait.samples));
    let waited = format!(
        "{:.0}% of the samples wait for locks ({})",
        100.0 * share,
        ranked(events)
    );
    let blocked = |own: bool| -> Vec<&Blocked> {
        let chosen = evidence.blocked.iter().filter(|blocked| blocked.own == own);
        chosen.collect()
    };
    let tables = |blocked: &[&Blocked]| {
        let tables = blocked
            .iter()
            .filter_map(|b| Some((b.relation.as_deref()?, b.samples)));
        match ranked(tables) {
            tables if tables.is_empty() => String::new(),
            tables => format!(", on {tables}"),
        }
    };
    let (own, others) = (blocked(true), blocked(false));
    let mut findings = Vec::new();
    if !others.is_empty() {
        findings.push(Finding::warning(
            "other sessions held locks that the run waited for",
            format!("{waited}{}", tables(&others)),
            "End their transactions and repeat the run; bench.run_blockers shows who they were, to \
             members of pg_read_all_stats also by name.",
        ));
    }
    if !own.is_empty() || others.is_empty() {
        findings.push(Finding::warning(
            "clients wait for each other on few rows",
            format!("{waited}{}", tables(&own)),
            "Spread the transactions over more rows, with tpcb-like by a higher scale, or use fewer \
             clients.",
        ));
    }
    findings
}

/// Names by the sums of their samples, the most frequent first.
fn ranked<'n>(samples: impl Iterator<Item = (&'n str, i64)>) -> String {
    let mut sums: Vec<(&str, i64)> = Vec::new();
    for (name, samples) in samples {
        match sums.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += samples,
            None => sums.push((name, samples)),
        }
    }
    sums.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let names: Vec<&str> = sums.into_iter().take(NAMED).map(|(name, _)| name).collect();
    names.join(", ")
}
