//! `bench.workloads`, `bench.define_workload`, `bench.drop_workload`, `bench.workload_script` and
//! `bench.check_workload`.

use crate::backend::call::{Call, OrRaiseIn};
use crate::check::{argument, invalid, seed};
use crate::error::{Error, OrRaise, Result, problem};
use crate::query;
use crate::run::checks;
use crate::run::definitions::{self, Definition};
use crate::run::workload::{self, Prepared};
use crate::security::restricted;
use crate::server;
use crate::session::spi::guard;
use crate::state::catalog;
use crate::state::transaction::{InTransaction, execute_in_snapshot};
use pgrx::prelude::*;
use selfbench_model::RunCheck;
use selfbench_workload::{Family, Mix};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Rows<T> = TableIterator<'static, T>;

#[allow(clippy::type_complexity)]
#[pg_extern(sql = false)]
fn workloads() -> Rows<(
    name!(family, String),
    name!(mix, Option<String>),
    name!(description, String),
    name!(unit, String),
    name!(table_bytes, i64),
    name!(index_bytes, i64),
    name!(tables, Vec<String>),
    name!(scripts, Vec<String>),
    name!(variables, pgrx::JsonB),
    name!(options, pgrx::JsonB),
    name!(is_own, bool),
)> {
    let (of_library, own) = workload::families().or_raise();
    let of_library = of_library.into_iter().map(|family| (family, false));
    let all = of_library.chain(own.into_iter().map(|family| (family, true)));
    let rows = all.flat_map(|(family, is_own)| {
        let mixes = family.manifest.mixes.iter().map(Some);
        let none = family.manifest.mixes.is_empty().then_some(None);
        mixes
            .chain(none)
            .map(|mix| {
                let description = mix.map_or(&family.manifest.description, |mix| &mix.description);
                (
                    family.name.clone(),
                    mix.map(|mix| mix.name.clone()),
                    description.clone(),
                    family.manifest.unit.clone(),
                    bytes(family.manifest.size.table_mb),
                    bytes(family.manifest.size.index_mb),
                    family.tables(),
                    mix.map_or_else(Vec::new, scripts_of),
                    pgrx::JsonB(variables_of(&family)),
                    pgrx::JsonB(json!(mix.map(|mix| mix.options).unwrap_or_default())),
                    is_own,
                )
            })
            .collect::<Vec<_>>()
    });
    TableIterator::new(rows.collect::<Vec<_>>())
}

fn bytes(mb: f64) -> i64 {
    (mb * 1024.0 * 1024.0).round() as i64
}

fn scripts_of(mix: &Mix) -> Vec<String> {
    let scripts = mix.scripts.iter();
    scripts
        .map(|script| format!("{}@{}", script.name, script.weight))
        .collect()
}

fn variables_of(family: &Family) -> Value {
    let variables = family.manifest.variables.iter();
    variables
        .map(|variable| {
            let facts = json!({
                "description": variable.description,
                "default": variable.default,
                "min": variable.min,
                "max": variable.max,
            });
            (variable.name.clone(), facts)
        })
        .collect()
}

#[pg_extern(sql = false)]
fn define_workload(call: Call<'_>) {
    (|| {
        let mut documents: [Option<Value>; 2] = [None, None];
        let mut texts: [Option<String>; 5] = Default::default();
        call.read(|arguments| {
            for (value, name) in documents.iter_mut().zip(["manifest", "scripts"]) {
                *value = arguments.take(name)?;
            }
            let names = ["name", "schema", "load", "finish", "checks"];
            for (value, name) in texts.iter_mut().zip(names) {
                *value = arguments.take(name)?;
            }
            Ok(())
        })?;
        let [manifest, scripts] = documents;
        let [name, schema, load, finish, checks] = texts;
        let scripts = argument("scripts", scripts)?;
        let valid = "A JSON object of scripts, such as {\"read\": \"SELECT 1;\"}.";
        let found = serde_json::from_value(scripts);
        definitions::define(&Definition {
            name: argument("name", name)?,
            manifest: argument("manifest", manifest)?,
            schema: argument("schema", schema)?,
            load: argument("load", load)?,
            finish: argument("finish", finish)?,
            checks: argument("checks", checks)?,
            scripts: found.map_err(|error| invalid("scripts", problem(&error), valid))?,
        })
    })()
    .or_raise_in(&call);
}

#[pg_extern(sql = false)]
fn drop_workload(call: Call<'_>) {
    (|| {
        let name: Option<String> = call.read(|arguments| arguments.take("name"))?;
        definitions::drop(&argument("name", name)?)
    })()
    .or_raise_in(&call);
}

#[pg_extern(sql = false)]
fn set_clone_schema(call: Call<'_>) {
    (|| {
        let (workload, schema): (Option<String>, Option<String>) =
            call.read(|arguments| Ok((arguments.take("workload")?, arguments.take("schema")?)))?;
        let workload = argument("workload", workload)?;
        definitions::set_clone_schema(&workload, &argument("schema", schema)?)
    })()
    .or_raise_in(&call);
}

/// Executes the query of `bench.clone_tables`, and returns the first value of its row.
#[pg_extern(sql = false)]
fn execute_restricted(query: &str) -> Option<String> {
    let execute = || {
        Ok(Spi::connect_mut(|client| {
            client.update(query, Some(1), &[])?.first().get(1)
        })?)
    };
    restricted(server::role(), execute).or_raise()
}

/// See `sql/clone.sql`.
#[pg_extern(sql = false)]
fn lock_relations(relations: Vec<pg_sys::Oid>) {
    let now = InTransaction::current().or_raise();
    for relation in relations {
        catalog::lock_readable(now, relation);
    }
}

/// See `sql/clone.sql`.
#[pg_extern(sql = false)]
fn execute_in_one_snapshot(
    statements: Vec<String>,
    relations: Vec<pg_sys::Oid>,
) -> Rows<(name!(rows, i64), name!(seconds, f64))> {
    let execute = |now| execute_in_snapshot(now, &statements, &relations);
    let rows = InTransaction::current().and_then(execute).or_raise();
    TableIterator::new(
        rows.into_iter()
            .map(|(rows, time)| (rows as i64, time.as_secs_f64())),
    )
}

/// Returns a sequence that the process may change; see `session::spi::guard`.
#[pg_extern(sql = false)]
fn require_copy(sequence: pg_sys::Oid) -> pg_sys::Oid {
    guard::require_copy(sequence).or_raise();
    sequence
}

#[pg_extern(sql = false)]
fn workload_script(
    call: Call<'_>,
) -> TableIterator<'static, (name!(body, String), name!(defines, String))> {
    let row = (|| {
        let (mix, script, variables, wanted_seed): (
            Option<String>,
            Option<String>,
            Option<Value>,
            _,
        ) = call.read(|arguments| {
            Ok((
                arguments.take("mix")?,
                arguments.take("script")?,
                arguments.take("variables")?,
                arguments.take("seed")?,
            ))
        })?;
        let (name, script) = (argument("mix", mix)?, argument("script", script)?);
        let given = numbers(variables.as_ref());
        let scripts = workload::scripts(&format!("{name}:{script}"), 1)?;
        let Some(found) = scripts.and_then(|scripts| scripts.into_iter().next()) else {
            workload::named(&name)?;
            return Err(Error::UnknownScript {
                message: format!("workload \"{name}\" has no script \"{script}\""),
                hint: "bench.workloads lists the scripts of each mix.".into(),
            });
        };
        let wanted_seed: Option<crate::check::Seed> = wanted_seed;
        let seed = seed(wanted_seed.as_ref())?;
        let prepared = workload::prepare(std::slice::from_ref(&found), &given, seed, None, None)?;
        Ok((found.body, defines(prepared)?))
    })()
    .or_raise_in(&call);
    TableIterator::once(row)
}

/// Options for the pgbench program that set the variables of a script.
fn defines(prepared: Option<Prepared>) -> Result<String> {
    let Some(Prepared { values, .. }) = prepared else {
        // A built-in script, for which pgbench looks the scale up, but not if it is in a file.
        let row = query::first_row(
            "SELECT pg_catalog.concat('-D scale=', pg_catalog.count(*)) FROM pgbench_branches",
        )?;
        return Ok(row.into_iter().flatten().collect());
    };
    let values = values.0.iter();
    let defines = values.map(|(name, value)| format!("-D {name}={value}"));
    Ok(defines.collect::<Vec<_>>().join(" "))
}

/// The texts of a JSON object's values.
fn numbers(variables: Option<&Value>) -> BTreeMap<String, String> {
    let variables = variables.and_then(Value::as_object);
    variables
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), value.to_string().trim_matches('"').to_owned()))
        .collect()
}

#[allow(clippy::type_complexity)]
#[pg_extern(sql = false)]
fn check_workload(
    call: Call<'_>,
) -> Rows<(
    name!(condition, String),
    name!(description, String),
    name!(holds, Option<bool>),
    name!(violations, Option<i64>),
    name!(example, Option<String>),
)> {
    let rows = (|| {
        let name: Option<String> = call.read(|arguments| arguments.take("workload"))?;
        let (family, _) = workload::named(&argument("workload", name)?)?;
        if !family.checks.is_empty() {
            workload::require_tables(&family, &mut |sql| query::first_row(sql))?;
            workload::of_load(&family, &mut |sql| query::first_row(sql))?;
        }
        let found = checks::evaluate(&family.checks, &mut |sql| query::first_row(sql))?;
        let rows = found.into_iter().map(|check| {
            let RunCheck {
                condition,
                description,
                holds,
                violations,
                example,
                ..
            } = check;
            (condition, description, holds, violations, example)
        });
        Ok(rows.collect::<Vec<_>>())
    })()
    .or_raise_in(&call);
    TableIterator::new(rows)
}
