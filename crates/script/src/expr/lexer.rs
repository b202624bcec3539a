//! The tokens of expressions.

use crate::number::parse_decimal;
use crate::symbols::is_name_part;

use super::error::{SyntaxError, SyntaxErrorKind};

/// One token; names borrow from the text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Integer(i64),
    /// 9223372036854775808, which is valid after a minus sign only.
    MinMagnitude,
    Double(f64),
    /// The name after a colon.
    Variable(&'a str),
    /// Any name that is not a keyword.
    Name(&'a str),
    Or,
    And,
    Not,
    Is,
    IsNull,
    NotNull,
    Case,
    When,
    Then,
    Else,
    End,
    True,
    False,
    Null,
    LeftParen,
    RightParen,
    Comma,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Less,
    Greater,
    LessEqual,
    GreaterEqual,
    Equal,
    NotEqual,
    BitOr,
    BitXor,
    BitAnd,
    BitNot,
    ShiftLeft,
    ShiftRight,
    /// The end of the line or of the text.
    EndOfLine,
}

const KEYWORDS: [(&str, Token<'static>); 14] = [
    ("and", Token::And),
    ("or", Token::Or),
    ("not", Token::Not),
    ("is", Token::Is),
    ("isnull", Token::IsNull),
    ("notnull", Token::NotNull),
    ("case", Token::Case),
    ("when", Token::When),
    ("then", Token::Then),
    ("else", Token::Else),
    ("end", Token::End),
    ("true", Token::True),
    ("false", Token::False),
    ("null", Token::Null),
];

/// Longer operators come before their prefixes.
const OPERATORS: [(&str, Token<'static>); 22] = [
    ("<<", Token::ShiftLeft),
    (">>", Token::ShiftRight),
    ("<=", Token::LessEqual),
    (">=", Token::GreaterEqual),
    ("<>", Token::NotEqual),
    ("!=", Token::NotEqual),
    ("<", Token::Less),
    (">", Token::Greater),
    ("=", Token::Equal),
    ("+", Token::Plus),
    ("-", Token::Minus),
    ("*", Token::Star),
    ("/", Token::Slash),
    ("%", Token::Percent),
    ("|", Token::BitOr),
    ("#", Token::BitXor),
    ("&", Token::BitAnd),
    ("~", Token::BitNot),
    ("(", Token::LeftParen),
    (")", Token::RightParen),
    (",", Token::Comma),
    ("\n", Token::EndOfLine),
];

/// Splits a text into tokens, up to the end of its first line. A line whose last character is a
/// backslash continues on the next.
#[derive(Clone, Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    position: usize,
    at_end_of_line: bool,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            position: 0,
            at_end_of_line: false,
        }
    }

    /// The byte offset after the last token.
    pub(super) fn position(&self) -> usize {
        self.position
    }

    /// The next token; at the end of the text, the end of line again and again.
    pub(super) fn next_token(&mut self) -> Result<Token<'a>, SyntaxError> {
        self.position += blank_length(&self.text[self.position..]);
        let rest = &self.text[self.position..];
        let Some(first) = rest.chars().next() else {
            self.at_end_of_line = true;
            return Ok(Token::EndOfLine);
        };
        let number = number_length(rest);
        if number > 0 {
            self.position += number;
            return self.number(&rest[..number]);
        }
        if is_name_part(first) {
            let name = name_at(rest);
            self.position += name.len();
            return Ok(keyword(name).unwrap_or(Token::Name(name)));
        }
        if first == ':' {
            let name = name_at(&rest[1..]);
            if !name.is_empty() {
                self.position += 1 + name.len();
                return Ok(Token::Variable(name));
            }
        }
        for (operator, token) in OPERATORS {
            if rest.starts_with(operator) {
                self.position += operator.len();
                self.at_end_of_line = token == Token::EndOfLine;
                return Ok(token);
            }
        }
        self.position += first.len_utf8();
        Err(self.error(SyntaxErrorKind::UnexpectedCharacter(first)))
    }

    /// Reads on to the end of the line and returns the last of the errors on the way. There are
    /// none if the line's end has been read already.
    pub(super) fn last_error(&mut self) -> Option<SyntaxError> {
        if self.at_end_of_line {
            return None;
        }
        let mut last = None;
        loop {
            match self.next_token() {
                Ok(Token::EndOfLine) => return last,
                Ok(_) => {}
                Err(error) => last = Some(error),
            }
        }
    }

    /// An error that points at the last token.
    pub(super) fn error(&self, kind: SyntaxErrorKind) -> SyntaxError {
        SyntaxError {
            kind,
            end: self.position,
        }
    }

    fn number(&self, text: &str) -> Result<Token<'a>, SyntaxError> {
        if text.bytes().all(|byte| byte.is_ascii_digit()) {
            return match text.parse() {
                Ok(value) => Ok(Token::Integer(value)),
                Err(_) if text == "9223372036854775808" => Ok(Token::MinMagnitude),
                Err(_) => Err(self.error(SyntaxErrorKind::IntegerOverflow(text.to_owned()))),
            };
        }
        match parse_decimal(text) {
            Some(value) => Ok(Token::Double(value)),
            None => Err(self.error(SyntaxErrorKind::DoubleOverflow(text.to_owned()))),
        }
    }
}

/// The length of the blanks and continued line ends at the start of a text.
pub(crate) fn blank_length(text: &str) -> usize {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\r', '\x0b', '\x0c']);
        match continuation_length(rest) {
            0 => return text.len() - rest.len(),
            length => rest = &rest[length..],
        }
    }
}

/// The length of a continued line end, 0 if the text does not start with one.
pub(crate) fn continuation_length(text: &str) -> usize {
    if text.starts_with("\\\n") {
        2
    } else if text.starts_with("\\\r\n") {
        3
    } else {
        0
    }
}

fn keyword(name: &str) -> Option<Token<'static>> {
    KEYWORDS
        .iter()
        .find(|(word, _)| name.eq_ignore_ascii_case(word))
        .map(|(_, token)| *token)
}

fn name_at(text: &str) -> &str {
    let end = text.find(|c| !is_name_part(c)).unwrap_or(text.len());
    &text[..end]
}

/// The length of the longest number at the start of a text, 0 if there is none.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| {
        text.as_bytes()[from..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count()
    };
    let byte = |at: usize| text.as_bytes().get(at).copied();
    let mut length = digits(0);
    if byte(length) == Some(b'.') {
        let fraction = digits(length + 1);
        if length + fraction == 0 {
            return 0;
        }
        length += 1 + fraction;
    }
    if length == 0 {
        return 0;
    }
    if matches!(byte(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(byte(length + 1), Some(b'+' | b'-')));
        let exponent = digits((length + 1 + sign).min(text.len()));
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}
