//! Storing runs that other servers have exported.

use super::load::{load, load_evidence, load_times};
use super::waits::SeenWaits;
use crate::error::{Error, Result};
use crate::security::{as_owner, with_generic_plans};
use crate::server;
use crate::state::lock::{Object, Until};
use crate::state::transaction::InTransaction;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use pgrx::{PgOid, pg_sys};

/// Stores the run of a document as one of the calling role's, and returns its number. What reports
/// could not read is refused.
pub fn import(document: DatumWithOid<'_>, label: Option<String>) -> Result<i64> {
    let role = server::role();
    // No two sessions import the same run at the same time.
    Object::Imports(role).lock(InTransaction::current()?, Until::TransactionEnd, true)?;
    as_owner(|| {
        // A plan for certain values has several copies of them.
        let stored = with_generic_plans(|| {
            Ok(Spi::connect_mut(|client| {
                let types = [pg_sys::JSONOID, pg_sys::OIDOID, pg_sys::TEXTOID].map(PgOid::from);
                let call = "SELECT bench_internal.store_run($1, $2::regrole, $3)";
                let call = client.prepare_mut(call, &types)?;
                client
                    .update(&call, Some(1), &[document, role.into(), label.into()])?
                    .first()
                    .get_one::<i64>()
            })?)
        })?;
        let run_id = stored.ok_or(Error::ExtensionDropped)?;
        let read = || {
            load(run_id)?;
            load_evidence(run_id, &SeenWaits::load(run_id)?)?;
            load_times(run_id)
        };
        read().map_err(|error| Error::Document(error.to_string()))?;
        Ok(run_id)
    })
}
