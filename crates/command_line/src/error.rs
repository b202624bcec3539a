//! What is wrong with a command line.

use thiserror::Error;

/// An error in a command line, in pgbench's words. Displays as its message.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct Error {
    /// What sort of error it is.
    pub kind: ErrorKind,
    /// What is wrong: lower case, no full stop.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

/// The sorts of errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is no command line: quotes, unknown options, missing or superfluous arguments.
    Syntax,
    /// An option has a value that is not legal.
    InvalidValue,
    /// Options that do not go together.
    Conflict,
    /// There is no script of that name.
    UnknownScript,
    /// More than there can be.
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

    /// An option whose value is not legal.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::InvalidValue, message)
    }

    /// Options that do not go together.
    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Conflict, message)
    }

    /// What pgbench says together with the advice to read its help.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Syntax, message).hint("Try \"pgbench --help\" for more information.")
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
