//! The scripts that need no file, and the syntax of script arguments with weights.

use crate::error::{BuiltinError, WeightError};
use crate::number::c_strtol;

/// A built-in script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Builtin {
    /// The name that selects it, or any unambiguous start of which does.
    pub name: &'static str,
    /// Description in reports.
    pub description: &'static str,
    /// Its text.
    pub body: &'static str,
}

/// In the order in which they are listed.
const BUILTINS: [Builtin; 3] = [
    Builtin {
        name: "tpcb-like",
        description: "<builtin: TPC-B (sort of)>",
        body: include_str!("builtin/tpcb_like.sql"),
    },
    Builtin {
        name: "simple-update",
        description: "<builtin: simple update>",
        body: include_str!("builtin/simple_update.sql"),
    },
    Builtin {
        name: "select-only",
        description: "<builtin: select only>",
        body: include_str!("builtin/select_only.sql"),
    },
];

/// All built-in scripts; the first one is the default.
pub fn list() -> &'static [Builtin] {
    &BUILTINS
}

/// Whether a built-in script has that name.
pub fn has_name(name: &str) -> bool {
    BUILTINS.iter().any(|builtin| builtin.name == name)
}

/// The built-in script whose name starts with `prefix`.
///
/// # Errors
/// Unless there is exactly one.
pub fn find_builtin(prefix: &str) -> Result<&'static Builtin, BuiltinError> {
    let mut found = BUILTINS
        .iter()
        .filter(|builtin| builtin.name.starts_with(prefix));
    match (found.next(), found.count()) {
        (Some(builtin), 0) => Ok(builtin),
        (Some(_), others) => Err(BuiltinError::Ambiguous {
            count: others + 1,
            prefix: prefix.to_owned(),
        }),
        (None, _) => Err(BuiltinError::Unknown(prefix.to_owned())),
    }
}

/// Splits `name@weight` at its last `@`; the weight of a plain name is 1. The same for builtin
/// names and for file names.
///
/// # Errors
/// If the weight is not a number within 0 and 2147483647.
pub fn parse_weight(argument: &str) -> Result<(&str, i64), WeightError> {
    let Some((name, text)) = argument.rsplit_once('@') else {
        return Ok((argument, 1));
    };
    let (weight, rest) = c_strtol(text);
    // A saturated number has lost its value.
    if text.is_empty() || !rest.is_empty() || matches!(weight, i64::MIN | i64::MAX) {
        return Err(WeightError::Invalid(format!("@{text}")));
    }
    if !(0..=i64::from(i32::MAX)).contains(&weight) {
        return Err(WeightError::OutOfRange(weight));
    }
    Ok((name, weight))
}
