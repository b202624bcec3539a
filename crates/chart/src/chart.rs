//! Parts of every chart: title, text alternative, axes, style.

use crate::scale::Tick;
use crate::svg::{Percent, Px, WIDTH};
use maud::{Markup, html};
use selfbench_markup::{Constant, constant, finish, line};

/// The style sheet of all charts, for an element `style`. Colors are near those of Okabe and Ito
/// (<https://jfly.uni-koeln.de/color/>); `tests/palette.rs` says what holds for them.
pub const STYLE: Constant = constant(include_str!("style.css"));

/// Width of a chart that stands alone, within its margins.
const ALONE_WIDTH: f64 = 720.0;

/// Left and right edge of the area of the marks, as fractions of the width.
pub(crate) const LEFT: f64 = 0.1;
pub(crate) const RIGHT: f64 = 0.985;

/// Width of the area on a page of 390 px, in digits of a tick's label.
const TICK_COLUMNS: f64 = 45.0;

/// Subject of a chart: its text alternative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct About {
    /// Title.
    pub title: String,
    /// Finding: a sentence with figures.
    pub finding: String,
}

/// A chart.
#[derive(Clone, Debug)]
pub struct Chart {
    about: About,
    height: f64,
    marks: Markup,
    axes: Option<Box<Axes>>,
    unit: Option<Box<(f64, String)>>,
    is_flame: bool,
}

/// Axes of a chart, for a script that shows the values at a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axes {
    /// The values at the left and the right end of the area.
    pub across: (f64, f64),
    /// `log`, `nines` for an axis where each nine of a percentile takes the same width; linear without.
    pub scale: Option<&'static str>,
    /// The unit of an axis of time.
    pub unit: Option<&'static str>,
    /// The values at the lower and the upper end of the area, on a log axis, if they matter.
    pub up: Option<(f64, f64, Area)>,
}

impl Chart {
    pub(crate) fn new(about: &About, height: f64, marks: Markup) -> Chart {
        Chart {
            about: about.clone(),
            height,
            marks,
            axes: None,
            unit: None,
            is_flame: false,
        }
    }

    /// Adds the axes, for a script.
    pub(crate) fn over(self, axes: Axes) -> Chart {
        Chart {
            axes: Some(Box::new(axes)),
            ..self
        }
    }

    /// Adds what the values over time are divided by, and the unit that they have then.
    pub(crate) fn in_unit(self, unit: (f64, String)) -> Chart {
        Chart {
            unit: Some(Box::new(unit)),
            ..self
        }
    }

    /// Marks it as one of frames.
    pub(crate) fn of_frames(self) -> Chart {
        Chart {
            is_flame: true,
            ..self
        }
    }

    /// Whether it is a flame graph, whose frames a script can fold.
    pub fn is_flame(&self) -> bool {
        self.is_flame
    }

    /// The unit in which values over time are drawn, and what they are divided by to have it.
    pub fn unit(&self) -> Option<(f64, &str)> {
        let (divisor, name) = self.unit.as_deref()?;
        Some((*divisor, name))
    }

    /// A chart that says why it shows nothing.
    pub(crate) fn empty(about: &About) -> Chart {
        let marks = html! {
            text.none x="50%" y="38" { "no data" }
        };
        Chart::new(about, 64.0, marks)
    }

    /// Returns the subject.
    pub fn about(&self) -> &About {
        &self.about
    }

    /// The `svg` element for a page that has [`STYLE`]: as wide as the element that it is in.
    ///
    /// For a script that tells values: `data-from` and `data-to` are the values at the left and the right end
    /// of the area in the unit of the axis, which is of the kind `data-scale`; `data-left` and `data-right` are
    /// where these ends are, as fractions of the width, and `data-unit` is the unit of a time. Where the height of a place matters, `data-low` and
    /// `data-high` are the values at the lower and the upper end, `data-bottom` and `data-top` their places.
    pub fn embedded(&self) -> Markup {
        let axes = self.axes.as_deref();
        let up = axes.and_then(|axes| axes.up);
        html! {
            svg.chart xmlns="http://www.w3.org/2000/svg" role="img" width="100%" height=(Px(self.height))
                data-from=[axes.map(|axes| axes.across.0)] data-to=[axes.map(|axes| axes.across.1)]
                data-scale=[axes.and_then(|axes| axes.scale)] data-unit=[axes.and_then(|axes| axes.unit)]
                data-left=[axes.map(|_| LEFT)] data-right=[axes.map(|_| RIGHT)]
                data-low=[up.map(|(low, ..)| low)] data-high=[up.map(|(_, high, _)| high)]
                data-bottom=[up.map(|(.., area)| Px(area.bottom()))] data-top=[up.map(|(.., area)| Px(area.top))] {
                (self.alternative())
                (self.marks)
            }
        }
    }

    /// A document of its own: a file in SVG.
    pub fn alone(&self) -> String {
        finish(html! {
            svg.chart.alone xmlns="http://www.w3.org/2000/svg" role="img" width=(Px(ALONE_WIDTH + 24.0))
                height=(Px(self.height + 40.0))
                viewBox={ "-12 -32 " (Px(ALONE_WIDTH + 24.0)) " " (Px(self.height + 40.0)) } {
                (self.alternative())
                style { (STYLE) }
                rect.page x="-12" y="-32" width=(Px(ALONE_WIDTH + 24.0)) height=(Px(self.height + 40.0)) {}
                text.title x="0" y="-12" { (line(&self.about.title)) }
                svg width=(Px(ALONE_WIDTH)) height=(Px(self.height)) { (self.marks) }
            }
        }) + "\n"
    }

    /// Returns the text for assistive technology: the first elements of the image.
    fn alternative(&self) -> Markup {
        html! {
            title { (line(&self.about.title)) }
            desc { (line(&self.about.finding)) }
        }
    }
}

/// The area of the marks: a part of the chart's height, between the axes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Area {
    pub top: f64,
    pub height: f64,
    /// Height of what stands between the unit and the area.
    pub strips: f64,
}

impl Area {
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }

    /// The horizontal position of a fraction of the area, as a fraction of the chart.
    pub fn x(&self, at: f64) -> Percent {
        Percent(LEFT + at * (RIGHT - LEFT))
    }

    /// The vertical position of a fraction of the area, from its bottom.
    pub fn y(&self, at: f64) -> f64 {
        self.bottom() - at * self.height
    }

    /// Marks in coordinates of [`WIDTH`] and the height, which are stretched to the area.
    pub fn marks(&self, marks: Markup) -> Markup {
        html! {
            svg x=(Percent(LEFT)) y=(Px(self.top)) width=(Percent(RIGHT - LEFT)) height=(Px(self.height))
                viewBox={ "0 0 " (Px(WIDTH)) " " (Px(self.height)) } preserveAspectRatio="none" {
                (marks)
            }
        }
    }

    /// Ticks at the left, with lines across, and the unit above them.
    pub fn left_axis(&self, ticks: &[Tick], unit: &str) -> Markup {
        html! {
            text.unit x="0" y=(Px(self.top - self.strips - 9.0)) { (unit) }
            @for tick in ticks {
                @let y = self.y(tick.at);
                line.grid.minor[tick.label.is_empty()] x1=(Percent(LEFT)) x2=(Percent(RIGHT)) y1=(Px(y)) y2=(Px(y)) {}
                @if !tick.label.is_empty() {
                    text.tick.left x=(Percent(LEFT - 0.008)) y=(Px(y + 3.5)) { (tick.label) }
                }
            }
        }
    }

    /// Ticks below, and the unit at the end of a second row. A label that would be in the way of the one
    /// before is left out.
    pub fn bottom_axis(&self, ticks: &[Tick], unit: &str) -> Markup {
        let y = self.bottom();
        html! {
            line.axis x1=(Percent(LEFT)) x2=(Percent(RIGHT)) y1=(Px(y)) y2=(Px(y)) {}
            @for (tick, label) in ticks.iter().zip(labels_apart(ticks)) {
                @let x = self.x(tick.at);
                line.axis x1=(x) x2=(x) y1=(Px(y)) y2=(Px(y + if label.is_empty() { 2.0 } else { 4.0 })) {}
                @if !label.is_empty() {
                    text.tick.bottom.last[is_last(tick.at, label)] x=(x) y=(Px(y + 16.0)) { (label) }
                }
            }
            text.unit.end x=(Percent(RIGHT)) y=(Px(y + 31.0)) { (unit) }
        }
    }
}

/// Width of a label on a narrow page, as a fraction of the area.
fn width(label: &str) -> f64 {
    label.chars().count() as f64 / TICK_COLUMNS
}

/// Whether a label fits a fraction of the width, with space around it, on a narrow page.
pub(crate) fn fits(label: &str, part: f64) -> bool {
    width(label) + 1.0 / TICK_COLUMNS < part
}

/// Whether a label ends at its tick, because the end of the chart would cut it if its middle were there.
fn is_last(at: f64, label: &str) -> bool {
    at + width(label) / 2.0 > (1.0 - LEFT) / (RIGHT - LEFT)
}

/// The labels of ticks from left to right, those empty that would overlap the one before on a narrow page.
fn labels_apart(ticks: &[Tick]) -> impl Iterator<Item = &str> {
    let mut taken = f64::NEG_INFINITY;
    ticks.iter().map(move |tick| {
        let width = width(&tick.label);
        let is_last = is_last(tick.at, &tick.label);
        let from = tick.at - if is_last { width } else { width / 2.0 };
        if tick.label.is_empty() || from < taken {
            return "";
        }
        taken = from + width + 0.5 / TICK_COLUMNS;
        &tick.label
    })
}

/// Height of what [`Area::bottom_axis`] draws below the area.
pub(crate) const AXIS_HEIGHT: f64 = 36.0;

/// Height of the unit above an area.
pub(crate) const UNIT_HEIGHT: f64 = 20.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::Scale;

    #[test]
    fn labels_of_a_bottom_axis_stand_apart() {
        let labels = |from, to| {
            let ticks = Scale::Log {
                from,
                to,
                zero: 0.0,
            }
            .ticks(6.0, 1.0);
            let labels = labels_apart(&ticks).filter(|label| !label.is_empty());
            labels.map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(
            labels(20.0, 1000.0),
            ["20", "50", "100", "200", "500", "1,000"]
        );
        // The label at the right end would stand on the one before.
        assert_eq!(
            labels(10.0, 2000.0),
            ["10", "20", "50", "100", "200", "500", "1,000"]
        );
    }
}
