//! Charts of sets of runs: points with intervals and a fitted curve, and intervals of arms.

use crate::bars::shortened;
use crate::chart::{AXIS_HEIGHT, About, Area, Chart, UNIT_HEIGHT};
use crate::color::{OTHERS, SERIES, color};
use crate::date::{date, date_ticks};
use crate::legend::{self, Entry};
use crate::marks::{Mark, Marks as Placed};
use crate::number::{Unit, with};
use crate::scale::Scale;
use crate::svg::{Path, Px, WIDTH};
use maud::{Markup, html};
use selfbench_markup::line;

/// Height of the marks.
const HEIGHT: f64 = 260.0;

/// Height of an arm: its name above its interval.
const ROW: f64 = 34.0;

/// A measured point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CurvePoint {
    /// Position on the horizontal axis, such as a number of clients.
    pub x: f64,
    /// The value; infinite at the upper end of the axis.
    pub y: f64,
    /// The lower end of its interval, if it is known.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
}

/// Style of the points of a series.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Marks {
    /// Dots with a line through them, or with the curve that fits them.
    #[default]
    Joined,
    /// Dots.
    Dots,
    /// Rings.
    Rings,
    /// A line alone.
    Line,
    /// A shade from the first to the last position.
    Shade,
}

/// Points of one color, and the curve that fits them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CurveSeries {
    /// Name in the legend.
    pub name: String,
    /// Measured points; a line connects them if there is no fit.
    pub points: Vec<CurvePoint>,
    /// The curve that fits them, as points.
    pub fit: Vec<(f64, f64)>,
    /// Style of the points.
    pub marks: Marks,
}

/// A horizontal axis.
#[derive(Clone, Debug)]
pub enum Across {
    /// Numbers from 0 on, such as clients.
    Numbers(Unit),
    /// Dates, in seconds since 1970, and marks on them.
    Dates(Vec<Mark>),
}

/// Part of an axis of dates beside the first and the last date.
const MARGIN: f64 = 0.03;

impl Across {
    fn scale(&self, values: impl Iterator<Item = f64> + Clone) -> Scale {
        match self {
            Across::Numbers(_) => Scale::from_zero(values),
            Across::Dates(_) => {
                let first = values.clone().fold(f64::INFINITY, f64::min);
                let last = values.fold(first, f64::max);
                let margin = match MARGIN * (last - first) {
                    margin if margin > 0.0 => margin,
                    _ => 3600.0,
                };
                Scale::Linear {
                    from: first - margin,
                    to: last + margin,
                }
            }
        }
    }
}

/// Points and curves over another axis than the time of a run.
pub fn curve(about: &About, across: &Across, up: Unit, series: &[CurveSeries]) -> Chart {
    let points = || series.iter().flat_map(|series| &series.points);
    let fits = || series.iter().flat_map(|series| &series.fit);
    let xs = points().map(|point| point.x).chain(fits().map(|(x, _)| *x));
    let ys = points()
        .flat_map(|point| [Some(point.y), point.high])
        .flatten()
        .chain(fits().map(|(_, y)| *y));
    if xs.clone().next().is_none() {
        return Chart::empty(about);
    }
    let (x, y) = (across.scale(xs), Scale::from_zero(ys));
    let marks = match across {
        Across::Numbers(_) => Placed::of(&x, std::iter::empty()),
        Across::Dates(marks) => Placed::of(&x, marks.iter().cloned()),
    };
    let entries = match series {
        [_] => Vec::new(),
        series => entries(series),
    };
    let area = Area {
        top: legend::height(&entries) + UNIT_HEIGHT + marks.height(),
        height: HEIGHT,
        strips: marks.height(),
    };
    let up = up.on_axis(y.to());
    let of_numbers = match across {
        Across::Numbers(unit) => Some(unit.on_axis(x.to())),
        Across::Dates(_) => None,
    };
    let place = |at: f64| match &of_numbers {
        Some(unit) => with(at, unit),
        None => date(at),
    };
    let (ticks, unit) = match &of_numbers {
        Some((divisor, name)) => (x.whole_ticks(6.0, *divisor), name.clone()),
        None => date_ticks(&x),
    };
    let drawn = html! {
        (legend::draw(&entries, 0.0))
        (area.left_axis(&y.ticks(4.0, up.0), &up.1))
        (area.marks(html! {
            @for (i, series) in series.iter().enumerate() { (through(series, i, &area, &x, &y)) }
        }))
        @for (i, series) in series.iter().enumerate() {
            @let has_dots = matches!(series.marks, Marks::Joined | Marks::Dots | Marks::Rings);
            @for point in series.points.iter().filter(|_| has_dots) {
                @let at = area.x(x.at(point.x));
                g.(color(i)) {
                    title {
                        (line(&series.name)) " " (place(point.x)) ": "
                        @if point.y == f64::INFINITY { "beyond the axis" } @else { (with(point.y, &up)) }
                        @if let (Some(low), Some(high)) = (point.low, point.high) {
                            " (" (with(low, &up)) " to " (with(high, &up)) ")"
                        }
                    }
                    @if let (Some(low), Some(high)) = (point.low, point.high) {
                        line.whisker x1=(at) x2=(at) y1=(Px(area.y(y.at(low)))) y2=(Px(area.y(y.at(high)))) {}
                    }
                    circle.dot.ring[series.marks == Marks::Rings] cx=(at) cy=(Px(area.y(y.at(point.y)))) r="4" {}
                }
            }
        }
        (marks.draw(&area))
        (area.bottom_axis(&ticks, &unit))
    };
    Chart::new(about, area.bottom() + AXIS_HEIGHT, drawn)
}

/// The legend. Series for which there is no color of their own are one entry.
fn entries(series: &[CurveSeries]) -> Vec<Entry> {
    let named = series.iter().take(SERIES).map(|series| series.name.clone());
    let others = (series.len() > SERIES).then(|| format!("{} {OTHERS}", series.len() - SERIES));
    let names = named.chain(others).enumerate();
    let entry = |(i, name)| Entry {
        class: color(i),
        name,
    };
    names.map(entry).collect()
}

/// The line of a series: its fit or, without one, through its points; or its shade.
fn through(series: &CurveSeries, i: usize, area: &Area, x: &Scale, y: &Scale) -> Markup {
    let place = |(at, value): (f64, f64)| (WIDTH * x.at(at), area.height * (1.0 - y.at(value)));
    let mut path = Path::default();
    match (series.marks, series.points.as_slice()) {
        (Marks::Dots | Marks::Rings, _) => return Markup::default(),
        (Marks::Shade, [from, .., to]) => {
            let (from, to) = (WIDTH * x.at(from.x), WIDTH * x.at(to.x));
            path.rect(from, 0.0, (to - from).max(1.0), area.height);
            return html! { path.span.(color(i)) d=(path) {} };
        }
        (Marks::Shade, _) => return Markup::default(),
        (Marks::Joined | Marks::Line, _) => {}
    }
    match series.fit.as_slice() {
        [] => path.line(series.points.iter().map(|point| place((point.x, point.y)))),
        fit => path.line(fit.iter().map(|point| place(*point))),
    }
    html! { path.line.(color(i)).fit[!series.fit.is_empty()] d=(path) {} }
}

/// An arm and its interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Interval {
    /// Name.
    pub name: String,
    /// The value; `None` if it is not known.
    pub value: Option<f64>,
    /// The lower end of the interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Values of which it is the mean, such as those of runs.
    pub runs: Vec<f64>,
    /// Note behind the value, such as a verdict; may be empty.
    pub note: String,
}

/// Arms with their intervals on one axis. `reference` is a value to compare with, such as the baseline's.
/// The axis has 0 only if the values are near it.
pub fn intervals(about: &About, unit: Unit, arms: &[Interval], reference: Option<f64>) -> Chart {
    let ends = |arm: &Interval| [arm.value, arm.low, arm.high];
    let values = || {
        let ends = arms.iter().flat_map(ends).chain([reference]).flatten();
        ends.chain(arms.iter().flat_map(|arm| arm.runs.iter().copied()))
    };
    let lowest = values().fold(f64::INFINITY, f64::min);
    let highest = values().fold(f64::NEG_INFINITY, f64::max);
    if lowest > highest || !(lowest.is_finite() && highest.is_finite()) {
        return Chart::empty(about);
    }
    let margin = match highest - lowest {
        0.0 => highest.abs().max(1.0) * 0.05,
        span => span * 0.08,
    };
    let from = if lowest >= 0.0 && lowest < (highest - lowest) {
        0.0
    } else {
        lowest - margin
    };
    let across = Scale::Linear {
        from,
        to: highest + margin,
    };
    let area = Area {
        top: 4.0,
        height: ROW * arms.len() as f64 + 4.0,
        strips: 0.0,
    };
    let unit = unit.on_axis(highest.abs().max(lowest.abs()));
    let ticks = across.ticks(5.0, unit.0);
    let drawn = html! {
        @for tick in &ticks {
            line.grid x1=(area.x(tick.at)) x2=(area.x(tick.at)) y1=(Px(area.top)) y2=(Px(area.bottom())) {}
        }
        @if let Some(reference) = reference {
            @let at = area.x(across.at(reference));
            line.reference x1=(at) x2=(at) y1=(Px(area.top)) y2=(Px(area.bottom())) {}
        }
        @for (i, arm) in arms.iter().enumerate() {
            @let y = area.top + ROW * i as f64;
            @let says = arm.value.map_or("unknown".to_owned(), |value| with(value, &unit));
            g.s0 {
                title {
                    (line(&arm.name)) ": " (says)
                    @if let (Some(low), Some(high)) = (arm.low, arm.high) {
                        " (" (with(low, &unit)) " to " (with(high, &unit)) ")"
                    }
                    @if !arm.note.is_empty() { ", " (line(&arm.note)) }
                }
                text.label x="0" y=(Px(y + 12.0)) { (shortened(&arm.name, 30)) }
                text.label.value x="100%" y=(Px(y + 12.0)) {
                    (says) @if !arm.note.is_empty() { ", " (shortened(&arm.note, 24)) }
                }
                @if let (Some(low), Some(high)) = (arm.low, arm.high) {
                    line.whisker x1=(area.x(across.at(low))) x2=(area.x(across.at(high))) y1=(Px(y + 24.0))
                        y2=(Px(y + 24.0)) {}
                }
                @for run in &arm.runs {
                    circle.run cx=(area.x(across.at(*run))) cy=(Px(y + 24.0)) r="3" {}
                }
                @if let Some(value) = arm.value {
                    circle.dot cx=(area.x(across.at(value))) cy=(Px(y + 24.0)) r="4.5" {}
                }
            }
        }
        (area.bottom_axis(&ticks, &unit.1))
    };
    Chart::new(about, area.bottom() + AXIS_HEIGHT, drawn)
}
