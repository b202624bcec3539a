//! The part of the JSON Schema of exported documents that describes the rows of tables. A document has the
//! rows of the tables with a column `run_id`, and of each the columns that mean something elsewhere.

use crate::tables::{Column, Table};

/// Beginning of this part; it goes to the end.
const BEGIN: &str = "    \"tables\": {\n      \"description\"";

/// Values of columns in documents that the definition does not tell, or more than documents have.
const VALUES: [(&str, &[&str]); 4] = [
    ("state", &["finished", "canceled", "failed", "lost"]),
    ("mode", &["spi", "libpq"]),
    ("protocol", &["simple", "extended", "prepared"]),
    ("undefined_variables", &["error", "pgbench"]),
];

/// The schema with this part as it should be.
pub fn schema(text: &str, script: &str, tables: &[Table]) -> Result<String, String> {
    let (before, _) = text
        .split_once(BEGIN)
        .ok_or("the schema does not describe tables")?;
    let local = script.split_once("FUNCTION bench_internal.local_columns()");
    let local = local.and_then(|(_, rest)| rest.split('\'').nth(1));
    let local = local
        .ok_or("there is no list of local columns")?
        .trim_matches(['{', '}']);
    let local: Vec<&str> = local.split(',').collect();
    let mut tables: Vec<_> = tables
        .iter()
        .filter(|table| table.has_rows_of_runs())
        .collect();
    tables.sort_by_key(|table| (table.name != "runs", &table.name));
    let rows = tables[1..].iter().map(|Table { name, .. }| {
        let items = format!("{{ \"$ref\": \"#/$defs/{name}\" }}");
        format!(
            "        \"{name}\": {{ \"type\": \"array\", \"minItems\": 1, \"items\": {items} }}"
        )
    });
    let rows = rows.collect::<Vec<_>>().join(",\n");
    let rows = object(
        "tables",
        "rows of each table that has rows of the run",
        None,
        &rows,
    );
    let definitions = tables.iter().map(|table| {
        let columns = table
            .columns
            .iter()
            .filter(|column| !local.contains(&column.name.as_str()));
        let required = columns.clone().filter(|column| column.is_not_null());
        let required: Vec<_> = required
            .map(|column| format!("\"{}\"", column.name))
            .collect();
        let properties = columns.map(|column| property(&table.name, column));
        let properties = properties.collect::<Vec<_>>().join(",\n");
        object(
            &table.name,
            &comment_of(script, &table.name),
            Some(required.join(", ")),
            &properties,
        )
    });
    let definitions = definitions.collect::<Vec<_>>().join(",\n");
    Ok(format!("{before}{rows},\n{definitions}\n  }}\n}}\n"))
}

fn comment_of(script: &str, table: &str) -> String {
    let begun = script.split_once(&format!("COMMENT ON TABLE bench.{table} IS '"));
    let (comment, _) = begun
        .and_then(|(_, rest)| rest.split_once("';\n"))
        .unwrap_or_default();
    comment.replace("''", "'")
}

fn object(name: &str, description: &str, required: Option<String>, properties: &str) -> String {
    let required = required.map_or(String::new(), |names| {
        format!("      \"required\": [{names}],\n")
    });
    format!(
        "    \"{name}\": {{\n      \"description\": {},\n      \"type\": \"object\",\n      \
         \"additionalProperties\": false,\n{required}      \"properties\": {{\n{properties}\n      }}\n    }}",
        quoted(description)
    )
}

fn property(table: &str, column: &Column) -> String {
    let (name, definition) = (column.name.as_str(), column.definition.as_str());
    let reference = |name: &str| format!("\"$ref\": \"#/$defs/{name}\"");
    let of_type = |name: &str| format!("\"type\": \"{name}\"");
    let values = VALUES.iter().find(|(of, _)| *of == name && table == "runs");
    let checked = definition.split_once(&format!("CHECK ({name} IN ("));
    let checked = checked.and_then(|(_, rest)| rest.split_once("))"));
    let sql_type = definition.split(' ').next().unwrap_or_default();
    let schema = match (values, checked, sql_type) {
        (Some((_, values)), ..) => {
            let values: Vec<_> = values.iter().map(|value| quoted(value)).collect();
            format!("\"enum\": [{}]", values.join(", "))
        }
        (_, Some((values, _)), _) => format!("\"enum\": [{}]", values.replace('\'', "\"")),
        (.., "bytea") => reference("histogram"),
        (.., "timestamptz") => reference("time"),
        (.., "boolean") => of_type("boolean"),
        (.., "jsonb") => format!(
            "{}, \"additionalProperties\": {{\"type\": \"string\"}}",
            of_type("object")
        ),
        (.., "text[]") => format!("{}, \"items\": {{\"type\": \"string\"}}", of_type("array")),
        (.., "int" | "bigint") if name.ends_with("query_id") => of_type("integer"),
        (.., "int" | "bigint") => reference("count"),
        (.., "float8") if name.ends_with("_ms") => reference("milliseconds"),
        (.., "float8") if name.ends_with("_us") => reference("microseconds"),
        (.., "float8") if name.ends_with("_share") => reference("share"),
        (.., "float8")
            if name == "seconds" || name.ends_with("_s") && !name.ends_with("_per_s") =>
        {
            reference("seconds")
        }
        (.., "float8") => of_type("number"),
        _ => of_type("string"),
    };
    let description = match column.comment.as_str() {
        "" => String::new(),
        comment => format!(", \"description\": {}", quoted(comment)),
    };
    format!("        \"{name}\": {{{schema}{description}}}")
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
