//! Scripts by name: the built-in ones, those that are stored in `bench.scripts`, and files.
//!
//! The meaning of a name depends on its form and on the caller, never on what others have stored:
//!
//! * a start of a built-in script's name is that built-in script, or an error if several start so;
//! * the name of a mix of the catalog stands for its scripts, `mix:script` for one of them;
//! * a name with a slash is a file of the server;
//! * `owner.name` is the script that this role has stored, with the owner as `regrole` prints it;
//! * any other name is a script that the caller has stored.
//!
//! So no role can have a script of its own executed in the place of another one, with the rights of
//! the role that executes it. A role that may call the functions may use every stored script, with its
//! own rights; only a script's owner may replace or drop it.

use super::script::{ScriptSpec, built_in, parse, user_script};
use super::workload;
use crate::error::{Error, Result};
use crate::options::nearest;
use crate::query;
use crate::security::{as_owner, require_server_files};
use crate::server;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use selfbench_script::builtin;
use selfbench_script::names::{Item, ScriptName};
use selfbench_script::{BuiltinError, MAX_SCRIPT_BYTES};
use std::io::Read;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Whether `s` is the script with the name `$1` of the role `$2`, which is quoted in the name if `$3`
/// is true, or of the caller `$4` if `$2` is NULL.
const IS_NAMED: &str = "s.name = $1
    AND (s.owner::text = CASE WHEN $3 THEN quote_ident($2) ELSE $2 END
         OR $2 IS NULL AND s.owner = $4)";

/// The values of these parameters.
fn arguments(name: &ScriptName) -> [DatumWithOid<'_>; 4] {
    let owner = name.owner.as_ref();
    [
        name.name.as_str().into(),
        owner.map(|owner| owner.text.as_str()).into(),
        owner.is_some_and(|owner| owner.quoted).into(),
        server::role().into(),
    ]
}

/// The scripts that an item of a list means: one, or all of a mix.
pub fn find(item: &Item) -> Result<Vec<ScriptSpec>> {
    let of_statement = match item.text.trim().contains(char::is_whitespace) {
        true => " A statement is given as sql => '...'.",
        false => "",
    };
    let mixes: Vec<String> = workload::mixes().collect();
    let builtin_names = || builtin::list().iter().map(|script| script.name);
    let known = builtin_names().chain(mixes.iter().map(String::as_str));
    let meant = nearest(&item.name.name, known);
    let meant = meant.map(|name| format!("Perhaps you meant \"{name}\". "));
    let meant = meant.unwrap_or_default();
    let unknown = |message: String| Error::UnknownScript {
        message,
        hint: format!(
            "{meant}Built-in scripts are {}; stored ones are listed in bench.scripts, workloads in \
             bench.workloads. A script of another role is written owner.name, a file with a slash.{of_statement}",
            builtin_names().collect::<Vec<_>>().join(", ")
        ),
    };
    let own_name = match &item.name.owner {
        None => builtin::find_builtin(&item.name.name),
        Some(_) => Err(BuiltinError::Unknown(item.text.to_owned())),
    };
    match own_name {
        Ok(script) => return Ok(vec![built_in(script, item.weight)]),
        Err(error @ BuiltinError::Ambiguous { .. }) => return Err(unknown(error.to_string())),
        Err(BuiltinError::Unknown(_)) => {}
    }
    if item.name.owner.is_none()
        && let Some(scripts) = workload::scripts(&item.name.name, item.weight)?
    {
        return Ok(scripts);
    }
    stored_or_file(item.text, &item.name, item.weight)?
        .map(|script| vec![script])
        .ok_or_else(|| unknown(format!("script \"{}\" does not exist", item.text)))
}

/// The stored script or file that a name means, which was written as `text`; `None` if no such
/// script is stored.
pub fn stored_or_file(text: &str, name: &ScriptName, weight: i64) -> Result<Option<ScriptSpec>> {
    if name.is_path() {
        return file(&name.name, weight).map(Some);
    }
    // The caller is no longer the current role there.
    let arguments = arguments(name);
    let body = as_owner(|| {
        query::first_value::<String>(
            &format!("SELECT s.body FROM bench.scripts s WHERE {IS_NAMED}"),
            &arguments,
        )
    })?;
    Ok(body.map(|body| user_script(text, text.to_owned(), body, weight)))
}

/// A script in a file of the server, which the caller must be allowed to read.
fn file(path: &str, weight: i64) -> Result<ScriptSpec> {
    require_server_files("read", "script files")?;
    let unreadable = |message: String| Error::ScriptFile {
        name: path.to_owned(),
        message,
    };
    let body = read(path).map_err(unreadable)?;
    Ok(user_script(path, path.to_owned(), body, weight))
}

/// The text of a file, or why it cannot be a script.
fn read(path: &str) -> Result<String, String> {
    let reason = |error| crate::error::reason(&error);
    // A pipe would keep this process waiting for a writer.
    let kind = std::fs::metadata(path).map_err(reason)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        return Err("it is not a regular file".into());
    }
    // Files may grow, and those of /proc have no size.
    let limit = MAX_SCRIPT_BYTES as u64 + 1;
    let mut body = Vec::new();
    let file = std::fs::File::open(path).map_err(reason)?;
    file.take(limit).read_to_end(&mut body).map_err(reason)?;
    if body.len() as u64 == limit {
        return Err(format!("it is longer than {MAX_SCRIPT_BYTES} bytes"));
    }
    String::from_utf8(body).map_err(|_| "it is not UTF-8 text".into())
}

/// Stores a script of the caller's, or replaces it.
pub fn define(name: &str, body: &str, description: Option<&str>) -> Result<()> {
    server::require_writable_transaction("define scripts")?;
    if name.is_empty()
        || name.len() > MAX_NAME_BYTES
        || name.contains(['@', '/', '.', ',', '"'])
        || name.contains(char::is_control)
        || name.trim() != name
    {
        return Err(Error::OptionConflict {
            message: format!("invalid script name: \"{name}\""),
            hint:
                "A name has 1 to 255 bytes, no \"@\", \"/\", \".\", comma, double quote or control \
                   character, and no space at its start or end."
                    .into(),
        });
    }
    if !matches!(builtin::find_builtin(name), Err(BuiltinError::Unknown(_))) {
        return Err(Error::OptionConflict {
            message: format!("script name \"{name}\" is reserved for built-in scripts"),
            hint: "A built-in script can be called by the start of its name. Choose another name."
                .into(),
        });
    }
    parse(name, body)?;
    let caller = server::role();
    as_owner(|| {
        Spi::run_with_args(
            "INSERT INTO bench.scripts (name, owner, body, description) VALUES ($1, $2, $3, $4)
             ON CONFLICT (owner, name) DO UPDATE
             SET body = excluded.body, description = excluded.description, created_at = now()",
            &[name.into(), caller.into(), body.into(), description.into()],
        )?;
        Ok(())
    })
}

/// Drops a stored script whose owner's rights the caller has.
pub fn drop(name: &str) -> Result<()> {
    server::require_writable_transaction("drop scripts")?;
    let parsed = ScriptName::parse(name).map_err(|error| Error::UnknownScript {
        message: format!("script \"{name}\" does not exist"),
        hint: format!("It is not the name of a script: {error}."),
    })?;
    let arguments = arguments(&parsed);
    let (dropped, exists) = as_owner(|| {
        Spi::connect_mut(|client| {
            let exists = client
                .select(
                    &format!("SELECT FROM bench.scripts s WHERE {IS_NAMED}"),
                    None,
                    &arguments,
                )?
                .len();
            let dropped = client
                .update(
                    &format!(
                        "DELETE FROM bench.scripts s
                          WHERE {IS_NAMED} AND pg_has_role($4, s.owner, 'USAGE')
                          RETURNING s.name"
                    ),
                    None,
                    &arguments,
                )?
                .len();
            Ok((dropped > 0, exists > 0))
        })
    })?;
    match (dropped, exists) {
        (true, _) => Ok(()),
        (false, true) => Err(Error::Denied {
            what: format!("script \"{name}\""),
            hint: "Only its owner may drop it.".into(),
        }),
        (false, false) => Err(Error::UnknownScript {
            message: format!("script \"{name}\" does not exist"),
            hint:
                "Stored scripts are listed in bench.scripts. A script of another role is written \
                   owner.name."
                    .into(),
        }),
    }
}
