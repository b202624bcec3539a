//! Content of a report, before it becomes HTML, Markdown or text. Each kind of report is written
//! once, as this; what a format cannot show, it says.

use selfbench_chart::Chart;
use selfbench_chart::number::thousands;
use selfbench_chart::text::Plot;
use selfbench_report::counted;
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::Value;
use std::fmt;

/// Rows of a table at most.
pub const MAX_ROWS: usize = 200;

/// Doubts that are not folded.
const UNFOLDED_DOUBTS: usize = 3;

/// A report.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Title.
    pub title: String,
    /// State beside the title, if it is worth a word.
    pub state: Option<&'static str>,
    /// Second line of the title.
    pub subtitle: String,
    /// Its parts in their order; the first one has the answer.
    pub sections: Vec<Section>,
    /// Author and time.
    pub footer: String,
}

/// A part of a report under a heading.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading.
    pub heading: String,
    /// Blocks below the heading.
    pub blocks: Vec<Block>,
}

impl Section {
    /// One with a table.
    pub(crate) fn of(heading: &str, words: &str, table: Table) -> Section {
        Section {
            heading: heading.into(),
            blocks: vec![Block::Text(words.into()), Block::Table(table)],
        }
    }
}

/// A piece of a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// A paragraph.
    Text(String),
    /// A paragraph that is more important than others.
    Lead(String),
    /// A heading below that of the section.
    Heading(String),
    /// The figures that matter most.
    Figures(Vec<Figure>),
    /// Reasons for doubt.
    Findings(Vec<Remark>),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// A text that keeps its lines, such as SQL.
    Code(String),
    /// Rows of a query.
    Table(Table),
    /// A picture.
    Chart(Picture),
    /// Details, folded.
    Folded(String, Vec<Block>),
}

impl Block {
    /// Reasons for doubt beside an answer: the first errors and warnings, and others and notes folded.
    pub(crate) fn doubts(remarks: Vec<Remark>) -> Vec<Block> {
        let (notes, mut doubts): (Vec<_>, Vec<_>) =
            remarks.into_iter().partition(|r| r.severity == "note");
        doubts.sort_by_key(|r| r.severity != "error");
        let others = doubts.split_off(doubts.len().min(UNFOLDED_DOUBTS));
        let mut blocks = vec![match doubts.is_empty() {
            true => Block::Text("No reason to distrust these figures is known.".into()),
            false => Block::Findings(doubts),
        }];
        if !others.is_empty() {
            let summary = format!("{} more", others.len());
            blocks.push(Block::Folded(summary, vec![Block::Findings(others)]));
        }
        if !notes.is_empty() {
            let summary = counted(notes.len(), "note");
            blocks.push(Block::Folded(summary, vec![Block::Findings(notes)]));
        }
        blocks
    }
}

/// A figure that matters.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Name.
    pub name: String,
    /// Value.
    pub value: String,
    /// Unit or share, in smaller letters; may be empty.
    pub unit: String,
}

/// A reason for doubt.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The doubt.
    pub finding: String,
    /// Evidence for it.
    pub evidence: String,
    /// Remedy; may be empty.
    pub remedy: String,
}

/// Result of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rows {
    /// Whether each column is numeric, by its type.
    pub numbers: Vec<bool>,
    /// The rows, all with the same columns.
    pub rows: Vec<Row>,
}

/// Rows of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// Caption.
    pub caption: String,
    /// Whether each column is numeric, even if all of its values are NULL.
    pub numbers: Vec<bool>,
    /// The rows, all with the same columns.
    pub rows: Vec<Row>,
    /// A query that returns all rows.
    pub query: String,
    /// Whether there are more rows than these.
    pub is_cut: bool,
}

impl Table {
    /// The rows of a query as a table, cut at [`MAX_ROWS`]; `None` without rows.
    pub(crate) fn of(caption: &str, query: String, found: Rows) -> Option<Table> {
        let Rows { numbers, mut rows } = found;
        let is_cut = rows.len() > MAX_ROWS;
        rows.truncate(MAX_ROWS);
        (!rows.is_empty()).then(|| Table {
            caption: caption.into(),
            numbers,
            rows,
            query,
            is_cut,
        })
    }

    /// The names of the columns.
    pub fn columns(&self) -> impl Iterator<Item = &str> {
        let first = self.rows.first().into_iter();
        first.flat_map(|row| row.0.iter().map(|(name, _)| name.as_str()))
    }

    /// Whether a column has numbers.
    pub fn is_number(&self, column: usize) -> bool {
        self.numbers.get(column) == Some(&true)
    }
}

/// A row: the columns' names with its values, in their order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row(pub Vec<(String, Value)>);

impl Row {
    /// A number; `None` for NULL, or if there is no such column.
    pub fn number(&self, column: &str) -> Option<f64> {
        let found = self.0.iter().find(|(name, _)| name == column);
        found.and_then(|(_, value)| value.as_f64())
    }

    /// A value as text; empty for NULL, or if there is no such column.
    pub fn text(&self, column: &str) -> &str {
        let found = self.0.iter().find(|(name, _)| name == column);
        found
            .and_then(|(_, value)| value.as_str())
            .unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Row {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Row, D::Error> {
        struct Columns;
        impl<'de> Visitor<'de> for Columns {
            type Value = Row;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Row, A::Error> {
                let mut columns = Vec::new();
                while let Some(column) = map.next_entry()? {
                    columns.push(column);
                }
                Ok(Row(columns))
            }
        }
        deserializer.deserialize_map(Columns)
    }
}

/// A picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// The chart.
    pub chart: Chart,
    /// Data of the chart, unless a table shows them beside it.
    pub table: Option<Table>,
    /// A query that returns the chart as SVG; may be empty.
    pub query: String,
    /// Course over time that it tells, for text.
    pub plot: Option<Box<Plot>>,
}

impl Picture {
    /// One that a table tells.
    pub(crate) fn of(chart: Chart, table: Option<Table>) -> Picture {
        Picture {
            chart,
            table,
            query: String::new(),
            plot: None,
        }
    }
}

/// A value as it is printed; figures keep at least three digits, those in columns of shares are percents.
pub(crate) fn print(column: &str, value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) if column.ends_with("_at") => moment(text),
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::Number(number) => match number.as_f64() {
            Some(share) if column.ends_with("share") => format!("{:.1} %", 100.0 * share),
            Some(value) if number.is_f64() => decimal(value),
            _ if is_name(column) => number.to_string(),
            _ => thousands(&number.to_string()),
        },
        Value::Array(values) => {
            let texts: Vec<String> = values.iter().map(|value| print(column, value)).collect();
            texts.join(", ")
        }
        Value::Object(members) => {
            let member =
                |(name, value): (&String, &Value)| format!("{name}={}", print(name, value));
            let texts: Vec<String> = members.iter().map(member).collect();
            texts.join(", ")
        }
    }
}

/// Whether the numbers of a column tell things apart.
fn is_name(column: &str) -> bool {
    let ends = ["id", "ids", "_no", "line", "port", "seed"];
    ends.iter().any(|end| column.ends_with(end))
}

/// A number with as many decimals as its size calls for.
pub(crate) fn decimal(value: f64) -> String {
    let decimals = match value.abs() {
        x if x < 1e-9 => 0,
        x if x >= 1000.0 => 0,
        x if x >= 100.0 => 1,
        x if x >= 10.0 => 2,
        x if x >= 0.1 => 3,
        x => (2.0 - x.log10().floor()) as usize,
    };
    thousands(&format!("{value:.decimals$}"))
}

/// A moment, as JSON has it, to the second.
pub(crate) fn moment(text: &str) -> String {
    match (text.get(..19), text.rfind(['+', '-', 'Z'])) {
        (Some(begin), Some(zone)) if zone >= 19 => {
            format!("{} {}", begin.replace('T', " "), &text[zone..])
        }
        _ => text.to_owned(),
    }
}

/// A whole number with commas.
pub(crate) fn grouped(value: f64) -> String {
    thousands(&format!("{value:.0}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn rows_keep_the_order_of_their_columns() {
        let row: Row = serde_json::from_str(r#"{"z": 1, "a": "x", "m": null}"#).unwrap();
        let names: Vec<_> = row.0.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["z", "a", "m"]);
        assert_eq!((row.text("a"), row.text("m"), row.text("b")), ("x", "", ""));
    }

    #[test]
    fn columns_without_values_are_aligned_by_their_kind() {
        let row = |text: Value, number: Value| Row(vec![("a".into(), text), ("b".into(), number)]);
        let table = Table {
            numbers: vec![false, true],
            rows: vec![row(json!(null), json!(null))],
            ..Table::default()
        };
        let kinds = [0, 1, 2].map(|column| table.is_number(column));
        assert_eq!(kinds, [false, true, false]);
    }

    #[test]
    fn values_are_printed_by_their_size() {
        let printed = |value: Value| print("x", &value);
        assert_eq!(printed(json!(null)), "-");
        assert_eq!(printed(json!(123456)), "123,456");
        assert_eq!(print("run_id", &json!(123456)), "123456");
        assert_eq!(print("run_ids", &json!([1234, 5])), "1234, 5");
        assert_eq!(printed(json!(123456.7)), "123,457");
        assert_eq!(printed(json!(0.0)), "0");
        assert_eq!(printed(json!(0.00912)), "0.00912");
        assert_eq!(printed(json!(0.0000128)), "0.0000128");
        assert_eq!(printed(json!(12.3456)), "12.35");
        assert_eq!(printed(json!(["a", 1])), "a, 1");
        assert_eq!(printed(json!({"a": 1, "b": "c"})), "a=1, b=c");
        assert_eq!(print("self_share", &json!(0.1234)), "12.3 %");
    }

    #[test]
    fn moments_have_seconds() {
        let seconds = "2026-11-22 12:06:15 +00:00";
        assert_eq!(moment("2026-11-22T12:06:15.6286+00:00"), seconds);
        assert_eq!(moment("2026-11-22T12:06:15+00:00"), seconds);
        assert_eq!(moment("infinity"), "infinity");
    }

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(0.0), "0");
        assert_eq!(grouped(999.4), "999");
        assert_eq!(grouped(1234567.0), "1,234,567");
        assert_eq!(grouped(-1000.0), "-1,000");
    }
}
