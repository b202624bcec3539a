//! Facts about the tables of captured statements, and samples of their rows, read with the rights of the
//! caller.

use crate::error::{Error, Result};
use crate::query::{self, Texts};
use crate::security::with_pinned_settings;
use crate::state::session;
use crate::state::transaction::{InTransaction, tried};
use pgrx::pg_sys;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Rows that are read to choose from.
const READ_ROWS: f64 = 20_000.0;
/// Pages that are read at least.
const READ_PAGES: f64 = 100.0;
/// Rows of a sample at most.
pub const SAMPLE_ROWS: usize = 5_000;
/// Bytes of a sample at most, and of the values that are drawn from it for a statement.
pub const SAMPLE_BYTES: usize = 16 << 20;

/// A table.
#[derive(Debug)]
pub struct TableFacts {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Both, with quotes where they are needed.
    pub qualified: String,
    /// Whether it is of the server's catalogs.
    pub is_catalog: bool,
    /// Why its statements cannot be repeated, if they cannot.
    pub unusable: Option<&'static str>,
    /// Its rows, as far as they are known.
    pub rows: f64,
    /// Its pages.
    pub pages: f64,
    /// The columns of each unique index.
    pub unique: Vec<Vec<i16>>,
    /// Columns that refer to other tables.
    pub references: Vec<i16>,
    /// The most characters of columns that limit them.
    pub lengths: BTreeMap<i16, u32>,
}

impl TableFacts {
    /// Whether values of these columns determine a row.
    pub fn is_key(&self, columns: &[i16]) -> bool {
        let mut unique = self.unique.iter();
        unique.any(|index| index.iter().all(|column| columns.contains(column)))
    }

    /// Rows of a page.
    pub fn rows_per_page(&self) -> f64 {
        (self.rows / self.pages.max(1.0)).max(1.0)
    }

    /// The table as `t`, with a sample of its pages.
    pub fn sampled(&self) -> String {
        let wanted = (READ_ROWS / self.rows.max(1.0)).max(READ_PAGES / self.pages.max(1.0));
        match wanted < 1.0 {
            true => format!(
                "{} AS t TABLESAMPLE pg_catalog.system ({:.6})",
                self.qualified,
                wanted * 100.0
            ),
            false => format!("{} AS t", self.qualified),
        }
    }
}

/// Number of rows that a value of a column has.
#[derive(Clone, Copy, Debug)]
pub struct Frequency {
    /// Rows of a value that is chosen among the different ones.
    pub of_values: f64,
    /// Rows of the value of a row that is chosen among all rows.
    pub of_rows: f64,
}

impl TableFacts {
    /// Facts about the values of a column, as SQL, from its statistics; `None` if there are none.
    pub fn frequency(&self, column: &str) -> Result<Option<Frequency>> {
        let sql = format!(
            "SELECT s.n_distinct::text, s.null_frac::text, cardinality(s.most_common_freqs)::text,
                    (SELECT sum(f) FROM unnest(s.most_common_freqs) f)::text,
                    (SELECT sum(f * f) FROM unnest(s.most_common_freqs) f)::text
               FROM pg_stats s
              WHERE s.schemaname = {} AND s.tablename = {} AND quote_ident(s.attname) = {}
              ORDER BY s.inherited DESC LIMIT 1",
            query::quote_literal(&self.schema),
            query::quote_literal(&self.name),
            query::quote_literal(column)
        );
        let row = with_pinned_settings(|| query::first_row(&sql))?;
        let number = |at: usize| -> Option<f64> { row.get(at)?.as_deref()?.parse().ok() };
        let (Some(distinct), Some(nulls)) = (number(0), number(1)) else {
            return Ok(None);
        };
        let all = self.rows * (1.0 - nulls);
        let distinct = if distinct < 0.0 {
            -distinct * self.rows
        } else {
            distinct
        }
        .max(1.0);
        let (common, sum, squares) = (
            number(2).unwrap_or(0.0),
            number(3).unwrap_or(0.0),
            number(4).unwrap_or(0.0),
        );
        let rest = (1.0 - nulls - sum).max(0.0);
        let uncommon = (distinct - common).max(1.0);
        let of_values = all / distinct;
        let of_rows =
            self.rows * (squares + rest * rest / uncommon) / (1.0 - nulls).max(f64::EPSILON);
        Ok(Some(Frequency {
            of_values,
            of_rows: of_rows.max(of_values),
        }))
    }
}

/// Facts about tables that have been looked up.
#[derive(Default)]
pub struct Tables(BTreeMap<u32, Option<Rc<TableFacts>>>);

impl Tables {
    /// The facts about a table; `None` if it has been dropped.
    pub fn get(&mut self, oid: pg_sys::Oid) -> Result<Option<Rc<TableFacts>>> {
        if let Some(known) = self.0.get(&oid.to_u32()) {
            return Ok(known.clone());
        }
        let found = look_up(oid)?.map(Rc::new);
        self.0.insert(oid.to_u32(), found.clone());
        Ok(found)
    }
}

fn look_up(oid: pg_sys::Oid) -> Result<Option<TableFacts>> {
    let sql = format!(
        "SELECT n.nspname::text, c.relname::text, concat(quote_ident(n.nspname), '.', quote_ident(c.relname)),
                c.relkind::text, c.relpersistence::text, s.rows::text, s.pages::text,
                (SELECT string_agg(array_to_string((i.indkey::int2[])[0:i.indnkeyatts - 1], ' '), ';')
                   FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND i.indexprs IS NULL),
                (SELECT string_agg(array_to_string(f.conkey, ' '), ' ')
                   FROM pg_constraint f WHERE f.conrelid = c.oid AND f.contype = 'f'),
                (SELECT string_agg(concat(a.attnum, ' ', a.atttypmod - 4), ' ')
                   FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attnum > 0 AND a.atttypmod > 4
                    AND a.atttypid IN ('bpchar'::regtype, 'varchar'::regtype))
           FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          CROSS JOIN LATERAL (
                SELECT sum(CASE WHEN p.reltuples >= 0 THEN p.reltuples ELSE z.pages * 50 END) AS rows,
                       sum(z.pages) AS pages
                  FROM pg_class p
                 CROSS JOIN LATERAL (SELECT pg_relation_size(p.oid) / current_setting('block_size')::int AS pages) z
                 WHERE p.relkind IN ('r', 'm')
                   AND (p.oid = c.oid OR p.oid IN (SELECT t.relid FROM pg_partition_tree(c.oid) t))) s
          WHERE c.oid = {oid}",
        oid = oid.to_u32()
    );
    let row = with_pinned_settings(|| query::first_row(&sql))?;
    let mut row = row.into_iter();
    let mut text = || row.next().flatten();
    let (Some(schema), Some(name), Some(qualified)) = (text(), text(), text()) else {
        return Ok(None);
    };
    let (kind, persistence) = (text(), text());
    let unusable = match (kind.as_deref(), persistence.as_deref()) {
        (Some("f"), _) => Some("foreign"),
        (_, Some("t")) => Some("temporary"),
        _ => None,
    };
    let mut number = || text().and_then(|text| text.parse().ok()).unwrap_or(0.0);
    let (rows, pages) = (number(), number());
    fn numbers<T: std::str::FromStr>(text: &str) -> Vec<T> {
        let words = text.split_whitespace();
        words.filter_map(|word| word.parse().ok()).collect()
    }
    let unique = text().unwrap_or_default();
    Ok(Some(TableFacts {
        is_catalog: ["pg_catalog", "information_schema", "pg_toast"].contains(&schema.as_str()),
        schema,
        name,
        qualified,
        unusable,
        rows,
        pages,
        unique: unique
            .split(';')
            .map(numbers)
            .filter(|columns: &Vec<i16>| !columns.is_empty())
            .collect(),
        references: numbers(&text().unwrap_or_default()),
        lengths: numbers(&text().unwrap_or_default())
            .as_chunks()
            .0
            .iter()
            .map(|[column, length]: &[i32; 2]| (*column as i16, *length as u32))
            .collect(),
    }))
}

/// The rows of a query of the caller's with that number of columns and a LIMIT, as the types print their values: a cast
/// to text could be a function of another role. The query can change nothing, not even a sequence. Rows after the first
/// that would exceed [`SAMPLE_BYTES`] are left out; whether none is.
pub fn rows(columns: usize, sql: &str) -> Result<(Vec<Texts>, bool)> {
    let names: Vec<_> = (1..=columns).map(|number| format!("v{number}")).collect();
    let printed = |name: &String| {
        format!(
            "CASE WHEN pg_catalog.num_nulls({name}) OPERATOR(pg_catalog.=) 0 THEN pg_catalog.format('%s', {name}) END"
        )
    };
    let texts: Vec<_> = names.iter().map(printed).collect();
    let sql = format!(
        "SELECT {} FROM ({sql}) q ({})",
        texts.join(", "),
        names.join(", ")
    );
    tried(InTransaction::current()?, || {
        session::read_only_subtransaction();
        query::rows_within(SAMPLE_BYTES, &sql)
    })
}

/// Result of a look-up; the reason if it failed.
///
/// # Errors
/// If it was canceled or lacked resources.
pub fn or_reason<T>(found: Result<T>) -> Result<std::result::Result<T, String>> {
    match found {
        Ok(found) => Ok(Ok(found)),
        Err(Error::Server(report)) if !["53", "57"].contains(&&report.sqlstate[..2]) => {
            Ok(Err(report.message))
        }
        Err(error) => Err(error),
    }
}
