//! Figures over time: lines, and areas on each other, with spans of time marked.

use crate::chart::{AXIS_HEIGHT, About, Area, Chart, UNIT_HEIGHT, fits};
use crate::color::colors;
use crate::legend::{self, Entry};
use crate::number::{Unit, with};
use crate::scale::{Scale, TIME_TICKS, time_ticks};
use crate::series::{Range, Series, Span, SpanKind, TimeAxis};
use crate::svg::{Path, Px, WIDTH};
use maud::{Markup, html};
use selfbench_markup::line as text;

/// Height of the marks.
const HEIGHT: f64 = 260.0;

/// Height of the strip that marks the spans of one kind.
pub(crate) const STRIP: f64 = 5.0;

/// Largest ratio of the highest value to the lowest on a linear axis,
const LINEAR_RATIO: f64 = 50.0;
/// and of the means of two series.
const SERIES_RATIO: f64 = 10.0;

/// Whether a series would be flat beside another one.
fn are_far(series: &[Series]) -> bool {
    let means = series.iter().filter_map(Series::mean);
    let (low, high) = means
        .filter(|mean| *mean > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(low, high), mean| {
            (low.min(mean), high.max(mean))
        });
    high > SERIES_RATIO * low
}

/// Lines over time. Where a point is a range, the line is its mean, on an area from the lowest to the
/// highest. The axis is a log one if series are far from each other; with `may_be_log`, also if their values are.
pub fn lines(
    about: &About,
    time: TimeAxis,
    unit: Unit,
    may_be_log: bool,
    series: &[Series],
    spans: &[Span],
) -> Chart {
    let values: Vec<f64> = series
        .iter()
        .flat_map(Series::known)
        .flat_map(|(_, range)| [range.low, range.mean, range.high])
        .collect();
    if values.is_empty() {
        return Chart::empty(about);
    }
    let scale = match (are_far(series), may_be_log) {
        (true, _) => Scale::fitting(&values, 1.0),
        (false, true) => Scale::fitting(&values, LINEAR_RATIO),
        (false, false) => Scale::from_zero(values),
    };
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let colors = colors(&names);
    over_time(
        about,
        time,
        (unit, scale),
        &names,
        spans,
        &[],
        |place, unit| {
            html! {
                @for (i, series) in series.iter().enumerate() {
                    (line(series, &colors[i], place, unit))
                }
            }
        },
    )
}

/// The line of one series, and the area of its ranges.
fn line(series: &Series, class: &str, place: &Place, unit: &(f64, String)) -> Markup {
    let [mut line, mut band, mut dots] = [(); 3].map(|()| Path::default());
    let (mut has_line, mut has_band, mut has_dots) = (false, false, false);
    for part in series.parts() {
        let at = |of: fn(&Range) -> f64| part.iter().map(move |(at, range)| place(*at, of(range)));
        if let [(only, range)] = part[..] {
            // A line of no length is a dot.
            has_dots = true;
            let (x, y) = place(only, range.mean);
            dots.move_to(x, y);
            dots.line_to(x, y);
        } else {
            has_line = true;
            line.line(at(|range| range.mean));
        }
        if part.iter().any(|(_, range)| range.low < range.high) {
            has_band = true;
            band.line(at(|range| range.high));
            let mut back: Vec<_> = at(|range| range.low).collect();
            back.reverse();
            back.into_iter().for_each(|(x, y)| band.line_to(x, y));
            band.close();
        }
    }
    let values = || series.known().map(|(_, range)| range);
    let low = values()
        .map(|range| range.low)
        .fold(f64::INFINITY, f64::min);
    let high = values().map(|range| range.high).fold(low, f64::max);
    let says = html! {
        title { (text(&series.name)) ": " (with(low, unit)) " to " (with(high, unit)) }
    };
    html! {
        @if has_band { path.band.(class) d=(band) {} }
        @if has_line { path.line.(class) d=(line) { (says) } }
        @if has_dots { path.line.dots.(class) d=(dots) { (says) } }
    }
}

/// Coordinates of the marks of a time and a value.
type Place = dyn Fn(f64, f64) -> (f64, f64);

/// Means over time as areas on each other: the first series is at the bottom. A value that is not known
/// counts as 0. All series have the same times.
pub fn stack(
    about: &About,
    time: TimeAxis,
    unit: Unit,
    series: &[Series],
    spans: &[Span],
) -> Chart {
    let times: Vec<f64> = series
        .iter()
        .max_by_key(|series| series.points.len())
        .map(|series| series.points.iter().map(|point| point.at).collect())
        .unwrap_or_default();
    let value = |series: &Series, i: usize| {
        let range = series.points.get(i).and_then(|point| point.value);
        range.map_or(0.0, |range| range.mean.max(0.0))
    };
    // Each layer is between two of these sums.
    let mut sums = vec![vec![0.0; times.len()]];
    for series in series {
        let below = sums.last().map(Vec::as_slice).unwrap_or_default();
        let sum = below
            .iter()
            .enumerate()
            .map(|(i, sum)| sum + value(series, i));
        sums.push(sum.collect());
    }
    let highest = sums.last().into_iter().flatten().copied();
    if times.is_empty() || highest.clone().all(|sum| sum == 0.0) {
        return Chart::empty(about);
    }
    let scale = Scale::from_zero(highest);
    let names: Vec<&str> = series.iter().map(|series| series.name.as_str()).collect();
    let colors = colors(&names);
    let labels: Vec<Label> = sums
        .windows(2)
        .zip(&names)
        .filter_map(|(pair, name)| label_within(name, time, &times, &pair[0], &pair[1], &scale))
        .collect();
    over_time(
        about,
        time,
        (unit, scale),
        &names,
        spans,
        &labels,
        |place, unit| {
            html! {
                @for (i, pair) in sums.windows(2).enumerate() {
                    @let (below, above) = (&pair[0], &pair[1]);
                    path.area.(colors[i]) d=({
                        let mut path = Path::default();
                        path.line(times.iter().zip(above).map(|(at, sum)| place(*at, *sum)));
                        for (at, sum) in times.iter().zip(below).rev() {
                            let (x, y) = place(*at, *sum);
                            path.line_to(x, y);
                        }
                        path.close();
                        path
                    }) {
                        @if let Some(mean) = series[i].mean() {
                            title { (text(&series[i].name)) ": " (with(mean, unit)) " on average" }
                        }
                    }
                }
            }
        },
    )
}

/// A name within an area: the time and the value where its middle is.
struct Label<'a> {
    name: &'a str,
    at: f64,
    value: f64,
}

/// Height that a name takes.
const LABEL: f64 = 17.0;

/// The name of an area where it has most space around it, if it fits anywhere.
fn label_within<'a>(
    name: &'a str,
    time: TimeAxis,
    times: &[f64],
    below: &[f64],
    above: &[f64],
    scale: &Scale,
) -> Option<Label<'a>> {
    let across = time.scale();
    let places: Vec<f64> = times.iter().map(|at| across.at(*at)).collect();
    let mut best: Option<(f64, Label)> = None;
    for (from, place) in places.iter().enumerate() {
        let Some(length) = places[from..].iter().position(|to| fits(name, to - place)) else {
            break;
        };
        let window = from..=from + length;
        let low = below[window.clone()].iter().copied().fold(0.0, f64::max);
        let high = above[window].iter().copied().fold(f64::INFINITY, f64::min);
        let height = HEIGHT * (scale.at(high) - scale.at(low));
        if height >= LABEL && best.as_ref().is_none_or(|(most, _)| height > *most) {
            let at = (times[from] + times[from + length]) / 2.0;
            let value = (low + high) / 2.0;
            best = Some((height, Label { name, at, value }));
        }
    }
    best.map(|(_, label)| label)
}

/// The kinds of spans that there are.
pub(crate) fn kinds(spans: &[Span]) -> Vec<SpanKind> {
    let mut kinds: Vec<SpanKind> = spans.iter().map(|span| span.kind).collect();
    kinds.sort();
    kinds.dedup();
    kinds
}

fn over_time(
    about: &About,
    time: TimeAxis,
    (unit, scale): (Unit, Scale),
    names: &[&str],
    spans: &[Span],
    labels: &[Label],
    marks: impl FnOnce(&Place, &(f64, String)) -> Markup,
) -> Chart {
    let time = time.checked();
    let kinds = kinds(spans);
    let strips = kinds.len() as f64 * STRIP;
    let unit = unit.on_axis(scale.to());
    let of_axis = match scale.is_log() {
        true => format!("{}, log scale", unit.1),
        false => unit.1.clone(),
    };
    // Names of spans are beside the unit, if there is place.
    let of_spans = entries(&[], &kinds);
    let (of_series, of_spans) = match legend::fits_beside(&of_axis, &of_spans) {
        true => (entries(names, &[]), of_spans),
        false => (entries(names, &kinds), Vec::new()),
    };
    let area = Area {
        top: legend::height(&of_series) + UNIT_HEIGHT + strips,
        height: HEIGHT,
        strips,
    };
    let (ticks, of_time) = time_ticks(time.from, time.to, TIME_TICKS);
    let across = Scale::Linear {
        from: time.from,
        to: time.to,
    };
    let place = move |at: f64, value: f64| {
        let y = area.height * (1.0 - scale.at(value));
        (WIDTH * across.at(at), y)
    };
    let marks = html! {
        (legend::draw(&of_series, 0.0))
        (legend::draw_right(&of_spans, area.top - strips - 9.0))
        (span_marks(&area, &across, spans, &kinds))
        (area.left_axis(&scale.ticks(4.0, unit.0), &of_axis))
        (area.marks(marks(&place, &unit)))
        @for label in labels {
            text.label.bottom x=(area.x(across.at(label.at))) y=(Px(area.y(scale.at(label.value)) + 4.0)) {
                (text(label.name))
            }
        }
        (area.bottom_axis(&ticks, &format!("time, {of_time}")))
    };
    let chart = Chart::new(about, area.bottom() + AXIS_HEIGHT, marks);
    chart.over(time.axes()).in_unit(unit)
}

/// A single series needs no name beside the title.
pub(crate) fn entries(names: &[&str], kinds: &[SpanKind]) -> Vec<Entry> {
    let named = names.iter().zip(colors(names)).filter(|_| names.len() > 1);
    let of_series = named.map(|(name, class)| Entry {
        class,
        name: (*name).to_owned(),
    });
    let of_spans = kinds.iter().map(|kind| Entry {
        class: kind.class().to_owned(),
        name: kind.name().to_owned(),
    });
    of_series.chain(of_spans).collect()
}

/// Spans: shades behind the marks, and above them a strip for each kind.
pub(crate) fn span_marks(
    area: &Area,
    across: &Scale,
    spans: &[Span],
    kinds: &[SpanKind],
) -> Markup {
    let top = kinds.len() as f64 * STRIP;
    let whole = Area {
        top: area.top - top,
        height: area.height + top,
        ..*area
    };
    whole.marks(html! {
        @for (row, kind) in kinds.iter().enumerate() {
            @let of_kind = || spans.iter().filter(|span| span.kind == *kind);
            @let y = STRIP * row as f64;
            path.span.(kind.class()) d=(rects(of_kind(), across, top, area.height)) {}
            path.strip.(kind.class()) d=(rects(of_kind(), across, y, STRIP - 1.0)) {
                title { (says(*kind, of_kind(), across)) }
            }
        }
    })
}

fn rects<'a>(spans: impl Iterator<Item = &'a Span>, across: &Scale, y: f64, height: f64) -> Path {
    let mut path = Path::default();
    for span in spans {
        let (from, to) = (across.at(span.from), across.at(span.to));
        path.rect(WIDTH * from, y, WIDTH * (to - from).max(0.001), height);
    }
    path
}

/// Time of the only span of a kind, or the number of spans.
fn says<'a>(kind: SpanKind, spans: impl Iterator<Item = &'a Span>, across: &Scale) -> String {
    let spans: Vec<&Span> = spans.collect();
    let seconds: f64 = spans.iter().map(|span| span.to - span.from).sum();
    let name = kind.name();
    match spans.as_slice() {
        [span] => {
            let [from, to] = [span.from, span.to].map(|at| across.moment(at));
            format!("{name}, {from} to {to}")
        }
        spans => format!(
            "{name}, {} times, {} together",
            spans.len(),
            across.moment(seconds)
        ),
    }
}
