//! Creating and filling pgbench's tables, as `pgbench -i` does, pgio's (`pgio`), and those of workloads
//! (`workload`): the options,
//! the statements of each step, and the rows. On this server, accounts and pgio's tables are
//! written as finished pages if they have the storage that pgbench and pgio create: `pages` assigns
//! rows to pages, `heap` builds and writes pages, `keys` those of primary keys. All other tables are
//! filled by COPY.

pub mod heap;
mod keys;
pub mod options;
pub mod pages;
pub mod pgio;
mod pgio_options;
pub mod rows;
pub mod space;
mod steps;
pub mod tables;
pub mod wal;
pub mod workload;

pub use options::{InitializeOptions, InitializeSpec};
pub use pgio::PgioLoadSpec;
pub use pgio_options::PgioLoadOptions;
pub use workload::options::WorkloadOptions;
pub use workload::spec::WorkloadSpec;

use crate::backend::identity::Identity;
use crate::backend::settings::Settings;
use crate::database::{Database, TablesKind, TablesLock};
use crate::error::{Error, Result};
use crate::pq::ConnectWith;
use options::no_schema;
use serde::{Deserialize, Serialize};

/// The loader's task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Job {
    /// Initialize pgbench's tables.
    Pgbench(InitializeSpec),
    /// Initialize pgio's tables.
    Pgio(PgioLoadSpec),
    /// Initialize the tables of a workload.
    Workload(WorkloadSpec),
}

impl Job {
    /// The role that initializes, and its database.
    pub fn identity(&self) -> Identity {
        match self {
            Job::Pgbench(spec) => spec.identity,
            Job::Pgio(spec) => spec.identity,
            Job::Workload(spec) => spec.identity,
        }
    }

    /// The caller's session settings.
    pub fn settings(&self) -> &Settings {
        match self {
            Job::Pgbench(spec) => &spec.settings,
            Job::Pgio(spec) => &spec.settings,
            Job::Workload(spec) => &spec.settings,
        }
    }

    /// Number of rows of all tables.
    pub fn rows(&self) -> i64 {
        match self {
            Job::Pgbench(spec) => spec.rows(),
            Job::Pgio(spec) => spec.rows(),
            Job::Workload(spec) => spec.rows(),
        }
    }

    /// Whether rows of this server are written, with WAL.
    pub fn logs_rows(&self) -> bool {
        self.target().is_none()
            && match self {
                Job::Pgbench(spec) => spec.steps.contains('g') && !spec.unlogged,
                Job::Pgio(spec) => !spec.unlogged,
                Job::Workload(spec) => !spec.unlogged,
            }
    }

    /// The lock against concurrent initializations of the same tables, those of the first schema of
    /// `search_path`.
    ///
    /// # Errors
    /// If that is a temporary schema, whose tables would be gone with the session, or there is none.
    pub fn lock(&self, database: &mut Database) -> Result<TablesLock> {
        // A temporary schema that this creates is not among the rows of pg_namespace yet.
        let found = database.first_row(
            "SELECT s.oid::pg_catalog.text,
                    (s.oid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
                     OR pg_catalog.pg_is_other_temp_schema(s.oid))::pg_catalog.text
               FROM (SELECT pg_catalog.to_regnamespace(pg_catalog.quote_ident(
                                pg_catalog.current_schema()::pg_catalog.text))::pg_catalog.oid) s (oid)",
        )?;
        let mut found = found.into_iter().flatten();
        let schema = found.next().and_then(|oid| oid.parse().ok());
        match found.next().as_deref() {
            Some("true") => Err(Error::Misplaced {
                message: "cannot initialize tables in a temporary schema".into(),
                hint: "Only the session that creates them would see them. Set search_path so that \
                       another schema comes first."
                    .into(),
            }),
            _ => Ok(TablesLock {
                kind: match self {
                    Job::Pgbench(_) => TablesKind::Pgbench,
                    Job::Pgio(_) => TablesKind::Pgio,
                    Job::Workload(_) => TablesKind::Workload,
                },
                schema: schema.ok_or_else(no_schema)?,
            }),
        }
    }

    /// The target that has the tables; `None` if it is this server.
    pub fn target(&self) -> Option<&ConnectWith> {
        match self {
            Job::Pgbench(spec) => spec.target.as_ref(),
            Job::Pgio(spec) => spec.target.as_ref(),
            Job::Workload(spec) => spec.target.as_ref(),
        }
    }
}
