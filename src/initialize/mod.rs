//! Creating and filling pgbench's tables, as `pgbench -i` does: the options, the statements of
//! each step, and the rows.

pub mod options;
pub mod rows;
pub mod steps;

pub use options::{InitializeOptions, InitializeSpec};
