//! The commands that assign to variables: `\set`, `\template`, `\gset` and `\aset`.

use thiserror::Error;

use crate::expr::{EvalContext, EvalError, Expr};
use crate::rng::Rng;
use crate::symbols::{Slot, Symbols, valid_variable_name};
use crate::variables::Variables;

/// A name that cannot be assigned to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{command}: invalid variable name: \"{name}\"")]
pub struct InvalidName {
    /// The command, without backslash.
    pub command: String,
    /// The name.
    pub name: String,
}

/// Why `\set` failed.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum SetError {
    /// The expression has no value.
    #[error(transparent)]
    Evaluation(#[from] EvalError),
    /// The variable cannot be assigned to.
    #[error(transparent)]
    Assignment(#[from] InvalidName),
}

impl SetError {
    /// Text for the message about the aborted client.
    pub fn summary(&self) -> &'static str {
        match self {
            Self::Evaluation(_) => "evaluation of meta-command failed",
            Self::Assignment(_) => "assignment of meta-command failed",
        }
    }
}

/// The target of an assignment: scripts with invalid names are accepted and fail when the
/// assignment is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AssignmentTarget {
    command: String,
    name: String,
    slot: Option<Slot>,
}

impl AssignmentTarget {
    /// The variable `name`, to be assigned to by `command`.
    pub(crate) fn new(command: &str, name: &str, symbols: &mut Symbols) -> Self {
        Self {
            command: command.to_owned(),
            name: name.to_owned(),
            slot: valid_variable_name(name).then(|| symbols.intern(name)),
        }
    }

    pub(crate) fn slot(&self) -> Result<Slot, InvalidName> {
        self.slot.ok_or_else(|| InvalidName {
            command: self.command.clone(),
            name: self.name.clone(),
        })
    }
}

/// `\set`.
#[derive(Clone, Debug, PartialEq)]
pub struct SetCommand {
    pub(crate) target: AssignmentTarget,
    pub(crate) expr: Expr,
}

impl SetCommand {
    /// Evaluates the expression and assigns its value.
    ///
    /// # Errors
    /// If the expression has no value or the variable's name is invalid.
    pub fn execute(&self, context: &mut EvalContext<'_>) -> Result<(), SetError> {
        let value = self.expr.eval(context)?;
        context.variables.set(self.target.slot()?, value);
        Ok(())
    }

    /// The expression.
    pub fn expr(&self) -> &Expr {
        &self.expr
    }

    /// The name of the variable.
    pub fn name(&self) -> &str {
        &self.target.name
    }
}

/// `\template`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateCommand {
    pub(crate) target: AssignmentTarget,
    pub(crate) template: String,
}

impl TemplateCommand {
    /// Assigns the template with a random digit in place of each `#` and a random small letter in place
    /// of each `@`, drawn in their order.
    ///
    /// # Errors
    /// If the variable's name is invalid.
    pub fn execute(&self, variables: &mut Variables, rng: &mut Rng) -> Result<(), InvalidName> {
        variables.set_text_with(self.target.slot()?, |text| {
            text.reserve(self.template.len());
            let mut draw = |first: u8, last: u8| {
                let drawn = rng.range(i64::from(first), i64::from(last));
                char::from(u8::try_from(drawn).unwrap_or(first))
            };
            for character in self.template.chars() {
                text.push(match character {
                    '#' => draw(b'0', b'9'),
                    '@' => draw(b'a', b'z'),
                    other => other,
                });
            }
        });
        Ok(())
    }
}

/// Results of a statement that are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreKind {
    /// `\gset`: those of the last statement sent, which must return exactly one row.
    Gset,
    /// `\aset`: the last row of each statement sent.
    Aset,
}

impl StoreKind {
    /// The name of the command.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Gset => "gset",
            Self::Aset => "aset",
        }
    }
}

/// `\gset` or `\aset`, attached to a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Store {
    /// Kind.
    pub kind: StoreKind,
    /// Prefix of the variables' names, before the columns' names.
    pub prefix: String,
}

impl Store {
    /// The variable that `column` is stored in; `None` if no script mentions it, so that there is
    /// no need to store it.
    ///
    /// # Errors
    /// If prefix and column do not make a valid name; the server's message about that is
    /// `error storing into variable NAME`.
    pub fn target(&self, column: &str, symbols: &Symbols) -> Result<Option<Slot>, InvalidName> {
        let name = format!("{}{column}", self.prefix);
        if !valid_variable_name(&name) {
            return Err(InvalidName {
                command: self.kind.as_str().to_owned(),
                name,
            });
        }
        Ok(symbols.find(&name))
    }
}
