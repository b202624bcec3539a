//! The words, numbers, texts and signs of a condition.

use super::{ConditionError, Operator, abridged};

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    /// Number as written, and its value.
    Number(String, f64),
    /// In single quotes.
    Text(String),
    /// In double quotes.
    Name(String),
    Operator(Operator),
    Colon,
    Open,
    Close,
}

pub(super) struct Lexer<'t> {
    text: &'t str,
    /// The byte after the last token, and the first byte of it.
    at: usize,
    last: usize,
}

impl<'t> Lexer<'t> {
    pub(super) fn new(text: &'t str) -> Lexer<'t> {
        Lexer {
            text,
            at: 0,
            last: 0,
        }
    }

    /// The name before a colon at the beginning, if there is one.
    pub(super) fn arm(&mut self) -> Result<Option<String>, ConditionError> {
        let begin = (self.at, self.last);
        if let Some(Token::Word(arm) | Token::Name(arm)) = self.token()?
            && self.takes(&Token::Colon)?
        {
            return Ok(Some(arm));
        }
        (self.at, self.last) = begin;
        Ok(None)
    }

    /// The next token.
    pub(super) fn next(&mut self, expected: &str) -> Result<Token, ConditionError> {
        match self.token()? {
            Some(token) => Ok(token),
            None => Err(self.expected(expected)),
        }
    }

    /// Whether the next token is this one, which is skipped then.
    pub(super) fn takes(&mut self, wanted: &Token) -> Result<bool, ConditionError> {
        let begin = (self.at, self.last);
        if self.token()?.as_ref() == Some(wanted) {
            return Ok(true);
        }
        (self.at, self.last) = begin;
        Ok(false)
    }

    /// Fails if something follows.
    pub(super) fn end(&mut self) -> Result<(), ConditionError> {
        match self.token()? {
            None => Ok(()),
            Some(_) => Err(self.expected("nothing more")),
        }
    }

    /// The error that something else was expected where the last token begins.
    pub(super) fn expected(&self, what: &str) -> ConditionError {
        let character = self.text[..self.last].chars().count() + 1;
        let place = match self.last < self.text.len() {
            true => format!("at character {character}"),
            false => "at the end".to_owned(),
        };
        ConditionError::Syntax {
            condition: abridged(self.text),
            expected: format!("Expected {what} {place}."),
        }
    }

    fn token(&mut self) -> Result<Option<Token>, ConditionError> {
        let rest = self.text[self.at..].trim_start();
        self.last = self.text.len() - rest.len();
        let Some(first) = rest.chars().next() else {
            self.at = self.text.len();
            return Ok(None);
        };
        let (token, length) = match first {
            ':' => (Token::Colon, 1),
            '(' => (Token::Open, 1),
            ')' => (Token::Close, 1),
            '\'' | '"' => {
                let Some((text, length)) = quoted(rest, first) else {
                    return Err(self.expected("a text with a closing quote"));
                };
                let token = match first {
                    '"' => Token::Name(text),
                    _ => Token::Text(text),
                };
                (token, length)
            }
            '<' | '>' | '=' => match operator(rest) {
                Some((operator, length)) => (Token::Operator(operator), length),
                None => return Err(self.expected("one of < <= > >= = <>")),
            },
            first if begins_word(first) => {
                let end = rest.find(|c| !continues_word(c)).unwrap_or(rest.len());
                (Token::Word(rest[..end].to_owned()), end)
            }
            '+' | '-' | '0'..='9' => match number(rest) {
                Some((number, length)) => {
                    (Token::Number(rest[..length].to_owned(), number), length)
                }
                None => return Err(self.expected("a number without a unit")),
            },
            _ => return Err(self.expected("a figure, an operator or a value")),
        };
        self.at = self.last + length;
        Ok(Some(token))
    }
}

fn begins_word(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_'
}

fn continues_word(character: char) -> bool {
    begins_word(character) || character.is_ascii_digit() || matches!(character, '.' | '-')
}

/// Whether a text is a word.
pub(super) fn is_word(text: &str) -> bool {
    text.starts_with(begins_word) && text.chars().all(continues_word)
}

fn operator(rest: &str) -> Option<(Operator, usize)> {
    let length = rest
        .find(|c| !matches!(c, '<' | '>' | '='))
        .unwrap_or(rest.len());
    let operator = match &rest[..length] {
        "<" => Operator::Less,
        "<=" => Operator::LessOrEqual,
        ">" => Operator::Greater,
        ">=" => Operator::GreaterOrEqual,
        "=" => Operator::Equal,
        "<>" => Operator::NotEqual,
        _ => return None,
    };
    Some((operator, length))
}

/// A finite decimal number with which no word begins, and its length.
fn number(rest: &str) -> Option<(f64, usize)> {
    let digits = |text: &str| {
        text.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(text.len())
    };
    let mut length = usize::from(rest.starts_with(['+', '-']));
    let whole = digits(&rest[length..]);
    length += whole;
    if let Some(fraction) = rest[length..].strip_prefix('.') {
        let fraction = digits(fraction);
        if fraction == 0 {
            return None;
        }
        length += 1 + fraction;
    }
    if let Some(exponent) = rest[length..].strip_prefix(['e', 'E']) {
        let sign = usize::from(exponent.starts_with(['+', '-']));
        let exponent = digits(&exponent[sign..]);
        if exponent == 0 {
            return None;
        }
        length += 1 + sign + exponent;
    }
    if whole == 0 || rest[length..].starts_with(continues_word) {
        return None;
    }
    let number: f64 = rest[..length].parse().ok()?;
    number.is_finite().then_some((number, length))
}

/// The text within quotes, and its length with them; `None` if they are not closed.
fn quoted(rest: &str, quote: char) -> Option<(String, usize)> {
    let mut text = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return Some((text, at + 1));
        }
        text.push(character);
    }
    None
}
