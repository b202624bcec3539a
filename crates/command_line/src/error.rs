//! Errors in a command line.

use thiserror::Error;

/// An error in a command line, in pgbench's words. Displays as its message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of error.
    pub kind: ErrorKind,
    /// The message: lower case, no full stop.
    pub message: String,
    /// The detail.
    pub detail: Option<String>,
    /// The hint.
    pub hint: Option<String>,
}

/// The kinds of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not a valid command line: quotes, unknown options, missing or superfluous arguments.
    Syntax,
    /// An option has an invalid value.
    InvalidValue,
    /// Options that cannot be combined.
    Conflict,
    /// No script of that name.
    UnknownScript,
    /// A limit is exceeded.
    LimitExceeded,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            detail: None,
            hint: None,
        }
    }

    /// An option with an invalid value.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidValue, message)
    }

    /// Options that cannot be combined.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// An error with the hint to read pgbench's help.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message).hint("Try SELECT * FROM bench.pgbench('--help').")
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
