//! Tokens of SQL.

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Keyword or identifier without quotes.
    Word,
    /// Identifier in quotes.
    Quoted,
    /// String constant of any kind.
    Text,
    /// Number.
    Number,
    /// Parameter with its number, from 1 to [`MAX_PARAMETERS`].
    Parameter(usize),
    /// Comment.
    Comment,
    /// Character of an operator, or punctuation.
    Symbol,
}

/// Most parameters of a statement, and the largest number of one: the protocol's limit.
pub const MAX_PARAMETERS: usize = 65_535;

/// Token with its place in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its kind.
    pub kind: Kind,
    /// Offset of its first byte.
    pub start: usize,
    /// Offset behind its last byte.
    pub end: usize,
}

impl Token {
    /// Its text.
    pub fn text<'t>(&self, sql: &'t str) -> &'t str {
        &sql[self.start..self.end]
    }

    /// Whether it is this keyword, given in lower case.
    pub fn is(&self, sql: &str, keyword: &str) -> bool {
        self.kind == Kind::Word && self.text(sql).eq_ignore_ascii_case(keyword)
    }

    /// Whether it is this character.
    pub fn is_symbol(&self, sql: &str, symbol: &str) -> bool {
        self.kind == Kind::Symbol && self.text(sql) == symbol
    }
}

/// The tokens of a text. What does not end, ends with the text.
pub fn tokens(sql: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut start = 0;
    while let Some(first) = sql[start..].chars().next() {
        // Other blanks of Unicode are parts of names for the server.
        if matches!(first, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c') {
            start += 1;
            continue;
        }
        let (kind, length) = token(&sql[start..], first);
        let end = start + length;
        found.push(Token { kind, start, end });
        start = end;
    }
    found
}

/// Kind and length of the token at the start of a text.
fn token(rest: &str, first: char) -> (Kind, usize) {
    let next = rest[first.len_utf8()..].chars().next().unwrap_or(' ');
    match first {
        '-' if next == '-' => (Kind::Comment, rest.find('\n').unwrap_or(rest.len())),
        '/' if next == '*' => (Kind::Comment, comment(rest)),
        '\'' => (Kind::Text, quoted(rest, '\'', false)),
        '"' => (Kind::Quoted, quoted(rest, '"', false)),
        'e' | 'E' if next == '\'' => (Kind::Text, 1 + quoted(&rest[1..], '\'', true)),
        'b' | 'B' | 'x' | 'X' | 'n' | 'N' if next == '\'' => {
            (Kind::Text, 1 + quoted(&rest[1..], '\'', false))
        }
        'u' | 'U' if rest[1..].starts_with("&'") => {
            (Kind::Text, 2 + quoted(&rest[2..], '\'', false))
        }
        'u' | 'U' if rest[1..].starts_with("&\"") => {
            (Kind::Quoted, 2 + quoted(&rest[2..], '"', false))
        }
        '$' if next.is_ascii_digit() => {
            let digits = span(&rest[1..], |c| c.is_ascii_digit());
            match rest[1..=digits].parse() {
                Ok(number @ 1..=MAX_PARAMETERS) => (Kind::Parameter(number), 1 + digits),
                _ => (Kind::Symbol, 1),
            }
        }
        '$' => match dollar_quoted(rest) {
            Some(length) => (Kind::Text, length),
            None => (Kind::Symbol, 1),
        },
        c if c.is_ascii_digit() || c == '.' && next.is_ascii_digit() => {
            (Kind::Number, number(rest))
        }
        c if is_word_start(c) => {
            let is_part = |c| is_word_start(c) || c.is_ascii_digit() || c == '$';
            (Kind::Word, span(rest, is_part))
        }
        ':' if next == ':' => (Kind::Symbol, 2),
        c => (Kind::Symbol, c.len_utf8()),
    }
}

fn is_word_start(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || !c.is_ascii()
}

fn span(text: &str, is_part: impl Fn(char) -> bool) -> usize {
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// Length of a number; a sign of an exponent is part of it.
fn number(rest: &str) -> usize {
    let mut length = span(rest, |c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
    let is_exponent = rest[..length].ends_with(['e', 'E']) && !rest.starts_with("0x");
    if is_exponent && rest[length..].starts_with(['+', '-']) {
        length += 1 + span(&rest[length + 1..], |c| c.is_ascii_digit());
    }
    length
}

/// Length of a comment with those within it.
fn comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        let tail = &rest.as_bytes()[at..];
        if tail.starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if tail.starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of what begins with a quote, up to the one that is not doubled.
fn quoted(rest: &str, quote: char, backslashes: bool) -> usize {
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((at, c)) = characters.next() {
        if c == '\\' && backslashes {
            characters.next();
        } else if c == quote && characters.next_if(|(_, next)| *next == quote).is_none() {
            return at + 1;
        }
    }
    rest.len()
}

/// Length of a string in dollar quotes.
fn dollar_quoted(rest: &str) -> Option<usize> {
    let tag = span(&rest[1..], |c| is_word_start(c) || c.is_ascii_digit());
    let delimiter = rest.get(..tag + 2).filter(|text| text.ends_with('$'))?;
    let body = &rest[delimiter.len()..];
    let length = body.find(delimiter).map(|end| end + delimiter.len());
    Some(delimiter.len() + length.unwrap_or(body.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_all_kinds() {
        let sql = "SELECT \"a\"\"b\", E'\\'x', $12, 1.5e-3, $q$ it's $q$, a$1 -- c\n/* x /* y */ */::int4";
        let texts: Vec<_> = tokens(sql).iter().map(|t| (t.kind, t.text(sql))).collect();
        assert_eq!(
            texts,
            [
                (Kind::Word, "SELECT"),
                (Kind::Quoted, "\"a\"\"b\""),
                (Kind::Symbol, ","),
                (Kind::Text, "E'\\'x'"),
                (Kind::Symbol, ","),
                (Kind::Parameter(12), "$12"),
                (Kind::Symbol, ","),
                (Kind::Number, "1.5e-3"),
                (Kind::Symbol, ","),
                (Kind::Text, "$q$ it's $q$"),
                (Kind::Symbol, ","),
                (Kind::Word, "a$1"),
                (Kind::Comment, "-- c"),
                (Kind::Comment, "/* x /* y */ */"),
                (Kind::Symbol, "::"),
                (Kind::Word, "int4"),
            ]
        );
        // What the server takes for names, and numbers that no parameter has.
        let of_names = "a \u{a0}$4294967297 $0 $65536";
        assert!(
            tokens(of_names)
                .iter()
                .all(|t| !matches!(t.kind, Kind::Parameter(_)))
        );
        for broken in ["'a", "\"a", "/* a", "$a$ b", "$", "é'", "E'\\"] {
            assert!(tokens(broken).iter().all(|t| t.end <= broken.len()));
        }
    }
}
