//! Errors of workloads.

use selfbench_script::ScriptError;
use thiserror::Error;

/// Fault of a family, or of what a user gives it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// The manifest is not what it has to be.
    #[error("invalid manifest: {message}{at}")]
    Manifest {
        /// The parser's message.
        message: String,
        /// The line, if it has a value, in parentheses.
        at: String,
    },
    /// A text of the family cannot be used.
    #[error("invalid {file}: {message}")]
    Text {
        /// The file.
        file: &'static str,
        /// The reason.
        message: String,
    },
    /// A script that a mix names is missing.
    #[error("script \"{0}\" is missing")]
    ScriptMissing(String),
    /// A rule that the family breaks.
    #[error("{0}")]
    Rule(String),
    /// A script that cannot be parsed.
    #[error("{0}")]
    Script(Box<ScriptError>),
    /// An expression that cannot be evaluated.
    #[error("invalid value of \"{name}\": {message}")]
    Value {
        /// The variable or constant.
        name: String,
        /// The reason.
        message: String,
    },
    /// A variable that the family does not have.
    #[error("unknown variable \"{0}\"")]
    UnknownVariable(String),
    /// A variable out of its range.
    #[error("variable \"{name}\" must be between {min} and {max}, not {value}")]
    OutOfRange {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
}
