//! Options and their values among words, by the rules and with the messages of `getopt_long`:
//! options may follow arguments, `--` ends them, long ones may be abbreviated.

use std::ffi::OsString;

use lexopt::{Arg, Parser};

use crate::error::Error;
use crate::options::{self, LookupError, OptionSpec};

/// An element of the command line.
pub(crate) enum Element {
    /// An option with its value, empty if it takes none.
    Option(&'static OptionSpec, String),
    /// A word that is neither an option nor its value.
    Argument(String),
}

/// Iterates over the words of a command line.
pub(crate) struct Getopt {
    /// The first word, if it is an option that counts there only.
    first: Option<&'static OptionSpec>,
    parser: Parser,
    major: u32,
}

impl Getopt {
    /// `words` holds no program name; `major` is pgbench's version.
    pub(crate) fn new(words: Vec<String>, major: u32) -> Self {
        let first = words.first().and_then(|word| options::first_word(word));
        let mut parser = Parser::from_args(words);
        // The value of -c=5 is =5.
        parser.set_short_equals(false);
        Self {
            first,
            parser,
            major,
        }
    }

    /// The next element, `None` at the end.
    pub(crate) fn next(&mut self) -> Result<Option<Element>, Error> {
        if let Some(option) = self.first.take() {
            return Ok(Some(Element::Option(option, String::new())));
        }
        // No error is left for the parser to find, because values of flags are looked for below.
        let Ok(Some(found)) = self.parser.next() else {
            return Ok(None);
        };
        match found {
            Arg::Value(word) => Ok(Some(Element::Argument(text(word)))),
            Arg::Short(letter) => {
                let Some(option) = options::by_letter(letter, self.major) else {
                    return Err(Error::usage(format!("invalid option -- '{letter}'")));
                };
                self.finish(option, |_| {
                    format!("option requires an argument -- '{letter}'")
                })
            }
            Arg::Long(name) => {
                let name = name.to_owned();
                let option = options::by_name(&name, self.major)
                    .map_err(|error| self.unknown(&name, error))?;
                if option.argument.is_none() && self.parser.optional_value().is_some() {
                    return Err(Error::usage(format!(
                        "option '--{}' doesn't allow an argument",
                        option.name
                    )));
                }
                self.finish(option, |option| {
                    format!("option '--{}' requires an argument", option.name)
                })
            }
        }
    }

    /// The option together with its value if it needs one.
    fn finish(
        &mut self,
        option: &'static OptionSpec,
        missing: impl FnOnce(&OptionSpec) -> String,
    ) -> Result<Option<Element>, Error> {
        if option.argument.is_none() {
            return Ok(Some(Element::Option(option, String::new())));
        }
        match self.parser.value() {
            Ok(value) => Ok(Some(Element::Option(option, text(value)))),
            Err(_) => Err(Error::usage(missing(option))),
        }
    }

    /// The error for an unknown or ambiguous long option, quoted as typed.
    fn unknown(&mut self, name: &str, error: LookupError) -> Error {
        let typed = match self.parser.optional_value() {
            Some(value) => format!("{name}={}", text(value)),
            None => name.to_owned(),
        };
        Error::usage(match error {
            LookupError::Unknown => format!("unrecognized option '--{typed}'"),
            LookupError::Ambiguous(possible) => {
                let names: String = possible
                    .iter()
                    .map(|option| format!(" '--{}'", option.name))
                    .collect();
                format!("option '--{typed}' is ambiguous; possibilities:{names}")
            }
        })
    }
}

/// Words are texts, and the parser splits them between characters only.
fn text(word: OsString) -> String {
    word.to_string_lossy().into_owned()
}
