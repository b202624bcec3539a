//! Arithmetic and comparison: integers with overflow checks unless one operand is a double.

use std::cmp::Ordering;

use crate::value::Value;

use super::error::EvalError;

/// The operators that work on integers and doubles alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// The comparisons; the other two are these with their operands exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
}

/// The operators that work on integers only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bitwise {
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
}

/// Two operands of a common type.
enum Pair {
    Ints(i64, i64),
    Doubles(f64, f64),
}

fn pair(left: Value, right: Value) -> Result<Pair, EvalError> {
    if matches!(left, Value::Double(_)) || matches!(right, Value::Double(_)) {
        Ok(Pair::Doubles(left.to_double()?, right.to_double()?))
    } else {
        Ok(Pair::Ints(left.to_int()?, right.to_int()?))
    }
}

impl Arithmetic {
    pub(super) fn apply(self, left: Value, right: Value) -> Result<Value, EvalError> {
        match pair(left, right)? {
            Pair::Doubles(left, right) => Ok(Value::Double(match self {
                Self::Add => left + right,
                Self::Subtract => left - right,
                Self::Multiply => left * right,
                Self::Divide => left / right,
            })),
            Pair::Ints(left, right) => {
                let (result, name) = match self {
                    Self::Add => (left.checked_add(right), "add"),
                    Self::Subtract => (left.checked_sub(right), "sub"),
                    Self::Multiply => (left.checked_mul(right), "mul"),
                    Self::Divide if right == 0 => return Err(EvalError::DivisionByZero),
                    Self::Divide => (left.checked_div(right), "div"),
                };
                result.map(Value::Int).ok_or(EvalError::OutOfRange(name))
            }
        }
    }
}

impl Comparison {
    pub(super) fn apply(self, left: Value, right: Value) -> Result<Value, EvalError> {
        let order = match pair(left, right)? {
            Pair::Ints(left, right) => Some(left.cmp(&right)),
            Pair::Doubles(left, right) => left.partial_cmp(&right),
        };
        Ok(Value::Bool(match self {
            Self::Equal => order == Some(Ordering::Equal),
            Self::NotEqual => order != Some(Ordering::Equal),
            Self::Less => order == Some(Ordering::Less),
            Self::LessEqual => matches!(order, Some(Ordering::Less | Ordering::Equal)),
        }))
    }
}

impl Bitwise {
    pub(super) fn apply(self, left: Value, right: Value) -> Result<Value, EvalError> {
        let (left, right) = (left.to_int()?, right.to_int()?);
        Ok(Value::Int(match self {
            Self::And => left & right,
            Self::Or => left | right,
            Self::Xor => left ^ right,
            // The count works modulo 64, as the processor's shift instructions have it.
            Self::ShiftLeft => left.wrapping_shl(right as u32),
            Self::ShiftRight => left.wrapping_shr(right as u32),
        }))
    }
}

/// The remainder, with the sign of the dividend.
pub(super) fn modulo(left: Value, right: Value) -> Result<Value, EvalError> {
    match (left.to_int()?, right.to_int()?) {
        (_, 0) => Err(EvalError::DivisionByZero),
        (left, right) => Ok(Value::Int(left.wrapping_rem(right))),
    }
}

/// The least (`Ordering::Less`) or greatest value; a double if any value is one. Of two doubles
/// that compare neither way because of NaN, the later one wins.
pub(super) fn extreme(values: &[Value], wanted: Ordering) -> Result<Value, EvalError> {
    let Some((first, rest)) = values.split_first() else {
        return Ok(Value::Null);
    };
    if values.iter().any(|value| matches!(value, Value::Double(_))) {
        let mut best = first.to_double()?;
        for value in rest {
            let value = value.to_double()?;
            if best.partial_cmp(&value) != Some(wanted) {
                best = value;
            }
        }
        return Ok(Value::Double(best));
    }
    let mut best = first.to_int()?;
    for value in rest {
        let value = value.to_int()?;
        if best.cmp(&value) != wanted {
            best = value;
        }
    }
    Ok(Value::Int(best))
}
