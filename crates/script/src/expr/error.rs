//! Errors of parsing and evaluating expressions.

use thiserror::Error;

use crate::distribution::DistributionError;
use crate::value::CoercionError;
use crate::variables::TextError;

/// Why an evaluation failed. The caller adds the command and the client.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum EvalError {
    /// A variable that is not set.
    #[error("undefined variable \"{0}\"")]
    UndefinedVariable(String),
    /// A variable whose text is not a value.
    #[error(transparent)]
    Text(#[from] TextError),
    /// An argument of the wrong type.
    #[error(transparent)]
    Coercion(#[from] CoercionError),
    /// A random function with bad bounds or parameter.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
    /// An integer result outside 64 bits; holds `add`, `sub`, `mul` or `div`.
    #[error("bigint {0} out of range")]
    OutOfRange(&'static str),
    /// An integer divided by zero.
    #[error("division by zero")]
    DivisionByZero,
    /// A call with more arguments than a function can take.
    #[error("too many function arguments, maximum is {MAX_ARGUMENTS}")]
    TooManyArguments,
    /// A permutation of nothing.
    #[error("permute size parameter must be greater than zero")]
    PermuteSize,
    /// Cannot happen with programs that the parser made.
    #[error("malformed expression program")]
    MalformedProgram,
}

/// Number of arguments that a call can have when it is evaluated.
pub(crate) const MAX_ARGUMENTS: usize = 16;

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SyntaxErrorKind {
    /// The text does not follow the grammar.
    #[error("syntax error")]
    Syntax,
    /// A character that starts no token.
    #[error("unexpected character")]
    UnexpectedCharacter(char),
    /// A function that does not exist.
    #[error("unexpected function name")]
    UnknownFunction(String),
    /// A call with too few or too many arguments.
    #[error("unexpected number of arguments")]
    ArgumentCount(&'static str),
    /// A call without arguments to a function that takes any number.
    #[error("at least one argument expected")]
    NoArguments(&'static str),
    /// An integer constant beyond 64 bits.
    #[error("bigint constant overflow")]
    IntegerOverflow(String),
    /// A constant beyond the range of doubles.
    #[error("double constant overflow")]
    DoubleOverflow(String),
    /// Parentheses, signs, calls or CASE nested too deeply.
    #[error("expression is nested too deeply, maximum depth is {MAX_DEPTH}")]
    TooDeep,
    /// More operators and operands than one expression can have.
    #[error("expression is too long, maximum is {MAX_OPERATIONS} operations")]
    TooLong,
}

/// Largest depth of an expression; bounds the parser's use of its stack.
pub(crate) const MAX_DEPTH: usize = 1_000;

/// Number of operations that an expression can have; bounds the time that parsing takes.
pub(crate) const MAX_OPERATIONS: usize = 100_000;

impl SyntaxErrorKind {
    /// Whether the text could be an expression if the limits were wider.
    pub(super) fn is_limit(&self) -> bool {
        matches!(self, Self::TooDeep | Self::TooLong)
    }

    /// The piece of text that the message is about.
    pub fn detail(&self) -> Option<String> {
        match self {
            Self::UnexpectedCharacter(character) => Some(character.to_string()),
            Self::UnknownFunction(text)
            | Self::IntegerOverflow(text)
            | Self::DoubleOverflow(text) => Some(text.clone()),
            Self::ArgumentCount(name) | Self::NoArguments(name) => Some((*name).to_owned()),
            Self::Syntax | Self::TooDeep | Self::TooLong => None,
        }
    }
}

/// A text that is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{kind}")]
pub struct SyntaxError {
    /// The kind of error.
    pub kind: SyntaxErrorKind,
    /// The byte offset in the text after the last token that was read.
    pub end: usize,
}
