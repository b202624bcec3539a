//! A report as HTML.

use crate::Document;
use crate::content::{Block, Picture, Report, Section, Table, print};
use maud::{Markup, html};
use selfbench_markup::{Constant, constant};

impl Report {
    /// The report as an HTML document in one file.
    pub fn html(&self) -> String {
        let mut ids = Ids::default();
        Document {
            title: &self.title,
            badge: self.state,
            intro: html! { @if !self.subtitle.is_empty() { p.muted { (self.subtitle) } } },
            main: html! {
                // Sections have the numbers that they get below.
                @if self.sections.len() > 2 {
                    nav.contents aria-label="Contents" {
                        @for (i, section) in self.sections.iter().enumerate() {
                            a href={ "#part-" (i + 1) } { (section.heading) }
                        }
                    }
                }
                @for section in &self.sections { (section.html(None, &mut ids)) }
            },
            footer: html! { p { (self.footer) } },
            scripts: &scripts([self]),
        }
        .render()
    }

    /// The report as a part of another document, with links to other parts: their texts and ids. Its own id is that of
    /// a paragraph within: a link to it unfolds the report.
    pub(crate) fn folded(&self, ids: &mut Ids, links: &[(String, String)]) -> (Markup, String) {
        let (id, within) = (ids.next(), ids.next());
        let markup = html! {
            details {
                summary id=(id) { (self.title) }
                p.muted id=(within) {
                    (self.subtitle)
                    @for (text, id) in links { " " a href={ "#" (id) } { (text) } }
                }
                @for section in &self.sections { (section.html(Some(&id), ids)) }
            }
        };
        (markup, within)
    }
}

/// The programs of pages that have the reports: those of their charts.
pub(crate) fn scripts<'a>(reports: impl IntoIterator<Item = &'a Report>) -> Vec<Constant> {
    let sections = reports.into_iter().flat_map(|report| &report.sections);
    let (mut has_charts, mut has_flames) = (false, false);
    for block in sections.flat_map(|section| &section.blocks) {
        if let Block::Chart(picture) = block {
            has_charts = true;
            has_flames |= picture.chart.is_flame();
        }
    }
    let scripts = [(has_charts, CHARTS), (has_flames, FLAMES)];
    let wanted = scripts.into_iter().filter(|(is_wanted, _)| *is_wanted);
    wanted.map(|(_, script)| script).collect()
}

/// Values where the pointer is. Everything can be read without it.
const CHARTS: Constant = constant(include_str!("script.js"));

/// Flame graphs that fold, are searched and inverted.
const FLAMES: Constant = constant(include_str!("flame.js"));

/// Numbers of the document's elements.
#[derive(Default)]
pub(crate) struct Ids(usize);

impl Ids {
    fn next(&mut self) -> String {
        self.0 += 1;
        format!("part-{}", self.0)
    }
}

impl Section {
    /// `of` is the id of the title of its report, if the document has more than that: sections have different
    /// names.
    fn html(&self, of: Option<&str>, ids: &mut Ids) -> Markup {
        let id = ids.next();
        let names: Vec<&str> = of.into_iter().chain([id.as_str()]).collect();
        html! {
            section aria-labelledby=(names.join(" ")) {
                h2 id=(id) { (self.heading) }
                @for (i, block) in self.blocks.iter().enumerate() { (block.html(&self.blocks[..i])) }
            }
        }
    }
}

impl Block {
    /// It, behind other blocks.
    fn html(&self, before: &[Block]) -> Markup {
        match self {
            Block::Text(text) => html! { p { (text) } },
            Block::Lead(text) => html! { p.lead { (text) } },
            Block::Heading(text) => html! { h3 { (text) } },
            Block::Figures(figures) => html! {
                dl.figures {
                    @for figure in figures {
                        div {
                            dt { (figure.name) }
                            dd {
                                (figure.value)
                                @if !figure.unit.is_empty() { " " small { (figure.unit) } }
                            }
                        }
                    }
                }
            },
            Block::Findings(findings) => html! {
                ul.findings {
                    @for remark in findings {
                        li class=(remark.severity) {
                            b { (remark.severity) ": " } (remark.finding)
                            @if !remark.evidence.is_empty() { " (" (remark.evidence) ")" }
                            @if !remark.remedy.is_empty() { br; span.muted { (remark.remedy) } }
                        }
                    }
                }
            },
            Block::Facts(facts) => html! {
                dl.facts {
                    @for (name, value) in facts { div { dt { (name) } dd { (value) } } }
                }
            },
            Block::Code(text) => html! { pre { (text) } },
            Block::Table(table) => table.html(),
            Block::Chart(picture) => {
                // What charts have in common stands above the first of them.
                let finding = &picture.chart.about().finding;
                let says = |block: &Block| matches!(block, Block::Chart(other) if other.chart.about().finding == *finding);
                picture.html(before.iter().any(says))
            }
            Block::Folded(summary, blocks) => html! {
                details {
                    summary { (summary) }
                    @for (i, block) in blocks.iter().enumerate() { (block.html(&blocks[..i])) }
                }
            },
        }
    }
}

/// A text in a table; a long one needs a wide column.
pub(crate) fn text_cell(text: &str) -> Markup {
    html! { td.text.long[text.chars().count() > 40] { (text) } }
}

impl Table {
    fn html(&self) -> Markup {
        let columns: Vec<(&str, bool)> = self
            .columns()
            .enumerate()
            .map(|(at, name)| (name, self.is_number(at)))
            .collect();
        // Tables of figures may be long: their cells have no class.
        let has_text = columns.iter().any(|(_, is_number)| !is_number);
        let class = |is_number: bool| has_text.then_some(if is_number { "number" } else { "text" });
        html! {
            // The element can be scrolled by keys, too.
            div.scroll tabindex="0" role="group" aria-label=(self.caption) {
                table.numbers[!has_text] {
                    caption { (self.caption) }
                    thead {
                        tr {
                            @for (name, is_number) in &columns {
                                th class=[class(*is_number)] scope="col" { (name.replace('_', " ")) }
                            }
                        }
                    }
                    tbody {
                        @for row in &self.rows {
                            tr {
                                @for ((name, value), (_, is_number)) in row.0.iter().zip(&columns) {
                                    @match class(*is_number) {
                                        Some("text") => (text_cell(&print(name, value))),
                                        class => td class=[class] { (print(name, value)) },
                                    }
                                }
                            }
                        }
                    }
                }
            }
            @if !self.query.is_empty() {
                p.muted {
                    @if self.is_cut { "These are the first " (self.rows.len()) " rows. " }
                    "Query: " code { (self.query) }
                }
            }
        }
    }
}

impl Picture {
    fn html(&self, is_told: bool) -> Markup {
        let about = self.chart.about();
        html! {
            figure {
                figcaption { b { (about.title) } @if !is_told { " " (about.finding) } }
                (self.chart.embedded())
            }
            @if let Some(table) = &self.table {
                details {
                    summary { "Figures of this chart" }
                    (table.html())
                }
            }
        }
    }
}
