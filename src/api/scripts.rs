//! `bench.define_script`, `bench.drop_script` and `bench.check_script`.

use super::arguments::require_short;
use crate::error::OrRaise;
use crate::run::options::argument;
use crate::run::scripts;
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn define_script(name: Option<&str>, body: Option<&str>, description: Option<&str>) {
    (|| {
        let name = require_short("name", argument("name", name)?)?;
        let body = argument("body", body)?;
        if let Some(description) = description {
            require_short("description", description)?;
        }
        scripts::define(name, body, description)
    })()
    .or_raise();
}

#[pg_extern(sql = false)]
fn drop_script(name: Option<&str>) {
    (|| scripts::drop(require_short("name", argument("name", name)?)?))().or_raise();
}

/// The first error of a script: its line and column, where there are any, and its message.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn check_script(
    body: Option<&str>,
) -> TableIterator<
    'static,
    (
        name!(line, Option<i32>),
        name!(column, Option<i32>),
        name!(message, String),
    ),
> {
    let body = argument("body", body).or_raise();
    let row = scripts::parse("script", body).err().map(|error| {
        let number = |n: Option<u32>| n.and_then(|n| i32::try_from(n).ok());
        (number(error.line), number(error.column), error.summary())
    });
    TableIterator::new(row)
}
