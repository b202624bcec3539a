//! Legends: names beside a mark of the color, in rows that fit a narrow page.

use crate::chart::RIGHT;
use crate::color::color;
use crate::svg::{Percent, Px};
use maud::{Markup, html};
use selfbench_markup::line;
use textwrap::{core::display_width, wrap};

/// Height of a row.
pub(crate) const ROW: f64 = 17.0;

/// Characters of a row: what is 340 pixels wide.
const COLUMNS: usize = 52;

/// Characters of a mark with the space around it.
const MARK: usize = 4;

/// A name in a legend.
pub(crate) struct Entry {
    /// The class of its color.
    pub class: String,
    /// Text.
    pub name: String,
}

/// The entries of things in the order of colors; a single one needs none.
pub(crate) fn of<'a>(names: impl Iterator<Item = &'a str>) -> Vec<Entry> {
    let entry = |(i, name): (usize, &str)| Entry {
        class: color(i),
        name: name.to_owned(),
    };
    let entries: Vec<Entry> = names.enumerate().map(entry).collect();
    match entries.len() {
        1 => Vec::new(),
        _ => entries,
    }
}

/// A part of a row: the class of the mark before it, and its text.
type Part<'a> = (Option<&'a str>, String);

/// The entries in rows; a name that is longer than a row goes on in the next.
fn rows(entries: &[Entry]) -> Vec<Vec<Part<'_>>> {
    let mut rows: Vec<Vec<Part<'_>>> = Vec::new();
    let mut taken = usize::MAX;
    for entry in entries {
        // As it is shown: characters that are not seen have names.
        let name = line(&entry.name);
        for (i, text) in wrap(&name, COLUMNS - MARK).into_iter().enumerate() {
            let width = display_width(&text) + MARK;
            if i > 0 || taken.saturating_add(width) > COLUMNS {
                rows.push(Vec::new());
                taken = 0;
            }
            taken += width;
            if let Some(row) = rows.last_mut() {
                row.push(((i == 0).then_some(entry.class.as_str()), text.into_owned()));
            }
        }
    }
    rows
}

/// The height of a legend.
pub(crate) fn height(entries: &[Entry]) -> f64 {
    rows(entries).len() as f64 * ROW
}

/// Whether a wide page may put two rows beside each other: there are few, each begins with a mark, and none has many
/// capitals, which are wider than other letters.
fn fit_beside(rows: &[Vec<Part<'_>>]) -> bool {
    let fits = |row: &Vec<Part<'_>>| {
        let letters = |part: &Part<'_>| {
            let capitals = part.1.chars().filter(|c| c.is_uppercase()).count();
            MARK + display_width(&part.1) + capitals
        };
        row.iter().all(|part| part.0.is_some()) && row.iter().map(letters).sum::<usize>() <= COLUMNS
    };
    (2..=4).contains(&rows.len()) && rows.iter().all(fits)
}

/// A legend whose first row begins at `top`.
pub(crate) fn draw(entries: &[Entry], top: f64) -> Markup {
    let rows = rows(entries);
    html! {
        g.rows[fit_beside(&rows)] {
            @for (i, row) in rows.iter().enumerate() {
                text.legend x="0" y=(top + ROW * i as f64 + 11.0) { (parts(row)) }
            }
        }
    }
}

/// Whether a legend has place in a row behind a text at the left.
pub(crate) fn fits_beside(text: &str, entries: &[Entry]) -> bool {
    let width = |entry: &Entry| display_width(&line(&entry.name)) + MARK;
    display_width(text) + entries.iter().map(width).sum::<usize>() <= COLUMNS
}

/// A legend of one row at the right, on the line `y`.
pub(crate) fn draw_right(entries: &[Entry], y: f64) -> Markup {
    html! {
        @for row in rows(entries) {
            text.legend.end x=(Percent(RIGHT)) y=(Px(y)) { (parts(&row)) }
        }
    }
}

fn parts(row: &[Part<'_>]) -> Markup {
    html! {
        @for (j, (class, text)) in row.iter().enumerate() {
            @if let Some(class) = class {
                tspan.key.(class) dx=[(j > 0).then_some("12")] { "\u{25A0}" }
            }
            tspan dx=(if class.is_some() { 4 } else { 15 }) { (text) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str) -> Entry {
        Entry {
            class: "a".to_owned(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn short_rows_may_stand_beside_each_other() {
        let of = |name: &str, number: usize| {
            let entries: Vec<Entry> = (0..number).map(|_| entry(name)).collect();
            fit_beside(&rows(&entries))
        };
        let short = "run 2, the 95th percentile";
        assert!(of(short, 2) && of(short, 4));
        assert!(!of(short, 1) && !of(short, 5));
        assert!(!of(&"W".repeat(40), 2) && !of(&"\u{65E5}".repeat(40), 2));
        assert!(!of(&"a name longer than a row ".repeat(3), 2));
    }

    #[test]
    fn a_long_name_takes_several_rows() {
        let entries = [
            entry("one"),
            entry(&"spi, prepared, scale 100, ".repeat(3)),
            entry("two"),
            entry(&"x".repeat(50)),
            entry(&"\u{1b}".repeat(8)),
        ];
        let rows = rows(&entries);
        let texts: Vec<Vec<&str>> = rows
            .iter()
            .map(|row| row.iter().map(|part| part.1.as_str()).collect())
            .collect();
        let (long, rest) = (
            "spi, prepared, scale 100, spi, prepared, scale",
            "100, spi, prepared, scale 100,",
        );
        assert_eq!(
            texts,
            [
                vec!["one"],
                vec![long],
                vec![rest, "two"],
                vec![&*"x".repeat(48)],
                vec!["xx"],
                vec!["[U+001B][U+001B][U+001B][U+001B][U+001B][U+001B]"],
                vec!["[U+001B][U+001B]"]
            ]
        );
        assert_eq!(
            rows.iter()
                .flatten()
                .filter(|part| part.0.is_some())
                .count(),
            entries.len()
        );
    }
}
