//! Runs: their options, checked, and the specification that their workers get.

mod captured;
pub mod check_script;
pub mod checks;
pub mod definitions;
pub mod loopback;
pub mod options;
pub mod pgio;
mod pgio_options;
pub mod script;
pub mod scripts;
mod settings;
pub mod spec;
pub mod statements;
mod stored;
pub mod undefined;
mod value_sets;
pub mod workload;

pub use loopback::Route;
pub use options::{DEFAULT_SCRIPTS, RunOptions};
pub use pgio::PgioSpec;
pub use pgio_options::PgioOptions;
pub use script::ScriptSpec;
pub use spec::{ClientProcess, LogSpec, Mode, Run, RunSpec, Vacuum};
pub use value_sets::ReadSets;
