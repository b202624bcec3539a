//! Expressions of `\set`, `\if` and `\elif`: text to program (`lexer`, `parser`), and program to
//! value (`program`, `function`, `arithmetic`).
//!
//! An expression is kept as a postfix program instead of a tree: a long chain of operators then
//! needs no deep recursion, neither to evaluate nor to drop, and evaluation allocates nothing.

mod arithmetic;
mod error;
mod function;
mod lexer;
mod parser;
mod program;

pub use error::{EvalError, SyntaxError, SyntaxErrorKind};
pub(crate) use lexer::{blank_length, continuation_length};
pub(crate) use parser::parse_prefix;
pub use program::{EvalContext, Expr};
