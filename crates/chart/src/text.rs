//! Charts as text, for a terminal.

use crate::number::{Unit, labels};
use crate::scale::{Scale, time_ticks};
use crate::series::{Point, Series, Span, TimeAxis};
use crate::timeline::kinds;

/// Characters that a plot consists of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Glyphs {
    /// Braille patterns of two by four dots, and blocks.
    Unicode,
    /// ASCII, for encodings that have nothing else.
    Ascii,
}

/// Rows of a plot at most, above that of the axis: ticks share them evenly.
const ROWS: usize = 8;

/// Columns left of a plot: labels and the axis.
const MARGIN: usize = 9;

/// Narrowest and widest plots.
pub const WIDTHS: std::ops::RangeInclusive<i32> = 30..=1000;

/// A series over time, for a terminal.
#[derive(Clone, Debug)]
pub struct Plot {
    /// Title.
    pub title: String,
    /// Time of the run.
    pub time: TimeAxis,
    /// Unit of the values.
    pub unit: Unit,
    /// Values.
    pub series: Series,
    /// Marked spans.
    pub spans: Vec<Span>,
}

impl Plot {
    /// Its lines, `width` columns wide: the range of each column as dots, labels at the left and below, and a row for
    /// each kind of span.
    pub fn lines(&self, width: usize, glyphs: Glyphs) -> Vec<String> {
        let columns = width.saturating_sub(MARGIN).max(10);
        let (across, down) = match glyphs {
            Glyphs::Unicode => (2, 4),
            Glyphs::Ascii => (1, 1),
        };
        let time = self.time.checked();
        let x = Scale::Linear {
            from: time.from,
            to: time.to,
        };
        let (series, spans) = (&self.series, self.spans.as_slice());
        let y = Scale::from_zero(
            series
                .known()
                .flat_map(|(_, range)| [range.high, range.mean]),
        );
        let (divisor, unit) = self.unit.on_axis(y.to());
        let title = selfbench_markup::line(&self.title).into_owned();
        if series.known().next().is_none() {
            return vec![format!("{title}: no data")];
        }
        let ticks = y.ticks(4.0, divisor);
        let steps = ticks.len().saturating_sub(1).clamp(1, ROWS);
        let rows = ROWS / steps * steps + 1;
        let (dots_across, dots_down) = (columns * across, rows * down);
        let mut dots = vec![vec![false; dots_across]; dots_down];
        let at = |scale: &Scale, value: f64, dots: usize| {
            (scale.at(value) * (dots - 1) as f64).round() as usize
        };
        for part in series.parts() {
            let mut before: Option<(usize, usize)> = None;
            for (moment, range) in part {
                let column = at(&x, moment, dots_across);
                let (low, high) = (at(&y, range.low, dots_down), at(&y, range.high, dots_down));
                let middle = at(&y, range.mean, dots_down);
                (low..=high).for_each(|row| dots[row][column] = true);
                dots[middle][column] = true;
                if let Some((from, level)) = before {
                    connect(&mut dots, (from, level), (column, middle));
                }
                before = Some((column, middle));
            }
        }
        let label_of = |row: usize| {
            // Row 0 is at the top.
            let is_here = |at: f64| ((1.0 - at) * (rows - 1) as f64).round() as usize == row;
            ticks
                .iter()
                .find(|tick| is_here(tick.at))
                .map(|tick| tick.label.as_str())
        };
        let axis = match glyphs {
            Glyphs::Unicode => ["\u{2524}", "\u{2502}", "\u{2514}", "\u{2500}"],
            Glyphs::Ascii => ["+", "|", "+", "-"],
        };
        let written = |unit: &str| match glyphs {
            Glyphs::Unicode => unit.to_owned(),
            Glyphs::Ascii => unit.replace('\u{b5}', "u"),
        };
        let mut lines = vec![format!("{title} ({})", written(&unit))];
        for row in 0..rows {
            let label = label_of(row);
            let mut line = format!(
                "{:>7} {}",
                label.unwrap_or(""),
                if label.is_some() { axis[0] } else { axis[1] }
            );
            for column in 0..columns {
                line.push(glyph(&dots, row, column, glyphs));
            }
            lines.push(line.trim_end_matches([' ', '\u{2800}']).to_owned());
        }
        lines.push(format!("{:>8}{}{}", "", axis[2], axis[3].repeat(columns)));
        for kind in kinds(spans) {
            let mut marks = vec![' '; columns];
            for span in spans.iter().filter(|span| span.kind == kind) {
                let [from, to] = [span.from, span.to].map(|end| at(&x, end, columns));
                marks[from..=to.max(from)].fill('=');
            }
            let marks: String = marks.into_iter().collect();
            lines.push(format!("{:>8} {}", kind.short(), marks.trim_end()));
        }
        let (ticks, of_time) =
            time_ticks(time.from, time.to, (columns as f64 / 12.0).clamp(2.0, 10.0));
        let mut below = vec![' '; MARGIN + columns];
        let of_time = written(of_time);
        let end = MARGIN + columns - of_time.chars().count() - 1;
        for tick in ticks {
            let middle = MARGIN + (tick.at * (columns - 1) as f64).round() as usize;
            let from = middle.saturating_sub(tick.label.len() / 2);
            if from + tick.label.len() < end {
                below[from..from + tick.label.len()]
                    .iter_mut()
                    .zip(tick.label.chars())
                    .for_each(|(place, c)| *place = c);
            }
        }
        below.truncate(end);
        lines.push(format!(
            "{} {of_time}",
            below.into_iter().collect::<String>()
        ));
        lines
    }
}

/// Dots between two, so that a steep line has no gap.
fn connect(dots: &mut [Vec<bool>], from: (usize, usize), to: (usize, usize)) {
    let steps = from.0.abs_diff(to.0).max(from.1.abs_diff(to.1)).max(1);
    for step in 0..=steps {
        let part = step as f64 / steps as f64;
        let between =
            |a: usize, b: usize| (a as f64 + (b as f64 - a as f64) * part).round() as usize;
        dots[between(from.1, to.1)][between(from.0, to.0)] = true;
    }
}

/// The character of a row, counted from the top, and a column; dots are counted from the bottom.
fn glyph(dots: &[Vec<bool>], row: usize, column: usize, glyphs: Glyphs) -> char {
    match glyphs {
        Glyphs::Ascii => match dots[dots.len() - 1 - row][column] {
            true => '*',
            false => ' ',
        },
        Glyphs::Unicode => {
            /// The bits of a pattern, by row from the top and column.
            const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
            let top = dots.len() - 1 - row * 4;
            let mut pattern = 0x2800;
            for (down, bits) in BITS.iter().enumerate() {
                for (right, bit) in bits.iter().enumerate() {
                    if dots[top - down][column * 2 + right] {
                        pattern |= bit;
                    }
                }
            }
            char::from_u32(pattern).unwrap_or(' ')
        }
    }
}

/// A series as one line of at most that many characters, from 0 to its highest value; each is the lowest value
/// of its time, so that no stall is hidden. A gap is a space.
pub fn line(series: &Series, width: usize, glyphs: Glyphs) -> String {
    let levels: &[char] = match glyphs {
        Glyphs::Unicode => &[
            '\u{2581}', '\u{2582}', '\u{2583}', '\u{2584}', '\u{2585}', '\u{2586}', '\u{2587}',
            '\u{2588}',
        ],
        Glyphs::Ascii => &['_', '.', '-', '=', '+', '*', '#', '@'],
    };
    let per_character = series.points.len().div_ceil(width.max(1)).max(1);
    let highest = ends(series).map_or(0.0, |(_, high)| high);
    let level = |points: &[Point]| {
        let known = points.iter().filter_map(|point| point.value);
        let lowest = known.map(|range| range.low).filter(|low| low.is_finite());
        match lowest.reduce(f64::min) {
            None => ' ',
            Some(low) if highest > 0.0 => {
                let level = (low / highest * levels.len() as f64).ceil() as usize;
                levels[level.clamp(1, levels.len()) - 1]
            }
            Some(_) => levels[0],
        }
    };
    series.points.chunks(per_character).map(level).collect()
}

/// The lowest and the highest value of a series, as labels; `None` without any.
pub fn bounds(series: &Series) -> Option<(String, String)> {
    let (low, high) = ends(series)?;
    let texts = labels(&[low.round(), high.round()]);
    texts
        .try_into()
        .ok()
        .map(|[low, high]: [String; 2]| (low, high))
}

/// The lowest and the highest value of a series.
fn ends(series: &Series) -> Option<(f64, f64)> {
    let ends = series.known().map(|(_, range)| (range.low, range.high));
    ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Range;

    #[test]
    fn lines_show_the_lowest_values() {
        let point = |i: usize| Point {
            at: i as f64,
            seconds: 1.0,
            value: Some(Range {
                low: if i == 5 { 0.0 } else { 800.0 },
                mean: 900.0,
                high: 1000.0,
            }),
        };
        let series = Series {
            name: "tps".to_owned(),
            points: (0..12).map(point).collect(),
        };
        assert_eq!(line(&series, 4, Glyphs::Ascii), "#_##");
        assert_eq!(bounds(&series), Some(("0".to_owned(), "1,000".to_owned())));
        assert_eq!(bounds(&Series::default()), None);
    }
}
