//! `bench.define_script`, `bench.drop_script` and `bench.check_script`.

use super::arguments::Arguments;
use crate::check::argument;
use crate::error::OrRaise;
use crate::run::scripts;
use pgrx::pg_sys;
use pgrx::prelude::*;

#[pg_extern(sql = false)]
fn define_script(fcinfo: pg_sys::FunctionCallInfo) {
    // SAFETY: the server passes the information on this call.
    let mut arguments = unsafe { Arguments::of_call(fcinfo) };
    let name: Option<&str> = arguments.take();
    let body = arguments.take_script();
    let description: Option<&str> = arguments.take();
    (|| {
        scripts::define(
            argument("name", name)?,
            argument("body", body)?,
            description,
        )
    })()
    .or_raise();
}

#[pg_extern(sql = false)]
fn drop_script(fcinfo: pg_sys::FunctionCallInfo) {
    // SAFETY: the server passes the information on this call.
    let name: Option<&str> = unsafe { Arguments::of_call(fcinfo) }.take();
    (|| scripts::drop(argument("name", name)?))().or_raise();
}

/// The first error of a script: its line and column, where there are any, and its message.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn check_script(
    fcinfo: pg_sys::FunctionCallInfo,
) -> TableIterator<
    'static,
    (
        name!(line, Option<i32>),
        name!(column, Option<i32>),
        name!(message, String),
    ),
> {
    // SAFETY: the server passes the information on this call.
    let body = unsafe { Arguments::of_call(fcinfo) }.take_script();
    let body = argument("body", body).or_raise();
    let row = scripts::parse("script", body).err().map(|error| {
        let number = |n: Option<u32>| n.and_then(|n| i32::try_from(n).ok());
        (number(error.line), number(error.column), error.summary())
    });
    TableIterator::new(row)
}
