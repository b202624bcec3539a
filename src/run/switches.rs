//! The options of a run that are on or off.

use crate::options::{Options, options};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

options! {
    /// What is on or off. `bench.runs` has a column for each.
    #[derive(Copy, Serialize, Deserialize)]
    pub struct Switches {
        /// Whether each transaction has a connection of its own, in mode libpq.
        reconnect: bool = false,
        /// Whether an error of a statement ends the transaction only.
        continue_on_error: bool = false,
        /// Whether the run ends when a client is aborted.
        exit_on_abort: bool = false,
        /// Whether single commands are measured.
        per_statement: bool = false,
        /// Whether the report tells failures apart by their kinds.
        failures_detailed: bool = false,
        /// Whether errors that do not abort a client are reported.
        verbose_errors: bool = false,
        /// Whether transactions are logged.
        log: bool = false,
        /// Whether the run begins with a checkpoint.
        checkpoint: bool = false,
        /// Whether the coordinator observes the server beside the clients.
        observe: bool = true,
        /// Whether the stacks of the processes that do the work are sampled.
        profile: bool = false,
    }
}

impl Switches {
    /// Each with its name, but for those that have a field in the row of a run.
    pub fn by_name(&self) -> BTreeMap<String, bool> {
        let entries = self.entries().into_iter();
        entries
            .filter(|entry| !matches!(entry.name, "reconnect" | "failures_detailed"))
            .map(|entry| (entry.name.to_owned(), entry.value == Value::Bool(true)))
            .collect()
    }
}
