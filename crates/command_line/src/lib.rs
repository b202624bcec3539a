//! pgbench's command line: parses one string into a request, or into pgbench's error.
//!
//! [`parse`] takes three steps, each a module: `words` splits the string as a shell does, `getopt`
//! finds options and their values among the words, and `settings` interprets them, with
//! pgbench's checks in pgbench's order. `options` is the table of all options, which the
//! help text is generated from, too.
//!
//! Pure computation: no files, no server, no environment variables. The result is an
//! [`Invocation`], which the caller executes.

mod error;
mod getopt;
mod help;
mod invocation;
mod options;
mod settings;
mod words;

pub use error::{Error, ErrorKind};
pub use help::{help, list_scripts, show_script, version};
pub use invocation::{
    Connection, Initialize, Invocation, Limit, Log, PartitionMethod, Partitioning, Run, Script,
    ScriptSource, Vacuum,
};

use getopt::{Element, Getopt};
use settings::Settings;

/// Reads a command line of pgbench, with or without the word `pgbench` at its start.
///
/// `major` is the version of PostgreSQL whose pgbench is imitated, such as 15. It determines
/// options that differ between versions (`-d`), and about abbreviations. Options that only other
/// versions have are accepted as well.
///
/// Options act from left to right, and so do errors: the first one is reported.
///
/// Properties of pgbench's process are ignored: its limit of open files, which bounds the number of
/// clients, and the variable `PGBENCH_RANDOM_SEED`. Files are not opened, so that errors in them
/// come after all others.
///
/// # Errors
/// With pgbench's messages. In addition, NaN is an error as a rate, a latency limit or a sampling
/// rate; pgbench accepts it.
pub fn parse(arguments: &str, major: u32) -> Result<Invocation, Error> {
    let words = words::split(arguments)?;
    let mut settings = Settings::default();
    let mut getopt = Getopt::new(words, major);
    while let Some(found) = getopt.next()? {
        match found {
            Element::Option(option, value) => {
                if let Some(invocation) = settings.option(option, &value)? {
                    return Ok(invocation);
                }
            }
            Element::Argument(word) => settings.argument(word),
        }
    }
    settings.finish()
}
