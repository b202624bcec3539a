//! Sparklines: a course without axes, as high as a line of text.

use crate::svg::{Path, Px};
use maud::{Markup, html};
use selfbench_markup::line;

/// Size in pixels.
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 24.0;

/// A sparkline of values in their order; those that are not known leave a gap. `says` is its text
/// alternative. The axis begins at 0.
pub fn sparkline(says: &str, values: &[Option<f64>]) -> Markup {
    let known = || {
        values
            .iter()
            .flatten()
            .copied()
            .filter(|value| value.is_finite())
    };
    let highest = known().fold(0.0, f64::max);
    let highest = if highest > 0.0 { highest } else { 1.0 };
    let step = (WIDTH - 4.0) / (values.len().max(2) - 1) as f64;
    let place = |i: usize, value: f64| {
        let y = (HEIGHT - 3.0) - (HEIGHT - 6.0) * (value / highest).clamp(0.0, 1.0);
        (2.0 + step * i as f64, y)
    };
    let mut path = Path::default();
    let mut is_open = false;
    let mut last = None;
    for (i, value) in values.iter().enumerate() {
        match value.filter(|value| value.is_finite()) {
            Some(value) => {
                let (x, y) = place(i, value);
                if is_open {
                    path.line_to(x, y)
                } else {
                    path.move_to(x, y)
                };
                (is_open, last) = (true, Some((x, y)));
            }
            None => is_open = false,
        }
    }
    html! {
        svg.chart.spark xmlns="http://www.w3.org/2000/svg" role="img" width=(Px(WIDTH)) height=(Px(HEIGHT)) {
            title { (line(says)) }
            path.line.s0 d=(path) {}
            @if let Some((x, y)) = last { circle.dot.s0 cx=(Px(x)) cy=(Px(y)) r="2.5" {} }
        }
    }
}
