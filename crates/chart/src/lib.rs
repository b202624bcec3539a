//! Charts of benchmark runs: functions from plain data to SVG, and to text for a terminal.
//!
//! A [`Chart`] is one `svg` element. Horizontal positions are percentages and heights are pixels, so that
//! a chart fills the width that it gets and its text keeps its size. What is drawn has classes and no
//! colors: [`STYLE`] has them, for light and dark. A chart has no script and no event handler; its title
//! and a sentence that states its finding are its text alternative.
//!
//! `maud` writes the elements, which closes and escapes them; the crate `svg` builds trees whose attributes
//! are untyped strings, `poloto` has its own style and layout, the SVG of `plotters` has fixed colors and
//! sizes, and `inferno` emits scripts and event handlers. Ticks are ours as well ([`scale`]): those of
//! `plotters` know neither minutes and hours nor log axes of less than a decade, and are a part of a crate
//! that draws everything itself.

mod bars;
mod chart;
mod color;
mod curve;
mod date;
mod distribution;
mod flame;
mod heat;
mod legend;
mod marks;
pub mod number;
pub mod run;
pub mod scale;
mod series;
mod spark;
mod svg;
pub mod text;
mod timeline;

pub use bars::{Bar, BudgetArm, Part, bars, budget};
pub use chart::{About, Chart, STYLE};
pub use curve::{Across, CurvePoint, CurveSeries, Interval, Marks, curve, intervals};
pub use distribution::{Bin, PercentileCurve, distribution, percentiles};
pub use flame::flame;
pub use heat::{HeatMap, heat};
pub use marks::Mark;
pub use number::Unit;
pub use series::{Point, Range, Series, Span, SpanKind, TimeAxis};
pub use spark::sparkline;
pub use timeline::{lines, stack};
