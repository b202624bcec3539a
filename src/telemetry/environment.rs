//! Environment of a run: facts about the server, and about the machines of the server and of the
//! clients.
//!
//! Facts about hardware, kernel and file systems are those that every user of the machine can see. The
//! path of the data directory is shown to roles that the server shows it to.

use crate::database::Database;
use crate::error::{Error, Result};
use crate::server;
use selfbench_machine::{Fact, Files, System, facts, storage};
use selfbench_model::RunEnvironment;
use std::collections::BTreeMap;
use std::path::Path;

/// Facts that a server tells, under the privileges of the session.
const OF_SERVER: &str = "
SELECT json_strip_nulls(json_build_object(
           'server_build', version(),
           'server_started_at', to_char(pg_postmaster_start_time() AT TIME ZONE 'UTC',
                                        'YYYY-MM-DD HH24:MI:SS\"Z\"'),
           'data_directory', CASE WHEN pg_has_role('pg_read_all_settings', 'USAGE')
                                  THEN current_setting('data_directory') END))::text";

/// All that is known of the server that executes a run's transactions and, if that is a target, of the
/// machine of its clients.
pub fn observe(run_id: i64, database: &mut Database) -> Result<Vec<RunEnvironment>> {
    let told = database.pinned_row(OF_SERVER)?;
    let told = told.into_iter().flatten().next().unwrap_or_default();
    let told: BTreeMap<String, String> = serde_json::from_str(&told)
        .map_err(|e| Error::Limit(format!("cannot read facts about the server: {e}")))?;
    let rows = |machine: &'static str, facts: Vec<Fact>| {
        facts.into_iter().map(move |(name, value)| RunEnvironment {
            run_id,
            machine: machine.into(),
            name,
            value,
        })
    };
    let of_clients = match database {
        Database::Here => "server",
        // How a target's machine looks from inside is not known.
        Database::There(_) => "client",
    };
    let mut found: Vec<_> = rows("server", told.into_iter().collect()).collect();
    found.extend(rows(of_clients, facts(&System)));
    if let Database::Here = database {
        found.extend(rows("server", storage_of_server()));
    }
    Ok(found)
}

/// File systems and devices of this server's data directory and, if it is elsewhere, of WAL.
fn storage_of_server() -> Vec<Fact> {
    let data = server::data_directory();
    let data = Path::new(&data);
    let mut facts = storage(&System, "data", data);
    let wal = data.join("pg_wal");
    if System.resolve(&wal) != System.resolve(data).map(|data| data.join("pg_wal")) {
        facts.extend(storage(&System, "wal", &wal));
    }
    facts
}
