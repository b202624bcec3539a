//! Scripts by name: the built-in ones, and those that are stored in `bench.scripts`.
//!
//! Whoever may call the functions may use every stored script, with rights of their own; only a
//! script's owner may replace or drop it.

use super::spec::ScriptSpec;
use crate::error::{Error, Result};
use crate::security::as_owner;
use crate::server;
use crate::{query, security};
use pgrx::prelude::*;
use selfbench_script::{
    Action, Command, Protocol, ScriptError, Workload, WorkloadBuilder, builtin,
};

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Whether the role `$2` has the rights of the owner of the script `s`; `$3` tells whether it is a
/// superuser, who may drop what belongs to a role that is gone.
const MAY_CHANGE: &str = "($3 OR EXISTS (SELECT FROM pg_roles r
    WHERE r.rolname = s.owner AND pg_has_role($2::name, r.oid, 'USAGE')))";

/// The script of that name: a built-in one by its full name, a stored one by its full name, or a
/// built-in one by an unambiguous start of its name.
pub fn find(name: &str, weight: i64) -> Result<ScriptSpec> {
    let found = builtin::find_builtin(name);
    match found {
        Ok(script) if script.name == name => return Ok(built_in(script, weight)),
        _ => {}
    }
    if let Some(script) = stored(name, weight)? {
        return Ok(script);
    }
    match found {
        Ok(script) => Ok(built_in(script, weight)),
        Err(error) => Err(Error::UnknownScript {
            message: error.to_string(),
            hint: format!(
                "Built-in scripts are {}; stored ones are listed in bench.scripts.",
                builtin::list()
                    .iter()
                    .map(|b| b.name)
                    .collect::<Vec<_>>()
                    .join(", ")
            ),
        }),
    }
}

/// The stored script of that name, if there is one.
pub fn stored(name: &str, weight: i64) -> Result<Option<ScriptSpec>> {
    let (body, description) = as_owner(|| {
        query::two::<String, String>(
            "SELECT body, coalesce(description, name) FROM bench.scripts WHERE name = $1",
            &[name.into()],
        )
    })?;
    let (Some(body), Some(description)) = (body, description) else {
        return Ok(None);
    };
    Ok(Some(own(name, description, body, weight)))
}

/// A script of the user's.
pub fn own(name: &str, description: String, body: String, weight: i64) -> ScriptSpec {
    let writes = parse(name, &body).is_ok_and(|workload| writes(&workload));
    ScriptSpec {
        name: name.into(),
        description,
        body,
        weight,
        builtin: false,
        writes,
    }
}

/// Whether some statement is of a kind that writes. What functions and queries do is not known
/// before they do it.
fn writes(workload: &Workload) -> bool {
    const WRITING: [&str; 8] = [
        "insert", "update", "delete", "merge", "truncate", "create", "drop", "alter",
    ];
    let is_writing = |command: &Command| match &command.action {
        Action::Sql(sql) => {
            let word: String = sql
                .text()
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            WRITING
                .iter()
                .any(|writing| word.eq_ignore_ascii_case(writing))
        }
        _ => false,
    };
    workload
        .scripts
        .iter()
        .flat_map(|script| &script.commands)
        .any(is_writing)
}

/// A built-in script.
pub fn built_in(script: &builtin::Builtin, weight: i64) -> ScriptSpec {
    ScriptSpec {
        name: script.name.into(),
        description: script.description.into(),
        body: script.body.into(),
        weight,
        builtin: true,
        writes: script.name != "select-only",
    }
}

/// Stores a script, or replaces one that the caller owns.
pub fn define(name: &str, body: &str, description: Option<&str>) -> Result<()> {
    if name.is_empty()
        || name.len() > MAX_NAME_BYTES
        || name.contains('@')
        || name.contains(char::is_control)
        || builtin::list().iter().any(|builtin| builtin.name == name)
    {
        return Err(Error::OptionConflict {
            message: format!("invalid script name: \"{name}\""),
            hint: "A name has 1 to 255 bytes, no \"@\" and no control characters, and is not that \
                   of a built-in script."
                .into(),
        });
    }
    parse(name, body)?;
    let caller = server::role_name();
    let superuser = security::is_superuser();
    let stored = as_owner(|| {
        Spi::connect_mut(|client| {
            let rows = client.update(
                &format!(
                    "INSERT INTO bench.scripts AS s (name, owner, body, description)
                     SELECT $1, $2::name, $4, $5 WHERE $3 IS NOT NULL
                     ON CONFLICT (name) DO UPDATE
                     SET body = excluded.body, description = excluded.description,
                         created_at = now()
                     WHERE {MAY_CHANGE}
                     RETURNING s.name"
                ),
                None,
                &[
                    name.into(),
                    caller.as_str().into(),
                    superuser.into(),
                    body.into(),
                    description.into(),
                ],
            )?;
            Ok(!rows.is_empty())
        })
    })?;
    if stored { Ok(()) } else { Err(denied(name)) }
}

/// Drops a stored script that the caller owns.
pub fn drop(name: &str) -> Result<()> {
    let caller = server::role_name();
    let superuser = security::is_superuser();
    let (dropped, exists) = as_owner(|| {
        Spi::connect_mut(|client| {
            let arguments = [name.into(), caller.as_str().into(), superuser.into()];
            let rows = client.update(
                &format!(
                    "DELETE FROM bench.scripts s WHERE s.name = $1 AND {MAY_CHANGE}
                     RETURNING s.name"
                ),
                None,
                &arguments,
            )?;
            if !rows.is_empty() {
                return Ok((true, true));
            }
            let rows = client.select(
                "SELECT FROM bench.scripts s WHERE s.name = $1",
                None,
                &[name.into()],
            )?;
            Ok((false, !rows.is_empty()))
        })
    })?;
    match (dropped, exists) {
        (true, _) => Ok(()),
        (false, true) => Err(denied(name)),
        (false, false) => Err(Error::UnknownScript {
            message: format!("script \"{name}\" does not exist"),
            hint: "Stored scripts are listed in bench.scripts.".into(),
        }),
    }
}

fn denied(name: &str) -> Error {
    Error::Denied {
        what: format!("script \"{name}\""),
        hint: "Only its owner may replace or drop it.".into(),
    }
}

/// Parses a single script. Limits of other protocols than the simple one show when it is run.
pub fn parse(name: &str, body: &str) -> Result<Workload, ScriptError> {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder.add(name, name, body, 1)?;
    builder.finish()
}
