//! The statements of each step.

use super::options::{ACCOUNTS, BIGINT_SCALE, InitializeSpec, PartitionMethod, TELLERS};
use super::tables::{TABLES, Tables, quote_identifier};

impl Tables {
    /// All tables, quoted for SQL.
    fn all(&self) -> String {
        TABLES.map(|(table, _)| self.name(table)).join(", ")
    }

    /// Step `d`.
    pub fn drop(&self) -> String {
        format!("DROP TABLE IF EXISTS {}", self.all())
    }

    /// Empties all tables, at the start of steps `g` and `G`.
    pub fn truncate(&self) -> String {
        format!("TRUNCATE TABLE {}", self.all())
    }

    /// Step `t` for a server of that version: the tables, then the partitions, one statement each.
    pub fn create<'s>(
        &'s self,
        spec: &'s InitializeSpec,
        version_num: i32,
    ) -> impl Iterator<Item = String> + 's {
        let account = if spec.scale >= BIGINT_SCALE {
            "bigint"
        } else {
            "int"
        };
        // From 18 on, partitioned tables cannot be unlogged. With partitions, pgbench 18 makes only
        // these unlogged, and none of the tables.
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
            // A partitioned table has no storage and thus no fill factor.
            Some((_, PartitionMethod::Range)) => " PARTITION BY RANGE (aid)",
            Some((_, PartitionMethod::Hash)) => " PARTITION BY HASH (aid)",
            None => &fillfactor,
        };
        let tables = [
            format!(
                "CREATE {unlogged}TABLE {}pgbench_history (tid int, bid int, aid {account}, delta int, \
             mtime timestamp, filler char(22)){tablespace}",
                self.prefix
            ),
            format!(
                "CREATE {unlogged}TABLE {}pgbench_tellers (tid int NOT NULL, bid int, tbalance int, \
             filler char(84)){fillfactor}{tablespace}",
                self.prefix
            ),
            format!(
                "CREATE {unlogged}TABLE {}pgbench_accounts (aid {account} NOT NULL, bid int, \
             abalance int, filler char(84)){accounts_storage}{tablespace}",
                self.prefix
            ),
            format!(
                "CREATE {unlogged}TABLE {}pgbench_branches (bid int NOT NULL, bbalance int, \
             filler char(88)){fillfactor}{tablespace}",
                self.prefix
            ),
        ];
        tables
            .into_iter()
            .chain(self.partitions(spec, partition_unlogged))
    }

    fn partitions<'s>(
        &'s self,
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
                "CREATE {unlogged}TABLE {prefix}pgbench_accounts_{p} \
             PARTITION OF {prefix}pgbench_accounts FOR VALUES {bounds} WITH (fillfactor = {})",
                spec.fillfactor,
                prefix = self.prefix
            )
        })
    }

    /// Step `G`, after the tables have been emptied and in the same transaction.
    pub fn generate_on_server(&self, spec: &InitializeSpec) -> [String; 3] {
        let tellers = TELLERS * spec.scale;
        let prefix = &self.prefix;
        [
            format!(
                "INSERT INTO {prefix}pgbench_branches (bid, bbalance) \
             SELECT b, 0 FROM pg_catalog.generate_series(1, {}) AS b",
                spec.scale
            ),
            format!(
                "INSERT INTO {prefix}pgbench_tellers (tid, bid, tbalance) \
             SELECT t, {}, 0 FROM pg_catalog.generate_series(1, {tellers}) AS t",
                group("t", TELLERS)
            ),
            format!(
                "INSERT INTO {prefix}pgbench_accounts (aid, bid, abalance, filler) \
             SELECT a, {}, 0, '' FROM pg_catalog.generate_series(1, {}) AS a",
                group("a", ACCOUNTS),
                spec.accounts()
            ),
        ]
    }

    /// Step `v`.
    pub fn vacuum(&self) -> [String; 4] {
        ["branches", "tellers", "accounts", "history"]
            .map(|table| format!("VACUUM ANALYZE {}pgbench_{table}", self.prefix))
    }

    /// Step `p`.
    pub fn primary_keys(&self, spec: &InitializeSpec) -> [String; 3] {
        let tablespace = match &spec.index_tablespace {
            Some(name) => format!(" USING INDEX TABLESPACE {}", quote_identifier(name)),
            None => String::new(),
        };
        [("branches", "bid"), ("tellers", "tid"), ("accounts", "aid")].map(|(table, column)| {
            format!(
                "ALTER TABLE {}pgbench_{table} ADD PRIMARY KEY ({column}){tablespace}",
                self.prefix
            )
        })
    }

    /// Step `f`.
    pub fn foreign_keys(&self) -> [String; 5] {
        [
            ("tellers", "bid", "branches"),
            ("accounts", "bid", "branches"),
            ("history", "bid", "branches"),
            ("history", "tid", "tellers"),
            ("history", "aid", "accounts"),
        ]
        .map(|(table, column, target)| {
            format!(
                "ALTER TABLE {prefix}pgbench_{table} ADD CONSTRAINT pgbench_{table}_{column}_fkey \
             FOREIGN KEY ({column}) REFERENCES {prefix}pgbench_{target}",
                prefix = self.prefix
            )
        })
    }
}

/// The number of the group that a number from 1 belongs to, in SQL.
fn group(number: &str, size: i64) -> String {
    format!(
        "({number} OPERATOR(pg_catalog.-) 1) OPERATOR(pg_catalog./) {size} \
         OPERATOR(pg_catalog.+) 1"
    )
}
