//! The statements of each step, and the check that nothing else is hit by them.

use super::options::{BIGINT_SCALE, InitializeSpec, PartitionMethod, TELLERS};
use crate::error::{Error, Result};
use crate::worker::database::Database;

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

/// Empties all tables, at the beginning of either way of generating rows.
pub const TRUNCATE: &str =
    "TRUNCATE TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/// Fails if the name of one of pgbench's tables is taken by something else.
pub fn require_pgbench_tables(database: &mut Database) -> Result<()> {
    for (table, columns) in TABLES {
        let found = database.first_row(&format!(
            "SELECT c.relkind::pg_catalog.text,
                    pg_catalog.to_json(ARRAY(
                        SELECT a.attname::pg_catalog.text FROM pg_catalog.pg_attribute a
                         WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
                           AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
                         ORDER BY a.attnum))::pg_catalog.text
               FROM (SELECT pg_catalog.to_regclass('{table}') AS oid) t
               LEFT JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) t.oid"
        ))?;
        let mut found = found.into_iter();
        let why = match found.next().flatten().as_deref() {
            None => continue,
            Some("r" | "p") => {
                let names = found.next().flatten().unwrap_or_default();
                let names: Vec<String> = serde_json::from_str(&names).unwrap_or_default();
                if names == columns {
                    continue;
                }
                format!(
                    "its columns are ({}), not pgbench's ({})",
                    names.join(", "),
                    columns.join(", ")
                )
            }
            Some(kind) => not_a_table(kind).into(),
        };
        return Err(Error::NameTaken {
            relation: table.into(),
            why,
        });
    }
    Ok(())
}

/// What a relation of some kind, that of an ordinary table excepted, is.
pub(super) fn not_a_table(relkind: &str) -> &'static str {
    match relkind {
        "v" => "it is a view",
        "m" => "it is a materialized view",
        "f" => "it is a foreign table",
        "p" => "it is a partitioned table",
        _ => "it is not a table",
    }
}

/// Step `d`.
pub const DROP: &str =
    "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers";

/// Step `t` for a server of that version: the tables, then the partitions, one statement each.
pub fn create(spec: &InitializeSpec, version_num: i32) -> impl Iterator<Item = String> + '_ {
    let account = if spec.scale >= BIGINT_SCALE {
        "bigint"
    } else {
        "int"
    };
    // Partitioned tables cannot be unlogged from 18 on. Its pgbench leaves that to the partitions,
    // for the other tables as well.
    let (partition_unlogged, unlogged) = match (spec.unlogged, spec.partitioning) {
        (false, _) => ("", ""),
        (true, Some(_)) if version_num >= 180_000 => ("UNLOGGED ", ""),
        (true, _) => ("UNLOGGED ", "UNLOGGED "),
    };
    let tablespace = match &spec.tablespace {
        Some(name) => format!(" TABLESPACE {}", quote_identifier(name)),
        None => String::new(),
    };
    let fillfactor = format!(" WITH (fillfactor = {})", spec.fillfactor);
    let accounts_storage = match spec.partitioning {
        // A partitioned table has no storage that could be filled.
        Some((_, PartitionMethod::Range)) => " PARTITION BY RANGE (aid)",
        Some((_, PartitionMethod::Hash)) => " PARTITION BY HASH (aid)",
        None => &fillfactor,
    };
    let tables = [
        format!(
            "CREATE {unlogged}TABLE pgbench_history (tid int, bid int, aid {account}, delta int, \
             mtime timestamp, filler char(22)){tablespace}"
        ),
        format!(
            "CREATE {unlogged}TABLE pgbench_tellers (tid int NOT NULL, bid int, tbalance int, \
             filler char(84)){fillfactor}{tablespace}"
        ),
        format!(
            "CREATE {unlogged}TABLE pgbench_accounts (aid {account} NOT NULL, bid int, \
             abalance int, filler char(84)){accounts_storage}{tablespace}"
        ),
        format!(
            "CREATE {unlogged}TABLE pgbench_branches (bid int NOT NULL, bbalance int, \
             filler char(88)){fillfactor}{tablespace}"
        ),
    ];
    tables
        .into_iter()
        .chain(partitions(spec, partition_unlogged))
}

fn partitions<'s>(
    spec: &'s InitializeSpec,
    unlogged: &'s str,
) -> impl Iterator<Item = String> + use<'s> {
    let (count, method) = spec.partitioning.unwrap_or((0, PartitionMethod::Range));
    let count = i64::from(count);
    (1..=count).map(move |p| {
        let bounds = match method {
            PartitionMethod::Range => {
                let size = (spec.accounts() + count - 1) / count;
                let from = match p {
                    1 => "minvalue".to_owned(),
                    _ => ((p - 1) * size + 1).to_string(),
                };
                let to = if p == count {
                    "maxvalue".to_owned()
                } else {
                    (p * size + 1).to_string()
                };
                format!("FROM ({from}) TO ({to})")
            }
            PartitionMethod::Hash => format!("WITH (modulus {count}, remainder {})", p - 1),
        };
        format!(
            "CREATE {unlogged}TABLE pgbench_accounts_{p} PARTITION OF pgbench_accounts \
             FOR VALUES {bounds} WITH (fillfactor = {})",
            spec.fillfactor
        )
    })
}

/// Step `G`, after [`TRUNCATE`] and in the same transaction.
pub fn generate_on_server(spec: &InitializeSpec) -> [String; 3] {
    let tellers = TELLERS * spec.scale;
    [
        format!(
            "INSERT INTO pgbench_branches (bid, bbalance) \
             SELECT b, 0 FROM generate_series(1, {}) AS b",
            spec.scale
        ),
        format!(
            "INSERT INTO pgbench_tellers (tid, bid, tbalance) \
             SELECT t, (t - 1) / 10 + 1, 0 FROM generate_series(1, {tellers}) AS t"
        ),
        format!(
            "INSERT INTO pgbench_accounts (aid, bid, abalance, filler) \
             SELECT a, (a - 1) / 100000 + 1, 0, '' FROM generate_series(1, {}) AS a",
            spec.accounts()
        ),
    ]
}

/// Step `v`.
pub const VACUUM: [&str; 4] = [
    "VACUUM ANALYZE pgbench_branches",
    "VACUUM ANALYZE pgbench_tellers",
    "VACUUM ANALYZE pgbench_accounts",
    "VACUUM ANALYZE pgbench_history",
];

/// Step `p`.
pub fn primary_keys(spec: &InitializeSpec) -> [String; 3] {
    let tablespace = match &spec.index_tablespace {
        Some(name) => format!(" USING INDEX TABLESPACE {}", quote_identifier(name)),
        None => String::new(),
    };
    [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")].map(|(table, column)| {
        format!("ALTER TABLE pgbench_{table} ADD PRIMARY KEY ({column}){tablespace}")
    })
}

/// Step `f`.
pub fn foreign_keys() -> [String; 5] {
    [
        ("tellers", "bid", "branches"),
        ("accounts", "bid", "branches"),
        ("history", "bid", "branches"),
        ("history", "tid", "tellers"),
        ("history", "aid", "accounts"),
    ]
    .map(|(table, column, target)| {
        format!(
            "ALTER TABLE pgbench_{table} ADD CONSTRAINT pgbench_{table}_{column}_fkey \
             FOREIGN KEY ({column}) REFERENCES pgbench_{target}"
        )
    })
}

/// A name as SQL has it.
pub(super) fn quote_identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
