//! pgio's tables: their rows, the statements of each step, and existing tables with these names.
//!
//! In each table, `mykey` has the values from 1 to the number of rows in random order, and the fill
//! factor leaves room for one row per block.

use super::options::no_schema;
use super::tables::{OldTable, announce_drop, not_a_table, quote_identifier};
use crate::backend::identity::Identity;
use crate::backend::settings::Settings;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::pq::ConnectWith;
use crate::query;
use selfbench_script::permute;
use serde::{Deserialize, Serialize};

/// Specification for the loader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PgioLoadSpec {
    /// Role and database.
    pub identity: Identity,
    /// Number of tables.
    pub tables: i32,
    /// Rows of each, which is the number of its blocks.
    pub rows_each: i64,
    /// Selects the orders of keys.
    pub seed: u64,
    /// Whether tables are unlogged.
    pub unlogged: bool,
    /// Tablespace of tables.
    pub tablespace: Option<String>,
    /// Tablespace of indexes.
    pub index_tablespace: Option<String>,
    /// Whether not to check that there is space for them; that of a target is never checked.
    pub force: bool,
    /// The caller's session settings.
    pub settings: Settings,
    /// Server with the tables, if it is not this one.
    pub target: Option<ConnectWith>,
    /// Processes that fill tables, the loader among them; by default, the server's settings tell.
    pub workers: Option<i32>,
}

impl PgioLoadSpec {
    /// Number of rows of all tables.
    pub fn rows(&self) -> i64 {
        self.rows_each * i64::from(self.tables)
    }

    /// The keys of a table.
    pub fn keys(&self, number: i32) -> Keys {
        Keys {
            rows: self.rows_each,
            seed: self.seed.wrapping_add(number as u64) as i64,
        }
    }
}

/// The columns of a table, in the format of the query below.
const COLUMNS: [&str; 3] = ["mykey bigint", "scratch bigint", "filler character(1024)"];

/// Relations and types with names like pgio's tables in the schema where tables are created: name,
/// kind, OID and columns. A table cannot have the name of a type.
const NAMED: &str = include_str!("pgio_named.sql");

/// The keys of a table, by the numbers of its rows.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Keys {
    /// Number of rows.
    pub rows: i64,
    /// Selects the order.
    pub seed: i64,
}

impl Keys {
    /// The key of row `n`, counted from 1.
    pub fn of(self, n: i64) -> i64 {
        // There are rows, see the options.
        permute(n - 1, self.rows, self.seed).map_or(n, |key| key + 1)
    }
}

/// The relations of this server with names like pgio's tables in the schema where tables are
/// created, quoted for SQL.
///
/// Must be called in a transaction.
pub fn present() -> Result<Vec<String>> {
    let found = query::first_value::<Vec<Option<String>>>(
        "SELECT pg_catalog.array_agg(c.oid::pg_catalog.regclass::pg_catalog.text)
           FROM pg_catalog.pg_class c
          WHERE c.relnamespace::pg_catalog.regnamespace::pg_catalog.text OPERATOR(pg_catalog.=)
                pg_catalog.quote_ident(pg_catalog.current_schema()::pg_catalog.text)
            AND c.relname::pg_catalog.text OPERATOR(pg_catalog.~) '^pgio[1-9][0-9]*$'",
        &[],
    )?;
    Ok(found.unwrap_or_default().into_iter().flatten().collect())
}

/// A table that pgio or an earlier initialization has left.
#[derive(Clone, Debug)]
pub struct ExistingTable {
    /// Its number.
    number: String,
    /// Properties that other tables have, too.
    pub table: OldTable,
}

/// The schema of pgio's tables, the first one of `search_path`, and the existing tables in it.
pub struct Schema {
    name: String,
    /// All existing pgio tables.
    pub old: Vec<ExistingTable>,
}

/// A relation or type with a name that may be needed: the name, the kind of relation or "type", its
/// OID, its qualified name, its approximate number of rows, and its columns.
type Named = (String, String, u32, String, Option<i64>, Vec<String>);

impl Schema {
    /// Fails if something else has one of the names that are needed.
    pub fn find(database: &mut Database, spec: &PgioLoadSpec) -> Result<Schema> {
        let mut found = database.first_row(NAMED)?.into_iter().flatten();
        let (Some(name), Some(named)) = (found.next(), found.next()) else {
            return Err(no_schema());
        };
        let named: Vec<Named> = serde_json::from_str(&named).unwrap_or_default();
        let mut old = Vec::new();
        for (relation, kind, oid, name, rows, columns) in named {
            let number = relation.trim_start_matches("pgio").to_owned();
            let why = match kind.as_str() {
                "r" if columns == COLUMNS => {
                    let table = OldTable { name, oid, rows };
                    old.push(ExistingTable { number, table });
                    continue;
                }
                "r" => format!(
                    "its columns are ({}), not pgio's ({})",
                    columns.join(", "),
                    COLUMNS.join(", ")
                ),
                "type" => "it is a type".into(),
                kind => not_a_table(kind).into(),
            };
            // Other tables with a larger number do not conflict.
            if number
                .parse()
                .is_ok_and(|number| (1..=spec.tables).contains(&number))
            {
                return Err(Error::NameTaken { relation, why });
            }
        }
        Ok(Schema { name, old })
    }

    /// The notice about tables that will be dropped; `None` if there are none.
    pub fn announce_drop(&self) -> Option<String> {
        announce_drop(self.old.iter().map(|old| &old.table))
    }

    /// The name of a table with its schema, quoted for SQL.
    pub fn table(&self, number: impl std::fmt::Display) -> String {
        format!("{}.pgio{number}", quote_identifier(&self.name))
    }

    /// The statement that drops all existing tables; `None` if there are none.
    pub fn drop(&self) -> Option<String> {
        let old: Vec<_> = self.old.iter().map(|old| self.table(&old.number)).collect();
        (!old.is_empty()).then(|| format!("DROP TABLE {}", old.join(", ")))
    }

    /// Creates a table.
    pub fn create(&self, spec: &PgioLoadSpec, number: i32) -> String {
        let unlogged = if spec.unlogged { "UNLOGGED " } else { "" };
        format!(
            "CREATE {unlogged}TABLE {} ({}) WITH (fillfactor = 10){}",
            self.table(number),
            COLUMNS.join(", "),
            tablespace(spec.tablespace.as_deref())
        )
    }

    /// Creates the index of a table.
    pub fn create_index(&self, spec: &PgioLoadSpec, number: i32) -> String {
        format!(
            "CREATE INDEX ON {} (mykey){}",
            self.table(number),
            tablespace(spec.index_tablespace.as_deref())
        )
    }

    /// Vacuums and analyzes a table.
    pub fn vacuum(&self, number: i32) -> String {
        format!("VACUUM ANALYZE {}", self.table(number))
    }
}

fn tablespace(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| {
        format!(" TABLESPACE {}", quote_identifier(name))
    })
}
