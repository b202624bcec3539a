//! Charts of a run in its report, with the figures that they draw.

use crate::content::{Block, Picture, Row, Table};
use selfbench_chart::Series;
use selfbench_chart::run::{RunChart, RunData};
use serde_json::{Number, Value};
use std::collections::BTreeMap;

/// The charts of a run that have something to draw.
pub(crate) struct Pictures<'a> {
    /// What is drawn.
    pub data: &'a RunData,
    /// Which there are.
    pub charts: &'a [RunChart],
}

impl Pictures<'_> {
    /// Those of these charts that there are.
    pub fn of(&self, wanted: &[RunChart]) -> Vec<Block> {
        let drawn = wanted.iter().filter(|chart| self.charts.contains(chart));
        drawn
            .map(|chart| Block::Chart(self.picture(*chart)))
            .collect()
    }

    fn picture(&self, chart: RunChart) -> Picture {
        let series = chart.series(self.data);
        let table = (!series.is_empty()).then(|| Table {
            caption: format!("{}: as drawn", chart.title()),
            rows: rows(&series),
            query: all_rows(chart, self.data.run_id).unwrap_or_default(),
            is_cut: false,
        });
        Picture {
            chart: chart.draw(self.data),
            table,
            query: format!(
                "SELECT bench.chart({}, '{}')",
                self.data.run_id,
                chart.name()
            ),
        }
    }
}

/// A query for all figures of a chart over time.
fn all_rows(chart: RunChart, run_id: i64) -> Option<String> {
    let table = match chart {
        RunChart::Tps | RunChart::Latency => "run_intervals",
        RunChart::Waits => "run_waits",
        RunChart::Wal | RunChart::Blocks | RunChart::Cpu | RunChart::Device => {
            "run_server_intervals"
        }
        _ => return None,
    };
    Some(format!(
        "SELECT * FROM bench.{table} WHERE run_id = {run_id} ORDER BY interval_no"
    ))
}

/// The values of series as rows, one for each moment; where a moment stands for several intervals, with
/// their lowest and highest values.
fn rows(series: &[Series]) -> Vec<Row> {
    let moments = series.iter().flat_map(|series| &series.points);
    // Times are not negative, so their bits are in the same order.
    let mut by_time: BTreeMap<u64, Row> = moments
        .map(|point| {
            let seconds = ("seconds".to_owned(), number(Some(point.at)));
            (point.at.max(0.0).to_bits(), Row(vec![seconds]))
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
        for (time, row) in &mut by_time {
            let range = values.get(time).copied().flatten();
            let mean = number(range.map(|range| range.mean));
            row.0.push((series.name.clone(), mean));
            if has_range {
                for (end, value) in [
                    ("low", range.map(|r| r.low)),
                    ("high", range.map(|r| r.high)),
                ] {
                    row.0
                        .push((format!("{}, {end}", series.name), number(value)));
                }
            }
        }
    }
    by_time.into_values().collect()
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
    use selfbench_chart::{Point, Range};

    #[test]
    fn rows_have_the_values_of_all_series() {
        let point = |at: f64, value: Option<Range>| Point { at, value };
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
        let rows = rows(&series);
        let printed: Vec<String> = rows
            .iter()
            .map(|row| {
                let cells: Vec<String> = row
                    .0
                    .iter()
                    .map(|(name, value)| print(name, value))
                    .collect();
                cells.join(" ")
            })
            .collect();
        assert_eq!(
            printed,
            [
                "0 2.000 1.000 4.000 -",
                "1.000 - - - 3.000",
                "2.000 - - - 5.000"
            ]
        );
    }
}
