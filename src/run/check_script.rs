//! Errors and doubts of a script that can be told without executing it.

use super::undefined::{self, Remedy};
use super::workload::families;
use crate::backend::analysis::{self, Checked};
use crate::backend::interrupts::check_for_interrupts;
use crate::error::Result;
use selfbench_script::{
    Action, Command, InvalidName, Protocol, ScriptError, Workload, WorkloadBuilder,
};
use std::collections::{BTreeMap, BTreeSet};

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
/// `resolve` is whether names are looked up in this database, `given` are the variables that the run will
/// set, if they are known.
///
/// # Errors
/// If that is canceled.
pub fn check(
    body: &str,
    protocol: Protocol,
    resolve: bool,
    given: Option<&BTreeMap<String, String>>,
) -> Result<Vec<Finding>> {
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
    let mut findings = undefined_variables(body, &workload, given)?;
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

/// Variables that the script mentions and does not set, nor the run: `given` are those of its options, and
/// runs of a workload set its variables. In the simple protocol, a mention in a statement may be text.
fn undefined_variables(
    body: &str,
    workload: &Workload,
    given: Option<&BTreeMap<String, String>>,
) -> Result<Vec<Finding>> {
    let of_family = variables_of_family(body)?;
    let is_set = |name: &str| {
        of_family.contains(name) || given.is_some_and(|given| given.contains_key(name))
    };
    let columns = |sql: &selfbench_script::SqlCommand| analysis::columns(sql.parameterized());
    let unset = workload.unset_variables(is_set, columns)?;
    let is_sure = |command: &Command| {
        workload.protocol != Protocol::Simple || !matches!(command.action, Action::Sql(_))
    };
    let mentions = unset.mentions.iter();
    let mentions = mentions.filter(|mention| is_sure(mention.command));
    let findings = mentions.map(|mention| {
        let name = mention.name;
        let known = given.into_iter().flat_map(BTreeMap::keys);
        let hint = undefined::remedy(mention, &unset, known.map(String::as_str));
        let (message, hint) = match given {
            Some(_) => (
                format!("undefined variable \"{name}\""),
                hint.map(|hint| hint.to_string()),
            ),
            None => {
                let set = format!("If the run sets it, give variables => '{{\"{name}\": 1}}'.");
                let hint = match hint {
                    None => set,
                    Some(meant @ Remedy::Name(_)) => format!("{set} {meant}"),
                    Some(Remedy::Quoted) => Remedy::Quoted.to_string(),
                };
                let unless = "unless option \"variables\" has it";
                (
                    format!("undefined variable \"{name}\", {unless}"),
                    Some(hint),
                )
            }
        };
        let offset = mention.offset();
        at(body, mention.command, offset, "warning", message, hint)
    });
    Ok(findings.collect())
}

/// The variables and constants that runs of a script set because it is one of a workload.
fn variables_of_family(body: &str) -> Result<BTreeSet<String>> {
    let (of_library, own) = families()?;
    let all = of_library.into_iter().chain(own);
    let mut of_script = all.filter(|family| family.scripts.values().any(|text| text == body));
    let Some(family) = of_script.next() else {
        return Ok(BTreeSet::new());
    };
    let manifest = family.manifest;
    let constants = manifest
        .load_constants
        .into_iter()
        .chain(manifest.run_constants);
    let variables = manifest.variables.into_iter().map(|variable| variable.name);
    Ok(variables
        .chain(constants.map(|constant| constant.name))
        .collect())
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
