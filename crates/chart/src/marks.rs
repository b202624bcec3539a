//! Marked places of a horizontal axis: lines down the area, with names above it.

use crate::chart::Area;
use crate::scale::Scale;
use crate::svg::Px;
use maud::{Markup, html};
use selfbench_markup::line;

/// Height of a row of names.
const ROW: f64 = 14.0;

/// Width of a narrow chart in characters, by which names keep apart.
const COLUMNS: f64 = 50.0;

/// A marked place.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Mark {
    /// Value on the axis.
    pub at: f64,
    /// Name above the area.
    pub name: String,
    /// More about it, shown where it is pointed at; may be empty.
    pub says: String,
}

/// Marks, each with its name in a row where no other name is in its way.
pub(crate) struct Marks {
    placed: Vec<Placed>,
    rows: usize,
}

struct Placed {
    at: f64,
    row: usize,
    mark: Mark,
}

impl Marks {
    pub fn of(across: &Scale, marks: impl Iterator<Item = Mark>) -> Marks {
        // Per row, the parts of the width that are taken.
        let mut taken: Vec<Vec<(f64, f64)>> = Vec::new();
        let mut placed: Vec<Placed> = Vec::new();
        for mark in marks.filter(|mark| mark.at.is_finite() && mark.at > 0.0) {
            let at = across.at(mark.at);
            let width = (mark.name.chars().count() + 2) as f64 / COLUMNS;
            let (from, to) = if at > 0.5 {
                (at - width, at)
            } else {
                (at, at + width)
            };
            let is_free = |row: &Vec<(f64, f64)>| row.iter().all(|(a, b)| to <= *a || from >= *b);
            let row = taken.iter().position(is_free).unwrap_or(taken.len());
            if row == taken.len() {
                taken.push(Vec::new());
            }
            taken[row].push((from, to));
            placed.push(Placed { at, row, mark });
        }
        Marks {
            placed,
            rows: taken.len(),
        }
    }

    /// Height of the names.
    pub fn height(&self) -> f64 {
        ROW * self.rows as f64
    }

    pub fn draw(&self, area: &Area) -> Markup {
        let top = |placed: &Placed| area.top - self.height() - 4.0 + ROW * placed.row as f64;
        html! {
            @for placed in &self.placed {
                @let x = area.x(placed.at);
                line.mark x1=(x) x2=(x) y1=(Px(top(placed))) y2=(Px(area.bottom())) {}
            }
            @for placed in &self.placed {
                text.label.end[placed.at > 0.5] x=(area.x(placed.at)) dx=(if placed.at > 0.5 { "-4" } else { "4" })
                    y=(Px(top(placed) + 9.0)) {
                    (line(&placed.mark.name))
                    @if !placed.mark.says.is_empty() { title { (line(&placed.mark.says)) } }
                }
            }
        }
    }
}
