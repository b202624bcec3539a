//! Findings about the course of a run: warm-up, and whether it was steady.

use super::Finding;
use crate::number::shortest;
use selfbench_model::{CourseInterval, Evidence, RunRecord};
use selfbench_stats::steadiness::{self, Change};
use selfbench_stats::summary;

/// A slower first interval belongs to the warm-up: less than this fraction of the others' median.
const WARM_SHARE: f64 = 0.9;
/// Fraction of a run's transactions; if more are missing, the figures are distorted.
const DISTORTED_SHARE: f64 = 0.05;
/// Shortfall in standard deviations that chance explains.
const DEVIATIONS: f64 = 3.0;
/// The standard deviation of a normal distribution, in median absolute deviations.
const DEVIATION_OF_MEDIAN: f64 = 1.4826;
/// A course is an effect: what causes it explains more than this fraction of it.
const UNSTEADY: f64 = 0.05;
/// Fewer intervals do not show what is usual.
const FEW_INTERVALS: usize = 5;
/// Throughput that changes by a smaller fraction is steady; cycles by a smaller one than twice that.
const STEADY_SHARE: f64 = 0.1;
/// The smaller fraction for the latency of runs with a rate, whose throughput is given.
const STEADY_LATENCY_SHARE: f64 = 0.25;

pub(super) fn findings(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    let course = &evidence.course;
    let mut all: Vec<Finding> = warm_up(record, course).into_iter().collect();
    let of_rate = record.run.rate.is_some();
    let value = |interval: &CourseInterval| match of_rate {
        true => interval.latency_avg_ms,
        false => interval.tps,
    };
    let values: Vec<f64> = course.iter().filter_map(value).collect();
    // Without a value in one of the intervals, numbers of intervals would not fit.
    if values.len() < course.len() {
        return all;
    }
    let (least, unit) = match of_rate {
        true => (STEADY_LATENCY_SHARE, "ms"),
        false => (STEADY_SHARE, "tps"),
    };
    let changes = steadiness::changes(&values, least);
    all.extend(
        changes
            .into_iter()
            .map(|change| unsteady(change, course, unit)),
    );
    all
}

/// Whether the figures include a warm-up, and whether it shows.
fn warm_up(record: &RunRecord, course: &[CourseInterval]) -> Option<Finding> {
    const REMEDY: &str = "The first transactions read blocks into memory and fill caches of the sessions: use \
                          warmup => '5 s' or more.";
    if record.run.warmup_steady == Some(false) {
        return Some(Finding::warning(
            "the run was not steady when its warm-up was cut off",
            format!("warm-up of {} s", shortest(record.run.warmup_s)),
            "Warm up for longer, with max_warmup => '20 min', for example, or look for what changes: \
             bench.run_server_intervals.",
        ));
    }
    if record.run.warmup_s > 0.0 {
        return None;
    }
    if record.run.rate.is_none()
        && let Some([first, median, missing]) = slow_start(course, record.run.clients)
    {
        // Hardly a run without a warm-up begins as fast as it goes on.
        let finding = match missing > DISTORTED_SHARE {
            true => Finding::warning,
            false => Finding::note,
        };
        return Some(finding(
            "the figures include a warm-up",
            format!(
                "no warm-up; {first:.1} tps in the first interval, {median:.1} tps in the median of the others"
            ),
            REMEDY,
        )
        .explains(missing));
    }
    Some(Finding::note(
        "there was no warm-up",
        "warmup = 0".into(),
        REMEDY,
    ))
}

/// Throughput of the first interval, the median of the others, and the fraction of the run's transactions that
/// the first one lacks, if it is slower than they explain.
///
/// At the end of the first interval, each client is within a transaction, but none was at its begin: it
/// has up to one transaction per client less than others. What else is missing must be more than chance
/// explains. The standard deviation is that of the others' counts (by the median absolute deviation), and
/// at least that of a Poisson distribution, because few intervals and small counts may hardly differ by
/// chance.
fn slow_start(course: &[CourseInterval], clients: i32) -> Option<[f64; 3]> {
    let (first, others) = course.split_first()?;
    let tps = first.tps?;
    let others: Vec<f64> = others.iter().filter_map(|interval| interval.tps).collect();
    if others.len() < FEW_INTERVALS {
        return None;
    }
    let median = summary::median(&others)?;
    let deviations: Vec<f64> = others.iter().map(|tps| (tps - median).abs()).collect();
    let spread = DEVIATION_OF_MEDIAN * summary::median(&deviations)? * first.seconds;
    let expected = median * first.seconds;
    let missing = expected - tps * first.seconds;
    let explained = f64::from(clients) + DEVIATIONS * expected.sqrt().max(spread);
    let seconds: f64 = course.iter().map(|interval| interval.seconds).sum();
    let share = missing / (median * seconds);
    (tps < WARM_SHARE * median && missing > explained).then_some([tps, median, share])
}

fn unsteady(change: Change, course: &[CourseInterval], unit: &str) -> Finding {
    const REMEDY: &str = "One mean does not describe it: look at bench.run_intervals beside bench.run_server_intervals, \
                          and run it longer, or from a state that it keeps.";
    let end_s = |interval: &CourseInterval| interval.begins_s + interval.seconds;
    let first_s = course.first().map_or(0.0, |first| first.begins_s);
    let seconds = course.last().map_or(0.0, end_s) - first_s;
    let percent = |share: f64| 100.0 * share;
    let what = match unit {
        "ms" => "latency",
        _ => "throughput",
    };
    match change {
        Change::Trend { change } => Finding::warning(
            "the run was not steady: a trend",
            format!(
                "{what} changed by {:+.0}% within {seconds:.0} s (Mann-Kendall test)",
                percent(change)
            ),
            REMEDY,
        )
        .explains(UNSTEADY * change.abs().min(1.0)),
        Change::Step { at, before, after } => {
            let at_s = course.get(at).map_or(0.0, |interval| interval.begins_s) - first_s;
            Finding::warning(
                "the run was not steady: a step",
                format!(
                    "{what} was {before:.1} {unit} up to {at_s:.1} s, then {after:.1} {unit} (Pettitt's test)"
                ),
                REMEDY,
            )
            .explains(UNSTEADY * (1.0 - before.min(after) / before.max(after)))
        }
        Change::Cycle { period, swing } => {
            let period_s = period as f64 * seconds / course.len() as f64;
            Finding::warning(
                "the run was not steady: a cycle",
                format!(
                    "{what} goes up and down by {:.0}% of its mean every {period_s:.0} s (Fisher's test)",
                    percent(swing)
                ),
                REMEDY,
            )
            .explains(UNSTEADY * swing.min(1.0))
        }
    }
}
