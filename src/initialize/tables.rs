//! Existing pgbench tables, and other relations or types that have the name of one.

use super::options::{InitializeSpec, no_schema};
use crate::database::Database;
use crate::error::{Error, Result};
use crate::query::quote_literal;

/// pgbench's tables with their columns.
pub const TABLES: [(&str, &[&str]); 4] = [
    ("pgbench_accounts", &["aid", "bid", "abalance", "filler"]),
    ("pgbench_branches", &["bid", "bbalance", "filler"]),
    (
        "pgbench_history",
        &["tid", "bid", "aid", "delta", "mtime", "filler"],
    ),
    ("pgbench_tellers", &["tid", "bid", "tbalance", "filler"]),
];

/// A relation's kind, its columns as a JSON array, its name with its schema, its OID, and about how
/// many rows it and its partitions have; `{}` is its name as a literal.
const FIND: &str = "
SELECT c.relkind::pg_catalog.text,
       pg_catalog.to_json(ARRAY(
           SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute a
            WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
              AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
            ORDER BY a.attnum))::pg_catalog.text,
       pg_catalog.format('%I.%I', n.nspname, c.relname),
       c.oid::pg_catalog.text,
       (SELECT pg_catalog.sum(p.reltuples)::pg_catalog.int8 FROM pg_catalog.pg_class p
         WHERE p.relkind OPERATOR(pg_catalog.=) 'r' AND p.reltuples OPERATOR(pg_catalog.>) 0
           AND (p.oid OPERATOR(pg_catalog.=) c.oid
                OR EXISTS (SELECT FROM pg_catalog.pg_inherits i
                            WHERE i.inhparent OPERATOR(pg_catalog.=) c.oid
                              AND i.inhrelid OPERATOR(pg_catalog.=) p.oid)))::pg_catalog.text
  FROM (SELECT pg_catalog.to_regclass({}) AS oid) t
  JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace";

/// Types, and relations with names of partitions, that occupy a name needed for a table in the
/// schema where tables are created. [`FIND`] finds the others.
const IN_THE_WAY: &str = include_str!("in_the_way.sql");

/// pgbench's tables as the statements name them.
#[derive(Debug)]
pub struct Tables {
    /// The prefix of each name: a schema with a dot, or empty.
    pub(super) prefix: String,
    /// Existing tables with their schemas and approximate numbers of rows.
    old: Vec<OldTable>,
}

/// A table that an earlier initialization has left.
#[derive(Clone, Debug)]
pub struct OldTable {
    /// Its name with its schema, quoted for SQL.
    pub name: String,
    /// Its OID.
    pub oid: u32,
    /// Its approximate number of rows, if it has been analyzed.
    pub rows: Option<i64>,
}

impl Tables {
    /// Finds the tables in the first schema of `search_path`, where an initialization drops and
    /// creates them. An initialization that only fills tables, or that behaves like pgbench, uses
    /// the tables that `search_path` finds.
    ///
    /// # Errors
    /// If another relation or type has the name of one of them.
    pub fn find(database: &mut Database, spec: &InitializeSpec) -> Result<Tables> {
        let prefix = if spec.is_in_first_schema() {
            let schema =
                database.first_row("SELECT pg_catalog.current_schema()::pg_catalog.text")?;
            let schema = schema.into_iter().next().flatten().ok_or_else(no_schema)?;
            format!("{}.", quote_identifier(&schema))
        } else {
            String::new()
        };
        let mut tables = Tables {
            prefix,
            old: Vec::new(),
        };
        for (table, columns) in TABLES {
            let name = quote_literal(&tables.name(table));
            let found = database.first_row(&FIND.replace("{}", &name))?;
            tables.old.extend(accept(table, columns, found)?);
        }
        if spec.steps.contains('t') {
            let partitions = spec.partitioning.map_or(0, |(count, _)| count);
            let names: Vec<_> = TABLES.iter().map(|(table, _)| *table).collect();
            let sql = IN_THE_WAY
                .replace("{tables}", &format!("{{{}}}", names.join(",")))
                .replace("{partitions}", &partitions.to_string())
                .replace(
                    "{accounts}",
                    &quote_literal(&tables.name("pgbench_accounts")),
                );
            let mut found = database.first_row(&sql)?.into_iter().flatten();
            if let (Some(relation), Some(why)) = (found.next(), found.next()) {
                return Err(Error::NameTaken { relation, why });
            }
        }
        Ok(tables)
    }

    /// The existing tables.
    pub fn old(&self) -> &[OldTable] {
        &self.old
    }

    /// The name of a table, quoted for SQL.
    pub fn name(&self, table: &str) -> String {
        format!("{}{table}", self.prefix)
    }
}

/// Checks that what [`FIND`] has found is a pgbench table.
fn accept(table: &str, columns: &[&str], found: Vec<Option<String>>) -> Result<Option<OldTable>> {
    let mut found = found.into_iter();
    let mut next = || found.next().flatten();
    let why = match next().as_deref() {
        None => return Ok(None),
        Some("r" | "p") => {
            let names: Vec<String> =
                serde_json::from_str(&next().unwrap_or_default()).unwrap_or_default();
            if names == columns {
                return Ok(next().map(|name| OldTable {
                    name,
                    oid: next().and_then(|oid| oid.parse().ok()).unwrap_or_default(),
                    rows: next().and_then(|rows| rows.parse().ok()),
                }));
            }
            format!(
                "its columns are ({}), not pgbench's ({})",
                names.join(", "),
                columns.join(", ")
            )
        }
        Some(kind) => not_a_table(kind).into(),
    };
    Err(Error::NameTaken {
        relation: table.into(),
        why,
    })
}

/// The notice about tables that will be dropped; `None` if there are none.
pub fn announce_drop<'t>(old: impl IntoIterator<Item = &'t OldTable>) -> Option<String> {
    let tables: Vec<_> = old
        .into_iter()
        .map(|table| match table.rows {
            Some(1) => format!("{} (about 1 row)", table.name),
            Some(rows) => format!("{} (about {rows} rows)", table.name),
            None => table.name.clone(),
        })
        .collect();
    (!tables.is_empty()).then(|| format!("tables to be dropped: {}", tables.join(", ")))
}

/// Says what a relation is that is not an ordinary table, by its kind.
pub(super) fn not_a_table(relkind: &str) -> &'static str {
    match relkind {
        "v" => "it is a view",
        "m" => "it is a materialized view",
        "f" => "it is a foreign table",
        "p" => "it is a partitioned table",
        _ => "it is not a table",
    }
}

/// A name, quoted for SQL.
pub fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
