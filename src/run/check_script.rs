//! Errors and doubts of a script that can be told without executing it.

use super::undefined;
use crate::backend::analysis::{self, Checked};
use crate::backend::interrupts::check_for_interrupts;
use crate::error::Result;
use selfbench_script::{
    Action, Command, InvalidName, Protocol, ScriptError, Workload, WorkloadBuilder,
};

/// Something that is wrong with a script, or may be.
pub struct Finding {
    /// The line that it is in, from 1, if it is in one.
    pub line: Option<usize>,
    /// The column there, in characters from 1.
    pub column: Option<usize>,
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The message.
    pub message: String,
    /// The hint, if there is one.
    pub hint: Option<String>,
}

/// SQLSTATEs of errors about names that do not exist: of columns, functions, relations, other
/// objects and schemas.
const UNKNOWN_NAME: [&str; 5] = ["42703", "42883", "42P01", "42704", "3F000"];

/// The hint about a name that no variable can have.
const NAMES_OF_VARIABLES: &str = "A variable's name has letters, digits and underscores, and does not \
                                  begin with a digit. Columns get names with AS.";

/// All findings, in the order of the script; only the first one if it cannot be split into commands.
/// `resolve` is whether names are looked up in this database.
///
/// # Errors
/// If that is canceled.
pub fn check(body: &str, protocol: Protocol, resolve: bool) -> Result<Vec<Finding>> {
    let workload = match parse(body, protocol) {
        Ok(workload) => workload,
        Err(error) => {
            let number = |n: Option<u32>| n.map(|n| n as usize);
            return Ok(vec![Finding {
                line: number(error.line),
                column: number(error.column),
                severity: "error",
                message: error.summary(),
                hint: error.hint.as_deref().map(str::to_owned),
            }]);
        }
    };
    let mut findings = undefined_variables(body, &workload)?;
    // Whether names that do not exist may exist when the script is executed.
    let mut names_change = false;
    for command in workload.scripts.iter().flat_map(|script| &script.commands) {
        check_for_interrupts();
        if let Some(invalid) = invalid_name(command, &workload)? {
            let message = invalid.to_string();
            let hint = Some(NAMES_OF_VARIABLES.to_owned());
            findings.push(at(body, command, 0, "error", message, hint));
        }
        let Action::Sql(sql) = &command.action else {
            continue;
        };
        let simple = protocol == Protocol::Simple;
        // Variables may be any part of a statement there.
        let is_template = simple && !sql.parameters().is_empty();
        let Checked {
            changes_names,
            error,
        } = analysis::check(
            sql.parameterized(),
            sql.parameters().len(),
            !simple,
            resolve && !is_template,
        )?;
        if let Some((report, place)) = error.filter(|_| !is_template) {
            let is_unsure = names_change && UNKNOWN_NAME.contains(&report.sqlstate.as_str());
            let mut characters = sql.parameterized().char_indices();
            let offset = place.and_then(|place| characters.nth(place - 1));
            let offset = offset.map_or(0, |(offset, _)| sql.text_offset(offset));
            findings.push(match is_unsure {
                false => at(body, command, offset, "error", report.message, report.hint),
                true => {
                    let hint = "An earlier statement of the script may change that.".to_owned();
                    at(body, command, offset, "note", report.message, Some(hint))
                }
            });
        }
        // What a template is in the end is not known.
        names_change |= changes_names || is_template;
    }
    findings.sort_by_key(|finding| (finding.line, finding.column));
    Ok(findings)
}

/// The first name to which a command assigns and that no variable can have: pgbench parses such a script,
/// and its clients abort.
fn invalid_name(command: &Command, workload: &Workload) -> Result<Option<InvalidName>> {
    if let Action::Sql(sql) = &command.action {
        let Some(store) = &sql.store else {
            return Ok(None);
        };
        let columns = analysis::columns(sql.parameterized())?.unwrap_or_default();
        let mut columns = columns.iter();
        return Ok(columns.find_map(|column| store.target(column, &workload.symbols).err()));
    }
    Ok(command.action.invalid_name())
}

fn parse(body: &str, protocol: Protocol) -> Result<Workload, ScriptError> {
    let mut builder = WorkloadBuilder::checking(protocol, check_for_interrupts);
    builder.add("script", "script", body, 1)?;
    builder.finish()
}

/// Variables that the script mentions and does not set. In the simple protocol, a mention in a
/// statement may be text.
fn undefined_variables(body: &str, workload: &Workload) -> Result<Vec<Finding>> {
    let columns = |sql: &selfbench_script::SqlCommand| analysis::columns(sql.parameterized());
    let unset = workload.unset_variables(|_| false, columns)?;
    let is_sure = |command: &Command| {
        workload.protocol != Protocol::Simple || !matches!(command.action, Action::Sql(_))
    };
    let mentions = unset.mentions.iter();
    let mentions = mentions.filter(|mention| is_sure(mention.command));
    let findings = mentions.map(|mention| {
        let message = format!(
            "undefined variable \"{}\", unless option \"variables\" has it",
            mention.name
        );
        let hint = undefined::remedy(mention, &unset, std::iter::empty());
        let offset = mention.offset();
        at(body, mention.command, offset, "warning", message, hint)
    });
    Ok(findings.collect())
}

/// A finding about what is at an offset of a command's text.
fn at(
    body: &str,
    command: &Command,
    offset: usize,
    severity: &'static str,
    message: String,
    hint: Option<String>,
) -> Finding {
    let (line, column) = command.position(body, offset);
    Finding {
        line: Some(line),
        column: Some(column),
        severity,
        message,
        hint,
    }
}
