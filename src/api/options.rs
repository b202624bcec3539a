//! `bench_internal.run_options`: the options of a run that a document gives, checked by their types.

use crate::backend::call::{Call, OrRaiseIn};
use crate::options::Options;
use crate::run::RunOptions;
use pgrx::prelude::*;
use serde_json::Value;

/// One row for each option: its name, its type, its value as SQL casts it to text, and what it is
/// for.
#[pg_extern(sql = false)]
#[allow(clippy::type_complexity)]
fn run_options(
    call: Call<'_>,
) -> TableIterator<
    'static,
    (
        name!(name, String),
        name!(type, String),
        name!(value, Option<String>),
        name!(description, String),
    ),
> {
    let entries = (|| {
        let document: Value = call.read(|arguments| arguments.take("options"))?;
        Ok(RunOptions::from_json(&document)?.entries())
    })()
    .or_raise_in(&call);
    let text = |value| match value {
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    TableIterator::new(entries.into_iter().map(move |entry| {
        (
            entry.name.to_owned(),
            entry.sql_type.to_owned(),
            text(entry.value),
            entry.description.to_owned(),
        )
    }))
}
