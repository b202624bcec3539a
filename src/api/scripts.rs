//! `bench.define_script`, `bench.drop_script` and `bench.check_script`.

use crate::backend::call::{Call, OrRaiseIn};
use crate::check::argument;
use crate::run::{check_script, scripts};
use pgrx::prelude::*;
use selfbench_script::Protocol;

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
        scripts::define(
            &argument("name", name)?,
            argument("body", body)?,
            description.as_deref(),
        )
    })()
    .or_raise_in(&call);
}

#[pg_extern(sql = false)]
fn drop_script(call: Call<'_>) {
    (|| {
        let name: Option<String> = call.read(|arguments| arguments.take("name"))?;
        scripts::drop(&argument("name", name)?)
    })()
    .or_raise_in(&call);
}

/// What is wrong with a script: line and column, where there are any, severity, message and hint.
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
        let (body, protocol, resolve): (_, Protocol, bool) = call.read(|arguments| {
            Ok((
                arguments.take_script("body")?,
                arguments.take("protocol")?,
                arguments.take("resolve")?,
            ))
        })?;
        check_script::check(argument("body", body)?, protocol, resolve)
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
