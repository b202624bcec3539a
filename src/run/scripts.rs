//! Scripts by name: the built-in ones, those that are stored in `bench.scripts`, and files.
//!
//! The meaning of a name depends on its form and on the caller, never on what others have stored:
//!
//! * the name of a built-in script is that script;
//! * the name of a mix of the catalog stands for its scripts, `mix:script` for one of them;
//! * a start of a built-in script's name is that built-in script, or an error if several start so;
//! * a name with a slash is a file of the server;
//! * `owner.name` is the script that this role has stored, with the owner as `regrole` prints it;
//! * any other name is a script that the caller has stored; one that is the name of a mix, too, is an error.
//!
//! So no role can have a script of its own executed in the place of another one, with the rights of
//! the role that executes it. A role that may call the functions may use every stored script, with its
//! own rights; only a script's owner may replace or drop it.

use super::script::{ScriptSpec, built_in, parse, user_script};
use super::stored::{self, IS_NAMED, arguments};
use super::workload;
use crate::error::{Error, Result};
use crate::query;
use crate::security::{as_owner, require_server_files};
use crate::server;
use crate::text::stores_unicode;
use pgrx::prelude::*;
use selfbench_script::builtin;
use selfbench_script::names::{Item, ScriptName};
use selfbench_script::{BuiltinError, MAX_SCRIPT_BYTES};
use std::io::Read;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// The scripts that an item of a list means: one, or all of a mix.
pub fn find(item: &Item) -> Result<Vec<ScriptSpec>> {
    let of_statement = match item.text.trim().contains(char::is_whitespace) {
        true => " A statement is given as sql => '...'.",
        false => "",
    };
    let built_in_names: Vec<_> = builtin::list().iter().map(|script| script.name).collect();
    let unknown = |message: String, meant: Option<String>| Error::UnknownScript {
        message,
        hint: format!(
            "{}Built-in scripts are {}; stored ones are listed in bench.scripts, workloads in \
             bench.workloads. A script of another role is written owner.name, a file with a slash.{of_statement}",
            meant.map_or_else(String::new, |name| format!(
                "Perhaps you meant \"{name}\". "
            )),
            built_in_names.join(", ")
        ),
    };
    if item.name.owner.is_none()
        && !builtin::has_name(&item.name.name)
        && let Some(scripts) = workload::scripts(&item.name.name, item.weight)?
    {
        if stored::has_script(&item.name.name)? {
            return Err(Error::OptionConflict {
                message: format!("script \"{}\" is ambiguous", item.name.name),
                hint:
                    "A workload has that name, and a script that you have stored. Write the script \
                       with its owner in front of the name, or store it under another name."
                        .into(),
            });
        }
        return Ok(scripts);
    }
    let own_name = match &item.name.owner {
        None => builtin::find_builtin(&item.name.name),
        Some(_) => Err(BuiltinError::Unknown(item.text.to_owned())),
    };
    match own_name {
        Ok(script) => return Ok(vec![built_in(script, item.weight)]),
        Err(error @ BuiltinError::Ambiguous { .. }) => {
            return Err(unknown(error.to_string(), None));
        }
        Err(BuiltinError::Unknown(_)) => {}
    }
    if let Some(script) = stored_or_file(item.text, &item.name, item.weight)? {
        return Ok(vec![script]);
    }
    let message = format!("script \"{}\" does not exist", item.text);
    let meant = workload::meant(&item.name.name, &built_in_names)?;
    Err(unknown(message, meant))
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
    if body.contains(&0) {
        return Err("it contains a zero byte".into());
    }
    if !body.is_ascii() && !stores_unicode() {
        return Err("it is not ASCII text, and the encoding of the database is not UTF-8".into());
    }
    String::from_utf8(body).map_err(|_| "it is not UTF-8 text".into())
}

/// Stores a script of the caller's, or replaces it.
pub fn define(name: &str, body: &str, description: Option<&str>) -> Result<()> {
    server::require_writable_transaction("define scripts")?;
    if name.is_empty()
        || name.len() > MAX_NAME_BYTES
        || name.contains(['@', '/', '.', ',', ':', '"'])
        || name.contains(char::is_control)
        || name.trim() != name
    {
        return Err(Error::OptionConflict {
            message: format!("invalid script name: \"{name}\""),
            hint:
                "A name has 1 to 255 bytes, no \"@\", \"/\", \".\", \":\", comma, double quote or control \
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
    if workload::find(name)?.is_some() {
        return Err(Error::OptionConflict {
            message: format!("script name \"{name}\" is used by a workload"),
            hint: "Workloads are listed in bench.workloads. Choose another name.".into(),
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
    match stored::drop("bench.scripts", &parsed)? {
        Some(true) => Ok(()),
        Some(false) => Err(stored::denied("script", name)),
        None => Err(Error::UnknownScript {
            message: format!("script \"{name}\" does not exist"),
            hint:
                "Stored scripts are listed in bench.scripts. A script of another role is written \
                   owner.name."
                    .into(),
        }),
    }
}
