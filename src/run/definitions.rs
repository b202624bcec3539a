//! Workloads that roles define: families of the catalog whose texts are stored in
//! `bench.workload_definitions`.
//!
//! A role uses its own ones only. So no role can have statements of its own executed with the rights of
//! another one.

use super::stored;
use crate::backend::statement::{self, Created};
use crate::error::{Error, Report, Result, problem, reworded};
use crate::query;
use crate::security::as_owner;
use crate::server;
use pgrx::JsonB;
use pgrx::spi::Spi;
use selfbench_script::builtin;
use selfbench_script::names::ScriptName;
use selfbench_workload::{Family, Source, WorkloadError, find_mix, is_name};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// A workload as it is defined.
#[derive(Debug, Deserialize)]
pub struct Definition {
    /// Its name.
    pub name: String,
    /// Description, as `manifest.json` of a family of the library.
    pub manifest: Value,
    /// Statements that create tables and routines.
    pub schema: String,
    /// Queries of the rows.
    pub load: String,
    /// Statements behind the load.
    pub finish: String,
    /// Conditions on the rows.
    pub checks: String,
    /// Scripts by name.
    pub scripts: BTreeMap<String, String>,
}

impl Definition {
    /// Its family.
    fn family(&self) -> Result<Family> {
        let scripts: Vec<_> = self
            .scripts
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()))
            .collect();
        // With a line for each field, of which errors tell one.
        let manifest = serde_json::to_string_pretty(&self.manifest).unwrap_or_default();
        let family = Family::parse(&Source {
            name: &self.name,
            manifest: &manifest,
            schema: &self.schema,
            load: &self.load,
            finish: &self.finish,
            checks: &self.checks,
            scripts: &scripts,
        });
        family.map_err(|error| self.faulty(error))
    }

    fn faulty(&self, error: WorkloadError) -> Error {
        let error = match error {
            WorkloadError::Manifest { message, at } => WorkloadError::Manifest {
                message: reworded(&message),
                at,
            },
            error => error,
        };
        match error {
            WorkloadError::Script(error) => Error::Script(error),
            error => Error::OptionConflict {
                message: format!("invalid workload \"{}\": {error}", self.name),
                hint: "See \"Your own workload\" in docs/workloads.md.".into(),
            },
        }
    }
}

/// The current role's own families.
pub fn families() -> Result<Vec<Family>> {
    let found = select("TRUE", None)?;
    found.iter().map(Definition::family).collect()
}

/// The current role's own family that has that name, or a mix of that name.
pub fn find(name: &str) -> Result<Option<Family>> {
    let has_name = "d.name = $2 OR d.manifest @> jsonb_build_object('mixes',
                    jsonb_build_array(jsonb_build_object('name', $2)))";
    let found = select(has_name, Some(name))?;
    found.first().map(Definition::family).transpose()
}

fn select(condition: &str, name: Option<&str>) -> Result<Vec<Definition>> {
    // The caller is no longer the current role there.
    let role = server::role();
    let found = as_owner(|| {
        query::first_value::<String>(
            &format!(
                "SELECT jsonb_agg(to_jsonb(d) ORDER BY d.name)::text FROM bench.workload_definitions d
                  WHERE d.owner = $1 AND ($2 IS NULL OR {condition})"
            ),
            &[role.into(), name.into()],
        )
    })?;
    let found = found.as_deref().unwrap_or("[]");
    serde_json::from_str(found).map_err(|error| Error::Limit(problem(&error)))
}

/// Stores a workload of the caller's, or replaces it.
pub fn define(definition: &Definition) -> Result<()> {
    server::require_writable_transaction("define workloads")?;
    let family = definition.family()?;
    let rule = |message: String| definition.faulty(WorkloadError::Rule(message));
    if family.manifest.loader.is_some() || !family.manifest.tables.is_empty() {
        let message = "\"loader\" and \"tables\" are for workloads of the library";
        return Err(rule(message.into()));
    }
    family.check().map_err(|error| definition.faulty(error))?;
    require_unused(&family, &rule)?;
    check_statements(&family, &rule)?;
    let role = server::role();
    let texts = [
        &definition.schema,
        &definition.load,
        &definition.finish,
        &definition.checks,
    ];
    let [schema, load, finish, checks] = texts.map(|text| text.as_str().into());
    let manifest = JsonB(definition.manifest.clone());
    let scripts = JsonB(serde_json::json!(definition.scripts));
    as_owner(|| {
        Spi::run_with_args(
            "INSERT INTO bench.workload_definitions
                    (name, owner, manifest, schema, load, finish, checks, scripts)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
             ON CONFLICT (owner, name) DO UPDATE
             SET manifest = excluded.manifest, schema = excluded.schema, load = excluded.load,
                 finish = excluded.finish, checks = excluded.checks, scripts = excluded.scripts,
                 created_at = now()",
            &[
                definition.name.as_str().into(),
                role.into(),
                manifest.into(),
                schema,
                load,
                finish,
                checks,
                scripts.into(),
            ],
        )?;
        Ok(())
    })
}

/// Fails if a family and its mix cannot have that name.
pub fn require_free(name: &str) -> Result<()> {
    let rule = |message: String| Error::OptionConflict {
        message: format!("invalid name of a workload: {message}"),
        hint: "Choose another name, of letters, digits, underscores and hyphens.".into(),
    };
    match is_name(name) {
        true => require_names(name, &[name], &rule),
        false => Err(rule(format!("\"{name}\""))),
    }
}

/// Fails if another workload or a script has a name of the family.
fn require_unused(family: &Family, rule: &impl Fn(String) -> Error) -> Result<()> {
    let mixes = family.manifest.mixes.iter().map(|mix| mix.name.as_str());
    let names: Vec<_> = std::iter::once(family.name.as_str()).chain(mixes).collect();
    require_names(&family.name, &names, rule)
}

/// Fails if another workload than the family or a script has one of the names.
fn require_names(family: &str, names: &[&str], rule: &impl Fn(String) -> Error) -> Result<()> {
    for name in names.iter().copied() {
        if builtin::has_name(name) {
            return Err(rule(format!(
                "the name \"{name}\" is reserved for built-in scripts"
            )));
        }
        let of_library = find_mix(name).map_err(|error| rule(error.to_string()))?;
        let own = find(name)?.filter(|own| own.name != family);
        if let Some(other) = of_library.map(|(other, _)| other).or(own) {
            return Err(rule(format!(
                "the name \"{name}\" is used by workload \"{}\"",
                other.name
            )));
        }
        if stored::has_script(name)? {
            return Err(rule(format!(
                "you have stored a script with the name \"{name}\""
            )));
        }
    }
    Ok(())
}

/// Fails unless statements can be executed, as far as parsing shows.
fn check_statements(family: &Family, rule: &impl Fn(String) -> Error) -> Result<()> {
    let within = |what: &str, error: Error| {
        let report = error.report();
        Error::from(Report {
            message: format!("invalid {what}: {}", report.message),
            ..report
        })
    };
    let mut tables = Vec::new();
    let first_line = |sql: &str| sql.lines().next().unwrap_or_default().to_owned();
    let schema = family.schema.iter().map(|sql| ("schema", sql));
    for (what, sql) in schema.chain(family.finish.iter().map(|sql| ("finish", sql))) {
        if statement::count(sql).map_err(|error| within(what, error))? > 1 {
            return Err(rule(format!(
                "{what} joins statements by \"\\;\", which is not possible: {}",
                first_line(sql)
            )));
        }
    }
    for sql in &family.schema {
        match statement::created(sql).map_err(|error| within("schema", error))? {
            Some(Created::Table(name)) => tables.push(name),
            Some(Created::Routine(_)) => {}
            None => {
                return Err(rule(format!(
                    "schema has a statement that is not CREATE TABLE, CREATE FUNCTION or CREATE \
                     PROCEDURE with a name without schema: {}",
                    first_line(sql)
                )));
            }
        }
    }
    for variable in &family.manifest.variables {
        let Some(sql) = variable.detection() else {
            continue;
        };
        let what = format!("\"detect\" of variable \"{}\"", variable.name);
        if !statement::is_query(&sql).map_err(|error| within(&what, error))? {
            return Err(rule(format!("{what} is not one query")));
        }
    }
    for query in &family.load {
        let what = format!("query of table \"{}\"", query.table);
        if !tables.contains(&query.table) {
            let table = &query.table;
            return Err(rule(format!("schema does not create table \"{table}\"")));
        }
        if !statement::is_query(&query.sql).map_err(|error| within(&what, error))? {
            return Err(rule(format!("the {what} is not a SELECT, VALUES or TABLE")));
        }
    }
    for sql in &family.finish {
        statement::require_possible_alone(sql).map_err(|error| within("finish", error))?;
    }
    for check in &family.checks {
        let what = format!("query of condition \"{}\"", check.name);
        if !statement::is_query(&check.sql).map_err(|error| within(&what, error))? {
            return Err(rule(format!("the {what} is not a SELECT, VALUES or TABLE")));
        }
    }
    Ok(())
}

/// Stores in which schema the current role's own captured workload has copies of its tables.
pub fn set_clone_schema(name: &str, schema: &str) -> Result<()> {
    server::require_writable_transaction("copy tables")?;
    let family = find(name)?.filter(|family| family.name == name);
    let family = family.ok_or_else(|| Error::UnknownWorkload {
        name: name.to_owned(),
        nearest: None,
    })?;
    if family.manifest.captured.is_none() {
        return Err(Error::OptionConflict {
            message: format!("workload \"{name}\" was not captured"),
            hint: "bench.initialize makes its tables.".into(),
        });
    }
    let role = server::role();
    as_owner(|| {
        Spi::run_with_args(
            "UPDATE bench.workload_definitions w
                SET manifest = jsonb_set(w.manifest, '{captured,clone_schema}', to_jsonb($3::text))
              WHERE w.owner = $1 AND w.name = $2",
            &[role.into(), name.into(), schema.into()],
        )?;
        Ok(())
    })
}

/// Drops a workload whose owner's rights the caller has.
pub fn drop(name: &str) -> Result<()> {
    server::require_writable_transaction("drop workloads")?;
    let unknown = || Error::UnknownWorkload {
        name: name.to_owned(),
        nearest: None,
    };
    let parsed = ScriptName::parse(name).map_err(|_| unknown())?;
    match stored::drop("bench.workload_definitions", &parsed)? {
        Some(true) => Ok(()),
        Some(false) => Err(stored::denied("workload", name)),
        None => Err(unknown()),
    }
}
