//! The tables and composite types that a script creates, as it is written: a column is a line, which may end in
//! a comment.

/// A table or composite type in schema `bench`.
#[derive(Debug)]
pub struct Table {
    /// Its name without the schema.
    pub name: String,
    /// Whether it is a type.
    pub is_type: bool,
    /// Its columns.
    pub columns: Vec<Column>,
}

/// A column of a table.
#[derive(Debug)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type and constraints.
    pub definition: String,
    /// Text of the comment behind it.
    pub comment: String,
}

impl Table {
    /// Whether it is a table with rows of runs.
    pub fn has_rows_of_runs(&self) -> bool {
        !self.is_type && self.columns.iter().any(|column| column.name == "run_id")
    }
}

impl Column {
    /// Whether all rows have a value.
    pub fn is_not_null(&self) -> bool {
        ["NOT NULL", "PRIMARY KEY"]
            .iter()
            .any(|word| self.definition.contains(word))
    }

    /// Whether the server computes it.
    pub fn is_computed(&self) -> bool {
        self.definition.contains("GENERATED ALWAYS")
    }
}

/// The tables and composite types that a script creates.
pub fn tables(script: &str) -> Vec<Table> {
    let begun = script.split("\nCREATE ").skip(1);
    begun.filter_map(table).collect()
}

fn table(begun: &str) -> Option<Table> {
    let (first, rest) = begun.split_once(" (\n")?;
    let of_type = first
        .strip_prefix("TYPE bench.")
        .and_then(|name| name.strip_suffix(" AS"));
    let name = first.strip_prefix("TABLE bench.").or(of_type)?;
    let (body, _) = rest.split_once("\n);")?;
    let mut columns: Vec<Column> = Vec::new();
    for line in body.lines() {
        let (definition, comment) = line.split_once("--").unwrap_or((line, ""));
        let definition = definition.trim_end().trim_end_matches(',');
        let (name, rest) = definition.trim_start().split_once(' ').unwrap_or_default();
        match columns.last_mut() {
            // A line that is indented further continues the definition before.
            Some(last) if line.starts_with("     ") => {
                last.definition += &format!(" {}", definition.trim())
            }
            _ if name.starts_with(|c: char| c.is_ascii_lowercase()) => columns.push(Column {
                name: name.to_owned(),
                definition: rest.trim().to_owned(),
                comment: comment.trim().to_owned(),
            }),
            _ => {}
        }
    }
    Some(Table {
        name: name.to_owned(),
        is_type: of_type.is_some(),
        columns,
    })
}
