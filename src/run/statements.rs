//! The options `setup` and `teardown`: SQL statements that are executed around a run.

use crate::backend::statement;
use crate::check::invalid;
use crate::error::{Error, Report, Result};
use selfbench_script::statements;

/// Maximum length of each of the two, in bytes.
const MAX_BYTES: usize = 1 << 20;

/// Fails if the text of an option does not consist of statements. Those for this server are parsed;
/// a target may be of another version.
pub fn check(option: &'static str, text: Option<&str>, here: bool) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    if text.len() > MAX_BYTES {
        return Err(invalid(
            option,
            format!("{} bytes", text.len()),
            &format!("At most {MAX_BYTES} bytes."),
        ));
    }
    for statement in split(option, text)? {
        if here {
            statement::require_possible_alone(&statement)
                .map_err(|error| of_statement(option, &statement, error))?;
        }
    }
    Ok(())
}

/// The statements of such a text.
pub fn split(option: &'static str, text: &str) -> Result<Vec<String>> {
    statements(text).map_err(|offset| {
        let rest = &text[offset..];
        let line = rest.lines().next().unwrap_or_default();
        invalid(
            option,
            format!("\"{}\"", beginning(line)),
            "SQL statements, separated by semicolons; meta-commands are not possible.",
        )
    })
}

/// An error of one of the statements, with the option and the statement.
pub fn of_statement(option: &str, statement: &str, error: Error) -> Error {
    let report = error.report();
    let detail = report.detail.map(|detail| format!(" {detail}"));
    Report {
        sqlstate: report.sqlstate,
        message: format!("{option} failed: {}", report.message),
        detail: Some(format!(
            "Statement: {}.{}",
            beginning(statement.trim_end().trim_end_matches(';')),
            detail.unwrap_or_default()
        )),
        hint: report.hint,
    }
    .into()
}

/// Beginning of a text, as shown in an error.
fn beginning(text: &str) -> String {
    const SHOWN: usize = 200;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
