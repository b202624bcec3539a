//! A report as text for a terminal.

use crate::content::{Block, Report, Table, print};
use selfbench_markup::{line, lines};
use textwrap::{Options, WordSplitter, wrap};

/// Width of a terminal that texts fit, in characters.
const WIDTH: usize = 100;
/// Columns of texts are cut there: two of them fit.
const WIDEST: usize = 47;

/// A line in as many lines as fit a terminal.
pub fn fitting(line: &str) -> Vec<String> {
    fitting_behind("", line)
}

/// A line in as many lines as fit a terminal that writes something before it.
pub fn fitting_behind(prefix: &str, line: &str) -> Vec<String> {
    let options = Options::new(WIDTH)
        .initial_indent(prefix)
        .subsequent_indent("    ")
        .word_splitter(WordSplitter::NoHyphenation);
    let lines = wrap(line, options).into_iter();
    let mut lines: Vec<String> = lines.map(|line| line.trim_end().to_owned()).collect();
    if let Some(first) = lines.first_mut() {
        *first = first.get(prefix.len()..).unwrap_or_default().to_owned();
    }
    lines
}

impl Report {
    /// The report as text, every line ended.
    pub fn text(&self) -> String {
        let mut text = fitting(&line(&self.title));
        if !self.subtitle.is_empty() {
            text.extend(fitting(&line(&self.subtitle)));
        }
        let mut has_charts = false;
        for section in &self.sections {
            let is_chart = |block: &Block| matches!(block, Block::Chart(_));
            if section.blocks.iter().all(is_chart) {
                has_charts |= !section.blocks.is_empty();
                continue;
            }
            heading(&mut text, &section.heading, '=');
            for block in &section.blocks {
                add(&mut text, &mut has_charts, block);
            }
        }
        if has_charts {
            text.push(String::new());
            text.push("Format html has charts, too.".into());
        }
        text.push(String::new());
        text.join("\n")
    }
}

fn heading(text: &mut Vec<String>, words: &str, below: char) {
    let words = fitting(&line(words));
    let width = words.iter().map(|words| words.chars().count()).max();
    text.push(String::new());
    text.extend(words);
    text.push(below.to_string().repeat(width.unwrap_or(0)));
}

fn add(text: &mut Vec<String>, has_charts: &mut bool, block: &Block) {
    match block {
        Block::Text(words) | Block::Lead(words) => text.extend(fitting(&line(words))),
        Block::Heading(words) => heading(text, words, '-'),
        Block::Figures(figures) => {
            for figure in figures {
                let (name, value) = (line(&figure.name), line(&figure.value));
                text.extend(fitting(&format!("{name}: {value} {}", figure.unit)));
            }
        }
        Block::Findings(findings) => {
            for remark in findings {
                let mut words = format!("{}: {}", remark.severity, line(&remark.finding));
                if !remark.evidence.is_empty() {
                    words += &format!(": {}", line(&remark.evidence));
                }
                text.extend(fitting(&words));
            }
        }
        Block::Facts(facts) => {
            for (name, value) in facts {
                text.extend(fitting(&format!("{}: {}", line(name), line(value))));
            }
        }
        // As it is, to be copied.
        Block::Code(code) => text.extend(lines(code).lines().map(|line| format!("    {line}"))),
        Block::Table(of) => table(text, of),
        Block::Chart(_) => *has_charts = true,
        Block::Folded(summary, blocks) => {
            heading(text, summary, '-');
            for block in blocks {
                add(text, has_charts, block);
            }
        }
    }
}

/// Columns with their values below each other, as psql shows them. Those that do not fit beside the others are
/// below them, with the first one again.
fn table(text: &mut Vec<String>, table: &Table) {
    let mut rows: Vec<Vec<String>> = vec![table.columns().map(cut).collect()];
    for row in &table.rows {
        let cells = row.0.iter().map(|(name, value)| cut(&print(name, value)));
        rows.push(cells.collect());
    }
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|row| row.get(at));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    for columns in beside(&widths) {
        text.push(String::new());
        for (number, row) in rows.iter().enumerate() {
            let cells = columns.iter().map(|&at| {
                let (cell, width) = (&row[at], widths[at]);
                match number > 0 && table.is_number(at) {
                    true => format!(" {cell:>width$} "),
                    false => format!(" {cell:<width$} "),
                }
            });
            let cells = cells.collect::<Vec<_>>().join("|");
            text.push(cells.trim_end().to_owned());
            if number == 0 {
                let rules = columns.iter().map(|&at| "-".repeat(widths[at] + 2));
                text.push(rules.collect::<Vec<_>>().join("+"));
            }
        }
    }
    if table.is_cut {
        text.push(format!("The first {} rows; all of them:", table.rows.len()));
        text.push(format!("    {}", line(&table.query)));
    }
}

/// The columns that stand beside each other.
fn beside(widths: &[usize]) -> Vec<Vec<usize>> {
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut taken = usize::MAX;
    for (at, width) in widths.iter().enumerate() {
        if taken.saturating_add(width + 3) > WIDTH {
            parts.push(if at > 0 { vec![0] } else { Vec::new() });
            taken = if at > 0 { widths[0] + 3 } else { 0 };
        }
        taken += width + 3;
        parts.last_mut().into_iter().for_each(|part| part.push(at));
    }
    parts
}

fn cut(cell: &str) -> String {
    let cell = line(cell);
    match cell.chars().count() {
        0..=WIDEST => cell.into_owned(),
        _ => cell.chars().take(WIDEST - 3).chain("...".chars()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_that_do_not_fit_stand_below() {
        assert_eq!(beside(&[10, 20, 30]), [vec![0, 1, 2]]);
        assert_eq!(beside(&[10, 47, 47, 20]), [vec![0, 1], vec![0, 2, 3]]);
        assert_eq!(beside(&[47, 47]), [vec![0, 1]]);
        assert!(beside(&[]).is_empty());
    }

    #[test]
    fn lines_fit_a_terminal() {
        let line = format!("   0.003  0 UPDATE {}", "x = 1, ".repeat(30));
        let lines = fitting(&line);
        assert!(lines.iter().all(|line| line.len() <= WIDTH), "{lines:?}");
        assert!(lines[0].starts_with("   0.003  0 UPDATE x") && lines[1].starts_with("    "));
        assert_eq!(fitting(""), [""]);
        let told = fitting_behind("NOTICE:  ", &"x ".repeat(50));
        assert_eq!(told.iter().map(String::len).collect::<Vec<_>>(), [91, 11]);
        let whole = "0".repeat(250);
        assert!(fitting(&whole).iter().all(|line| line.len() <= WIDTH));
    }
}
