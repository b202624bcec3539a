//! pgio's workload: random reads and updates of single blocks, by sessions that have a table each
//! or share one with others.
//!
//! A table `pgioN` has one row in each block, with keys from 1 in random order and an index on
//! them. Each loop takes a random key and reads, or updates, the rows from there on up to
//! `work_unit` keys further, as pgio does. The loops are transactions of two scripts, so that all
//! that holds for scripts holds for them.

use super::script::ScriptSpec;
use crate::backend::settings::Settings;
use crate::error::{Error, Result};
use crate::options::choice;
use crate::server;
use serde::{Deserialize, Serialize};

/// Most tables.
pub const MAX_TABLES: i32 = 1024;
/// Name of the script that reads.
pub const SELECT: &str = "pgio-select";
/// Name of the script that updates.
pub const UPDATE: &str = "pgio-update";

choice! {
    /// Access path to the rows of a range of keys.
    pub enum Scan {
        /// By an index scan: one block after the other, in the order of keys.
        Index = "index",
        /// By a bitmap scan: in the order of blocks, with as many requests ahead as
        /// `effective_io_concurrency` says.
        Bitmap = "bitmap",
        /// However the planner and the caller's settings want it, with a plan for each key.
        Auto = "auto",
    }
}

impl Scan {
    /// The settings that make the planner do so, with one plan for all keys: a plan for each would
    /// take longer than reading a block that is in memory.
    pub(super) fn settings(self) -> Settings {
        let scans = match self {
            Scan::Index => [("enable_bitmapscan", "off"), ("enable_indexscan", "on")],
            Scan::Bitmap => [("enable_bitmapscan", "on"), ("enable_indexscan", "off")],
            Scan::Auto => return Settings::new(),
        };
        let others = [
            ("enable_seqscan", "off"),
            ("enable_indexonlyscan", "off"),
            ("max_parallel_workers_per_gather", "0"),
            ("jit", "off"),
            ("plan_cache_mode", "force_generic_plan"),
        ];
        scans
            .into_iter()
            .chain(others)
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// pgio's workload, checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PgioSpec {
    /// Number of tables.
    pub tables: usize,
    /// Sessions for each table.
    pub threads_per_table: usize,
    /// Percentage of loops that update.
    pub update_pct: i32,
    /// Number of further keys that a loop reads.
    pub work_unit: i32,
    /// Number of further keys that a loop updates.
    pub update_work_unit: i32,
    /// Loops of a transaction.
    pub commit_every: u32,
    /// The part of each table's keys that is used, in percent.
    pub working_set_pct: f64,
    /// Access path to the rows.
    pub scan: Scan,
}

impl PgioSpec {
    /// Name of a table, counted from 1.
    pub fn table(number: usize) -> String {
        format!("pgio{number}")
    }

    /// The table of a client, counted from 1. The sessions of a table are spread over the workers.
    pub fn table_of(&self, client: usize) -> usize {
        client % self.tables + 1
    }

    /// The scripts of a session of that table: those that can be chosen.
    pub fn scripts(&self, table: usize) -> Vec<ScriptSpec> {
        let table = PgioSpec::table(table);
        let last = self.last_key();
        let select = format!(
            "\\set first random(1, greatest({last} - {unit}, 1))\n\
             \\set last :first + {unit}\n\
             SELECT pg_catalog.sum(scratch) FROM {table} WHERE mykey BETWEEN :first AND :last;\n",
            unit = self.work_unit
        );
        let update = format!(
            "\\set first random(1, greatest({last} - {unit}, 1))\n\
             \\set last :first + {unit}\n\
             UPDATE {table} SET scratch = scratch + 1 WHERE mykey BETWEEN :first AND :last;\n",
            unit = self.update_work_unit
        );
        let script = |name: &str, description: &str, body, weight, writes| ScriptSpec {
            name: name.into(),
            description: description.into(),
            body,
            weight: i64::from(weight),
            builtin: false,
            writes,
            workload: None,
        };
        let select = script(
            SELECT,
            "<pgio: select>",
            select,
            100 - self.update_pct,
            false,
        );
        let update = script(UPDATE, "<pgio: update>", update, self.update_pct, true);
        [select, update]
            .into_iter()
            .filter(|script| script.weight > 0)
            .collect()
    }

    /// The largest key in use, as an expression of a script; `scale` is the number of keys.
    fn last_key(&self) -> String {
        match self.working_set_pct {
            100.0 => ":scale".into(),
            percent => format!("greatest(int(:scale * {percent:?} / 100), 1)"),
        }
    }

    /// The number of keys of each table that are in use, of `rows`.
    pub fn keys(&self, rows: i64) -> i64 {
        ((rows as f64 * self.working_set_pct / 100.0) as i64).clamp(1, rows)
    }

    /// Bytes of all blocks in use, of tables with `rows` keys each.
    pub fn working_set_bytes(&self, rows: i64) -> i64 {
        let blocks = self.keys(rows).saturating_mul(self.tables as i64);
        blocks.saturating_mul(i64::from(server::BLOCK_BYTES))
    }

    /// Fails unless the loops stay within the keys in use.
    pub fn require_keys(&self, rows: i64) -> Result<()> {
        let keys = self.keys(rows);
        for (option, unit, used) in [
            ("work_unit", self.work_unit, self.update_pct < 100),
            (
                "update_work_unit",
                self.update_work_unit,
                self.update_pct > 0,
            ),
        ] {
            if used && i64::from(unit) >= keys {
                return Err(Error::OptionConflict {
                    message: format!(
                        "option \"{option}\" is {unit}, but each table has {keys} keys in use"
                    ),
                    hint: format!("Give a number below {keys}, or use larger tables."),
                });
            }
        }
        Ok(())
    }
}

/// Hint about a table that is missing in this database.
pub const MISSING_HERE: &str = "Create pgio's tables with SELECT * FROM bench.initialize_pgio(), \
                                or set search_path so that they are found.";
/// Hint about a table that is missing in a target.
pub const MISSING_THERE: &str = "Create pgio's tables in the target with SELECT * FROM \
                                 bench.initialize_pgio(target => ...), or connect to where they \
                                 are found.";
