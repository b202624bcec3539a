//! `bench.define_script`, `bench.drop_script` and `bench.check_script`.

use crate::backend::call::{Call, OrRaiseIn};
use crate::check::argument;
use crate::error::{Report, Result};
use crate::run::options::variables;
use crate::run::{check_script, scripts};
use pgrx::prelude::*;
use selfbench_script::Protocol;
use serde_json::Value;

#[pg_extern(sql = false)]
fn define_script(call: Call<'_>) {
    (|| {
        let (name, body, description): (Option<String>, _, Option<String>) =
            call.read(|arguments| {
                Ok((
                    arguments.take("name")?,
                    arguments.take_script("body")?,
                    arguments.take("description")?,
                ))
            })?;
        let (name, body) = (argument("name", name)?, argument("body", body)?);
        scripts::define(&name, body, description.as_deref())?;
        warn_of_errors(&name, body)
    })()
    .or_raise_in(&call);
}

/// Warns of the first error that a run with the default protocol would have.
fn warn_of_errors(name: &str, body: &str) -> Result<()> {
    let found = check_script::check(body, Protocol::Prepared, false, None)?.into_iter();
    let Some(first) = found.into_iter().find(|f| f.severity == "error") else {
        return Ok(());
    };
    let place = match (first.line, first.column) {
        (Some(line), Some(column)) => format!("Line {line}, column {column}: "),
        _ => String::new(),
    };
    Report {
        // A syntax error may quote all of the script.
        detail: Some(place + &first.message.chars().take(200).collect::<String>()),
        hint: Some("See bench.check_script, which checks it for another protocol, too.".into()),
        ..Report::new(
            PgSqlErrorCode::ERRCODE_WARNING,
            format!("script \"{name}\" was stored with errors in protocol \"prepared\""),
        )
    }
    .send(PgLogLevel::WARNING);
    Ok(())
}

#[pg_extern(sql = false)]
fn drop_script(call: Call<'_>) {
    (|| {
        let name: Option<String> = call.read(|arguments| arguments.take("name"))?;
        scripts::drop(&argument("name", name)?)
    })()
    .or_raise_in(&call);
}

/// Errors and doubts in a script: line and column, where there are any, severity, message and hint.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn check_script(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(line, Option<i32>),
        name!(column_no, Option<i32>),
        name!(severity, String),
        name!(message, String),
        name!(hint, Option<String>),
    ),
> {
    let findings = (|| {
        let (body, protocol, resolve, given): (_, Protocol, bool, Option<Value>) =
            call.read(|arguments| {
                Ok((
                    arguments.take_script("body")?,
                    arguments.take("protocol")?,
                    arguments.take("resolve")?,
                    arguments.take("variables")?,
                ))
            })?;
        let given = given.map(|given| variables(Some(&given))).transpose()?;
        check_script::check(argument("body", body)?, protocol, resolve, given.as_ref())
    })()
    .or_raise_in(&call);
    let number = |n: Option<usize>| n.and_then(|n| i32::try_from(n).ok());
    TableIterator::new(findings.into_iter().map(move |finding| {
        (
            number(finding.line),
            number(finding.column),
            finding.severity.to_owned(),
            finding.message,
            finding.hint,
        )
    }))
}
