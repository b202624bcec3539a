//! The postfix program of an expression, and its evaluation.

use crate::rng::Rng;
use crate::symbols::Slot;
use crate::value::Value;
use crate::variables::Variables;

use super::error::EvalError;
use super::function::Function;

/// The state that evaluation reads and changes.
pub struct EvalContext<'a> {
    /// The variables of the client.
    pub variables: &'a mut Variables,
    /// The generator that the client's random functions draw from.
    pub rng: &'a mut Rng,
    /// Receives the argument of every call of the function `debug`; see [`Value::debug_form`].
    pub debug: Option<&'a mut dyn FnMut(Value)>,
}

/// Test of the postfix operator IS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Null,
    True,
    False,
}

/// One operation on the stack of values. A jump holds how many of the following operations it
/// skips, so that a piece of program can be moved as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Op {
    /// Pushes a value.
    Constant(Value),
    /// Pushes the value of a variable, by its index in the program's table.
    Variable(u32),
    /// Replaces that many values by the function's result.
    Call(Function, u8),
    /// Replaces the top by whether it is exactly this.
    Is(Test),
    /// The left operand of AND is on top: keeps it and skips the right one if it decides.
    And(u32),
    /// Counterpart of `And` for OR.
    Or(u32),
    /// Makes sure that the right operand of AND or OR, on top, is boolean or NULL.
    CheckTruth,
    /// Pops a condition; skips if it does not hold.
    Unless(u32),
    /// Skips.
    Skip(u32),
    /// Fails because a call has too many arguments.
    TooManyArguments,
}

/// A variable that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableRef {
    pub(super) slot: Slot,
    pub(super) name: Box<str>,
}

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    ops: Box<[Op]>,
    variables: Box<[VariableRef]>,
    /// The greatest number of values on the stack.
    stack_size: usize,
}

/// Most expressions need no larger stack than this, which takes less time to set up than a larger
/// one.
const SMALL_STACK: usize = 4;
/// Expressions that need no larger stack than this are evaluated without any allocation; only
/// deeply nested ones need a larger one.
const INLINE_STACK: usize = 32;

impl Expr {
    /// The expression with this program, whose variables are indices into `variables`.
    pub(super) fn new(ops: Vec<Op>, variables: Vec<VariableRef>) -> Self {
        Self {
            stack_size: stack_size(&ops),
            ops: ops.into(),
            variables: variables.into(),
        }
    }

    /// The variables that it reads.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.variables.iter().map(|variable| variable.slot)
    }

    /// Number of operations of the program.
    pub(crate) fn operations(&self) -> usize {
        self.ops.len()
    }

    /// Evaluates the expression, from left to right, except that `a > b` and `a >= b` evaluate
    /// `b` first.
    ///
    /// # Errors
    /// Any error that an operator or function reports. Draws and `debug` calls that came before have
    /// happened.
    pub fn eval(&self, context: &mut EvalContext<'_>) -> Result<Value, EvalError> {
        if self.stack_size <= SMALL_STACK {
            self.run(&mut [Value::Null; SMALL_STACK], context)
        } else if self.stack_size <= INLINE_STACK {
            self.run(&mut [Value::Null; INLINE_STACK], context)
        } else {
            self.run(&mut vec![Value::Null; self.stack_size], context)
        }
    }

    fn run(&self, values: &mut [Value], context: &mut EvalContext<'_>) -> Result<Value, EvalError> {
        let mut stack = Stack { values, height: 0 };
        let mut next = 0;
        while let Some(op) = self.ops.get(next) {
            next += 1;
            match *op {
                Op::Constant(value) => stack.push(value)?,
                Op::Variable(index) => stack.push(self.variable(index, context)?)?,
                Op::Call(function, count) => {
                    let arguments = stack.pop_many(usize::from(count))?;
                    let value = call(function, arguments, context)?;
                    stack.push(value)?;
                }
                Op::Is(test) => {
                    let value = stack.pop()?;
                    stack.push(Value::Bool(match test {
                        Test::Null => value == Value::Null,
                        Test::True => value == Value::Bool(true),
                        Test::False => value == Value::Bool(false),
                    }))?;
                }
                Op::And(skip) => next += stack.decide(false, skip)?,
                Op::Or(skip) => next += stack.decide(true, skip)?,
                Op::CheckTruth => {
                    let value = stack.pop()?;
                    if value != Value::Null {
                        value.to_bool()?;
                    }
                    stack.push(value)?;
                }
                Op::Unless(skip) => {
                    if !stack.pop()?.is_true() {
                        next += skip as usize;
                    }
                }
                Op::Skip(skip) => next += skip as usize,
                Op::TooManyArguments => return Err(EvalError::TooManyArguments),
            }
        }
        stack.pop()
    }

    fn variable(&self, index: u32, context: &mut EvalContext<'_>) -> Result<Value, EvalError> {
        let variable = self
            .variables
            .get(index as usize)
            .ok_or(EvalError::MalformedProgram)?;
        context
            .variables
            .value(variable.slot, &variable.name)?
            .ok_or_else(|| EvalError::UndefinedVariable(variable.name.to_string()))
    }
}

/// The greatest height of the stack. A jump leads to where the stack is as high as it is after the
/// skipped operations, so that they can be followed as if there were no jumps.
fn stack_size(ops: &[Op]) -> usize {
    let mut height = 0usize;
    let mut greatest = 0;
    for op in ops {
        height = match op {
            Op::Constant(_) | Op::Variable(_) => height + 1,
            Op::Call(_, count) => (height + 1).saturating_sub(usize::from(*count)),
            // And and Or leave a value in place of the right operand.
            Op::And(_) | Op::Or(_) | Op::Unless(_) | Op::Skip(_) => height.saturating_sub(1),
            Op::Is(_) | Op::CheckTruth | Op::TooManyArguments => height,
        };
        greatest = greatest.max(height);
    }
    greatest
}

fn call(
    function: Function,
    arguments: &[Value],
    context: &mut EvalContext<'_>,
) -> Result<Value, EvalError> {
    if function == Function::Debug {
        if let (Some(sink), Some(value)) = (&mut context.debug, arguments.first()) {
            sink(*value);
        }
    } else if arguments.contains(&Value::Null) {
        return Ok(Value::Null);
    }
    function.apply(arguments, context.rng)
}

/// The stack of an evaluation, in memory of its caller's.
struct Stack<'a> {
    values: &'a mut [Value],
    height: usize,
}

impl Stack<'_> {
    fn push(&mut self, value: Value) -> Result<(), EvalError> {
        let place = self
            .values
            .get_mut(self.height)
            .ok_or(EvalError::MalformedProgram)?;
        *place = value;
        self.height += 1;
        Ok(())
    }

    fn pop(&mut self) -> Result<Value, EvalError> {
        match self.pop_many(1)? {
            [value] => Ok(*value),
            _ => Err(EvalError::MalformedProgram),
        }
    }

    fn pop_many(&mut self, count: usize) -> Result<&[Value], EvalError> {
        let start = self
            .height
            .checked_sub(count)
            .ok_or(EvalError::MalformedProgram)?;
        let popped = &self.values[start..self.height];
        self.height = start;
        Ok(popped)
    }

    /// Looks at the left operand of AND or OR on top. Returns `skip` and leaves it there if it is
    /// NULL or the `deciding` value, otherwise pops it and returns 0.
    fn decide(&mut self, deciding: bool, skip: u32) -> Result<usize, EvalError> {
        let value = self.pop()?;
        if value == Value::Null || value.to_bool()? == deciding {
            self.push(value)?;
            return Ok(skip as usize);
        }
        Ok(0)
    }
}
