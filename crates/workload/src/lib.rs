//! Workloads that PostgreSQL is compared with. A family is a set of tables with its rows and checks, and
//! mixes of scripts that use them. Families are folders of `workloads`, which the build takes in, or texts
//! that users store; nothing of a family is in Rust.
//!
//! | file of a family | content |
//! |---|---|
//! | `manifest.json` | see [`Manifest`] |
//! | `schema.sql` | tables without keys, and procedures |
//! | `load.sql` | queries of rows, see [`LoadQuery`] |
//! | `finish.sql` | keys, indexes, sequences |
//! | `checks.sql` | conditions, see [`Check`] |
//! | `scripts/*.sql` | scripts in pgbench's language |

mod check;
mod error;
mod family;
mod manifest;
pub mod random;
mod values;

pub use check::is_name;
pub use error::WorkloadError;
pub use family::{Check, Family, LoadQuery, Source, families, find_mix};
pub use manifest::{
    Captured, Constant, Loader, Manifest, Mix, MixOptions, MixScript, Size, Variable,
};
pub use values::{Given, Values};
