//! Findings about the waits of a run's sessions: locks, their own and others', and storage.

use super::Finding;
use selfbench_model::{CourseInterval, Evidence, LockWaits};
use selfbench_stats::summary;
use std::collections::BTreeMap;

/// Waits for locks of some that matter, as a fraction of all samples.
const LOCKED_SHARE: f64 = 0.1;
/// Fewer of them may be chance: a run of a moment has a few samples in all.
const FEW_LOCKED: f64 = 10.0;
/// Throughput that waits for locks take, as a fraction of their share: a guess.
const WAITING: f64 = 0.5;
/// Storage stalls in an interval in which more of the samples wait for it,
const STORAGE_SHARE: f64 = 0.5;
/// and throughput is below this fraction of the median of all intervals.
const STALLED_SHARE: f64 = 0.5;
/// Shorter stalls, in seconds, may be chance: an interval has a few samples.
const STALL_S: f64 = 0.3;
/// Fewer intervals do not show what is usual.
const FEW_INTERVALS: usize = 5;
/// At most this many tables and events are named.
const NAMED: usize = 3;

pub(super) fn findings(evidence: &Evidence) -> Vec<Finding> {
    let mut all = locks(evidence);
    all.extend(stall(evidence));
    all
}

/// Whether transactions stopped at times because storage did.
fn stall(evidence: &Evidence) -> Option<Finding> {
    let course = &evidence.course;
    let tps: Vec<f64> = course.iter().filter_map(|interval| interval.tps).collect();
    let median = summary::median(&tps)?;
    let is_stalled = |interval: &&CourseInterval| {
        interval.storage_share > Some(STORAGE_SHARE) && interval.tps < Some(STALLED_SHARE * median)
    };
    let stalled: Vec<&CourseInterval> = course.iter().filter(is_stalled).collect();
    let first = stalled.first()?;
    let seconds: f64 = stalled.iter().map(|interval| interval.seconds).sum();
    if seconds < STALL_S || course.len() < FEW_INTERVALS {
        return None;
    }
    let all_s: f64 = course.iter().map(|interval| interval.seconds).sum();
    let tps: f64 = stalled.iter().filter_map(|interval| interval.tps).sum();
    Some(Finding::warning(
        "transactions stopped while storage did not answer",
        format!(
            "in {} of {} intervals, first after {:.1} s, most sessions waited for storage: {:.1} tps in these, {median:.1} tps in the median",
            stalled.len(),
            course.len(),
            first.begins_s,
            tps / stalled.len() as f64
        ),
        "bench.run_waits has the events of these intervals, and bench.run_server_intervals what else went on: \
         look for checkpoints, other load of the device, and limits of virtual disks.",
    ).explains(seconds / all_s * (1.0 - tps / stalled.len() as f64 / median)))
}

/// Whether sessions waited for locks, by who held them.
fn locks(evidence: &Evidence) -> Vec<Finding> {
    let samples = evidence.waits.iter().map(|wait| wait.samples);
    let all = samples.sum::<i64>() as f64;
    let (own, others) = by_holder(&evidence.lock_waits);
    let mut findings = Vec::new();
    findings.extend(locked(evidence, all, others, false).map(|waited| {
        let finding = Finding::warning(
            "other sessions held locks that the run waited for",
            waited,
            "End their transactions and repeat the run; bench.run_blockers shows who they were, to \
             members of pg_read_all_stats also by name.",
        );
        finding.explains(WAITING * others / all)
    }));
    findings.extend(locked(evidence, all, own, true).map(|waited| {
        let finding = Finding::warning(
            "clients wait for each other on few rows",
            waited,
            "Spread the transactions over more rows, with tpcb-like by a higher scale, or use fewer \
             clients.",
        );
        finding.explains(WAITING * own / all)
    }));
    findings
}

/// Numbers of samples that waited for locks of the run's clients, and of others. Those of an
/// interval are split as the holders that were seen in it. In an interval in which none was seen,
/// they are those seen last, or first if none was seen before; without any, the clients of the run.
fn by_holder(waits: &[LockWaits]) -> (f64, f64) {
    let own_share = |waits: &LockWaits| summary::ratio(waits.own, waits.own + waits.others);
    let mut share = waits.iter().find_map(own_share).unwrap_or(1.0);
    let (mut own, mut others) = (0.0, 0.0);
    for interval in waits {
        share = own_share(interval).unwrap_or(share);
        own += interval.samples * share;
        others += interval.samples * (1.0 - share);
    }
    (own, others)
}

/// Finding about `samples` of `all` that waited for locks of clients of the run, if they are `own`,
/// or of others; `None` if they do not matter.
fn locked(evidence: &Evidence, all: f64, samples: f64, own: bool) -> Option<String> {
    let share = summary::ratio(samples, all)?;
    if share <= LOCKED_SHARE || samples < FEW_LOCKED {
        return None;
    }
    let blocked = || evidence.blocked.iter().filter(|blocked| blocked.own == own);
    let mut kinds = ranked(blocked().map(|b| (b.locktype.as_str(), b.samples)));
    if kinds.is_empty() {
        let locks = evidence.waits.iter().filter(|wait| wait.class == "Lock");
        kinds = ranked(locks.map(|wait| (wait.event.as_deref().unwrap_or("lock"), wait.samples)));
    }
    let tables = ranked(blocked().filter_map(|b| Some((b.relation.as_deref()?, b.samples))));
    let on = if tables.is_empty() { "" } else { ", on " };
    let percent = 100.0 * share;
    Some(format!(
        "{percent:.0}% of the samples wait for locks ({kinds}){on}{tables}"
    ))
}

/// Names by the sums of their samples, the most frequent first, those with equal sums in the order of names.
fn ranked<'n>(samples: impl Iterator<Item = (&'n str, i64)>) -> String {
    let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
    for (name, samples) in samples {
        *sums.entry(name).or_default() += samples;
    }
    let mut sums: Vec<(&str, i64)> = sums.into_iter().collect();
    sums.sort_by_key(|(_, samples)| std::cmp::Reverse(*samples));
    let names: Vec<&str> = sums.into_iter().take(NAMED).map(|(name, _)| name).collect();
    names.join(", ")
}
