//! Charts over time.

use crate::chart::Axes;
use crate::color::{OTHERS, SERIES};
use crate::scale::{Scale, TIME_TICKS, time_step, time_unit};

/// The time that charts of one run share, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeAxis {
    /// The first moment.
    pub from: f64,
    /// The last moment.
    pub to: f64,
}

impl TimeAxis {
    /// Returns an axis that is never empty.
    pub(crate) fn checked(self) -> TimeAxis {
        let from = if self.from.is_finite() {
            self.from
        } else {
            0.0
        };
        let to = if self.to > from { self.to } else { from + 1.0 };
        TimeAxis { from, to }
    }

    /// It as a scale.
    pub(crate) fn scale(self) -> Scale {
        let TimeAxis { from, to } = self.checked();
        Scale::Linear { from, to }
    }

    /// The unit of its labels, and the seconds of it.
    pub fn unit(self) -> (f64, &'static str) {
        let TimeAxis { from, to } = self.checked();
        time_unit(time_step(from, to, TIME_TICKS))
    }

    /// The axes of a chart over it.
    pub(crate) fn axes(self) -> Axes {
        let (seconds, unit) = self.unit();
        Axes {
            across: (self.from / seconds, self.to / seconds),
            scale: None,
            unit: Some(unit),
            up: None,
        }
    }
}

/// The values of some time: one value if all three are equal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The lowest.
    pub low: f64,
    /// Their mean.
    pub mean: f64,
    /// The highest.
    pub high: f64,
}

impl Range {
    /// A single value.
    pub fn of(value: f64) -> Range {
        Range {
            low: value,
            mean: value,
            high: value,
        }
    }
}

/// A value in time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Time, in seconds: the middle of what it stands for.
    pub at: f64,
    /// Length of the time that it stands for, in seconds.
    pub seconds: f64,
    /// `None` if it is not known, which leaves a gap.
    pub value: Option<Range>,
}

/// Values in time, in the order of time; not more than some 800 points.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// The values.
    pub points: Vec<Point>,
}

impl Series {
    /// The values that are known.
    pub(crate) fn known(&self) -> impl Iterator<Item = (f64, Range)> + '_ {
        let known = |point: &Point| Some((point.at, point.value.filter(|r| r.mean.is_finite())?));
        self.points.iter().filter_map(known)
    }

    /// The mean of the known values, each weighted by its time; `None` without any.
    pub(crate) fn mean(&self) -> Option<f64> {
        let known = self.points.iter().filter_map(|point| {
            let range = point.value.filter(|range| range.mean.is_finite())?;
            Some((point.seconds, point.seconds * range.mean))
        });
        let (seconds, sum) = known.fold((0.0, 0.0), |all, one| (all.0 + one.0, all.1 + one.1));
        (seconds > 0.0).then(|| sum / seconds)
    }

    /// The values that are known, in parts without a gap.
    pub(crate) fn parts(&self) -> Vec<Vec<(f64, Range)>> {
        let mut parts = vec![Vec::new()];
        for point in &self.points {
            match (point.value.filter(|r| r.mean.is_finite()), parts.last_mut()) {
                (Some(range), Some(part)) => part.push((point.at, range)),
                _ => parts.push(Vec::new()),
            }
        }
        parts.retain(|part| !part.is_empty());
        parts
    }
}

/// Series for areas on each other, the largest first: of more than there are colors for, the smallest are added up.
/// All have the same times.
pub(crate) fn added_up(mut series: Vec<Series>) -> Vec<Series> {
    if series.len() <= SERIES {
        return series;
    }
    let others = series.split_off(SERIES);
    let sum = |i: usize| {
        let values = others
            .iter()
            .filter_map(|series| series.points.get(i)?.value);
        values.map(|range| range.mean).sum()
    };
    let points = others[0].points.iter().enumerate();
    series.push(Series {
        name: OTHERS.to_owned(),
        points: points
            .map(|(i, point)| Point {
                value: Some(Range::of(sum(i))),
                ..*point
            })
            .collect(),
    });
    series
}

/// Kind of a span of time.
#[derive(Clone, Copy, Debug, Eq, PartialEq, PartialOrd, Ord)]
pub enum SpanKind {
    /// Not measured.
    WarmUp,
    /// A checkpoint was active.
    Checkpoint,
    /// Autovacuum workers were active.
    Autovacuum,
    /// Clients were stalled.
    Stall,
    /// The run had been canceled.
    Canceled,
}

impl SpanKind {
    /// Name in the legend.
    pub fn name(self) -> &'static str {
        match self {
            SpanKind::WarmUp => "warm-up",
            SpanKind::Checkpoint => "checkpoint",
            SpanKind::Autovacuum => "autovacuum",
            SpanKind::Stall => "stall",
            SpanKind::Canceled => "canceled",
        }
    }

    /// Name that fits the margin of a plot.
    pub(crate) fn short(self) -> &'static str {
        match self {
            SpanKind::Checkpoint => "ckpt",
            SpanKind::Autovacuum => "autovac",
            _ => self.name(),
        }
    }

    pub(crate) fn class(self) -> &'static str {
        match self {
            SpanKind::WarmUp => "warm",
            SpanKind::Checkpoint => "checkpoint",
            SpanKind::Autovacuum => "autovacuum",
            SpanKind::Stall => "stall",
            SpanKind::Canceled => "canceled",
        }
    }
}

/// A span of time that is marked in charts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    /// Kind.
    pub kind: SpanKind,
    /// Begin, in seconds.
    pub from: f64,
    /// End.
    pub to: f64,
}
