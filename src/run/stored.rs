//! Scripts and workloads that roles store under a name of their choice: looking for names, and dropping.

use crate::error::{Error, Result};
use crate::query;
use crate::security::as_owner;
use crate::server;
use pgrx::datum::DatumWithOid;
use pgrx::spi::Spi;
use selfbench_script::names::ScriptName;

/// Whether the row `s` is what the role `$2` has stored with the name `$1`; the role is quoted in the name
/// if `$3` is true, and the caller `$4` if `$2` is NULL.
pub const IS_NAMED: &str = "s.name = $1
    AND (s.owner::text = CASE WHEN $3 THEN quote_ident($2) ELSE $2 END
         OR $2 IS NULL AND s.owner = $4)";

/// The values of these parameters. Called before the role changes to that of the owner of the tables.
pub fn arguments(name: &ScriptName) -> [DatumWithOid<'_>; 4] {
    let owner = name.owner.as_ref();
    [
        name.name.as_str().into(),
        owner.map(|owner| owner.text.as_str()).into(),
        owner.is_some_and(|owner| owner.quoted).into(),
        server::role().into(),
    ]
}

/// Whether the caller has stored a script with that name.
pub fn has_script(name: &str) -> Result<bool> {
    let arguments = [name.into(), server::role().into()];
    let found = as_owner(|| {
        let sql = "SELECT true FROM bench.scripts s WHERE s.name = $1 AND s.owner = $2";
        query::first_value::<bool>(sql, &arguments)
    })?;
    Ok(found.is_some())
}

/// Drops the row of a table that a name means, if the caller has the rights of its owner. `Some(false)` if it
/// does not have them, `None` if there is no such row.
pub fn drop(table: &str, name: &ScriptName) -> Result<Option<bool>> {
    let arguments = arguments(name);
    as_owner(|| {
        Spi::connect_mut(|client| {
            let found = format!("SELECT FROM {table} s WHERE {IS_NAMED}");
            let exists = !client.select(&found, None, &arguments)?.is_empty();
            let delete = format!(
                "DELETE FROM {table} s
                  WHERE {IS_NAMED} AND pg_has_role($4, s.owner, 'USAGE') RETURNING s.name"
            );
            let dropped = !client.update(&delete, None, &arguments)?.is_empty();
            Ok(exists.then_some(dropped))
        })
    })
}

/// The error for what only its owner may drop.
pub fn denied(what: &str, name: &str) -> Error {
    Error::Denied {
        what: format!("{what} \"{name}\""),
        hint: "Only its owner may drop it.".into(),
    }
}
