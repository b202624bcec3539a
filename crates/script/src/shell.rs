//! `\shell` and `\setshell`: the command line they run and the output they read. Nothing is run
//! here.

use thiserror::Error;

use crate::assign::{AssignmentTarget, InvalidName};
use crate::number::{c_strtol, is_c_space};
use crate::symbols::{Slot, Symbols};
use crate::value::Value;
use crate::variables::Variables;

/// The greatest length of a command line, in bytes.
const MAX_LENGTH: usize = 254;

/// Limit of the output that is read, in bytes.
const MAX_OUTPUT: usize = 63;

/// Why a shell command failed. `program` is the first word of the command line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ShellError {
    /// A word is a variable that nothing has set.
    #[error("{program}: undefined variable \"{word}\"")]
    UndefinedVariable {
        /// The program.
        program: String,
        /// The word, with its colon.
        word: String,
    },
    /// The command line is 255 bytes or longer.
    #[error("{program}: shell command is too long")]
    TooLong {
        /// The program.
        program: String,
    },
    /// The command of `\shell` did not end with status 0; raised by the caller.
    #[error("{program}: could not launch shell command")]
    Launch {
        /// The program.
        program: String,
    },
    /// The command of `\setshell` wrote nothing.
    #[error("{program}: could not read result of shell command")]
    NoOutput {
        /// The program.
        program: String,
    },
    /// The command of `\setshell` wrote something else than a number.
    #[error("{program}: shell command must return an integer (not \"{output}\")")]
    NotInteger {
        /// The program.
        program: String,
        /// Its first line of output.
        output: String,
    },
    /// The variable of `\setshell` cannot be assigned to.
    #[error(transparent)]
    Assignment(#[from] InvalidName),
}

/// A word of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Word {
    Literal(String),
    Variable { slot: Slot, word: String },
}

/// The words of a command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellCommand {
    program: String,
    words: Vec<Word>,
}

impl ShellCommand {
    pub(crate) fn new(words: &[&str], symbols: &mut Symbols) -> Self {
        let program = words.first().copied().unwrap_or_default().to_owned();
        let words = words
            .iter()
            .map(|word| match word.strip_prefix(':') {
                None => Word::Literal((*word).to_owned()),
                Some(rest) if rest.starts_with(':') => Word::Literal(rest.to_owned()),
                Some(name) => Word::Variable {
                    slot: symbols.intern(name),
                    word: (*word).to_owned(),
                },
            })
            .collect();
        Self { program, words }
    }

    /// The first word as written, which messages start with.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The variables that it reads.
    pub(crate) fn slots(&self) -> impl Iterator<Item = Slot> {
        self.words.iter().filter_map(|word| match word {
            Word::Literal(_) => None,
            Word::Variable { slot, .. } => Some(*slot),
        })
    }

    /// Number of words.
    pub(crate) fn words(&self) -> usize {
        self.words.len()
    }

    /// Replaces the contents of `line` by the words, joined by blanks, with the variables' texts
    /// in their places.
    ///
    /// # Errors
    /// If a variable is unset or the line becomes too long.
    pub fn command_line(&self, variables: &Variables, line: &mut String) -> Result<(), ShellError> {
        line.clear();
        for (index, word) in self.words.iter().enumerate() {
            if index > 0 {
                line.push(' ');
            }
            match word {
                Word::Literal(text) => line.push_str(text),
                Word::Variable { slot, word } => {
                    if !variables.write_text(*slot, line) {
                        return Err(ShellError::UndefinedVariable {
                            program: self.program.clone(),
                            word: word.clone(),
                        });
                    }
                }
            }
            if line.len() > MAX_LENGTH {
                return Err(ShellError::TooLong {
                    program: self.program.clone(),
                });
            }
        }
        Ok(())
    }

    /// The error for a command that failed.
    pub fn launch_error(&self) -> ShellError {
        ShellError::Launch {
            program: self.program.clone(),
        }
    }
}

/// `\setshell`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetShellCommand {
    pub(crate) target: AssignmentTarget,
    pub(crate) command: ShellCommand,
}

impl SetShellCommand {
    /// The command to run.
    pub fn command(&self) -> &ShellCommand {
        &self.command
    }

    /// Reads the command's standard output, of which only the first line counts, and assigns the
    /// number in it, cut to 32 bits. A blank line counts as 0.
    ///
    /// # Errors
    /// If there is no output, if it is not a number, or if the variable's name is invalid.
    pub fn store(&self, output: &[u8], variables: &mut Variables) -> Result<(), ShellError> {
        let value = self.command.read_output(output)?;
        variables.set(self.target.slot()?, Value::Int(i64::from(value)));
        Ok(())
    }
}

impl ShellCommand {
    fn read_output(&self, output: &[u8]) -> Result<i32, ShellError> {
        if output.is_empty() {
            return Err(ShellError::NoOutput {
                program: self.program.clone(),
            });
        }
        let first_line = output
            .split_inclusive(|byte| *byte == b'\n')
            .next()
            .unwrap_or_default();
        let read = &first_line[..first_line.len().min(MAX_OUTPUT)];
        let text = String::from_utf8_lossy(read);
        let (number, rest) = c_strtol(&text);
        if !rest.chars().all(is_c_space) {
            return Err(ShellError::NotInteger {
                program: self.program.clone(),
                output: text.into_owned(),
            });
        }
        Ok(number as i32)
    }
}
