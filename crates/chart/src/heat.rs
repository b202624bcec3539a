//! Latencies over time: how many transactions had which latency when.

use crate::chart::{AXIS_HEIGHT, About, Area, Axes, Chart, UNIT_HEIGHT};
use crate::legend;
use crate::number::Unit;
use crate::scale::{Scale, TIME_TICKS, time_ticks};
use crate::series::{Span, SpanKind, TimeAxis};
use crate::svg::{Path, WIDTH};
use crate::timeline::{STRIP, entries, kinds, span_marks};
use maud::html;

/// Height of the marks.
const HEIGHT: f64 = 260.0;

/// Shades that can be told apart.
const SHADES: usize = 8;

/// Counts by time and latency.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeatMap {
    /// Begin of each column in seconds, and end of the last one; one more than columns.
    pub times: Vec<f64>,
    /// The bounds of the rows in milliseconds, rising; one more than rows.
    pub latencies_ms: Vec<f64>,
    /// The counts of each column, by row.
    pub counts: Vec<Vec<u64>>,
}

/// The fraction of the transactions above which they are outliers.
const OUTLIERS: f64 = 0.99;

/// The lowest row in which all transactions are outliers.
fn outliers_from(counts: &[Vec<u64>]) -> usize {
    let all: u64 = counts.iter().flatten().sum();
    let rows = counts.iter().map(Vec::len).max().unwrap_or(0);
    let mut below = 0;
    for row in 0..rows {
        if below as f64 >= OUTLIERS * all as f64 {
            return row;
        }
        below += counts
            .iter()
            .filter_map(|column| column.get(row))
            .sum::<u64>();
    }
    rows
}

/// A map of shades: the stronger, the more transactions of that time had that latency. Shades are on a log
/// scale, and outliers have an outline, so that single slow transactions are seen. Of the spans, only the one that a canceled run did not have
/// is marked: others would be behind the shades.
pub fn heat(about: &About, time: TimeAxis, spans: &[Span], map: &HeatMap) -> Chart {
    let highest = map.counts.iter().flatten().copied().max().unwrap_or(0);
    let up = Scale::log(map.latencies_ms.iter().copied());
    if highest == 0 || !up.is_log() {
        return Chart::empty(about);
    }
    // The axis ends where the rows end.
    let (Some(from), Some(to)) = (map.latencies_ms.first(), map.latencies_ms.last()) else {
        return Chart::empty(about);
    };
    let up = Scale::Log {
        from: *from,
        to: *to,
        zero: 0.0,
    };
    let time = time.checked();
    let across = Scale::Linear {
        from: time.from,
        to: time.to,
    };
    let is_marked = |span: &&Span| span.kind == SpanKind::Canceled;
    let spans: Vec<Span> = spans.iter().filter(is_marked).copied().collect();
    let kinds = kinds(&spans);
    let entries = entries(&[], &kinds);
    let strips = kinds.len() as f64 * STRIP;
    let area = Area {
        top: legend::height(&entries) + UNIT_HEIGHT + strips,
        height: HEIGHT,
        strips,
    };
    let outliers_from = outliers_from(&map.counts);
    // The shades of cells, and of outliers.
    let mut shades: Vec<Path> = (0..2 * SHADES).map(|_| Path::default()).collect();
    let mut used = [false; 2 * SHADES];
    let steps = (highest as f64).ln_1p();
    for (column, times) in map.counts.iter().zip(map.times.windows(2)) {
        let (left, right) = (across.at(times[0]) * WIDTH, across.at(times[1]) * WIDTH);
        for (row, (count, bounds)) in column.iter().zip(map.latencies_ms.windows(2)).enumerate() {
            if *count == 0 {
                continue;
            }
            let shade = ((*count as f64).ln_1p() / steps * SHADES as f64).ceil() as usize;
            let is_outlier = row >= outliers_from;
            let shade = shade.clamp(1, SHADES) - 1 + if is_outlier { SHADES } else { 0 };
            let (bottom, top) = (up.at(bounds[0]), up.at(bounds[1]));
            let y = area.height * (1.0 - top);
            shades[shade].rect(left, y, right - left, area.height * (top - bottom));
            used[shade] = true;
        }
    }
    let (ticks, of_time) = time_ticks(time.from, time.to, TIME_TICKS);
    let (divisor, unit) = Unit::Milliseconds.of((from * to).sqrt());
    let marks = html! {
        @if !spans.is_empty() {
            (legend::draw(&entries, 0.0))
            (span_marks(&area, &across, &spans, &kinds))
        }
        (area.left_axis(&up.ticks(5.0, divisor), &format!("{unit}, log scale; stronger color: more transactions")))
        (area.marks(html! {
            @for (i, path) in shades.iter().enumerate().filter(|(i, _)| used[*i]) {
                path.cell.{ "h" (i % SHADES + 1) }.out[i >= SHADES] d=(path) {}
            }
        }))
        (area.bottom_axis(&ticks, &format!("time, {of_time}")))
    };
    Chart::new(about, area.bottom() + AXIS_HEIGHT, marks).over(Axes {
        up: Some((*from, *to, area)),
        ..time.axes()
    })
}
