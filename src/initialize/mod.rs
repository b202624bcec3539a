//! Creating and filling pgbench's tables, as `pgbench -i` does: the options, the statements of
//! each step, and the rows. Accounts of this server are written as finished pages where they are
//! stored as pgbench creates them: `pages` says which row goes where, `heap` makes and writes pages.
//! All else is filled by COPY.

pub mod heap;
pub mod options;
pub mod pages;
pub mod rows;
pub mod steps;

pub use options::{InitializeOptions, InitializeSpec};
