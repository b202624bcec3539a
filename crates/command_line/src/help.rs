//! The texts of `--help`, `--version`, `-b list` and `--show-script`.

use std::fmt::Write;

use selfbench_script::builtin::{self, Builtin};

use crate::options::{OPTIONS, OptionSpec, Section};

/// Output of `--version`: as pgbench of `server_version`, such as `15.20`, does, and then the name
/// and version of this project.
pub fn version(server_version: &str) -> String {
    format!(
        "pgbench (PostgreSQL) {server_version} (pg_selfbench {})\n",
        env!("CARGO_PKG_VERSION")
    )
}

/// Output of `-b list`.
pub fn list_scripts() -> String {
    let mut text = String::from("Available builtin scripts:\n");
    for script in builtin::list() {
        // Writing to a string cannot fail, here and below.
        _ = writeln!(text, "  {:>13}: {}", script.name, script.description);
    }
    text.push('\n');
    text
}

/// Output of `--show-script`.
pub fn show_script(script: &Builtin) -> String {
    format!(
        "-- {}: {}\n{}\n",
        script.name, script.description, script.body
    )
}

/// Output of `--help`: each option once in each section that it belongs to, with the short names
/// that it has in pgbench of version `major`.
pub fn help(major: u32) -> String {
    let mut text = String::from(
        "pgbench is a benchmarking tool for PostgreSQL.\n\
         bench.pgbench() does the same inside the server.\n\n\
         Usage:\n  SELECT * FROM bench.pgbench('[OPTION]... [DBNAME]')\n",
    );
    for (section, title) in [
        (Section::Initialization, "Initialization options"),
        (Section::Scripts, "Options to select what to run"),
        (Section::Run, "Benchmarking options"),
        (Section::Common, "Common options"),
        (Section::Ours, "Options that pgbench does not have"),
    ] {
        _ = write!(text, "\n{title}:\n");
        for (option, description) in listed(section, major) {
            write_option(&mut text, option, description, major);
        }
    }
    text
}

/// The options of a section with their descriptions: those with short names first, both parts in
/// alphabetical order.
fn listed(section: Section, major: u32) -> Vec<(&'static OptionSpec, &'static str)> {
    let mut found: Vec<_> = OPTIONS
        .iter()
        // An option that has a new spelling in this version is listed by it alone.
        .filter(|option| {
            option.is_of(major)
                || !OPTIONS
                    .iter()
                    .any(|other| other.name == option.name && other.is_of(major))
        })
        .flat_map(|option| option.help.iter().map(move |help| (option, help)))
        .filter(|(_, (listed_in, _))| *listed_in == section)
        .map(|(option, (_, description))| (option, *description))
        .collect();
    found.sort_by_key(|(option, _)| {
        let letter = short_name(option, major);
        (
            letter.is_none(),
            letter.map(|letter| (letter.to_ascii_lowercase(), letter.is_ascii_uppercase())),
            option.name,
        )
    });
    found
}

/// The short name, unless this version's pgbench has it for another option.
fn short_name(option: &OptionSpec, major: u32) -> Option<char> {
    option.letter.filter(|_| option.is_of(major))
}

fn write_option(text: &mut String, option: &OptionSpec, description: &str, major: u32) {
    /// The column where descriptions start.
    const COLUMN: usize = 27;
    let mut names = String::from("  ");
    if let Some(letter) = short_name(option, major) {
        _ = write!(names, "-{letter}, ");
    }
    _ = write!(names, "--{}", option.name);
    if let Some(argument) = option.argument {
        _ = write!(names, "={argument}");
    }
    if names.len() < COLUMN {
        _ = write!(text, "{names:COLUMN$}");
    } else {
        _ = write!(text, "{names}\n{:COLUMN$}", "");
    }
    let indented = description.replace('\n', &format!("\n{:COLUMN$}", ""));
    _ = writeln!(text, "{indented}");
}
