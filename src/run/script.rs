//! One script of a run.

use crate::backend::interrupts::check_for_interrupts;
use selfbench_model::{Figures, RunScript};
use selfbench_script::builtin;
use selfbench_script::names::as_item;
use selfbench_script::{Action, Command, Protocol, ScriptError, Workload, WorkloadBuilder};
use serde::{Deserialize, Serialize};

/// The family of the built-in scripts.
pub const PGBENCH: &str = "pgbench";

/// One script of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ScriptSpec {
    /// Name it was chosen by.
    pub name: String,
    /// Description, the report's "transaction type".
    pub description: String,
    /// The script.
    pub body: String,
    /// Relative probability of being chosen.
    pub weight: i64,
    /// Whether it is one of pgbench's own, which need pgbench's tables.
    pub builtin: bool,
    /// Whether it is known to write.
    pub writes: bool,
    /// The mix of the catalog that it is of.
    pub workload: Option<MixName>,
}

impl ScriptSpec {
    /// The family of workloads that it belongs to, if it is not one of the user's own.
    pub fn family(&self) -> Option<&str> {
        match &self.workload {
            Some(mix) => Some(&mix.family),
            None => self.builtin.then_some(PGBENCH),
        }
    }

    /// Limit of the 90th percentile of its response time, in milliseconds, if its workload has one.
    pub fn limit_ms(&self) -> Option<f64> {
        self.workload.as_ref().and_then(|mix| mix.limit_ms)
    }

    /// Its name as option `scripts` lists it, with the weight if that is not 1.
    pub fn weighted_name(&self) -> String {
        let name = as_item(&self.name);
        match self.weight {
            1 => name,
            weight => format!("{name}@{weight}"),
        }
    }

    /// Its row in a run, where it has that number, from 0, these figures, and so many transactions above its
    /// limit.
    pub fn row(&self, run_id: i64, number: usize, figures: Figures, above_limit: u64) -> RunScript {
        let p90_limit_ms = self.limit_ms();
        let per_minute_of = self
            .workload
            .as_ref()
            .and_then(|mix| mix.per_minute.clone());
        let counts = &figures.counts;
        let kept = 1.0 - counts.rolled_back as f64 / counts.transactions.max(1) as f64;
        RunScript {
            run_id,
            script_no: number as i32,
            name: self.name.clone(),
            description: self.description.clone(),
            body: self.body.clone(),
            weight: self.weight,
            p90_limit_ms,
            above_limit: p90_limit_ms.map(|_| above_limit as i64),
            per_minute: figures
                .tps
                .map(|tps| 60.0 * tps * kept)
                .filter(|_| per_minute_of.is_some()),
            per_minute_of,
            figures,
        }
    }
}

/// Mix of the catalog that a script belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MixName {
    /// Name of the family.
    pub family: String,
    /// Name of the mix.
    pub mix: String,
    /// See [`Manifest::rolled_back`](selfbench_workload::Manifest::rolled_back).
    pub rolled_back: Option<String>,
    /// Limit of the 90th percentile of the script's latency, in milliseconds.
    pub limit_ms: Option<f64>,
    /// See [`MixScript::per_minute`](selfbench_workload::MixScript::per_minute).
    pub per_minute: Option<String>,
}

/// A script of the user's.
pub fn user_script(name: &str, description: String, body: String, weight: i64) -> ScriptSpec {
    let writes = has_writes(name, &body).unwrap_or(false);
    ScriptSpec {
        name: name.into(),
        description,
        body,
        weight,
        builtin: false,
        writes,
        workload: None,
    }
}

/// Whether some statement of a script is of a kind that writes; `None` if it cannot be parsed. What
/// functions and queries do is not known before they do it.
pub fn has_writes(name: &str, body: &str) -> Option<bool> {
    parse(name, body).ok().map(|workload| writes(&workload))
}

fn writes(workload: &Workload) -> bool {
    const WRITING: [&str; 8] = [
        "insert", "update", "delete", "merge", "truncate", "create", "drop", "alter",
    ];
    let is_writing = |command: &Command| match &command.action {
        Action::Sql(sql) => {
            let word: String = sql
                .text()
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            WRITING
                .iter()
                .any(|writing| word.eq_ignore_ascii_case(writing))
        }
        _ => false,
    };
    workload
        .scripts
        .iter()
        .flat_map(|script| &script.commands)
        .any(is_writing)
}

/// A built-in script.
pub fn built_in(script: &builtin::Builtin, weight: i64) -> ScriptSpec {
    ScriptSpec {
        name: script.name.into(),
        description: script.description.into(),
        body: script.body.into(),
        weight,
        builtin: true,
        writes: script.name != "select-only",
        workload: None,
    }
}

/// Parses a single script, looking at interrupts. Limits of other protocols than the simple one
/// show when it is run.
pub fn parse(name: &str, body: &str) -> Result<Workload, ScriptError> {
    let mut builder = WorkloadBuilder::checking(Protocol::Simple, check_for_interrupts);
    builder.add(name, name, body, 1)?;
    builder.finish()
}
