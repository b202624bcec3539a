//! Parses the lines of meta commands.

use crate::assign::{AssignmentTarget, SetCommand, StoreKind, TemplateCommand};
use crate::dialect::Dialect;
use crate::error::ScriptError;
use crate::expr::{Expr, SyntaxError, blank_length, continuation_length, parse_prefix};
use crate::number::c_atoi;
use crate::script::{Action, Jump};
use crate::shell::{SetShellCommand, ShellCommand};
use crate::sleep::{Amount, Sleep, SleepUnit};
use crate::symbols::{Symbols, valid_variable_name};
use crate::values::ValuesCommand;

/// The greatest number of words on a line, the command's name included.
const MAX_WORDS: usize = 256;

/// The result of parsing a line.
pub(crate) enum Meta {
    /// A command of its own.
    Action(Action),
    /// `\gset` or `\aset`, which belongs to the statement before it.
    Store { kind: StoreKind, prefix: String },
}

/// A meta command's line, from its backslash to the end of the line, of which continued lines are
/// a part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MetaLine<'a> {
    /// The description of the script, for messages.
    script: &'a str,
    /// The number of the line, for messages.
    number: usize,
    dialect: Dialect,
    /// Text with the line's end.
    text: &'a str,
    keyword: &'a str,
    /// The offset after the keyword.
    arguments: usize,
}

/// A word and its offset in the line.
#[derive(Clone, Copy, Debug)]
struct Word<'a> {
    text: &'a str,
    start: usize,
}

impl<'a> MetaLine<'a> {
    /// The line at the start of `text`, which starts with a backslash. `script` and `number` are
    /// its place, for messages.
    pub(crate) fn new(script: &'a str, number: usize, dialect: Dialect, text: &'a str) -> Self {
        let text = &text[..logical_line_length(text)];
        let keyword = word_at(text, 1);
        Self {
            script,
            number,
            dialect,
            text,
            keyword: keyword.text,
            arguments: keyword.start + keyword.text.len(),
        }
    }

    /// The length of the line, with its end.
    pub(crate) fn length(&self) -> usize {
        self.text.len()
    }

    /// The name of the command as typed; empty if the line is a lone backslash.
    pub(crate) fn keyword(&self) -> &'a str {
        self.keyword
    }

    /// The line without its end, and without the ends of empty lines that continue it.
    pub(crate) fn source(&self) -> &'a str {
        self.text.trim_end_matches(['\n', '\r'])
    }

    /// Parses the command; variables get slots in `symbols`.
    ///
    /// # Errors
    /// If the command is unknown or its arguments are wrong.
    pub(crate) fn parse(&self, symbols: &mut Symbols) -> Result<Meta, ScriptError> {
        let is = |name: &str| self.keyword.eq_ignore_ascii_case(name);
        let action = if is("set") {
            self.set(symbols)?
        } else if is("template") && self.dialect == Dialect::Extended {
            self.template(symbols)?
        } else if is("if") {
            Action::If {
                condition: self.expression(self.arguments, symbols)?,
                otherwise: Jump::Run(0),
            }
        } else if is("elif") {
            Action::Elif {
                condition: self.expression(self.arguments, symbols)?,
                otherwise: Jump::Run(0),
                end: 0,
            }
        } else {
            let words = self.words()?;
            if is("gset") || is("aset") {
                return self.store(&words);
            } else if is("values") && self.dialect == Dialect::Extended {
                self.values(&words, symbols)?
            } else if is("sleep") {
                self.sleep(&words, symbols)?
            } else if is("shell") {
                if words.is_empty() {
                    return Err(self.error("missing command"));
                }
                Action::Shell(shell_command(&words, symbols))
            } else if is("setshell") {
                let [variable, command @ ..] = &words[..] else {
                    return Err(self.error("missing argument"));
                };
                if command.is_empty() {
                    return Err(self.error("missing argument"));
                }
                Action::SetShell(SetShellCommand {
                    target: AssignmentTarget::new(self.keyword, variable.text, symbols),
                    command: shell_command(command, symbols),
                })
            } else {
                self.bare(&words)?
            }
        };
        Ok(Meta::Action(action))
    }

    fn set(&self, symbols: &mut Symbols) -> Result<Action, ScriptError> {
        let name = word_at(self.text, self.arguments);
        if name.text.is_empty() {
            return Err(ScriptError {
                source_line: None,
                ..self.error("missing argument")
            });
        }
        let expr = self.expression(name.start + name.text.len(), symbols)?;
        let target = AssignmentTarget::new(self.keyword, name.text, symbols);
        Ok(Action::Set(SetCommand { target, expr }))
    }

    /// Parses `\template`; the template is the rest of the line without blanks at its ends.
    fn template(&self, symbols: &mut Symbols) -> Result<Action, ScriptError> {
        let name = word_at(self.text, self.arguments);
        let template = without_continuations(&self.text[name.start + name.text.len()..]);
        let template = template.trim_matches(is_blank);
        if template.is_empty() {
            return Err(self.error("missing argument"));
        }
        Ok(Action::Template(TemplateCommand {
            target: AssignmentTarget::new(self.keyword, name.text, symbols),
            template: template.to_owned(),
        }))
    }

    /// Parses `\values`: a set and its variables.
    fn values(&self, words: &[Word<'_>], symbols: &mut Symbols) -> Result<Action, ScriptError> {
        let [set, variables @ ..] = words else {
            return Err(self.error("missing argument"));
        };
        if variables.is_empty() {
            return Err(self.error("missing argument"));
        }
        let slot = |word: &Word<'_>| match valid_variable_name(word.text) {
            true => Ok(symbols.intern(word.text)),
            false => Err(self.error_at("invalid variable name", *word, Some(word.text))),
        };
        let targets = variables.iter().map(slot).collect::<Result<_, _>>()?;
        Ok(Action::Values(ValuesCommand::new(set.text, targets)))
    }

    /// Parses the expression from `start` to the end of the line.
    fn expression(&self, start: usize, symbols: &mut Symbols) -> Result<Expr, ScriptError> {
        match parse_prefix(&self.text[start..], self.dialect, symbols) {
            Ok((expr, _)) => Ok(expr),
            Err(SyntaxError { kind, end }) => Err(ScriptError {
                column: u32::try_from(self.text[..start + end].chars().count()).ok(),
                near: kind.detail().map(String::into_boxed_str),
                ..self.error(&kind.to_string())
            }),
        }
    }

    fn store(&self, words: &[Word<'_>]) -> Result<Meta, ScriptError> {
        let prefix = match words {
            [] => String::new(),
            [prefix] => prefix.text.to_owned(),
            _ => return Err(self.error("too many arguments")),
        };
        let kind = if self.keyword.eq_ignore_ascii_case("gset") {
            StoreKind::Gset
        } else {
            StoreKind::Aset
        };
        Ok(Meta::Store { kind, prefix })
    }

    fn sleep(&self, words: &[Word<'a>], symbols: &mut Symbols) -> Result<Action, ScriptError> {
        let (first, second) = match words {
            [] => return Err(self.error("missing argument")),
            [first] => (first, None),
            [first, second] => (first, Some(*second)),
            [_, _, third, ..] => return Err(self.error_at("too many arguments", *third, None)),
        };
        let (amount, unit) = match first.text.strip_prefix(':') {
            Some(name) => {
                let slot = symbols.intern(name);
                let name = name.to_owned();
                (Amount::Variable { slot, name }, second)
            }
            None => {
                let number = integer_prefix(first.text);
                let (number, rest) = first.text.split_at(number);
                let glued = Word {
                    text: rest,
                    start: first.start + number.len(),
                };
                let unit = match (second, rest.is_empty()) {
                    (_, true) => second,
                    (None, false) if number.ends_with(|c: char| c.is_ascii_digit()) => Some(glued),
                    _ => {
                        let message = "invalid sleep time, must be an integer";
                        return Err(self.error_at(message, *first, Some(first.text)));
                    }
                };
                (Amount::Literal(c_atoi(number)), unit)
            }
        };
        let unit = match unit {
            None => SleepUnit::Seconds,
            Some(word) => SleepUnit::parse(word.text).ok_or_else(|| {
                let message = "unrecognized time unit, must be us, ms or s";
                self.error_at(message, word, Some(word.text))
            })?,
        };
        Ok(Action::Sleep(Sleep {
            command: self.keyword.to_owned(),
            amount,
            unit,
        }))
    }

    /// Parses the commands that have no arguments.
    fn bare(&self, words: &[Word<'_>]) -> Result<Action, ScriptError> {
        let commands = [
            ("else", Action::Else { end: 0 }),
            ("endif", Action::EndIf),
            ("startpipeline", Action::StartPipeline),
            ("syncpipeline", Action::SyncPipeline),
            ("endpipeline", Action::EndPipeline),
        ];
        let found = commands
            .into_iter()
            .find(|(name, _)| self.keyword.eq_ignore_ascii_case(name));
        match found {
            None => Err(self.error("invalid command")),
            Some(_) if !words.is_empty() => Err(self.error("unexpected argument")),
            Some((_, action)) => Ok(action),
        }
    }

    /// The words after the keyword.
    fn words(&self) -> Result<Vec<Word<'a>>, ScriptError> {
        let mut words = Vec::new();
        let mut position = self.arguments;
        loop {
            let word = word_at(self.text, position);
            if word.text.is_empty() {
                return Ok(words);
            }
            if words.len() + 1 == MAX_WORDS {
                return Err(ScriptError {
                    source_line: None,
                    ..self.error("too many arguments")
                });
            }
            words.push(word);
            position = word.start + word.text.len();
        }
    }

    fn error(&self, message: &str) -> ScriptError {
        ScriptError {
            script: self.script.into(),
            line: u32::try_from(self.number).ok(),
            message: message.into(),
            command: Some(self.keyword.into()),
            source_line: Some(self.source().into()),
            ..ScriptError::default()
        }
    }

    /// An error that points at the first character of a word.
    fn error_at(&self, message: &str, word: Word<'_>, near: Option<&str>) -> ScriptError {
        ScriptError {
            column: u32::try_from(self.text[..word.start].chars().count() + 1).ok(),
            near: near.map(Box::from),
            ..self.error(message)
        }
    }
}

fn shell_command(words: &[Word<'_>], symbols: &mut Symbols) -> ShellCommand {
    let words: Vec<&str> = words.iter().map(|word| word.text).collect();
    ShellCommand::new(&words, symbols)
}

/// The length of the first line, with its end and with continued lines. Its first character is the
/// backslash of the command, which continues nothing.
fn logical_line_length(text: &str) -> usize {
    let mut position = 1;
    while let Some(offset) = text[position..].find(['\n', '\\']) {
        position += offset;
        match continuation_length(&text[position..]) {
            0 if text[position..].starts_with('\n') => return position + 1,
            0 => position += 1,
            length => position += length,
        }
    }
    text.len()
}

/// The next word at or after `position`, empty at the end of the line.
fn word_at(line: &str, position: usize) -> Word<'_> {
    let start = position + blank_length(&line[position..]);
    let mut end = start;
    while let Some(next) = line[end..].chars().next() {
        if is_blank(next) || continuation_length(&line[end..]) > 0 {
            break;
        }
        end += next.len_utf8();
    }
    Word {
        text: &line[start..end],
        start,
    }
}

fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\r' | '\x0b' | '\x0c' | '\n')
}

/// The text without the backslashes and line ends that continue its line.
fn without_continuations(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(offset) = rest.find('\\') {
        let (before, backslash) = rest.split_at(offset);
        joined.push_str(before);
        let length = continuation_length(backslash);
        if length == 0 {
            joined.push('\\');
        }
        rest = &backslash[length.max(1)..];
    }
    joined + rest
}

/// The length of an optional sign and the digits after it.
fn integer_prefix(text: &str) -> usize {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let rest = unsigned.trim_start_matches(|c: char| c.is_ascii_digit());
    text.len() - rest.len()
}
