//! pgbench's command line: one string to what it asks for, or to what pgbench says about it.
//!
//! [`parse`] goes three steps, each a module: `words` splits the string as a shell does, `getopt`
//! finds options and their values among the words, and `settings` gives them their meaning, with
//! pgbench's checks in pgbench's order. `options` is the table of all options, which the
//! help text derives from, too.
//!
//! Pure computation: no files, no server, no environment variables. What a command line asks for is
//! an [`Invocation`]; carrying it out is somebody else's.

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

use getopt::{Found, Getopt};
use settings::Settings;

/// Reads a command line of pgbench, with or without the word `pgbench` at its start.
///
/// `major` is the version of PostgreSQL whose pgbench is meant, such as 15. It decides about
/// options that differ between versions (`-d`), and about abbreviations. Options that only other
/// versions have are understood as well.
///
/// Options act from left to right, and so do errors: the first one is reported.
///
/// What belongs to pgbench's process does not count: its limit of open files, which bounds the
/// number of clients, and the variable `PGBENCH_RANDOM_SEED`. Files are not opened, so that errors
/// in them come after all others.
///
/// # Errors
/// With pgbench's messages. One thing more is an error: NaN as a rate, a latency limit or a
/// sampling rate, which to pgbench is a number that is not too small.
pub fn parse(arguments: &str, major: u32) -> Result<Invocation, Error> {
    let words = words::split(arguments)?;
    let mut settings = Settings::default();
    let mut getopt = Getopt::new(words, major);
    while let Some(found) = getopt.next()? {
        match found {
            Found::Option(option, value) => {
                if let Some(invocation) = settings.option(option, &value)? {
                    return Ok(invocation);
                }
            }
            Found::Argument(word) => settings.argument(word),
        }
    }
    settings.finish()
}
