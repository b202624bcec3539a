//! The functions and the strict operators of expressions: their names, how many arguments they
//! take, and what they compute.

use std::cmp::Ordering;
use std::f64::consts::PI;

use crate::dialect::Dialect;
use crate::distribution::DrawRange;
use crate::hash;
use crate::rng::Rng;
use crate::value::Value;

use super::arithmetic::{Arithmetic, Bitwise, Comparison, extreme, modulo};
use super::error::EvalError;

/// Function that a program calls. All but `Debug` give NULL if any argument is NULL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Arithmetic(Arithmetic),
    Comparison(Comparison),
    Bitwise(Bitwise),
    Modulo,
    Not,
    Abs,
    Debug,
    Double,
    Exp,
    Greatest,
    HashFnv1a,
    HashMurmur2,
    Int,
    Least,
    Ln,
    Permute,
    Pi,
    Power,
    Random,
    RandomExponential,
    RandomGaussian,
    RandomNurand,
    RandomSpecial,
    RandomYcsb,
    RandomYcsbScrambled,
    RandomZipf,
    RandomZipfian,
    Sqrt,
}

/// Number of arguments that a function takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Exactly(usize),
    /// This many, and an optional seed, by default the variable `default_seed`.
    OptionalSeed(usize),
    AtLeastOne,
}

/// Name, meaning and arity of every function of pgbench's.
const FUNCTIONS: [(&str, Function, Arity); 21] = [
    ("abs", Function::Abs, Arity::Exactly(1)),
    ("debug", Function::Debug, Arity::Exactly(1)),
    ("double", Function::Double, Arity::Exactly(1)),
    ("exp", Function::Exp, Arity::Exactly(1)),
    ("greatest", Function::Greatest, Arity::AtLeastOne),
    ("hash", Function::HashMurmur2, Arity::OptionalSeed(1)),
    ("hash_fnv1a", Function::HashFnv1a, Arity::OptionalSeed(1)),
    (
        "hash_murmur2",
        Function::HashMurmur2,
        Arity::OptionalSeed(1),
    ),
    ("int", Function::Int, Arity::Exactly(1)),
    ("least", Function::Least, Arity::AtLeastOne),
    ("ln", Function::Ln, Arity::Exactly(1)),
    ("mod", Function::Modulo, Arity::Exactly(2)),
    ("permute", Function::Permute, Arity::OptionalSeed(2)),
    ("pi", Function::Pi, Arity::Exactly(0)),
    ("pow", Function::Power, Arity::Exactly(2)),
    ("power", Function::Power, Arity::Exactly(2)),
    ("random", Function::Random, Arity::Exactly(2)),
    (
        "random_exponential",
        Function::RandomExponential,
        Arity::Exactly(3),
    ),
    (
        "random_gaussian",
        Function::RandomGaussian,
        Arity::Exactly(3),
    ),
    ("random_zipfian", Function::RandomZipfian, Arity::Exactly(3)),
    ("sqrt", Function::Sqrt, Arity::Exactly(1)),
];

/// Functions that pgbench lacks, likewise.
const MORE_FUNCTIONS: [(&str, Function, Arity); 5] = [
    ("random_nurand", Function::RandomNurand, Arity::Exactly(4)),
    ("random_special", Function::RandomSpecial, Arity::Exactly(2)),
    ("random_ycsb", Function::RandomYcsb, Arity::Exactly(3)),
    (
        "random_ycsb_scrambled",
        Function::RandomYcsbScrambled,
        Arity::Exactly(2),
    ),
    ("random_zipf", Function::RandomZipf, Arity::Exactly(3)),
];

/// A function as a call in a script names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedFunction {
    pub(super) name: &'static str,
    pub(super) function: Function,
    pub(super) arity: Arity,
}

/// Looks a function of a dialect up by name, in any case of letters.
pub(super) fn find_function(name: &str, dialect: Dialect) -> Option<NamedFunction> {
    let more: &[_] = match dialect {
        Dialect::Pgbench => &[],
        Dialect::Extended => &MORE_FUNCTIONS,
    };
    FUNCTIONS
        .iter()
        .chain(more)
        .find(|(candidate, ..)| name.eq_ignore_ascii_case(candidate))
        .map(|(name, function, arity)| NamedFunction {
            name,
            function: *function,
            arity: *arity,
        })
}

impl Function {
    /// The result for `arguments`, of which there are as many as the parser made sure of, and
    /// among which there is no NULL.
    pub(super) fn apply(self, arguments: &[Value], rng: &mut Rng) -> Result<Value, EvalError> {
        match (self, arguments) {
            (Self::Arithmetic(operator), &[left, right]) => operator.apply(left, right),
            (Self::Comparison(operator), &[left, right]) => operator.apply(left, right),
            (Self::Bitwise(operator), &[left, right]) => operator.apply(left, right),
            (Self::Modulo, &[left, right]) => modulo(left, right),
            (Self::Not, &[value]) => Ok(Value::Bool(!value.to_bool()?)),
            (Self::Abs, &[value]) => absolute(value),
            (Self::Debug, &[value]) => Ok(value),
            (Self::Double, &[value]) => Ok(Value::Double(value.to_double()?)),
            (Self::Exp, &[value]) => Ok(Value::Double(value.to_double()?.exp())),
            (Self::Greatest, values) => extreme(values, Ordering::Greater),
            (Self::HashFnv1a, &[value, seed]) => {
                Ok(Value::Int(hash::fnv1a(value.to_int()?, seed.to_int()?)))
            }
            (Self::HashMurmur2, &[value, seed]) => {
                Ok(Value::Int(hash::murmur2(value.to_int()?, seed.to_int()?)))
            }
            (Self::Int, &[value]) => Ok(Value::Int(value.to_int()?)),
            (Self::Least, values) => extreme(values, Ordering::Less),
            (Self::Ln, &[value]) => Ok(Value::Double(value.to_double()?.ln())),
            (Self::Permute, &[value, size, seed]) => {
                hash::permute(value.to_int()?, size.to_int()?, seed.to_int()?)
                    .map(Value::Int)
                    .ok_or(EvalError::PermuteSize)
            }
            (Self::Pi, &[]) => Ok(Value::Double(PI)),
            (Self::Power, &[base, exponent]) => {
                Ok(Value::Double(base.to_double()?.powf(exponent.to_double()?)))
            }
            (Self::Random, &[lo, hi]) => Ok(Value::Int(draw_range(lo, hi)?.uniform(rng))),
            (Self::RandomExponential, &[lo, hi, parameter]) => {
                let range = draw_range(lo, hi)?;
                Ok(Value::Int(range.exponential(rng, parameter.to_double()?)?))
            }
            (Self::RandomGaussian, &[lo, hi, parameter]) => {
                let range = draw_range(lo, hi)?;
                Ok(Value::Int(range.gaussian(rng, parameter.to_double()?)?))
            }
            (Self::RandomNurand, &[a, lo, hi, c]) => {
                let range = draw_range(lo, hi)?;
                Ok(Value::Int(range.nurand(rng, a.to_int()?, c.to_int()?)?))
            }
            (Self::RandomSpecial, &[lo, hi]) => Ok(Value::Int(draw_range(lo, hi)?.special(rng))),
            (Self::RandomYcsb, &[lo, hi, theta]) => {
                let range = draw_range(lo, hi)?;
                Ok(Value::Int(range.ycsb(rng, theta.to_double()?)?))
            }
            (Self::RandomYcsbScrambled, &[lo, hi]) => {
                Ok(Value::Int(draw_range(lo, hi)?.ycsb_scrambled(rng)))
            }
            (Self::RandomZipf, &[lo, hi, exponent]) => {
                let range = draw_range(lo, hi)?;
                Ok(Value::Int(range.zipf(rng, exponent.to_double()?)?))
            }
            (Self::RandomZipfian, &[lo, hi, parameter]) => {
                let range = draw_range(lo, hi)?;
                Ok(Value::Int(range.zipfian(rng, parameter.to_double()?)?))
            }
            (Self::Sqrt, &[value]) => Ok(Value::Double(value.to_double()?.sqrt())),
            _ => Err(EvalError::MalformedProgram),
        }
    }
}

fn draw_range(lo: Value, hi: Value) -> Result<DrawRange, EvalError> {
    Ok(DrawRange::new(lo.to_int()?, hi.to_int()?)?)
}

/// The absolute value, of the same type; the smallest integer has none and stays as it is. What is
/// not below zero stays as it is, too, negative zero included.
fn absolute(value: Value) -> Result<Value, EvalError> {
    match value {
        Value::Double(value) if value < 0.0 => Ok(Value::Double(-value)),
        Value::Double(value) => Ok(Value::Double(value)),
        value => Ok(Value::Int(value.to_int()?.wrapping_abs())),
    }
}
