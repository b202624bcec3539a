//! The charts of a run: what each shows, of which data, and what is seen in it.

use crate::bars::{Bar, BudgetArm, Part, bars, budget, shortened};
use crate::chart::{About, Chart};
use crate::distribution::{Bin, PercentileCurve, distribution, percentiles};
use crate::flame::{changes, flame};
use crate::heat::{HeatMap, heat};
use crate::number::{Unit, figure, thousands};
use crate::series::{Point, Range, Series, Span, SpanKind, TimeAxis, added_up};
use crate::text::Plot;
use crate::timeline::{lines, stack};

/// Data of a run, reduced to what can be drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunData {
    /// The run.
    pub run_id: i64,
    /// Its label; may be empty.
    pub label: String,
    /// Setup, such as `mode spi, 8 clients`.
    pub setup: String,
    /// Its time in seconds, with the warm-up.
    pub time: TimeAxis,
    /// Marked spans of time.
    pub spans: Vec<Span>,
    /// Figures over time, named as [`RunFigure::name`].
    pub figures: Vec<Series>,
    /// Sessions by what they waited for, the most frequent first; all with the same times.
    pub waits: Vec<Series>,
    /// The distribution of latencies.
    pub bins: Vec<Bin>,
    /// Latencies by percentile, up to 100, which is the highest latency.
    pub percentiles: Vec<(f64, f64)>,
    /// Latencies over time.
    pub heat: HeatMap,
    /// Statements and their time per transaction in milliseconds.
    pub statements: Vec<Bar>,
    /// The parts of the mean latency in microseconds.
    pub budget: Vec<Part>,
    /// Folded stacks and how often each was sampled.
    pub stacks: Vec<(String, u64)>,
    /// Number of different stacks, which may be more.
    pub stack_count: Option<i64>,
}

/// Text in place of a chart without data.
const NO_DATA: &str = "There are no data.";

/// Moments of two runs that differ by less than that part of an interval are the same one.
const SAME: f64 = 0.1;

/// Figures of each run over time in a chart of two runs.
const FIGURES_OF_TWO: usize = 2;

/// Characters of a label in the name of a run.
const LABEL: usize = 40;

impl RunData {
    /// Name of the run beside another one, such as `run 12: nightly`.
    pub fn name(&self) -> String {
        match self.label.as_str() {
            "" => format!("run {}", self.run_id),
            label => format!("run {}: {}", self.run_id, shortened(label, LABEL)),
        }
    }

    /// Data of the time since the warm-up and without marks, to be drawn with those of another run.
    pub fn since_warm_up(mut self) -> RunData {
        let warm_up = |span: &&Span| span.kind == SpanKind::WarmUp;
        let start = self.spans.iter().find(warm_up).map_or(0.0, |span| span.to);
        self.spans.clear();
        self.time.to -= start;
        for series in &mut self.figures {
            series.points.retain_mut(|point| {
                point.at -= start;
                point.at >= 0.0
            });
        }
        self
    }

    /// A figure over time as a plot.
    pub fn plot(&self, figure: RunFigure) -> Plot {
        Plot {
            title: format!("{} of run {}", figure.name(), self.run_id),
            time: self.time,
            unit: figure.unit(),
            series: self.figure(figure).cloned().unwrap_or_default(),
            spans: self.spans.clone(),
        }
    }

    /// A figure over time, if it is known.
    pub fn figure(&self, figure: RunFigure) -> Option<&Series> {
        let name = figure.name();
        let series = self.figures.iter().find(|series| series.name == name)?;
        series.known().next().is_some().then_some(series)
    }
}

macro_rules! figures {
    ($($figure:ident $name:literal $unit:expr, $label:literal;)*) => {
        /// A figure over time.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum RunFigure {
            $(#[doc = $label] $figure,)*
        }

        impl RunFigure {
            /// All of them.
            pub const ALL: &[RunFigure] = &[$(RunFigure::$figure),*];

            /// Name for users.
            pub fn name(self) -> &'static str {
                match self { $(RunFigure::$figure => $name,)* }
            }

            /// Returns the unit.
            pub fn unit(self) -> Unit {
                match self { $(RunFigure::$figure => $unit,)* }
            }

            /// Name in legends.
            pub fn label(self) -> &'static str {
                match self { $(RunFigure::$figure => $label,)* }
            }
        }
    };
}

figures! {
    Tps "tps" Unit::Count("transactions/s"), "successful";
    Failed "failed" Unit::Count("transactions/s"), "failed";
    Skipped "skipped" Unit::Count("transactions/s"), "skipped";
    Retried "retried" Unit::Count("transactions/s"), "retried";
    LatencyAvg "latency_avg" Unit::Milliseconds, "mean";
    LatencyP50 "latency_p50" Unit::Milliseconds, "p50";
    LatencyP95 "latency_p95" Unit::Milliseconds, "p95";
    LatencyP99 "latency_p99" Unit::Milliseconds, "p99";
    LatencyMax "latency_max" Unit::Milliseconds, "max";
    Lag "lag" Unit::Milliseconds, "mean schedule lag";
    Wal "wal" Unit::Bytes("/s"), "WAL";
    BlocksHit "blocks_hit" Unit::Count("blocks/s"), "found in shared buffers";
    BlocksRead "blocks_read" Unit::Count("blocks/s"), "read";
    BlocksWritten "blocks_written" Unit::Count("blocks/s"), "written";
    CpuRun "cpu_run" Unit::Share(" of all CPUs"), "the run";
    CpuOther "cpu_other" Unit::Share(" of all CPUs"), "other processes";
    CpuUser "cpu_user" Unit::Share(" of all CPUs"), "user";
    CpuSystem "cpu_system" Unit::Share(" of all CPUs"), "system";
    CpuIowait "cpu_iowait" Unit::Share(" of all CPUs"), "I/O wait";
    CpuSteal "cpu_steal" Unit::Share(" of all CPUs"), "steal";
    DeviceRead "device_read" Unit::Bytes("/s"), "read";
    DeviceWrite "device_write" Unit::Bytes("/s"), "written";
}

/// Source of the data of charts; each is a query of its own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Source {
    /// The intervals of the clients.
    Intervals,
    /// The intervals of the server.
    Server,
    /// Sampled waits.
    Waits,
    /// The histogram of all latencies.
    Latencies,
    /// The histograms of the intervals.
    Heat,
    /// Figures of statements.
    Statements,
    /// The time budget.
    Budget,
    /// Sampled stacks.
    Stacks,
}

macro_rules! charts {
    ($($chart:ident $name:literal $source:ident, $title:literal, $shows:literal;)*) => {
        /// A chart of a run.
        #[derive(Clone, Copy, Debug, Eq, PartialEq)]
        pub enum RunChart {
            $(#[doc = $shows] $chart,)*
        }

        impl RunChart {
            /// All of them, in the order of a report.
            pub const ALL: &[RunChart] = &[$(RunChart::$chart),*];

            /// Name for users.
            pub fn name(self) -> &'static str {
                match self { $(RunChart::$chart => $name,)* }
            }

            /// Returns the source of its data.
            pub fn source(self) -> Source {
                match self { $(RunChart::$chart => Source::$source,)* }
            }

            /// Its title.
            pub fn title(self) -> &'static str {
                match self { $(RunChart::$chart => $title,)* }
            }

            /// Returns the description of its content.
            pub fn shows(self) -> &'static str {
                match self { $(RunChart::$chart => $shows,)* }
            }
        }
    };
}

charts! {
    Tps "tps" Intervals, "Throughput", "transactions per second over time";
    Latency "latency" Intervals, "Latency", "latency over time: median, 95th and 99th percentile, maximum";
    Waits "waits" Waits, "Waits", "what sessions waited for over time, as areas on each other";
    Wal "wal" Server, "WAL", "WAL that the server wrote over time";
    Blocks "blocks" Server, "Blocks", "blocks that the server found in shared buffers, read and wrote over time";
    Cpu "cpu" Server, "CPU", "how the server's CPUs were used over time, by the run and by others";
    Device "device" Server, "Devices", "bytes read from and written to the server's devices over time";
    Heatmap "heatmap" Heat, "Heat map of latencies", "how many transactions had which latency when";
    Distribution "distribution" Latencies, "Distribution of latencies", "how many transactions had which latency";
    Percentiles "percentiles" Latencies, "Percentiles of latency", "latency by percentile";
    Statements "statements" Statements, "Statements", "time of each statement per transaction";
    TimeBudget "time_budget" Budget, "Time budget", "the parts of the mean latency";
    FlameGraph "flamegraph" Stacks, "Flame graph", "functions on the stacks of the run's processes";
}

impl RunChart {
    /// Whether it can show two runs.
    pub fn takes_two(self) -> bool {
        !matches!(self, RunChart::Heatmap | RunChart::Statements)
    }

    /// Figures over time, named for a legend, for a chart over time of one run or of two.
    pub fn series(self, runs: &[&RunData]) -> Vec<Series> {
        match runs {
            [data] => self.series_of(data),
            _ => self.series_beside(runs),
        }
    }

    /// The most important figures of several runs. Moments of the same interval are the same.
    fn series_beside(self, runs: &[&RunData]) -> Vec<Series> {
        if self == RunChart::Waits {
            return Vec::new();
        }
        let mut of_runs: Vec<Vec<Series>> = runs.iter().map(|data| self.series_of(data)).collect();
        let has_names = of_runs.iter().any(|of_run| of_run.len() > 1);
        let mut moments: Vec<f64> = Vec::new();
        for (data, of_run) in runs.iter().zip(&mut of_runs) {
            of_run.truncate(FIGURES_OF_TWO);
            for series in of_run.iter_mut() {
                series.name = match has_names {
                    true => format!("run {}, {}", data.run_id, series.name),
                    false => data.name(),
                };
                for point in &mut series.points {
                    let same = |moment: &&f64| (**moment - point.at).abs() < SAME * point.seconds;
                    match moments.iter().find(same) {
                        Some(moment) => point.at = *moment,
                        None => moments.push(point.at),
                    }
                }
            }
        }
        of_runs.concat()
    }

    fn series_of(self, data: &RunData) -> Vec<Series> {
        if self == RunChart::Waits {
            return added_up(data.waits.clone());
        }
        // A line of zeros tells nothing beside another one.
        let may_be_zero = |figure| {
            use RunFigure::*;
            !matches!(figure, Failed | Skipped | Retried)
        };
        let knows_run = data.figure(RunFigure::CpuRun).is_some();
        let is_part = |figure| matches!(figure, RunFigure::CpuUser | RunFigure::CpuSystem);
        let named = |figure: &RunFigure| {
            let series = data.figure(*figure)?;
            // What the run and others use is that, too.
            (!is_part(*figure) || !knows_run).then_some(())?;
            let is_zero = series.known().all(|(_, range)| range.high == 0.0);
            (may_be_zero(*figure) || !is_zero).then_some(())?;
            Some(Series {
                name: figure.label().to_owned(),
                points: series.points.clone(),
            })
        };
        self.figures().iter().filter_map(named).collect()
    }

    /// The figure over time that tells most, of those that its finding is about.
    pub fn told(self, data: &RunData) -> Option<RunFigure> {
        use RunFigure::*;
        let figures: &[RunFigure] = match self {
            RunChart::Tps => &[Tps],
            RunChart::Latency => &[LatencyP99],
            RunChart::Wal => &[Wal],
            RunChart::Blocks => &[BlocksRead],
            RunChart::Cpu => &[CpuRun, CpuUser],
            RunChart::Device => &[DeviceWrite],
            _ => &[],
        };
        let known = |figure: &&RunFigure| data.figure(**figure).is_some();
        figures.iter().find(known).copied()
    }

    /// The figures that it shows over time.
    pub fn figures(self) -> &'static [RunFigure] {
        use RunFigure::*;
        match self {
            RunChart::Tps => &[Tps, Failed, Skipped, Retried],
            RunChart::Latency => &[LatencyP50, LatencyP95, LatencyP99, LatencyMax, Lag],
            RunChart::Wal => &[Wal],
            RunChart::Blocks => &[BlocksHit, BlocksRead, BlocksWritten],
            RunChart::Cpu => &[CpuRun, CpuOther, CpuUser, CpuSystem, CpuIowait, CpuSteal],
            RunChart::Device => &[DeviceRead, DeviceWrite],
            _ => &[],
        }
    }

    /// The time of the data of one run or of two.
    pub fn time(runs: &[&RunData]) -> TimeAxis {
        TimeAxis {
            from: 0.0,
            to: runs.iter().map(|data| data.time.to).fold(0.0, f64::max),
        }
    }

    /// The chart of a run's data, or of those of two runs, and what is seen in it.
    pub fn draw(self, runs: &[&RunData]) -> Chart {
        let setups: Vec<String> = runs
            .iter()
            .map(|data| format!("run {} ({})", data.run_id, data.setup))
            .collect();
        let about = About {
            title: format!("{} of {}", self.title(), setups.join(" and ")),
            finding: self.finding(runs),
        };
        let (&[data, ..], series) = (runs, self.series(runs)) else {
            return Chart::empty(&about);
        };
        let is_single = runs.len() == 1;
        let time = RunChart::time(runs);
        let spans = if is_single {
            data.spans.as_slice()
        } else {
            &[]
        };
        let unit = self.figures().first().map(|figure| figure.unit());
        match (self, unit) {
            (RunChart::Cpu, Some(unit)) if is_single => stack(&about, time, unit, &series, spans),
            (_, Some(unit)) => {
                let may_be_log = matches!(self, RunChart::Latency | RunChart::Blocks);
                lines(&about, time, unit, may_be_log, &series, spans)
            }
            (RunChart::Waits, _) if is_single => {
                stack(&about, time, Unit::Count("sessions"), &series, spans)
            }
            (RunChart::Waits, _) => {
                let part = |series: &Series| Part {
                    name: series.name.clone(),
                    value: series.mean(),
                };
                let arm = |data: &&RunData| BudgetArm {
                    name: data.name(),
                    parts: data.waits.iter().map(part).collect(),
                };
                let arms: Vec<BudgetArm> = runs.iter().map(arm).collect();
                budget(&about, Unit::Count("sessions"), &arms)
            }
            (RunChart::Heatmap, _) => heat(&about, time, spans, &data.heat),
            (RunChart::Distribution, _) => {
                let marks = if is_single { marks(data) } else { Vec::new() };
                let named: Vec<(String, &[Bin])> = runs
                    .iter()
                    .map(|data| (data.name(), data.bins.as_slice()))
                    .collect();
                distribution(&about, &named, &marks)
            }
            (RunChart::Percentiles, _) => {
                let curve = |data: &&RunData| PercentileCurve {
                    name: data.name(),
                    points: data
                        .percentiles
                        .iter()
                        .copied()
                        .filter(|(p, _)| *p < 100.0)
                        .collect(),
                };
                let curves: Vec<PercentileCurve> = runs.iter().map(curve).collect();
                percentiles(&about, &curves)
            }
            (RunChart::Statements, _) => bars(&about, Unit::Milliseconds, &data.statements),
            (RunChart::TimeBudget, _) => {
                let arm = |data: &&RunData| BudgetArm {
                    name: match is_single {
                        true => "mean latency".to_owned(),
                        false => data.name(),
                    },
                    parts: data.budget.clone(),
                };
                let arms: Vec<BudgetArm> = runs.iter().map(arm).collect();
                budget(&about, Unit::Microseconds, &arms)
            }
            _ => {
                let before = runs.get(1).map(|data| data.stacks.as_slice());
                flame(&about, &data.stacks, before)
            }
        }
    }

    /// Returns the finding: a sentence with figures, of two runs one for each.
    pub fn finding(self, runs: &[&RunData]) -> String {
        match runs {
            [data] => return self.finding_of(data),
            [data, before] if self == RunChart::FlameGraph => {
                let found = changes(&data.stacks, &before.stacks);
                let [run, of] = [data, before].map(|data| data.run_id);
                return found.map_or(NO_DATA.to_owned(), |found| {
                    format!("From run {of} to run {run}: {found}")
                });
            }
            _ => {}
        }
        let of_run = |data: &&RunData| {
            let finding = self.finding_of(data);
            // An abbreviation keeps its capitals.
            let finding = match finding.split_at_checked(1) {
                Some((first, rest)) if rest.starts_with(|c: char| c.is_lowercase()) => {
                    first.to_lowercase() + rest
                }
                _ => finding,
            };
            format!("Run {}: {finding}", data.run_id)
        };
        runs.iter().map(of_run).collect::<Vec<_>>().join(" ")
    }

    fn finding_of(self, data: &RunData) -> String {
        let found = match self {
            RunChart::Tps => mean_course(data, RunFigure::Tps, "throughput"),
            RunChart::Latency => {
                // The percentile of all transactions is no mean of those of intervals.
                let whole = data
                    .percentiles
                    .iter()
                    .find(|(percentile, _)| *percentile == 99.0);
                let p99 = RunFigure::LatencyP99;
                let p99 = course(
                    data,
                    p99,
                    "the 99th percentile",
                    "of all transactions",
                    whole.map(|(_, ms)| *ms),
                );
                let max = data.figure(RunFigure::LatencyMax).and_then(highest);
                max.map(|(at, ms)| {
                    let ms = Unit::Milliseconds.with(ms);
                    format!(
                        "{} The longest transaction took {ms}, at {}.",
                        p99.unwrap_or_default(),
                        data.time.scale().moment(at)
                    )
                })
            }
            RunChart::Waits => most_waits(data),
            RunChart::Wal | RunChart::Blocks | RunChart::Cpu | RunChart::Device => {
                self.told(data).and_then(|figure| {
                    let name = match figure {
                        RunFigure::Wal => "WAL",
                        RunFigure::BlocksRead => "blocks read",
                        RunFigure::CpuRun => "processes of the run",
                        RunFigure::CpuUser => "user time",
                        _ => "writes",
                    };
                    mean_course(data, figure, name)
                })
            }
            RunChart::Heatmap | RunChart::Distribution | RunChart::Percentiles => spread(data),
            RunChart::Statements => longest(data),
            RunChart::TimeBudget => largest(data),
            RunChart::FlameGraph => {
                let samples: u64 = data.stacks.iter().map(|(_, samples)| samples).sum();
                (samples > 0).then(|| {
                    format!(
                        "{} samples of {} different stacks.",
                        thousands(&samples.to_string()),
                        thousands(
                            &data
                                .stack_count
                                .unwrap_or(data.stacks.len() as i64)
                                .to_string()
                        )
                    )
                })
            }
        };
        found.unwrap_or_else(|| NO_DATA.to_owned())
    }
}

/// The percentiles that the distribution marks.
fn marks(data: &RunData) -> Vec<(String, f64)> {
    let name = |percentile: f64| match percentile {
        100.0 => "max".to_owned(),
        percentile => format!("p{percentile}"),
    };
    let is_marked =
        |(percentile, _): &&(f64, f64)| [50.0, 95.0, 99.0, 99.9, 100.0].contains(percentile);
    let marked = data.percentiles.iter().filter(is_marked);
    marked
        .map(|(percentile, ms)| (name(*percentile), *ms))
        .collect()
}

/// The highest value of a series and when it was.
fn highest(series: &Series) -> Option<(f64, f64)> {
    let values = series.known().map(|(at, range)| (at, range.high));
    values.max_by(|a, b| a.1.total_cmp(&b.1))
}

fn lowest(series: &Series) -> Option<(f64, f64)> {
    let values = series.known().map(|(at, range)| (at, range.low));
    values.min_by(|a, b| a.1.total_cmp(&b.1))
}

/// Mean and extremes of a figure over time.
fn mean_course(data: &RunData, of: RunFigure, name: &str) -> Option<String> {
    course(data, of, name, "on average", data.figure(of)?.mean())
}

/// Figure of the whole run, if that is known, and its extremes.
fn course(
    data: &RunData,
    of: RunFigure,
    name: &str,
    how: &str,
    whole: Option<f64>,
) -> Option<String> {
    let series = data.figure(of)?;
    let ((low_at, low), (high_at, high)) = (lowest(series)?, highest(series)?);
    let (unit, time) = (of.unit(), data.time.scale());
    let name: String = name[..1].to_uppercase() + &name[1..];
    let whole = whole.map(|value| format!("{} {how}", unit.with(value)));
    let (low, high) = (unit.with(low), unit.with(high));
    if low == high {
        return Some(format!("{name}: {}.", whole.unwrap_or(low)));
    }
    let whole = whole.map(|whole| whole + ", ").unwrap_or_default();
    let low_at = match low_at == high_at {
        true => String::new(),
        false => format!(" at {}", time.moment(low_at)),
    };
    let high_at = time.moment(high_at);
    Some(format!(
        "{name}: {whole}from {low}{low_at} to {high} at {high_at}."
    ))
}

fn most_waits(data: &RunData) -> Option<String> {
    let most = data.waits.iter().take(3);
    let parts: Vec<String> = most
        .filter_map(|series| Some(format!("{} {}", series.name, figure(series.mean()?))))
        .collect();
    (!parts.is_empty()).then(|| format!("Sessions on average: {}.", parts.join(", ")))
}

fn spread(data: &RunData) -> Option<String> {
    let parts: Vec<String> = marks(data)
        .iter()
        .map(|(name, ms)| format!("{name} {}", Unit::Milliseconds.with(*ms)))
        .collect();
    (!parts.is_empty()).then(|| format!("Latency: {}.", parts.join(", ")))
}

fn longest(data: &RunData) -> Option<String> {
    let known = data.statements.iter().filter(|bar| bar.value.is_some());
    let longest = known.max_by(|a, b| a.value.unwrap_or(0.0).total_cmp(&b.value.unwrap_or(0.0)))?;
    let name = shortened(&longest.name, 60);
    let ms = Unit::Milliseconds.with(longest.value?);
    Some(format!(
        "Most time was spent in {name}: {ms} per transaction."
    ))
}

fn largest(data: &RunData) -> Option<String> {
    let known = || {
        data.budget
            .iter()
            .filter_map(|part| Some((&part.name, part.value?)))
    };
    let total: f64 = known().map(|(_, us)| us).sum();
    let (name, us) = known().max_by(|a, b| a.1.total_cmp(&b.1))?;
    Some(format!(
        "Of {} on average, the largest part is {name}: {} ({}).",
        Unit::Microseconds.with(total),
        Unit::Microseconds.with(us),
        Unit::Share("").with(us / total)
    ))
}

/// A point of the time from `from` to `to` with the lowest, mean and highest value; `None` if one of them is not
/// known.
pub fn point(from: f64, to: f64, [low, mean, high]: [Option<f64>; 3]) -> Point {
    let value = match (low, mean, high) {
        (Some(low), Some(mean), Some(high)) => Some(Range { low, mean, high }),
        _ => None,
    };
    Point {
        at: (from + to) / 2.0,
        seconds: to - from,
        value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A figure of 1,000 for 9.9 s, and of 0 for 0.1 s.
    fn data(figure: RunFigure, to: f64) -> RunData {
        let at = |from: f64, to, [low, mean, high]: [f64; 3]| {
            point(from, to, [Some(low), Some(mean), Some(high)])
        };
        RunData {
            time: TimeAxis { from: 0.0, to },
            figures: vec![Series {
                name: figure.name().to_owned(),
                points: vec![
                    at(0.0, 9.9, [900.0, 1000.0, 1100.0]),
                    at(9.9, 10.0, [0.0, 0.0, 0.0]),
                ],
            }],
            ..RunData::default()
        }
    }

    #[test]
    fn means_are_weighted_by_time() {
        let data = data(RunFigure::Tps, 10.0);
        assert_eq!(
            RunChart::Tps.finding(&[&data]),
            "Throughput: 990 transactions/s on average, from 0 transactions/s at 9.95 s to 1,100 transactions/s \
             at 4.95 s."
        );
        let waits = RunData {
            waits: data.figures,
            ..RunData::default()
        };
        assert_eq!(
            RunChart::Waits.finding(&[&waits]),
            "Sessions on average: tps 990."
        );
    }

    #[test]
    fn extremes_that_are_printed_alike_are_left_out() {
        let mut data = data(RunFigure::Tps, 10.0);
        data.figures[0].points = vec![point(
            0.0,
            10.0,
            [Some(999.9999), Some(1000.0), Some(1000.0001)],
        )];
        assert_eq!(
            RunChart::Tps.finding(&[&data]),
            "Throughput: 1,000 transactions/s on average."
        );
    }

    #[test]
    fn two_runs_are_drawn_from_the_end_of_their_warm_up() {
        let one = RunData {
            run_id: 2,
            label: "a".repeat(50),
            ..data(RunFigure::Tps, 10.0)
        };
        let mut other = data(RunFigure::Tps, 15.0);
        other.run_id = 1;
        other.spans = vec![Span {
            kind: SpanKind::WarmUp,
            from: 0.0,
            to: 5.0,
        }];
        for point in &mut other.figures[0].points {
            point.at += 5.001;
        }
        let runs = [one.since_warm_up(), other.since_warm_up()];
        let runs = [&runs[0], &runs[1]];
        let series = RunChart::Tps.series(&runs);
        let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
        assert_eq!(
            names,
            [format!("run 2: {}...", "a".repeat(37)).as_str(), "run 1"]
        );
        // Clocks that differ by less than a part of an interval do not make other moments.
        let times = |series: &Series| series.points.iter().map(|p| p.at).collect::<Vec<_>>();
        assert_eq!(times(&series[0]), times(&series[1]));
        assert_eq!(RunChart::time(&runs).to, 10.0);
        assert!(
            RunChart::Tps
                .finding(&runs)
                .contains(". Run 1: throughput: 990 ")
        );
        let title = &RunChart::Tps.draw(&runs).about().title.clone();
        assert_eq!(title, "Throughput of run 2 () and run 1 ()");
    }

    #[test]
    fn percentiles_are_those_of_all_transactions() {
        let mut data = data(RunFigure::LatencyP99, 1800.0);
        data.figures.push(Series {
            name: RunFigure::LatencyMax.name().to_owned(),
            ..data.figures[0].clone()
        });
        data.percentiles = vec![(99.0, 16.3)];
        assert_eq!(
            RunChart::Latency.finding(&[&data]),
            "The 99th percentile: 16.3 ms of all transactions, from 0 ms at 9.95 s to 1,100 ms at 4.95 s. \
             The longest transaction took 1,100 ms, at 4.95 s."
        );
    }

    /// Figures with the same value all the time.
    fn flat(values: &[(RunFigure, f64)]) -> RunData {
        let series = |(figure, value): &(RunFigure, f64)| Series {
            name: figure.name().to_owned(),
            points: vec![
                point(0.0, 1.0, [Some(*value); 3]),
                point(1.0, 2.0, [Some(*value); 3]),
            ],
        };
        RunData {
            time: TimeAxis { from: 0.0, to: 2.0 },
            figures: values.iter().map(series).collect(),
            ..RunData::default()
        }
    }

    #[test]
    fn series_that_are_far_from_each_other_have_a_log_axis() {
        let is_log = |failed: f64| {
            let data = flat(&[(RunFigure::Tps, 1000.0), (RunFigure::Failed, failed)]);
            RunChart::Tps.draw(&[&data]).alone().contains("log scale")
        };
        assert!(is_log(99.0) && !is_log(101.0) && !is_log(0.0));
        let data = flat(&[(RunFigure::DeviceRead, 1.0), (RunFigure::DeviceWrite, 11.0)]);
        assert!(
            RunChart::Device
                .draw(&[&data])
                .alone()
                .contains("log scale")
        );
    }

    #[test]
    fn lag_retries_and_failures_are_drawn() {
        use RunFigure::*;
        let names = |chart: RunChart, values: &[(RunFigure, f64)]| {
            let series = chart.series(&[&flat(values)]).into_iter();
            series
                .map(|series| series.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let counts = |count| [Tps, Failed, Skipped, Retried].map(|figure| (figure, count));
        assert_eq!(
            names(RunChart::Tps, &counts(1.0)),
            "successful, failed, skipped, retried"
        );
        assert_eq!(names(RunChart::Tps, &counts(0.0)), "successful");
        assert_eq!(
            names(RunChart::Latency, &[(LatencyP50, 1.0), (Lag, 0.5)]),
            "p50, mean schedule lag"
        );
        let cpus = [CpuRun, CpuOther, CpuUser, CpuSystem, CpuIowait].map(|figure| (figure, 0.1));
        assert_eq!(
            names(RunChart::Cpu, &cpus),
            "the run, other processes, I/O wait"
        );
        assert_eq!(names(RunChart::Cpu, &cpus[2..]), "user, system, I/O wait");
    }

    #[test]
    fn names_of_spans_are_beside_the_unit() {
        let mut data = flat(&[(RunFigure::Tps, 1.0)]);
        let kinds = [
            SpanKind::Stall,
            SpanKind::Checkpoint,
            SpanKind::Autovacuum,
            SpanKind::WarmUp,
        ];
        let drawn = kinds.map(|kind| {
            data.spans.push(Span {
                kind,
                from: 0.0,
                to: 1.0,
            });
            let chart = RunChart::Tps.draw(&[&data]).alone();
            (
                chart.contains("class=\"legend end\""),
                chart.contains("class=\"legend\""),
            )
        });
        // As many as a narrow page has place for.
        assert_eq!(
            drawn,
            [(true, false), (true, false), (true, false), (false, true)]
        );
    }
}
