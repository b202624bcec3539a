//! Figures of several runs side by side.

use selfbench_stats::summary;

use crate::number::fixed;
use crate::{RunReport, ScriptReport};

/// One line of a comparison: a script, run one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Name of the script.
    pub script: String,
    /// Which way it ran: the name of a mode, or of an outside tool such as `pgbench`.
    pub mode: String,
    /// Successful transactions per second.
    pub tps: f64,
    /// Average latency in milliseconds.
    pub latency_avg_ms: f64,
    /// 95th percentile of the latency in milliseconds, if known.
    pub latency_p95_ms: Option<f64>,
}

impl Arm {
    /// The figures of a run. Several scripts count as one, their names joined by `+`.
    pub fn of_run(report: &RunReport) -> Self {
        let names: Vec<&str> = report
            .scripts
            .iter()
            .map(|script| script.name.as_str())
            .collect();
        Self {
            script: names.join("+"),
            mode: report.mode.name().to_owned(),
            tps: report.tps(),
            latency_avg_ms: report.tally.latency.mean_ms(),
            latency_p95_ms: report.percentile_ms(95.0),
        }
    }

    /// The figures of one script of a run.
    pub fn of_script(report: &RunReport, script: &ScriptReport) -> Self {
        Self {
            script: script.name.clone(),
            mode: report.mode.name().to_owned(),
            tps: summary::tps(script.tally.transactions, report.seconds),
            latency_avg_ms: script.tally.latency.mean_ms(),
            latency_p95_ms: script.percentile_ms(95.0),
        }
    }
}

/// A table of arms in the given order, one line each below a heading, every line ended.
///
/// The last column says how many times the transactions per second an arm has of the first arm of
/// the same script. A dash stands for what is not known. Text columns are aligned to the left,
/// numbers to the right.
pub fn table(arms: &[Arm]) -> String {
    let heading = ["script", "mode", "tps", "lat avg (ms)", "p95 (ms)", "ratio"];
    let mut rows = vec![heading.map(str::to_owned)];
    rows.extend(arms.iter().map(|arm| row(arm, arms)));

    let widths: [usize; 6] = std::array::from_fn(|column| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or(0)
    });
    let rule = widths.map(|width| "-".repeat(width));
    rows.insert(1, rule);

    let mut table = String::new();
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .zip(widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if column < 2 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            })
            .collect();
        table += cells.join("  ").trim_end();
        table.push('\n');
    }
    table
}

/// The cells of one arm.
fn row(arm: &Arm, arms: &[Arm]) -> [String; 6] {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
    let ratio = arms
        .iter()
        .find(|first| first.script == arm.script)
        .and_then(|first| summary::ratio(arm.tps, first.tps));
    [
        arm.script.clone(),
        arm.mode.clone(),
        fixed(arm.tps, 1),
        fixed(arm.latency_avg_ms, 3),
        or_dash(arm.latency_p95_ms.map(|ms| fixed(ms, 3))),
        or_dash(ratio.map(|times| fixed(times, 2) + "x")),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arm(script: &str, mode: &str, tps: f64, latency_avg_ms: f64, p95: Option<f64>) -> Arm {
        Arm {
            script: script.to_owned(),
            mode: mode.to_owned(),
            tps,
            latency_avg_ms,
            latency_p95_ms: p95,
        }
    }

    #[test]
    fn modes_stand_side_by_side() {
        let arms = [
            arm("select-only", "libpq", 30_000.04, 0.0333, Some(0.05)),
            arm("select-only", "spi", 145_000.0, 0.0069, Some(0.0081)),
            arm("tpcb-like", "libpq", 900.0, 1.1, None),
            arm("tpcb-like", "spi", 1_350.0, 0.74, Some(12.5)),
        ];
        assert_eq!(
            table(&arms),
            "\
script       mode        tps  lat avg (ms)  p95 (ms)  ratio
-----------  -----  --------  ------------  --------  -----
select-only  libpq   30000.0         0.033     0.050  1.00x
select-only  spi    145000.0         0.007     0.008  4.83x
tpcb-like    libpq     900.0         1.100         -  1.00x
tpcb-like    spi      1350.0         0.740    12.500  1.50x
"
        );
    }

    #[test]
    fn a_ratio_to_nothing_is_a_dash() {
        let arms = [
            arm("s", "libpq", 0.0, 0.0, None),
            arm("s", "spi", 5.0, 0.2, None),
        ];
        let table = table(&arms);
        assert!(table.lines().skip(2).all(|line| line.ends_with('-')));
    }

    #[test]
    fn without_arms_there_is_the_heading() {
        assert_eq!(table(&[]).lines().count(), 2);
    }
}
