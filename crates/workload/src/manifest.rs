//! Manifests: the description of a family.

use crate::error::WorkloadError;
use serde::{Deserialize, Serialize};

/// Description of a family, as `manifest.json` has it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Description in a line.
    pub description: String,
    /// Name of the unit of scale, such as `warehouse`.
    pub unit: String,
    /// Greatest scale.
    pub max_scale: i64,
    /// Sizes.
    pub size: Size,
    /// Variables of the scripts and of the load; each may refer to `scale` and to those before it.
    #[serde(default)]
    pub variables: Vec<Variable>,
    /// Constants that are drawn once for a load, with its seed.
    #[serde(default)]
    pub load_constants: Vec<Constant>,
    /// Constants that are drawn once for a run, with its seed.
    #[serde(default)]
    pub run_constants: Vec<Constant>,
    /// Variable that a script sets by `\set`, to 1 if it rolls its transaction back on purpose.
    #[serde(default)]
    pub rolled_back: Option<String>,
    /// Loader of the rows, if they are not those of queries.
    #[serde(default)]
    pub loader: Option<Loader>,
    /// Tables that this loader fills.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Origin of a workload that was captured; its scripts use tables that are not of the workload.
    #[serde(default)]
    pub captured: Option<Captured>,
    /// Mixes of scripts.
    pub mixes: Vec<Mix>,
}

/// Facts about a captured workload's capture, and where it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Captured {
    /// The `search_path` with which its statements find their tables; that of the session if not given.
    #[serde(default)]
    pub search_path: Option<String>,
    /// Transactions per second while it was captured, if that is known.
    #[serde(default)]
    pub rate: Option<f64>,
    /// Share of the execution time of all statements that those of its scripts took.
    #[serde(default)]
    pub time_share: Option<f64>,
    /// Mean number of statements of a transaction.
    #[serde(default)]
    pub statements_per_transaction: Option<f64>,
    /// Whether it writes.
    #[serde(default)]
    pub writes: bool,
    /// Schema with copies of its tables, once there is one.
    #[serde(default)]
    pub clone_schema: Option<String>,
}

/// Loader of a family of the library that is older than the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Loader {
    /// Loader of pgbench's tables; scripts are the built-in ones.
    Pgbench,
    /// Loader of pgio's tables, which has functions of its own for runs, too.
    Pgio,
}

impl Manifest {
    /// Parses a manifest.
    ///
    /// # Errors
    /// Fault, with the line.
    pub fn parse(text: &str) -> Result<Manifest, WorkloadError> {
        serde_json::from_str(text).map_err(|error| {
            let line = text.lines().nth(error.line().saturating_sub(1));
            let line = line.unwrap_or_default().trim().trim_end_matches(',');
            WorkloadError::Manifest {
                message: error.to_string(),
                at: match line.contains(": ") {
                    true => format!(" ({line})"),
                    false => String::new(),
                },
            }
        })
    }
}

/// Sizes of a family in megabytes of 2^20 bytes.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Size {
    /// Tables per unit of scale.
    pub table_mb: f64,
    /// Indexes per unit of scale.
    pub index_mb: f64,
    /// Tables whatever the scale is.
    #[serde(default)]
    pub fixed_table_mb: f64,
    /// Indexes whatever the scale is.
    #[serde(default)]
    pub fixed_index_mb: f64,
}

/// Variable of a family: an integer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Description in a line.
    pub description: String,
    /// Expression for its value where none is given.
    pub default: String,
    /// Least value.
    pub min: i64,
    /// Greatest value.
    pub max: i64,
    /// Query for its value in tables that another tool has made.
    #[serde(default)]
    pub detect: Option<String>,
}

impl Variable {
    /// The query of one row and column, a text, for its value in such tables; `None` if there is none.
    pub fn detection(&self) -> Option<String> {
        let detect = self.detect.as_ref()?;
        Some(format!("SELECT ({detect}\n)::pg_catalog.text"))
    }
}

/// Constant of a load or a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Expression for its value.
    pub value: String,
}

/// Mix of scripts.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mix {
    /// Its name, unique among the mixes of all families.
    pub name: String,
    /// Description in a line.
    pub description: String,
    /// Its scripts.
    pub scripts: Vec<MixScript>,
    /// Defaults of options of runs.
    #[serde(default)]
    pub options: MixOptions,
}

/// Script of a mix.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixScript {
    /// Its name in the mix.
    pub name: String,
    /// Its file without `.sql`; that of the name if not given.
    #[serde(default)]
    pub file: Option<String>,
    /// Relative frequency.
    pub weight: i64,
    /// Name of the transaction in reports.
    #[serde(default)]
    pub transaction: Option<String>,
    /// Limit of the 90th percentile of its latency, in milliseconds.
    #[serde(default)]
    pub limit_ms: Option<f64>,
    /// Name of its transactions, such as `new orders`, if reports have their number per minute.
    #[serde(default)]
    pub per_minute: Option<String>,
}

impl MixScript {
    /// Name of its file without `.sql`.
    pub fn file(&self) -> &str {
        self.file.as_deref().unwrap_or(&self.name)
    }
}

/// Defaults of options of runs of a mix.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MixOptions {
    /// Tries of a transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tries: Option<i32>,
    /// Whether errors end transactions only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub continue_on_error: Option<bool>,
}
