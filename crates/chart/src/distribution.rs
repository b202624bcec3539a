//! Latencies of all transactions: their distribution, and the curve of their percentiles.

use crate::chart::{AXIS_HEIGHT, About, Area, Axes, Chart, UNIT_HEIGHT};
use crate::color::color;
use crate::legend;
use crate::marks::{Mark, Marks};
use crate::number::Unit;
use crate::scale::{Scale, Tick};
use crate::svg::{Path, WIDTH};
use maud::html;

/// Height of the marks.
const HEIGHT: f64 = 260.0;

/// Number of latencies in a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// The lowest latency, in milliseconds.
    pub from_ms: f64,
    /// The highest latency.
    pub to_ms: f64,
    /// Number of them.
    pub count: u64,
}

/// The distribution of latencies on a log axis; bins are equally wide there. Those of several runs, which are named
/// and have the same bins, are outlines. `marks` are latencies in milliseconds with a name, such as p99.
pub fn distribution(about: &About, runs: &[(String, &[Bin])], marks: &[(String, f64)]) -> Chart {
    let used = || {
        let bins = runs.iter().flat_map(|(_, bins)| bins.iter());
        bins.filter(|bin| bin.count > 0)
    };
    let bounds = used().flat_map(|bin| [bin.from_ms, bin.to_ms]);
    let across = Scale::log(bounds.chain(marks.iter().map(|(_, ms)| *ms)));
    let Scale::Log { from, to, .. } = across else {
        return Chart::empty(about);
    };
    if used().next().is_none() {
        return Chart::empty(about);
    }
    let shares = |bins: &[Bin]| -> Vec<f64> {
        let total: u64 = bins.iter().map(|bin| bin.count).sum();
        let total = total.max(1) as f64;
        bins.iter().map(|bin| bin.count as f64 / total).collect()
    };
    let up = Scale::from_zero(runs.iter().flat_map(|(_, bins)| shares(bins)));
    let entries = legend::of(runs.iter().map(|(name, _)| name.as_str()));
    let name = |(name, ms): &(String, f64)| Mark {
        at: *ms,
        name: format!("{name} {}", Unit::Milliseconds.with(*ms)),
        says: String::new(),
    };
    let marks = Marks::of(&across, marks.iter().map(name));
    let area = Area {
        top: legend::height(&entries) + UNIT_HEIGHT + marks.height(),
        height: HEIGHT,
        strips: marks.height(),
    };
    let path = |bins: &[Bin]| {
        let mut path = Path::default();
        let mut outline = Vec::new();
        for (bin, share) in bins.iter().zip(shares(bins)) {
            let (from, to) = (across.at(bin.from_ms), across.at(bin.to_ms));
            let height = area.height * up.at(share);
            let y = area.height - height;
            match runs {
                [_] if bin.count > 0 => path.rect(WIDTH * from, y, WIDTH * (to - from), height),
                [_] => {}
                _ if (0.0..=1.0).contains(&from) => {
                    outline.extend([(WIDTH * from, y), (WIDTH * to, y)])
                }
                _ => {}
            }
        }
        // An outline ends where there are none.
        let ends = [outline.first(), outline.last()].map(|end| end.map(|(x, _)| (*x, area.height)));
        path.line(ends[0].into_iter().chain(outline).chain(ends[1]));
        path
    };
    let (divisor, unit) = Unit::Milliseconds.of(middle(&across));
    let (percent, _) = Unit::Share("").of(1.0);
    let mark = if runs.len() == 1 { "fill" } else { "line" };
    let drawn = html! {
        (legend::draw(&entries, 0.0))
        (area.left_axis(&up.ticks(4.0, percent), "% of transactions"))
        (area.marks(html! {
            @for (i, (_, bins)) in runs.iter().enumerate() {
                path.(mark).(color(i)) d=(path(bins)) {}
            }
        }))
        (marks.draw(&area))
        (area.bottom_axis(&across.ticks(6.0, divisor), &format!("latency, {unit}, log scale")))
    };
    Chart::new(about, area.bottom() + AXIS_HEIGHT, drawn).over(Axes {
        across: (from, to),
        scale: Some("log"),
        unit: None,
        up: None,
    })
}

/// The middle of a log axis, whose magnitude its unit fits.
fn middle(scale: &Scale) -> f64 {
    match *scale {
        Scale::Log { from, to, .. } => (from * to).sqrt(),
        Scale::Linear { to, .. } => to,
    }
}

/// Latencies by percentile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PercentileCurve {
    /// Name in the legend.
    pub name: String,
    /// Percentiles below 100, rising, with the latency in milliseconds.
    pub points: Vec<(f64, f64)>,
}

/// Latencies by percentile, on an axis where each nine takes the same width.
pub fn percentiles(about: &About, curves: &[PercentileCurve]) -> Chart {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let values: Vec<f64> = points()
        .map(|(_, ms)| *ms)
        .filter(|ms| ms.is_finite())
        .collect();
    if values.is_empty() {
        return Chart::empty(about);
    }
    let nines = |percentile: f64| -(1.0 - percentile.clamp(0.0, 99.99999) / 100.0).log10();
    let most = points()
        .map(|(percentile, _)| nines(*percentile))
        .fold(1.0, f64::max);
    let across = Scale::Linear {
        from: 0.0,
        to: most,
    };
    let up = Scale::fitting(&values, 20.0);
    let entries = legend::of(curves.iter().map(|curve| curve.name.as_str()));
    let area = Area {
        top: legend::height(&entries) + UNIT_HEIGHT,
        height: HEIGHT,
        strips: 0.0,
    };
    let path = |curve: &PercentileCurve| {
        let mut path = Path::default();
        let known = curve.points.iter().filter(|(_, ms)| ms.is_finite());
        path.line(known.map(|(percentile, ms)| {
            let y = area.height * (1.0 - up.at(*ms));
            (WIDTH * across.at(nines(*percentile)), y)
        }));
        path
    };
    let labels = ["0", "50", "90", "99", "99.9", "99.99", "99.999"];
    let ticks = labels.iter().filter_map(|label| {
        let at = nines(label.parse().ok()?);
        (at <= most + 1e-9).then(|| Tick {
            at: across.at(at),
            label: (*label).to_owned(),
        })
    });
    let (divisor, unit) = Unit::Milliseconds.of(if up.is_log() { middle(&up) } else { up.to() });
    let unit = if up.is_log() {
        format!("{unit}, log scale")
    } else {
        unit
    };
    let drawn = html! {
        (legend::draw(&entries, 0.0))
        (area.left_axis(&up.ticks(4.0, divisor), &unit))
        (area.marks(html! {
            @for (i, curve) in curves.iter().enumerate() { path.line.(color(i)) d=(path(curve)) {} }
        }))
        (area.bottom_axis(&ticks.collect::<Vec<_>>(), "percentile of transactions"))
    };
    Chart::new(about, area.bottom() + AXIS_HEIGHT, drawn).over(Axes {
        across: (0.0, 100.0 * (1.0 - 10.0_f64.powf(-most))),
        scale: Some("nines"),
        unit: None,
        up: None,
    })
}
