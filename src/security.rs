//! Privileges: which role's are required and used for what.
//!
//! Scripts, vacuums and look-ups run with the caller's privileges, in workers that are connected as
//! the caller. Results are stored with the privileges of the extension's owner, because callers may
//! not write the result tables. Meanwhile `search_path` is pinned, so that no object of the caller
//! can be called.

use crate::compat;
use crate::error::{Error, Result};
use crate::query;
use crate::state::session;
pub use crate::state::session::is_superuser;
use crate::state::transaction::InTransaction;
use pgrx::pg_sys;
use pgrx::spi::Spi;
use std::ffi::CStr;

/// Fails unless the caller may open loopback connections.
///
/// Such connections are authenticated as the operating system user of the server or not at all, so
/// they would give that user's identity to the caller. dblink has the same rule.
pub fn require_loopback() -> Result<()> {
    if is_superuser() {
        Ok(())
    } else {
        Err(Error::LoopbackDenied)
    }
}

/// Fails unless the current role may run programs as the operating system user of the server, which
/// is what `\shell` and `\setshell` do.
///
/// Must be called in a transaction.
pub fn require_server_program() -> Result<()> {
    let may = query::first_value::<bool>(
        "SELECT pg_catalog.pg_has_role(CURRENT_USER, 'pg_execute_server_program', 'USAGE')",
        &[],
    )?;
    if may == Some(true) {
        Ok(())
    } else {
        Err(Error::Denied {
            what: "\\shell and \\setshell".into(),
            hint: "Only roles with privileges of the \"pg_execute_server_program\" role may run \
                   programs on the server."
                .into(),
        })
    }
}

/// Whether the current role may request a checkpoint of this server.
///
/// Must be called in a transaction.
pub fn may_checkpoint() -> Result<bool> {
    let may = query::first_value::<bool>(
        "SELECT pg_catalog.pg_has_role(CURRENT_USER, 'pg_checkpoint', 'USAGE')",
        &[],
    )?;
    Ok(may == Some(true))
}

/// Fails unless the current role may `read` or `write` files as the operating system user of the
/// server; `what` are the files.
///
/// Must be called in a transaction.
pub fn require_server_files(access: &str, what: &str) -> Result<()> {
    let role = format!("pg_{access}_server_files");
    let may = query::first_value::<bool>(
        "SELECT pg_catalog.pg_has_role(CURRENT_USER, $1::pg_catalog.name, 'USAGE')",
        &[role.as_str().into()],
    )?;
    if may == Some(true) {
        Ok(())
    } else {
        Err(Error::Denied {
            what: what.into(),
            hint: format!(
                "Only roles with privileges of the \"{role}\" role may {access} files on the \
                 server."
            ),
        })
    }
}

/// Settings for internal queries on the result tables, which override those of the session, its
/// role and its database: no object can shadow a name, values keep all digits and their meaning when
/// they are converted to text and back, and nothing is compiled for a few rows.
const PINNED: [(&CStr, &CStr); 10] = [
    (c"search_path", c"pg_catalog, pg_temp"),
    (c"array_nulls", c"on"),
    (c"bytea_output", c"hex"),
    (c"datestyle", c"ISO, YMD"),
    (c"extra_float_digits", c"1"),
    (c"intervalstyle", c"postgres"),
    (c"jit", c"off"),
    (c"quote_all_identifiers", c"off"),
    (c"standard_conforming_strings", c"on"),
    (c"timezone", c"UTC"),
];

/// Runs `body` with `search_path` pinned to `pg_catalog`, and values printed in the server's
/// default formats.
///
/// Must be called in a transaction. If `body` raises an error, the abort of the transaction
/// restores the settings.
pub fn with_pinned_settings<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_settings(&PINNED, body)
}

/// Runs `body` with this `search_path`, and values printed in the server's default formats.
pub fn with_search_path<T>(path: &CStr, body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_pinned_settings(|| with_settings(&[(c"search_path", path)], body))
}

fn with_settings<T>(settings: &[(&CStr, &CStr)], body: impl FnOnce() -> Result<T>) -> Result<T> {
    session::with_settings(InTransaction::current()?, settings, body)
}

/// Runs `body` with plans that do not depend on the values of parameters.
pub fn with_generic_plans<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_settings(&[(c"plan_cache_mode", c"force_generic_plan")], body)
}

/// Does the same for a query that must not wait for locks for long.
pub fn without_waiting<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_pinned_settings(|| with_lock_timeout(c"200ms", body))
}

/// Runs `body`, which waits for each lock for at most that time.
pub fn with_lock_timeout<T>(timeout: &CStr, body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_settings(&[(c"lock_timeout", timeout)], body)
}

/// Runs `body` without firing triggers, including those of foreign keys; for rows that are known to
/// satisfy these constraints.
///
/// Must be called in a transaction. If `body` raises an error, the abort of the transaction
/// restores the setting.
pub fn without_triggers<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_settings(&[(c"session_replication_role", c"replica")], body)
}

/// Runs `body` with the privileges of the owner of the result tables and pinned settings.
///
/// Must be called in a transaction. If `body` raises an error, the abort of the transaction
/// restores the identity.
pub fn as_owner<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    with_pinned_settings(|| {
        // Without a cast to regclass, which a role without USAGE on the schema may not use.
        let owner = query::first_value::<pg_sys::Oid>(
            "SELECT c.relowner FROM pg_catalog.pg_class c
               JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
              WHERE n.nspname = 'bench' AND c.relname = 'runs'",
            &[],
        )?
        // Without an owner there is no role to switch to; role 0 does not exist.
        .ok_or(Error::ExtensionDropped)?;
        session::with_role(InTransaction::current()?, owner, body)
    })
}

/// Runs `body` as a role, in a security-restricted operation: functions that it calls have that role's rights
/// alone, even in the session of a superuser that has become it by SET ROLE.
///
/// Must be called in a transaction. If `body` raises an error, the abort of the transaction restores
/// the identity.
pub fn restricted<T>(role: pg_sys::Oid, body: impl FnOnce() -> Result<T>) -> Result<T> {
    session::restricted(InTransaction::current()?, role, body)
}

/// Fails unless the current role may become another one by SET ROLE.
///
/// Must be called in a transaction.
pub fn require_role(role: pg_sys::Oid) -> Result<()> {
    let (name, may) = with_pinned_settings(|| {
        query::first_two_values::<String, bool>(
            "SELECT r.rolname::text, pg_has_role(current_user, r.oid, $2) FROM pg_roles r WHERE r.oid = $1",
            &[role.into(), compat::BECOME_ROLE.into()],
        )
    })?;
    match (name, may) {
        (Some(_), Some(true)) => Ok(()),
        (Some(name), _) => Err(Error::Denied {
            what: format!("role \"{name}\""),
            hint: "Only roles that you may become by SET ROLE are possible.".into(),
        }),
        (None, _) => Err(Error::UnknownRole {
            role: role.to_u32(),
        }),
    }
}

/// Grants a role the privileges on the extension that it needs. The caller must have the privileges
/// of the owner of schema `bench`, because GRANT only warns about privileges that it cannot grant.
///
/// Must be called in a transaction.
pub fn grant_to(role: pg_sys::Oid) -> Result<()> {
    let may = query::first_value::<bool>(
        "SELECT pg_catalog.pg_has_role(CURRENT_USER, n.nspowner, 'USAGE')
           FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.=) 'bench'",
        &[],
    )?;
    if may != Some(true) {
        return Err(Error::Denied {
            what: "schema bench".into(),
            hint: "Only a superuser or the owner of the extension may grant its privileges.".into(),
        });
    }
    // The role's name as the server quotes it; an error if the role does not exist.
    let name = query::first_value::<String>(
        "SELECT pg_catalog.quote_ident(r.rolname) FROM pg_catalog.pg_roles r
          WHERE r.oid OPERATOR(pg_catalog.=) $1",
        &[role.into()],
    )?;
    let Some(name) = name else {
        return Err(Error::UnknownRole {
            role: role.to_u32(),
        });
    };
    for what in [
        "USAGE ON SCHEMA bench, bench_internal",
        "EXECUTE ON ALL FUNCTIONS IN SCHEMA bench, bench_internal",
        "EXECUTE ON PROCEDURE bench.prune",
        "SELECT ON ALL TABLES IN SCHEMA bench",
        "INSERT, UPDATE, DELETE ON bench.value_sets",
    ] {
        Spi::run(&format!("GRANT {what} TO {name}"))?;
    }
    Ok(())
}
