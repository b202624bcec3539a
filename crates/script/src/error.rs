//! Errors in scripts and in the choice of scripts.

use std::fmt;

use thiserror::Error;

use crate::limits::MAX_SCRIPTS;

/// Kind of a [`ScriptError`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScriptErrorKind {
    /// The script is invalid.
    #[default]
    Syntax,
    /// The scripts are larger than this crate accepts.
    Limit,
    /// Not enough memory for parsing the script.
    OutOfMemory,
}

/// An error in a script, or in the set of scripts.
///
/// Displays as pgbench prints it: the message with its place, then, where there is a column, the
/// source line and a caret under the column.
#[derive(Clone, Debug, Default, PartialEq, Eq, Error)]
pub struct ScriptError {
    /// Kind.
    pub kind: ScriptErrorKind,
    /// The description of the script, usually a file name.
    pub script: Box<str>,
    /// The line of the command, from 1; `None` if the error concerns the script as a whole.
    pub line: Option<u32>,
    /// The column of the error within `source_line`, in characters from 1.
    pub column: Option<u32>,
    /// The message.
    pub message: Box<str>,
    /// The piece of text that the message is about.
    pub near: Option<Box<str>>,
    /// The name of the meta command, as typed and without backslash.
    pub command: Option<Box<str>>,
    /// The command that the error is in. It has several lines if it is continued.
    pub source_line: Option<Box<str>>,
    /// The hint.
    pub hint: Option<Box<str>>,
}

impl ScriptError {
    /// An error that concerns no particular line.
    pub(crate) fn general(script: &str, message: &str) -> Self {
        Self {
            script: script.into(),
            message: message.into(),
            ..Self::default()
        }
    }
}

impl ScriptError {
    /// The message without its place.
    pub fn summary(&self) -> String {
        let mut text = self.message.to_string();
        if let Some(near) = &self.near {
            text = format!("{text} ({near})");
        }
        if let Some(command) = &self.command {
            text = format!("{text} in command \"{command}\"");
        }
        text
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(out, "{}:{line}: ", self.script)?;
        }
        out.write_str(&self.summary())?;
        if let Some(source) = &self.source_line {
            write!(out, "\n{source}")?;
            if let Some(column) = self.column {
                let width = column as usize;
                write!(out, "\n{:>width$} error found here", '^')?;
            }
        }
        Ok(())
    }
}

/// Why no built-in script was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BuiltinError {
    /// No name starts like that.
    #[error("no builtin script found for name \"{0}\"")]
    Unknown(String),
    /// Several names start like that.
    #[error("ambiguous builtin name: {count} builtin scripts found for prefix \"{prefix}\"")]
    Ambiguous {
        /// Number of them.
        count: usize,
        /// Common prefix.
        prefix: String,
    },
}

/// Why the text after the last `@` of a script argument is not a weight.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum WeightError {
    /// Not a number; holds the text with its `@`.
    #[error("invalid weight specification: {0}")]
    Invalid(String),
    /// Not within 0 and 2147483647.
    #[error("weight specification out of range (0 .. {max}): {0}", max = i32::MAX)]
    OutOfRange(i64),
}

/// An error of a set of scripts as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum WorkloadError {
    /// More than [`MAX_SCRIPTS`].
    #[error("at most {MAX_SCRIPTS} SQL scripts are allowed")]
    TooManyScripts,
    /// All weights are zero.
    #[error("total script weight must not be zero")]
    ZeroWeight,
}
