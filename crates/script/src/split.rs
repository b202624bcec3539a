//! Cuts a script into SQL statements and meta commands, by psql's rules for where quotes,
//! comments, parentheses and routine bodies end.
//!
//! Not here: what meta commands mean (`meta.rs`), and what variables become (`substitute.rs`).

use crate::symbols::{is_name_part, is_name_start};

/// A piece of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Piece {
    /// A statement, without leading blanks and comments.
    Sql {
        /// The text, semicolon included.
        text: String,
        /// The byte offset of its first character in the script.
        start: usize,
    },
    /// A backslash that starts a meta command; the next piece starts wherever the caller moves
    /// the splitter to.
    Backslash {
        /// The byte offset of the backslash.
        start: usize,
    },
}

/// The statements of a text that has no meta commands, by psql's rules. Those that `\;` joins stay
/// together.
///
/// # Errors
/// The byte offset of a backslash that starts a meta command.
pub fn statements(text: &str) -> Result<Vec<String>, usize> {
    let mut splitter = Splitter::new(text);
    let mut statements = Vec::new();
    while let Some(piece) = splitter.next_piece() {
        match piece {
            Piece::Sql { text, .. } => statements.push(text),
            Piece::Backslash { start } => return Err(start),
        }
    }
    Ok(statements)
}

/// The state of splitting a script. Parentheses and routine bodies stay open across meta
/// commands.
#[derive(Clone, Debug)]
pub(crate) struct Splitter<'a> {
    script: &'a str,
    position: usize,
    statement: String,
    statement_start: usize,
    paren_depth: usize,
    body: RoutineBody,
}

impl<'a> Splitter<'a> {
    pub(crate) fn new(script: &'a str) -> Self {
        Self {
            script,
            position: 0,
            statement: String::new(),
            statement_start: 0,
            paren_depth: 0,
            body: RoutineBody::default(),
        }
    }

    /// Goes on at this byte offset, which is on a character boundary.
    pub(crate) fn resume_at(&mut self, position: usize) {
        self.position = position;
    }

    /// The next piece, `None` at the end of the script.
    pub(crate) fn next_piece(&mut self) -> Option<Piece> {
        loop {
            let rest = self.rest();
            let Some(first) = rest.chars().next() else {
                return self.take_statement();
            };
            match first {
                '\\' => match rest.as_bytes().get(1) {
                    Some(b';') => {
                        self.skip(1);
                        self.emit(1);
                        self.body.end_statement();
                    }
                    Some(b':') => {
                        self.skip(1);
                        self.emit(1);
                    }
                    _ => {
                        // The text read so far comes first; the backslash is found again.
                        return self.take_statement().or(Some(Piece::Backslash {
                            start: self.position,
                        }));
                    }
                },
                ';' => {
                    self.emit(1);
                    if self.paren_depth == 0 && !self.body.is_open() {
                        self.body.end_statement();
                        return self.take_statement();
                    }
                }
                '(' => {
                    self.paren_depth += 1;
                    self.emit(1);
                }
                ')' => {
                    self.paren_depth = self.paren_depth.saturating_sub(1);
                    self.emit(1);
                }
                ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => self.emit_unless_leading(1),
                '-' if rest.starts_with("--") => self.emit_unless_leading(line_length(rest)),
                '/' if rest.starts_with("/*") => self.emit(comment_length(rest)),
                '\'' => self.emit(quoted_length(rest, '\'')),
                '"' => self.emit(quoted_length(rest, '"')),
                '$' => self.emit(dollar_length(rest)),
                ':' => self.colon(rest),
                '0'..='9' | '.' => self.emit(number_length(rest)),
                first if is_name_start(first) => self.word(rest),
                other => self.emit(other.len_utf8()),
            }
        }
    }

    /// Words, and the strings that start with a letter.
    fn word(&mut self, rest: &'a str) {
        let length = word_length(rest);
        let (word, behind) = rest.split_at(length);
        if length == 1 && behind.starts_with('\'') {
            match word {
                "e" | "E" => return self.emit(1 + escape_string_length(behind)),
                "b" | "B" | "x" | "X" | "n" | "N" => return self.emit(1),
                _ => {}
            }
        }
        if matches!(word, "u" | "U") && behind.starts_with('&') {
            return self.emit(1);
        }
        self.body.word(word, self.paren_depth == 0);
        self.emit(length);
    }

    /// Casts, and the forms of variables that psql knows; only the test for existence is filled
    /// in here, with the answer for a variable that is unknown.
    fn colon(&mut self, rest: &'a str) {
        if rest.starts_with("::") {
            return self.emit(2);
        }
        if let Some(behind) = rest.strip_prefix(":{?") {
            let name = prefix_length(behind, is_name_part);
            if name > 0 && behind[name..].starts_with('}') {
                self.statement_begins();
                self.statement.push_str("FALSE");
                return self.skip(3 + name + 1);
            }
        }
        self.emit(1 + prefix_length(&rest[1..], is_name_part));
    }

    fn rest(&self) -> &'a str {
        &self.script[self.position..]
    }

    fn skip(&mut self, length: usize) {
        self.position += length;
    }

    fn statement_begins(&mut self) {
        if self.statement.is_empty() {
            self.statement_start = self.position;
        }
    }

    fn emit(&mut self, length: usize) {
        self.statement_begins();
        let text = &self.rest()[..length];
        self.statement.push_str(text);
        self.skip(length);
    }

    fn emit_unless_leading(&mut self, length: usize) {
        if self.statement.is_empty() {
            self.skip(length);
        } else {
            self.emit(length);
        }
    }

    fn take_statement(&mut self) -> Option<Piece> {
        let text = std::mem::take(&mut self.statement);
        (!text.is_empty()).then_some(Piece::Sql {
            text,
            start: self.statement_start,
        })
    }
}

/// Recognizes the bodies of routines, within which semicolons do not end a statement.
#[derive(Clone, Debug, Default)]
struct RoutineBody {
    start: StatementStart,
    depth: usize,
}

/// Progress in matching a statement's first words with CREATE [OR REPLACE] FUNCTION | PROCEDURE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StatementStart {
    #[default]
    Nothing,
    Create,
    CreateOr,
    CreateOrReplace,
    Routine,
    Other,
}

impl RoutineBody {
    fn is_open(&self) -> bool {
        self.depth > 0
    }

    fn end_statement(&mut self) {
        self.start = StatementStart::Nothing;
    }

    /// Takes note of an unquoted word; `outside` says that it is not in parentheses.
    fn word(&mut self, word: &str, outside: bool) {
        let is = |keyword: &str| word.eq_ignore_ascii_case(keyword);
        if self.start == StatementStart::Routine {
            if !outside {
                return;
            }
            if is("begin") || (is("case") && self.is_open()) {
                self.depth += 1;
            } else if is("end") {
                self.depth = self.depth.saturating_sub(1);
            }
            return;
        }
        let is_routine = is("function") || is("procedure");
        self.start = match self.start {
            StatementStart::Nothing if is("create") => StatementStart::Create,
            StatementStart::Create if is("or") => StatementStart::CreateOr,
            StatementStart::CreateOr if is("replace") => StatementStart::CreateOrReplace,
            StatementStart::Create | StatementStart::CreateOrReplace if is_routine => {
                StatementStart::Routine
            }
            _ => StatementStart::Other,
        };
    }
}

/// The length of the characters that a text starts with and that belong to something.
pub(crate) fn prefix_length(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.find(|c| !belongs(c)).unwrap_or(text.len())
}

/// The length of a line without its end.
pub(crate) fn line_length(text: &str) -> usize {
    prefix_length(text, |c| c != '\n' && c != '\r')
}

/// The length of a nested comment; all of the text if it does not end.
pub(crate) fn comment_length(text: &str) -> usize {
    let mut depth = 0usize;
    let mut position = 0;
    while let Some(offset) = text[position..].find(['/', '*']) {
        position += offset;
        let rest = &text[position..];
        if rest.starts_with("/*") {
            depth += 1;
            position += 2;
        } else if rest.starts_with("*/") {
            depth -= 1;
            position += 2;
            if depth == 0 {
                return position;
            }
        } else {
            position += 1;
        }
    }
    text.len()
}

/// The length of a quoted text up to its closing quote; all of the text if it does not end. A
/// doubled quote ends one text and starts the next, which comes to the same.
pub(crate) fn quoted_length(text: &str, quote: char) -> usize {
    text[1..]
        .find(quote)
        .map_or(text.len(), |offset| offset + 2)
}

/// The length of a string with backslash escapes, from its opening quote on, with the parts that
/// continue it on following lines.
pub(crate) fn escape_string_length(text: &str) -> usize {
    let mut position = 1;
    while let Some(offset) = text[position..].find(['\'', '\\']) {
        position += offset;
        let rest = &text[position..];
        if let Some(behind) = rest.strip_prefix('\\') {
            position += 1 + behind.chars().next().map_or(0, char::len_utf8);
        } else if rest.starts_with("''") {
            position += 2;
        } else {
            position += 1;
            match continuation_length(&text[position..]) {
                Some(length) => position += length,
                None => return position,
            }
        }
    }
    text.len()
}

/// The length of blanks and comments with at least one line end that lead to another part of a
/// string, opening quote included.
fn continuation_length(text: &str) -> Option<usize> {
    let mut rest = text;
    let mut has_line_end = false;
    loop {
        rest = match rest.chars().next()? {
            '\n' | '\r' => {
                has_line_end = true;
                &rest[1..]
            }
            ' ' | '\t' | '\x0b' | '\x0c' => &rest[1..],
            '-' if rest.starts_with("--") => &rest[line_length(rest)..],
            '\'' if has_line_end => return Some(text.len() - rest.len() + 1),
            _ => return None,
        };
    }
}

/// The length of a number or of a single dot. Junk behind a number, a word or the `e-` of an
/// exponent without digits, belongs to it: it is neither keyword, nor quote, nor comment.
pub(crate) fn number_length(text: &str) -> usize {
    let digits = |from: usize| prefix_length(&text[from..], |c| c.is_ascii_digit());
    let mut length = digits(0);
    if text[length..].starts_with('.') && !text[length..].starts_with("..") {
        length += 1 + digits(length + 1);
        if length == 1 {
            return 1;
        }
    }
    if length == 0 {
        return 1;
    }
    if text[length..].starts_with(['e', 'E']) {
        let sign = usize::from(text[length + 1..].starts_with(['+', '-']));
        match digits(length + 1 + sign) {
            0 if sign > 0 => return length + 2,
            0 => {}
            exponent => length += 1 + sign + exponent,
        }
    }
    length + word_length(&text[length..])
}

/// The length of the word that a text starts with, 0 without one.
pub(crate) fn word_length(text: &str) -> usize {
    if text.starts_with(is_name_start) {
        prefix_length(text, |c| is_name_part(c) || c == '$')
    } else {
        0
    }
}

/// The length of a string in dollar quotes, all of the text if it does not end; of a parameter;
/// or of the single dollar sign if it starts neither.
pub(crate) fn dollar_length(text: &str) -> usize {
    let parameter = prefix_length(&text[1..], |c| c.is_ascii_digit());
    if parameter > 0 {
        return 1 + parameter + word_length(&text[1 + parameter..]);
    }
    let tag = prefix_length(&text[1..], is_name_part);
    if !text[1 + tag..].starts_with('$') {
        return 1;
    }
    let (delimiter, behind) = text.split_at(tag + 2);
    behind
        .find(delimiter)
        .map_or(text.len(), |offset| offset + 2 * delimiter.len())
}

#[cfg(test)]
mod tests {
    use super::statements;

    #[test]
    fn statements_end_where_psql_ends_them() {
        let text = "-- first\nCREATE TABLE t (a int, b text DEFAULT ';');\n\
                    INSERT INTO t VALUES (1, $x$;$x$), (2, E'\\';') /* ; */;\n\
                    CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END;\n\
                    SELECT 1::int \\; SELECT 2;; VACUUM t";
        let found = statements(text).unwrap();
        assert_eq!(
            found,
            [
                "CREATE TABLE t (a int, b text DEFAULT ';');",
                "INSERT INTO t VALUES (1, $x$;$x$), (2, E'\\';') /* ; */;",
                "CREATE FUNCTION f() RETURNS int BEGIN ATOMIC SELECT 1; SELECT 2; END;",
                "SELECT 1::int ; SELECT 2;",
                ";",
                "VACUUM t",
            ]
        );
        assert_eq!(
            statements(" \n -- nothing\n").unwrap(),
            Vec::<String>::new()
        );
        assert_eq!(statements("SELECT 1;\n\\d t"), Err(10));
    }
}
