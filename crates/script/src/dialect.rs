//! Dialects of the script language.

/// The script language with or without what pgbench lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// pgbench's language: all else is an error, with pgbench's message.
    Pgbench,
    /// With the functions, the meta command and the mentions of variables that pgbench lacks.
    Extended,
}
