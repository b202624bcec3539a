//! The values of expressions: their types, their coercions and their printed form.

use std::fmt;

use thiserror::Error;

use crate::number::{Fixed, write_double};

/// Value of an expression.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// The unknown value.
    Null,
    /// A truth value.
    Bool(bool),
    /// A 64-bit integer.
    Int(i64),
    /// A double-precision number.
    Double(f64),
}

/// Why a value cannot be converted to another type.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CoercionError {
    /// No conversion between the types.
    #[error("cannot coerce {from} to {to}")]
    Type {
        /// The type of the value.
        from: &'static str,
        /// The type that was wanted.
        to: &'static str,
    },
    /// The double is NaN or outside [-2^63, 2^63).
    #[error("double to int overflow for {}", Fixed(*.0))]
    Overflow(f64),
}

impl Value {
    /// The name of the type, as messages print it.
    pub fn type_name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        }
    }

    /// Whether a condition of `\if` or CASE holds: NULL, false and zero are false, everything
    /// else is true, NaN included.
    pub fn is_true(self) -> bool {
        match self {
            Self::Null => false,
            Self::Bool(value) => value,
            Self::Int(value) => value != 0,
            Self::Double(value) => value != 0.0,
        }
    }

    /// Converts to an integer; doubles are rounded, ties to even.
    ///
    /// # Errors
    /// For NULL, for booleans and for doubles out of range.
    pub fn to_int(self) -> Result<i64, CoercionError> {
        const LIMIT: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => {
                let rounded = value.round_ties_even();
                if (-LIMIT..LIMIT).contains(&rounded) {
                    Ok(rounded as i64)
                } else {
                    Err(CoercionError::Overflow(value))
                }
            }
            Self::Null | Self::Bool(_) => Err(self.cannot_become("int")),
        }
    }

    /// Converts to a double.
    ///
    /// # Errors
    /// For NULL and for booleans.
    pub fn to_double(self) -> Result<f64, CoercionError> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            Self::Null | Self::Bool(_) => Err(self.cannot_become("double")),
        }
    }

    /// Converts to a boolean.
    ///
    /// # Errors
    /// For everything that is not one.
    pub fn to_bool(self) -> Result<bool, CoercionError> {
        match self {
            Self::Bool(value) => Ok(value),
            Self::Null | Self::Int(_) | Self::Double(_) => Err(self.cannot_become("boolean")),
        }
    }

    fn cannot_become(self, to: &'static str) -> CoercionError {
        CoercionError::Type {
            from: self.type_name(),
            to,
        }
    }

    /// The form that the function `debug` prints: type and value, or only `null`.
    pub fn debug_form(self) -> DebugForm {
        DebugForm(self)
    }
}

/// The form that replaces `:variable` in SQL. Writing it allocates nothing.
impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => out.write_str("NULL"),
            Self::Bool(value) => write!(out, "{value}"),
            Self::Int(value) => write!(out, "{value}"),
            Self::Double(value) => write_double(*value, out),
        }
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Int(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Double(value)
    }
}

/// Displays a value with its type; made by [`Value::debug_form`].
#[derive(Clone, Copy, Debug)]
pub struct DebugForm(Value);

impl fmt::Display for DebugForm {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Value::Null => out.write_str("null"),
            value => write!(out, "{} {value}", value.type_name()),
        }
    }
}
