//! The specification of the loader of a workload.

use crate::backend::identity::Identity;
use crate::backend::settings::Settings;
use crate::pq::ConnectWith;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Table beside those of workloads, with a row for each family.
pub const WORKLOADS: &str = "bench_workload";

/// Specification for the loader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkloadSpec {
    /// Role and database.
    pub identity: Identity,
    /// Name of the family.
    pub family: String,
    /// Scale.
    pub scale: i64,
    /// Variables, without the scale.
    pub variables: BTreeMap<String, i64>,
    /// Constants of the load.
    pub constants: BTreeMap<String, i64>,
    /// Seed of the rows.
    pub seed: u64,
    /// Statements that create tables and routines.
    pub schema: Vec<String>,
    /// Names of the tables.
    pub tables: Vec<String>,
    /// Names of the routines.
    pub routines: Vec<String>,
    /// Queries of the rows.
    pub queries: Vec<RowQuery>,
    /// Statements behind the load.
    pub finish: Vec<String>,
    /// Bytes of tables.
    pub table_bytes: u64,
    /// Bytes of indexes.
    pub index_bytes: u64,
    /// Whether tables are unlogged.
    pub unlogged: bool,
    /// Tablespace of tables and indexes.
    pub tablespace: Option<String>,
    /// Whether to replace tables of others and not to check that there is space.
    pub force: bool,
    /// Whether to drop the tables and no more.
    pub drops_only: bool,
    /// The caller's session settings.
    pub settings: Settings,
    /// Server with the tables, if it is not this one.
    pub target: Option<ConnectWith>,
    /// Processes that fill tables, the loader among them; by default, the server's settings tell.
    pub workers: Option<i32>,
}

/// Query of rows of a table, which is executed for each part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RowQuery {
    /// The table.
    pub table: String,
    /// The query.
    pub sql: String,
    /// The table with its schema, quoted for SQL, once that is known.
    pub target: String,
    /// The columns of the table that it fills, once they are known.
    pub columns: Vec<String>,
    /// Foreign keys of the table, once they are known.
    pub references: References,
    /// Number of parts.
    pub parts: u64,
    /// Rows of all parts, on average.
    pub rows: u64,
    /// Rows of a part, at most.
    pub at_most: u64,
}

/// Tables that the foreign keys of a table refer to.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub enum References {
    /// Nothing: the table has none.
    Nothing,
    /// Other tables.
    Others,
    /// The table itself, perhaps also others.
    Itself,
}

impl WorkloadSpec {
    /// Number of rows of all tables, on average.
    pub fn rows(&self) -> i64 {
        let rows = self.queries.iter().map(|query| query.rows);
        rows.fold(0, u64::saturating_add).min(i64::MAX as u64) as i64
    }

    /// Variables and constants, as queries of rows have them.
    pub fn values(&self) -> BTreeMap<String, i64> {
        let mut values = self.variables.clone();
        values.extend(self.constants.clone());
        values
    }
}
