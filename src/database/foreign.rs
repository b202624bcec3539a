//! Foreign servers and user mappings, read from the catalogs.

use crate::error::{Error, Result};
use crate::query;
use crate::state::catalog::{self, Options};
use crate::state::transaction::InTransaction;
use pgrx::pg_sys;

/// A foreign server, with the options that apply to the current role.
pub struct ForeignServer {
    /// Options of the server.
    pub server: Options,
    /// Options of the current role's user mapping, or of the public one.
    pub mapping: Options,
    /// Whether only superusers can have set the mapping's `password_required` to false, and its `sslcert`
    /// and `sslkey`. postgres_fdw ensures that.
    pub guards_options: bool,
}

/// The foreign server of that name, `None` if there is none.
///
/// Fails if the current role has no USAGE on it, or no user mapping for it. Must be called in a
/// transaction.
pub fn find(name: &str) -> Result<Option<ForeignServer>> {
    // No server has a longer name.
    if name.len() >= pg_sys::NAMEDATALEN as usize {
        return Ok(None);
    }
    let transaction = InTransaction::current()?;
    // Do not pass the name as a query parameter, which could be logged: it may be a connection
    // string with a password.
    let Some(oid) = catalog::foreign_server(transaction, name) else {
        return Ok(None);
    };
    let may = query::first_value::<bool>(
        "SELECT pg_catalog.has_server_privilege($1, 'USAGE')",
        &[oid.into()],
    )?;
    if may != Some(true) {
        return Err(Error::Denied {
            what: format!("foreign server \"{name}\""),
            hint: "Ask for the USAGE privilege on it.".into(),
        });
    }
    let (server, mapping) = catalog::foreign_options(transaction, oid);
    let guards_options = query::first_value::<bool>(
        "SELECT p.prosrc OPERATOR(pg_catalog.=) 'postgres_fdw_validator'
                AND p.probin OPERATOR(pg_catalog.=) '$libdir/postgres_fdw'
           FROM pg_catalog.pg_foreign_server s
           JOIN pg_catalog.pg_foreign_data_wrapper w ON w.oid OPERATOR(pg_catalog.=) s.srvfdw
           JOIN pg_catalog.pg_proc p ON p.oid OPERATOR(pg_catalog.=) w.fdwvalidator
          WHERE s.oid OPERATOR(pg_catalog.=) $1",
        &[oid.into()],
    )?;
    Ok(Some(ForeignServer {
        server,
        mapping,
        guards_options: guards_options == Some(true),
    }))
}
