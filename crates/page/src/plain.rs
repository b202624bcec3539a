//! A report as text for a terminal.

use crate::content::{Block, Report, Table, print};
use selfbench_markup::{line, lines};

/// Columns of texts are cut there.
const WIDEST: usize = 60;

impl Report {
    /// The report as text, every line ended.
    pub fn text(&self) -> String {
        let mut text = vec![line(&self.title).into_owned()];
        if !self.subtitle.is_empty() {
            text.push(line(&self.subtitle).into_owned());
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
    let words = line(words);
    text.push(String::new());
    text.push(below.to_string().repeat(words.chars().count()));
    let at = text.len() - 1;
    text.insert(at, words.into_owned());
}

fn add(text: &mut Vec<String>, has_charts: &mut bool, block: &Block) {
    match block {
        Block::Text(words) | Block::Lead(words) => text.push(line(words).into_owned()),
        Block::Heading(words) => heading(text, words, '-'),
        Block::Figures(figures) => {
            for figure in figures {
                let (name, value) = (line(&figure.name), line(&figure.value));
                text.push(format!("{name}: {value} {}", figure.unit));
            }
        }
        Block::Findings(findings) => {
            for remark in findings {
                let (finding, evidence) = (line(&remark.finding), line(&remark.evidence));
                text.push(format!("{}: {finding}: {evidence}", remark.severity));
            }
        }
        Block::Facts(facts) => {
            for (name, value) in facts {
                text.push(format!("{}: {}", line(name), line(value)));
            }
        }
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

/// Columns with their values below each other, as psql shows them.
fn table(text: &mut Vec<String>, table: &Table) {
    let mut rows: Vec<Vec<String>> = vec![table.columns().map(cut).collect()];
    for row in &table.rows {
        let cells = row.0.iter().map(|(name, value)| cut(&print(name, value)));
        rows.push(cells.collect());
    }
    let columns = rows[0].len();
    let width = |at: usize| {
        rows.iter()
            .filter_map(|row| Some(row.get(at)?.chars().count()))
            .max()
    };
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
    text.push(String::new());
    for (number, row) in rows.iter().enumerate() {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(
                |(at, (cell, width))| match number > 0 && table.is_number(at) {
                    true => format!(" {cell:>width$} "),
                    false => format!(" {cell:<width$} "),
                },
            );
        text.push(cells.collect::<Vec<_>>().join("|").trim_end().to_owned());
        if number == 0 {
            let rules: Vec<String> = widths.iter().map(|width| "-".repeat(width + 2)).collect();
            text.push(rules.join("+"));
        }
    }
    if table.is_cut {
        text.push(format!("The first {} rows; all of them:", table.rows.len()));
        text.push(line(&table.query).into_owned());
    }
}

fn cut(cell: &str) -> String {
    let cell = line(cell);
    match cell.chars().count() {
        0..=WIDEST => cell.into_owned(),
        _ => cell.chars().take(WIDEST - 3).chain("...".chars()).collect(),
    }
}
