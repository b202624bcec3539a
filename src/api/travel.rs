//! `bench.import_run`: a run of another server becomes one of the caller's; and the schema of such
//! documents.

use crate::backend::call::{Call, OrRaiseIn};
use crate::check::{argument, label};
use crate::results::travel;
use crate::server;
use pgrx::prelude::*;

/// Stores the run of a document, and returns its number.
#[pg_extern(sql = false)]
fn import_run(call: Call<'_>) -> i64 {
    (|| {
        let (document, name) = call.read(|arguments| {
            Ok((
                arguments.take_document("document")?,
                arguments.take::<Option<String>>("label")?,
            ))
        })?;
        label(name.as_deref())?;
        server::require_writable_transaction("import runs")?;
        travel::import(argument("document", document)?, name)
    })()
    .or_raise_in(&call)
}

/// The JSON Schema of documents of runs, sets and labels.
#[pg_extern(sql = false)]
fn export_schema() -> &'static str {
    include_str!("../../docs/run.schema.json")
}
