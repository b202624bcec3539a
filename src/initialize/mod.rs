//! Creating and filling pgbench's tables, as `pgbench -i` does, and pgio's (`pgio`): the options,
//! the statements of each step, and the rows. pgio's tables and accounts of this server are written
//! as finished pages where they are stored as pgbench and pgio create them: `pages` says which row
//! goes where, `heap` makes and writes pages. All else is filled by COPY.

pub mod heap;
pub mod options;
pub mod pages;
pub mod pgio;
mod pgio_options;
pub mod rows;
pub mod space;
mod steps;
pub mod tables;

pub use options::{InitializeOptions, InitializeSpec};
pub use pgio_options::{PgioOptions, PgioSpec};

use crate::backend::identity::Identity;
use crate::backend::settings::Settings;
use crate::pq::ConnectWith;
use serde::{Deserialize, Serialize};

/// What the loader is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Job {
    /// Initialize pgbench's tables.
    Pgbench(InitializeSpec),
    /// Initialize pgio's tables.
    Pgio(PgioSpec),
}

impl Job {
    /// Who initializes, and where.
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

    /// What is added to the oid of a schema for the advisory lock that keeps others from
    /// initializing the same tables in it.
    pub fn lock(&self) -> i64 {
        match self {
            Job::Pgbench(_) => i64::from_be_bytes(*b"pgb-\0\0\0\0"),
            Job::Pgio(_) => i64::from_be_bytes(*b"pgio\0\0\0\0"),
        }
    }

    /// Which server has the tables, if it is not this one.
    pub fn target(&self) -> Option<&ConnectWith> {
        match self {
            Job::Pgbench(spec) => spec.target.as_ref(),
            Job::Pgio(spec) => spec.target.as_ref(),
        }
    }
}
