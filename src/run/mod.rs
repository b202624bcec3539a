//! What a run is: its options, checked, and the specification that its workers get.

pub mod options;
pub mod pgio;
pub mod scripts;
pub mod spec;

pub use options::RunOptions;
pub use pgio::{PgioOptions, PgioSpec};
pub use spec::{ClientProcess, LogSpec, Mode, RunSpec, ScriptSpec, Vacuum};
