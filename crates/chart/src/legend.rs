//! Legends: names beside a mark of the color, in rows that fit a narrow page.

use maud::{Markup, html};
use selfbench_markup::line;

/// Height of a row.
pub(crate) const ROW: f64 = 17.0;

/// Characters of a row: what is 340 pixels wide.
const COLUMNS: usize = 52;

/// A name in a legend.
pub(crate) struct Entry {
    /// The class of its color.
    pub class: String,
    /// Text.
    pub name: String,
}

/// The entries in rows.
fn rows(entries: &[Entry]) -> Vec<Vec<&Entry>> {
    let mut rows: Vec<Vec<&Entry>> = Vec::new();
    let mut taken = usize::MAX;
    for entry in entries {
        let width = entry.name.chars().count() + 4;
        if taken.saturating_add(width) > COLUMNS {
            rows.push(Vec::new());
            taken = 0;
        }
        taken += width;
        if let Some(row) = rows.last_mut() {
            row.push(entry);
        }
    }
    rows
}

/// The height of a legend.
pub(crate) fn height(entries: &[Entry]) -> f64 {
    rows(entries).len() as f64 * ROW
}

/// A legend whose first row begins at `top`.
pub(crate) fn draw(entries: &[Entry], top: f64) -> Markup {
    html! {
        @for (i, row) in rows(entries).iter().enumerate() {
            text.legend x="0" y=(top + ROW * i as f64 + 11.0) {
                @for (j, entry) in row.iter().enumerate() {
                    tspan.key.(entry.class) dx=[(j > 0).then_some("12")] { "\u{25A0}" }
                    tspan dx="4" { (line(&entry.name)) }
                }
            }
        }
    }
}
