//! pgbench's script language, with some functions and commands more: text to commands, expressions, variables
//! and random numbers.
//!
//! Pure computation: no files, no clock, no server. The texts of error messages are pgbench's.

mod assign;
mod budget;
pub mod builtin;
mod conditions;
mod dialect;
mod distribution;
mod error;
mod expr;
mod hash;
mod limits;
mod mentions;
mod meta;
pub mod names;
mod number;
mod parse;
mod protocol;
mod rng;
mod script;
mod shell;
mod sleep;
mod split;
mod substitute;
mod symbols;
mod value;
mod values;
mod variables;
mod workload;

pub use assign::{InvalidName, SetCommand, SetError, Store, StoreKind, TemplateCommand};
pub use dialect::Dialect;
pub use distribution::{DistributionError, DrawRange};
pub use error::{BuiltinError, ScriptError, ScriptErrorKind, WeightError, WorkloadError};
pub use expr::{EvalContext, EvalError, Expr, SyntaxError, SyntaxErrorKind};
pub use hash::{fnv1a, permute};
pub use limits::{MAX_ELEMENTS, MAX_SCRIPT_BYTES, MAX_SCRIPTS, parser_memory};
pub use number::{c_atof, c_atoi, c_strtol, is_c_space};
pub use protocol::{Protocol, ProtocolError};
pub use rng::{Rng, Seed, SeedError, Streams, ThreadStreams, clients_per_thread, parse_seed};
pub use script::{Action, Command, Jump, Script, SqlCommand, report_text};
pub use shell::{SetShellCommand, ShellCommand, ShellError};
pub use sleep::{Sleep, SleepError, SleepUnit};
pub use split::statements;
pub use substitute::StatementTooLong;
pub use symbols::{Slot, Symbols, valid_variable_name};
pub use value::{CoercionError, DebugForm, Value};
pub use values::{CollectedSet, UsedSet, ValueSets, ValuesCommand, heads_of_sets};
pub use variables::{TextError, Variables};
pub use workload::{Mention, Unset, Workload, WorkloadBuilder};
