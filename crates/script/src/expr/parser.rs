//! The grammar of expressions; translates while it reads (precedence climbing).

use crate::dialect::Dialect;
use crate::symbols::{Slot, Symbols};
use crate::value::Value;

use super::arithmetic::{Arithmetic, Bitwise, Comparison};
use super::error::{MAX_ARGUMENTS, MAX_DEPTH, MAX_OPERATIONS, SyntaxError, SyntaxErrorKind};
use super::function::{Arity, Function, NamedFunction, find_function};
use super::lexer::{Lexer, Token};
use super::program::{Expr, Op, Test, VariableRef};

/// Precedence of an operator, lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Or,
    And,
    Not,
    Is,
    Comparison,
    Bitwise,
    Sum,
    Product,
    Sign,
}

impl Expr {
    /// Parses a text that is one expression and nothing else; its variables get slots in
    /// `symbols`.
    ///
    /// # Errors
    /// If the text is not an expression, or one beyond the limits on nesting and length.
    pub fn parse(text: &str, symbols: &mut Symbols) -> Result<Self, SyntaxError> {
        let (expr, end) = parse_prefix(text, Dialect::Extended, symbols)?;
        if end < text.len() {
            return Err(SyntaxError {
                kind: SyntaxErrorKind::Syntax,
                end,
            });
        }
        Ok(expr)
    }
}

/// Parses the expression that ends with the first line of `text`, continued lines counting as
/// one. Also returns the offset after that line's end.
pub(crate) fn parse_prefix(
    text: &str,
    dialect: Dialect,
    symbols: &mut Symbols,
) -> Result<(Expr, usize), SyntaxError> {
    let mut parser = Parser {
        lexer: Lexer::new(text),
        token: Token::EndOfLine,
        dialect,
        symbols,
        ops: Vec::new(),
        variables: Vec::new(),
        depth: 0,
        error: None,
    };
    _ = parser.line();
    if let Some(error) = parser.error {
        if error.kind.is_limit() {
            return Err(error);
        }
        // A token further on the line that cannot even be read has precedence.
        return Err(parser.lexer.last_error().unwrap_or(error));
    }
    let expr = Expr::new(parser.ops, parser.variables);
    Ok((expr, parser.lexer.position()))
}

struct Parser<'a> {
    lexer: Lexer<'a>,
    /// The token that has been read but not used.
    token: Token<'a>,
    dialect: Dialect,
    symbols: &'a mut Symbols,
    ops: Vec<Op>,
    variables: Vec<VariableRef>,
    depth: usize,
    error: Option<SyntaxError>,
}

/// The parser has noted an error. It travels up without it: frames must be small, since nested
/// expressions need many.
struct Stop;

impl<'a> Parser<'a> {
    /// Parses the whole line.
    fn line(&mut self) -> Result<(), Stop> {
        self.advance()?;
        self.expression(Level::Or)?;
        if self.token != Token::EndOfLine {
            return Err(self.syntax_error());
        }
        Ok(())
    }

    /// Parses operators of `level` and tighter ones. Leaves one value on the stack.
    fn expression(&mut self, level: Level) -> Result<(), Stop> {
        if self.depth == MAX_DEPTH {
            return Err(self.stop(SyntaxErrorKind::TooDeep));
        }
        self.depth += 1;
        let start = self.ops.len();
        self.operand()?;
        while let Some(operator) = infix(self.token).filter(|found| found.level() >= level) {
            self.advance()?;
            self.infix(operator, start)?;
        }
        self.depth -= 1;
        Ok(())
    }

    /// Parses what can stand at the start of an expression.
    fn operand(&mut self) -> Result<(), Stop> {
        let token = self.token;
        match token {
            Token::Integer(value) => self.constant(Value::Int(value)),
            Token::Double(value) => self.constant(Value::Double(value)),
            Token::True => self.constant(Value::Bool(true)),
            Token::False => self.constant(Value::Bool(false)),
            Token::Null => self.constant(Value::Null),
            Token::Variable(name) => {
                let slot = self.symbols.intern(name);
                self.variable(slot, name)?;
                self.advance()
            }
            Token::Name(name) => self.call(name),
            Token::LeftParen => {
                self.advance()?;
                self.expression(Level::Or)?;
                self.expect(Token::RightParen)
            }
            Token::Plus => {
                self.advance()?;
                self.expression(Level::Sign)
            }
            Token::Minus => self.negation(),
            Token::Not => {
                self.advance()?;
                self.expression(Level::Is)?;
                self.emit_call(Function::Not, 1)
            }
            Token::BitNot => {
                self.advance()?;
                self.expression(Level::Sum)?;
                self.emit(Op::Constant(Value::Int(-1)))?;
                self.emit_call(Function::Bitwise(Bitwise::Xor), 2)
            }
            Token::Case => self.case(),
            _ => Err(self.syntax_error()),
        }
    }

    /// Parses the rest of an operation whose operator has been read and whose left operand's
    /// program starts at `start`.
    fn infix(&mut self, operator: Infix, start: usize) -> Result<(), Stop> {
        match operator {
            Infix::Or => self.logic(Op::Or, Level::And),
            Infix::And => self.logic(Op::And, Level::Not),
            Infix::Is => {
                let negated = self.token == Token::Not;
                if negated {
                    self.advance()?;
                }
                let test = match self.token {
                    Token::Null => Test::Null,
                    Token::True => Test::True,
                    Token::False => Test::False,
                    _ => return Err(self.syntax_error()),
                };
                self.advance()?;
                self.test(test, negated)
            }
            Infix::IsNull => self.test(Test::Null, false),
            Infix::NotNull => self.test(Test::Null, true),
            Infix::Strict(function, operands, level) => {
                let right = self.ops.len();
                self.expression(level.next())?;
                if level == Level::Comparison
                    && infix(self.token).is_some_and(|next| next.level() == Level::Comparison)
                {
                    // Comparisons do not associate.
                    return Err(self.syntax_error());
                }
                if operands == Operands::Exchanged {
                    self.ops[start..].rotate_left(right - start);
                }
                self.emit_call(function, 2)
            }
        }
    }

    /// Parses the right operand of AND or OR.
    fn logic(&mut self, op: fn(u32) -> Op, level: Level) -> Result<(), Stop> {
        let jump = self.emit_jump(op(0))?;
        self.expression(level)?;
        self.emit(Op::CheckTruth)?;
        self.ops[jump] = op(self.distance(jump));
        Ok(())
    }

    fn test(&mut self, test: Test, negated: bool) -> Result<(), Stop> {
        self.emit(Op::Is(test))?;
        if negated {
            self.emit_call(Function::Not, 1)?;
        }
        Ok(())
    }

    fn negation(&mut self) -> Result<(), Stop> {
        self.advance()?;
        if self.token == Token::MinMagnitude {
            return self.constant(Value::Int(i64::MIN));
        }
        self.emit(Op::Constant(Value::Int(0)))?;
        self.expression(Level::Sign)?;
        self.emit_call(Function::Arithmetic(Arithmetic::Subtract), 2)
    }

    fn case(&mut self) -> Result<(), Stop> {
        self.advance()?;
        let mut exits = Vec::new();
        while self.token == Token::When {
            self.advance()?;
            self.expression(Level::Or)?;
            self.expect(Token::Then)?;
            let unless = self.emit_jump(Op::Unless(0))?;
            self.expression(Level::Or)?;
            exits.push(self.emit_jump(Op::Skip(0))?);
            self.ops[unless] = Op::Unless(self.distance(unless));
        }
        if exits.is_empty() {
            return Err(self.syntax_error());
        }
        if self.token == Token::Else {
            self.advance()?;
            self.expression(Level::Or)?;
        } else {
            self.emit(Op::Constant(Value::Null))?;
        }
        for exit in exits {
            self.ops[exit] = Op::Skip(self.distance(exit));
        }
        self.expect(Token::End)
    }

    fn call(&mut self, name: &str) -> Result<(), Stop> {
        let Some(function) = find_function(name, self.dialect) else {
            let kind = SyntaxErrorKind::UnknownFunction(name.to_owned());
            return Err(self.stop(kind));
        };
        self.advance()?;
        self.expect(Token::LeftParen)?;
        let mut count = 0;
        // The grammar lets a comma stand before the first argument, too.
        if !matches!(self.token, Token::RightParen | Token::Comma) {
            self.argument(count)?;
            count += 1;
        }
        while self.token == Token::Comma {
            self.advance()?;
            self.argument(count)?;
            count += 1;
        }
        if self.token != Token::RightParen {
            return Err(self.syntax_error());
        }
        self.finish_call(function, count)?;
        self.advance()
    }

    /// Parses one argument. Those beyond the maximum are not evaluated: the call fails before.
    fn argument(&mut self, index: usize) -> Result<(), Stop> {
        let end = self.ops.len();
        self.expression(Level::Or)?;
        if index >= MAX_ARGUMENTS {
            self.ops.truncate(end);
        }
        Ok(())
    }

    /// Emits the call after its arguments; the current token is the closing parenthesis.
    fn finish_call(&mut self, called: NamedFunction, count: usize) -> Result<(), Stop> {
        let mut count = count;
        match called.arity {
            Arity::AtLeastOne if count == 0 => {
                let kind = SyntaxErrorKind::NoArguments(called.name);
                return Err(self.stop(kind));
            }
            Arity::AtLeastOne => {}
            Arity::Exactly(expected) if count == expected => {}
            Arity::OptionalSeed(values) if count == values => {
                self.variable(self.symbols.default_seed(), "default_seed")?;
                count += 1;
            }
            Arity::OptionalSeed(values) if count == values + 1 => {}
            Arity::Exactly(_) | Arity::OptionalSeed(_) => {
                let kind = SyntaxErrorKind::ArgumentCount(called.name);
                return Err(self.stop(kind));
            }
        }
        if count > MAX_ARGUMENTS {
            self.emit(Op::TooManyArguments)?;
            count = MAX_ARGUMENTS;
        }
        self.emit_call(called.function, count)
    }

    fn constant(&mut self, value: Value) -> Result<(), Stop> {
        self.emit(Op::Constant(value))?;
        self.advance()
    }

    fn variable(&mut self, slot: Slot, name: &str) -> Result<(), Stop> {
        let index = self.variables.len();
        self.variables.push(VariableRef {
            slot,
            name: name.into(),
        });
        self.emit(Op::Variable(index as u32))
    }

    fn emit_call(&mut self, function: Function, count: usize) -> Result<(), Stop> {
        self.emit(Op::Call(function, count as u8))
    }

    fn emit(&mut self, op: Op) -> Result<(), Stop> {
        if self.ops.len() == MAX_OPERATIONS {
            return Err(self.stop(SyntaxErrorKind::TooLong));
        }
        self.ops.push(op);
        Ok(())
    }

    /// Emits a jump whose distance is not known yet and returns its index.
    fn emit_jump(&mut self, jump: Op) -> Result<usize, Stop> {
        self.emit(jump)?;
        Ok(self.ops.len() - 1)
    }

    /// The number of operations after the one at `index`.
    fn distance(&self, index: usize) -> u32 {
        (self.ops.len() - index - 1) as u32
    }

    fn advance(&mut self) -> Result<(), Stop> {
        match self.lexer.next_token() {
            Ok(token) => {
                self.token = token;
                Ok(())
            }
            Err(error) => {
                self.error = Some(error);
                Err(Stop)
            }
        }
    }

    fn expect(&mut self, token: Token<'_>) -> Result<(), Stop> {
        if self.token != token {
            return Err(self.syntax_error());
        }
        self.advance()
    }

    fn syntax_error(&mut self) -> Stop {
        self.stop(SyntaxErrorKind::Syntax)
    }

    /// Notes an error that points at the last token.
    fn stop(&mut self, kind: SyntaxErrorKind) -> Stop {
        self.error = Some(self.lexer.error(kind));
        Stop
    }
}

/// Order of an operator's operands in the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    AsWritten,
    Exchanged,
}

/// Operator behind an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Infix {
    Or,
    And,
    Is,
    IsNull,
    NotNull,
    Strict(Function, Operands, Level),
}

impl Infix {
    fn level(self) -> Level {
        match self {
            Self::Or => Level::Or,
            Self::And => Level::And,
            Self::Is | Self::IsNull | Self::NotNull => Level::Is,
            Self::Strict(_, _, level) => level,
        }
    }
}

impl Level {
    /// The level of what can be the right operand of a strict operator of this level.
    fn next(self) -> Self {
        match self {
            Self::Or => Self::And,
            Self::And => Self::Not,
            Self::Not => Self::Is,
            Self::Is => Self::Comparison,
            Self::Comparison => Self::Bitwise,
            Self::Bitwise => Self::Sum,
            Self::Sum => Self::Product,
            Self::Product | Self::Sign => Self::Sign,
        }
    }
}

fn infix(token: Token<'_>) -> Option<Infix> {
    let strict = |function, level| Infix::Strict(function, Operands::AsWritten, level);
    let arithmetic = |operator, level| strict(Function::Arithmetic(operator), level);
    let comparison = |operator, operands| {
        Infix::Strict(Function::Comparison(operator), operands, Level::Comparison)
    };
    let bitwise = |operator| strict(Function::Bitwise(operator), Level::Bitwise);
    Some(match token {
        Token::Or => Infix::Or,
        Token::And => Infix::And,
        Token::Is => Infix::Is,
        Token::IsNull => Infix::IsNull,
        Token::NotNull => Infix::NotNull,
        Token::Less => comparison(Comparison::Less, Operands::AsWritten),
        Token::LessEqual => comparison(Comparison::LessEqual, Operands::AsWritten),
        Token::Greater => comparison(Comparison::Less, Operands::Exchanged),
        Token::GreaterEqual => comparison(Comparison::LessEqual, Operands::Exchanged),
        Token::Equal => comparison(Comparison::Equal, Operands::AsWritten),
        Token::NotEqual => comparison(Comparison::NotEqual, Operands::AsWritten),
        Token::BitOr => bitwise(Bitwise::Or),
        Token::BitXor => bitwise(Bitwise::Xor),
        Token::BitAnd => bitwise(Bitwise::And),
        Token::ShiftLeft => bitwise(Bitwise::ShiftLeft),
        Token::ShiftRight => bitwise(Bitwise::ShiftRight),
        Token::Plus => arithmetic(Arithmetic::Add, Level::Sum),
        Token::Minus => arithmetic(Arithmetic::Subtract, Level::Sum),
        Token::Star => arithmetic(Arithmetic::Multiply, Level::Product),
        Token::Slash => arithmetic(Arithmetic::Divide, Level::Product),
        Token::Percent => strict(Function::Modulo, Level::Product),
        _ => return None,
    })
}
