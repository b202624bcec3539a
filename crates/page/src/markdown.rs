//! A report as Markdown of GitHub's flavor, for an issue or a mail.

use crate::content::{Block, Report, Table, print};
use selfbench_chart::text::Glyphs;
use selfbench_markup::markdown::{block, paragraph, text};

/// Width of a plot, in characters.
const WIDTH: usize = 80;

impl Report {
    /// The report as Markdown, with plots of these characters.
    pub fn markdown(&self, glyphs: Glyphs) -> String {
        let state = self.state.map(|state| format!(" ({state})"));
        let title = format!("# {}{}", text(&self.title), state.unwrap_or_default());
        let mut lines = vec![title, String::new()];
        if !self.subtitle.is_empty() {
            lines.extend([paragraph(&self.subtitle), String::new()]);
        }
        let mut charts = Vec::new();
        for section in &self.sections {
            lines.extend([format!("## {}", text(&section.heading)), String::new()]);
            for block in &section.blocks {
                add(&mut lines, &mut charts, block, glyphs);
            }
        }
        if !charts.is_empty() {
            lines.extend(["## Charts".into(), String::new()]);
            let queries: Vec<&str> = charts
                .into_iter()
                .filter(|query| !query.is_empty())
                .collect();
            let words = "The HTML report has all charts";
            if queries.is_empty() {
                lines.extend([format!("{words}."), String::new()]);
            } else {
                lines.push(format!(
                    "{words}; each of these queries returns one as SVG."
                ));
                lines.push(block(&queries.join("\n")));
            }
        }
        lines.extend([paragraph(&self.footer), String::new()]);
        lines.join("\n")
    }
}

/// Adds the lines of a block; of a chart, what it shows, its plot, and its query to `charts`.
fn add<'b>(lines: &mut Vec<String>, charts: &mut Vec<&'b str>, of: &'b Block, glyphs: Glyphs) {
    match of {
        Block::Text(words) => lines.extend([paragraph(words), String::new()]),
        Block::Lead(words) => lines.extend([format!("**{}**", text(words)), String::new()]),
        Block::Heading(heading) => lines.extend([format!("### {}", text(heading)), String::new()]),
        Block::Figures(figures) => {
            let figures = figures.iter();
            let row = |f: &crate::Figure| (f.name.clone(), format!("{} {}", f.value, f.unit));
            facts(lines, &figures.map(row).collect::<Vec<_>>());
        }
        Block::Findings(findings) => {
            for remark in findings {
                let evidence = match remark.evidence.as_str() {
                    "" => String::new(),
                    evidence => format!(" ({})", text(evidence)),
                };
                let (severity, finding) = (remark.severity, text(&remark.finding));
                let remedy = text(&remark.remedy);
                lines.push(format!("* **{severity}**: {finding}{evidence}. {remedy}"));
            }
            lines.push(String::new());
        }
        Block::Facts(rows) => facts(lines, rows),
        Block::Code(code) => lines.push(block(code)),
        Block::Table(of) => table(lines, of),
        Block::Chart(picture) => {
            let about = picture.chart.about();
            let (title, finding) = (text(&about.title), text(&about.finding));
            lines.extend([format!("**{title}** {finding}"), String::new()]);
            let plot = picture.plot.iter().map(|plot| plot.lines(WIDTH, glyphs));
            lines.extend(plot.map(|lines| block(&lines.join("\n"))));
            charts.push(picture.query.as_str());
        }
        Block::Folded(summary, blocks) => {
            // GitHub renders what stands between these lines if they are surrounded by empty ones.
            lines.push("<details>".into());
            lines.extend([
                format!("<summary>{}</summary>", text(summary)),
                String::new(),
            ]);
            for block in blocks {
                add(lines, charts, block, glyphs);
            }
            lines.extend(["</details>".into(), String::new()]);
        }
    }
}

fn facts(lines: &mut Vec<String>, rows: &[(String, String)]) {
    lines.extend(["| | |".into(), "|---|---|".into()]);
    let cells = rows.iter().map(|(name, value)| [name, value]);
    lines.extend(cells.map(|cells| row(cells.into_iter().map(|cell| text(cell.trim())))));
    lines.push(String::new());
}

fn table(lines: &mut Vec<String>, table: &Table) {
    lines.extend([paragraph(&table.caption), String::new()]);
    lines.push(row(table.columns().map(text)));
    let columns = table.columns().count();
    let sides = (0..columns).map(|at| if table.is_number(at) { "---:" } else { "---" });
    lines.push(row(sides.map(str::to_owned)));
    for cells in &table.rows {
        let cells = cells.0.iter();
        lines.push(row(cells.map(|(name, value)| text(&print(name, value)))));
    }
    lines.push(String::new());
    if table.is_cut {
        lines.push(format!("The first {} rows; all of them:", table.rows.len()));
        lines.push(block(&table.query));
    }
}

fn row(cells: impl Iterator<Item = String>) -> String {
    let cells: Vec<String> = cells.collect();
    format!("| {} |", cells.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::{Picture, Section};
    use selfbench_chart::{About, Across, Unit, curve};

    #[test]
    fn queries_of_charts_are_told_where_there_are_some() {
        let report = |queries: &[&str]| {
            let picture = |query: &&str| {
                let chart = curve(
                    &About::default(),
                    &Across::Dates(Vec::new()),
                    Unit::Count("tps"),
                    &[],
                );
                let query = (*query).to_owned();
                Block::Chart(Picture {
                    query,
                    ..Picture::of(chart, None)
                })
            };
            let blocks = queries.iter().map(picture).collect();
            Report {
                title: "Runs".into(),
                state: None,
                subtitle: String::new(),
                sections: vec![Section {
                    heading: "Results".into(),
                    blocks,
                }],
                footer: String::new(),
            }
            .markdown(Glyphs::Ascii)
        };
        let without = report(&["", ""]);
        assert!(
            without.contains("The HTML report has all charts.\n"),
            "{without}"
        );
        assert!(!without.contains("```"), "{without}");
        let with = report(&["", "SELECT 1;"]);
        assert!(
            with.contains("returns one as SVG.\n\n```\nSELECT 1;\n```"),
            "{with}"
        );
    }
}
