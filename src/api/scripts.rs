//! `bench.define_script`, `bench.drop_script` and `bench.check_script`.

use crate::backend::call::{Call, OrRaiseIn};
use crate::check::argument;
use crate::run::scripts;
use pgrx::prelude::*;

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

/// The first error of a script: its line and column, where there are any, and its message.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn check_script(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(line, Option<i32>),
        name!(column, Option<i32>),
        name!(message, String),
    ),
> {
    let body = call.read(|arguments| arguments.take_script("body"));
    let body = body
        .and_then(|body| argument("body", body))
        .or_raise_in(&call);
    let row = scripts::parse("script", body).err().map(|error| {
        let number = |n: Option<u32>| n.and_then(|n| i32::try_from(n).ok());
        (number(error.line), number(error.column), error.summary())
    });
    TableIterator::new(row)
}
