//! Charts of a run, or of two, in a report, with the figures that they draw. Statements, the time budget and the flame
//! graph stand beside tables of their own.

use crate::content::{Block, Picture, Row, Table};
use selfbench_chart::run::{RunChart, RunData};
use selfbench_chart::{Bin, Series, TimeAxis};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// The charts of one run, or of two, that have something to draw.
pub(crate) struct Pictures<'a> {
    /// Data of each run.
    pub runs: &'a [&'a RunData],
    /// Charts with data.
    pub charts: &'a [RunChart],
}

impl Pictures<'_> {
    /// The wanted charts that have data.
    pub fn of(&self, wanted: &[RunChart]) -> Vec<Block> {
        let drawn = wanted.iter().filter(|chart| self.charts.contains(chart));
        drawn
            .map(|chart| Block::Chart(self.picture(*chart)))
            .collect()
    }

    fn picture(&self, chart: RunChart) -> Picture {
        let picture = chart.draw(self.runs);
        let drawn = match (chart, self.runs) {
            (RunChart::Distribution, [data]) => bins(data),
            (RunChart::Distribution, runs) => shares(runs),
            (RunChart::Percentiles, runs) => percentiles(runs),
            (RunChart::Heatmap, [data]) => cells(data),
            (_, runs) => rows(&chart.series(runs), RunChart::time(runs), picture.unit()),
        };
        let run_ids: Vec<String> = self
            .runs
            .iter()
            .map(|data| data.run_id.to_string())
            .collect();
        let columns = drawn.first().map_or(0, |row| row.0.len());
        let table = (columns > 0).then(|| Table {
            caption: format!("{}: as drawn", chart.title()),
            numbers: vec![true; columns],
            rows: drawn,
            query: all_rows(chart, &run_ids).unwrap_or_default(),
            is_cut: false,
        });
        Picture {
            chart: picture,
            table,
            query: match run_ids.as_slice() {
                [run_id, against] => format!(
                    "SELECT bench.chart({run_id}, '{}', against => {against})",
                    chart.name()
                ),
                run_ids => format!(
                    "SELECT bench.chart({}, '{}')",
                    run_ids.concat(),
                    chart.name()
                ),
            },
            plot: match self.runs {
                [data] => chart.told(data).map(|of| Box::new(data.plot(of))),
                _ => None,
            },
        }
    }
}

/// A query for all that a chart is drawn from; of charts beside a table of their own, there is none.
fn all_rows(chart: RunChart, run_ids: &[String]) -> Option<String> {
    let (of_runs, run_id) = match run_ids {
        [run_id] => (format!("run_id = {run_id}"), ""),
        run_ids => (format!("run_id IN ({})", run_ids.join(", ")), "run_id, "),
    };
    let table = match chart {
        RunChart::Tps | RunChart::Latency => "run_intervals",
        RunChart::Waits => "run_waits",
        RunChart::Wal | RunChart::Blocks | RunChart::Cpu | RunChart::Device => {
            "run_server_intervals"
        }
        RunChart::Distribution | RunChart::Percentiles => {
            return Some(format!(
                "SELECT {run_id}p AS percentile, bench.percentile(histogram, p) AS ms \
                 FROM bench.runs, generate_series(0, 100, 0.1) p WHERE {of_runs} ORDER BY {run_id}p"
            ));
        }
        RunChart::Heatmap => {
            return Some(format!(
                "SELECT begins_s, p AS percentile, bench.percentile(histogram, p) AS ms \
                 FROM bench.run_intervals, generate_series(0, 100, 5) p WHERE {of_runs} \
                 ORDER BY interval_no, p"
            ));
        }
        _ => return None,
    };
    Some(format!(
        "SELECT * FROM bench.{table} WHERE {of_runs} ORDER BY {run_id}interval_no"
    ))
}

/// The distribution of latencies, with the shares that are drawn.
fn bins(data: &RunData) -> Vec<Row> {
    let all: u64 = data.bins.iter().map(|bin| bin.count).sum();
    let row = |bin: &Bin| {
        let share = bin.count as f64 / all.max(1) as f64;
        Row(vec![
            ("from_ms".into(), number(Some(bin.from_ms))),
            ("to_ms".into(), number(Some(bin.to_ms))),
            ("transactions".into(), bin.count.into()),
            ("share".into(), number(Some(share))),
        ])
    };
    data.bins.iter().map(row).collect()
}

/// The distributions of latencies of several runs, which have the same bins: shares.
fn shares(runs: &[&RunData]) -> Vec<Row> {
    let of_runs: Vec<Vec<Row>> = runs.iter().map(|data| bins(data)).collect();
    let mut rows: Vec<Row> = of_runs.first().cloned().unwrap_or_default();
    for (at, row) in rows.iter_mut().enumerate() {
        row.0.truncate(2);
        for (data, of_run) in runs.iter().zip(&of_runs) {
            let share = of_run.get(at).and_then(|row| row.number("share"));
            row.0
                .push((format!("run {} share", data.run_id), number(share)));
        }
    }
    rows
}

/// Latencies by percentile, a column for each run.
fn percentiles(runs: &[&RunData]) -> Vec<Row> {
    // As texts, they have as many nines as they need; the bits of positive numbers are in the same order.
    let all = runs.iter().flat_map(|data| &data.percentiles);
    let by_percentile: BTreeMap<u64, f64> = all.map(|(p, _)| (p.to_bits(), *p)).collect();
    let row = |percentile: f64| {
        let ms = |data: &&RunData| {
            let name = match runs.len() {
                1 => "ms".to_owned(),
                _ => format!("run {} ms", data.run_id),
            };
            let found = data.percentiles.iter().find(|(p, _)| *p == percentile);
            (name, number(found.map(|(_, ms)| *ms)))
        };
        let mut row = vec![("percentile".into(), percentile.to_string().into())];
        row.extend(runs.iter().map(ms));
        Row(row)
    };
    by_percentile.into_values().map(row).collect()
}

/// Latencies over time: a row for each moment and range of latencies that has transactions. As columns,
/// the ranges would be wider than paper.
fn cells(data: &RunData) -> Vec<Row> {
    let heat = &data.heat;
    let moments = heat.times.windows(2).zip(&heat.counts);
    moments
        .flat_map(|(times, counts)| {
            let at = moment((times[0] + times[1]) / 2.0, data.time);
            let ranges = heat.latencies_ms.windows(2).zip(counts);
            let used = ranges.filter(|(_, count)| **count > 0);
            used.map(move |(range, count)| {
                Row(vec![
                    at.clone(),
                    ("from_ms".into(), number(Some(range[0]))),
                    ("to_ms".into(), number(Some(range[1]))),
                    ("transactions".into(), (*count).into()),
                ])
            })
        })
        .collect()
}

/// The values of series as rows, one for each moment; where a moment stands for several intervals, with
/// their lowest and highest values. They have the unit of the drawing, which columns name.
fn rows(series: &[Series], time: TimeAxis, unit: Option<(f64, &str)>) -> Vec<Row> {
    let (divisor, unit) = unit.unwrap_or((1.0, ""));
    let moments = series.iter().flat_map(|series| &series.points);
    // Times are not negative, so their bits are in the same order.
    let mut by_time: BTreeMap<u64, Row> = moments
        .map(|point| {
            let at = moment(point.at, time);
            (point.at.max(0.0).to_bits(), Row(vec![at]))
        })
        .collect();
    for series in series {
        let ranges = series.points.iter().filter_map(|point| point.value);
        let has_range = ranges.clone().any(|range| range.low < range.high);
        let values: BTreeMap<u64, _> = series
            .points
            .iter()
            .map(|point| (point.at.max(0.0).to_bits(), point.value))
            .collect();
        let name = match unit {
            "" => series.name.clone(),
            unit => format!("{} ({unit})", series.name),
        };
        let drawn = |value: Option<f64>| number(value.map(|value| value / divisor));
        for (time, row) in &mut by_time {
            let range = values.get(time).copied().flatten();
            let mean = drawn(range.map(|range| range.mean));
            row.0.push((name.clone(), mean));
            if has_range {
                for (end, value) in [
                    ("low", range.map(|r| r.low)),
                    ("high", range.map(|r| r.high)),
                ] {
                    row.0.push((format!("{name}, {end}"), drawn(value)));
                }
            }
        }
    }
    by_time.into_values().collect()
}

/// A moment in the unit of its axis, which the column names.
fn moment(at: f64, time: TimeAxis) -> (String, Value) {
    let (seconds, unit) = time.unit();
    (format!("time ({unit})"), number(Some(at / seconds)))
}

fn number(value: Option<f64>) -> Value {
    value
        .and_then(Number::from_f64)
        .map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::print;
    use selfbench_chart::{HeatMap, Point, Range};

    fn printed(rows: &[Row]) -> Vec<String> {
        let cell = |(name, value): &(String, Value)| print(name, value);
        let line = |row: &Row| row.0.iter().map(cell).collect::<Vec<_>>().join(" ");
        rows.iter().map(line).collect()
    }

    #[test]
    fn charts_of_latencies_have_their_figures() {
        let data = RunData {
            bins: [(1.0, 3), (2.0, 1)]
                .map(|(from_ms, count)| Bin {
                    from_ms,
                    to_ms: 2.0 * from_ms,
                    count,
                })
                .to_vec(),
            percentiles: vec![(50.0, 1.5), (99.99, 2.0)],
            time: TimeAxis { from: 0.0, to: 2.0 },
            heat: HeatMap {
                times: vec![0.0, 1.0, 2.0],
                latencies_ms: vec![1.0, 2.0, 4.0],
                counts: vec![vec![3, 0], vec![0, 7]],
            },
            ..RunData::default()
        };
        assert_eq!(
            printed(&bins(&data)),
            ["1.000 2.000 3 75.0 %", "2.000 4.000 1 25.0 %"]
        );
        assert_eq!(printed(&percentiles(&[&data])), ["50 1.500", "99.99 2.000"]);
        assert_eq!(
            printed(&cells(&data)),
            ["0.500 1.000 2.000 3", "1.500 2.000 4.000 7"]
        );
    }

    #[test]
    fn rows_have_the_values_of_all_series() {
        let point = |at: f64, value: Option<Range>| Point {
            at,
            seconds: 1.0,
            value,
        };
        let wide = Range {
            low: 1.0,
            mean: 2.0,
            high: 4.0,
        };
        let series = [
            Series {
                name: "a".into(),
                points: vec![point(0.0, Some(wide)), point(1.0, None)],
            },
            Series {
                name: "b".into(),
                points: vec![
                    point(1.0, Some(Range::of(3.0))),
                    point(2.0, Some(Range::of(5.0))),
                ],
            },
        ];
        let time = |to| TimeAxis { from: 0.0, to };
        let hours = rows(&series, time(36_000.0), Some((0.5, "kB/s")));
        assert_eq!(hours[1].0[0].0, "time (h)");
        assert_eq!(printed(&hours)[1], "0.000278 - - - 6.000");
        let rows = rows(&series, time(3.0), Some((0.5, "kB/s")));
        let heads: Vec<_> = rows[0].0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            heads,
            [
                "time (s)",
                "a (kB/s)",
                "a (kB/s), low",
                "a (kB/s), high",
                "b (kB/s)"
            ]
        );
        assert_eq!(
            printed(&rows),
            [
                "0 4.000 2.000 8.000 -",
                "1.000 - - - 6.000",
                "2.000 - - - 10.00"
            ]
        );
    }
}
