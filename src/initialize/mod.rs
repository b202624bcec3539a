//! Creating and filling pgbench's tables, as `pgbench -i` does, and pgio's (`pgio`): the options,
//! the statements of each step, and the rows. On this server, accounts and pgio's tables are
//! written as finished pages if they have the storage that pgbench and pgio create: `pages` assigns
//! rows to pages, `heap` builds and writes pages, `keys` those of primary keys. All other tables are
//! filled by COPY.

#[allow(unsafe_code)]
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

pub use options::{InitializeOptions, InitializeSpec};
pub use pgio::PgioSpec;
pub use pgio_options::PgioOptions;

use crate::backend::identity::Identity;
use crate::backend::settings::Settings;
use crate::pq::ConnectWith;
use serde::{Deserialize, Serialize};

/// The loader's task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Job {
    /// Initialize pgbench's tables.
    Pgbench(InitializeSpec),
    /// Initialize pgio's tables.
    Pgio(PgioSpec),
}

impl Job {
    /// The role that initializes, and its database.
    pub fn identity(&self) -> Identity {
        match self {
            Job::Pgbench(spec) => spec.identity,
            Job::Pgio(spec) => spec.identity,
        }
    }

    /// The caller's session settings.
    pub fn settings(&self) -> &Settings {
        match self {
            Job::Pgbench(spec) => &spec.settings,
            Job::Pgio(spec) => &spec.settings,
        }
    }

    /// Number of rows of all tables.
    pub fn rows(&self) -> i64 {
        match self {
            Job::Pgbench(spec) => spec.rows(),
            Job::Pgio(spec) => spec.rows(),
        }
    }

    /// Whether rows of this server are written, with WAL.
    pub fn logs_rows(&self) -> bool {
        self.target().is_none()
            && match self {
                Job::Pgbench(spec) => spec.steps.contains('g') && !spec.unlogged,
                Job::Pgio(spec) => !spec.unlogged,
            }
    }

    /// The number that is added to the OID of a schema for the advisory lock against concurrent
    /// initializations of the same tables in it.
    pub fn lock(&self) -> i64 {
        match self {
            Job::Pgbench(_) => i64::from_be_bytes(*b"pgb-\0\0\0\0"),
            Job::Pgio(_) => i64::from_be_bytes(*b"pgio\0\0\0\0"),
        }
    }

    /// The target that has the tables; `None` if it is this server.
    pub fn target(&self) -> Option<&ConnectWith> {
        match self {
            Job::Pgbench(spec) => spec.target.as_ref(),
            Job::Pgio(spec) => spec.target.as_ref(),
        }
    }
}
