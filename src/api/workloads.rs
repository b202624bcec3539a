//! `bench.workloads`, `bench.workload_script` and `bench.check_workload`.

use crate::backend::call::{Call, OrRaiseIn};
use crate::check::{argument, seed};
use crate::error::{Error, OrRaise, Result};
use crate::query;
use crate::run::{checks, workload};
use pgrx::prelude::*;
use selfbench_model::RunCheck;
use selfbench_workload::{Family, Mix, families};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Rows<T> = TableIterator<'static, T>;

#[allow(clippy::type_complexity)]
#[pg_extern(sql = false)]
fn workloads() -> Rows<(
    name!(family, String),
    name!(mix, String),
    name!(description, String),
    name!(unit, String),
    name!(table_bytes, i64),
    name!(index_bytes, i64),
    name!(tables, Vec<String>),
    name!(scripts, Vec<String>),
    name!(variables, pgrx::JsonB),
    name!(options, pgrx::JsonB),
)> {
    let families = families().iter().map(Family::parse);
    let families: Result<Vec<Family>> = families.map(|f| f.map_err(workload::faulty)).collect();
    let rows = families.or_raise().into_iter().flat_map(|family| {
        let mixes = family.manifest.mixes.clone().into_iter();
        mixes
            .map(|mix| {
                (
                    family.name.clone(),
                    mix.name.clone(),
                    mix.description.clone(),
                    family.manifest.unit.clone(),
                    bytes(family.manifest.size.table_mb),
                    bytes(family.manifest.size.index_mb),
                    family.tables(),
                    scripts_of(&mix),
                    pgrx::JsonB(variables_of(&family)),
                    pgrx::JsonB(serde_json::to_value(mix.options).unwrap_or_default()),
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
        let prepared = workload::prepare(std::slice::from_ref(&found), &given, seed, None)?;
        let values = prepared
            .map(|prepared| prepared.values.0)
            .unwrap_or_default();
        let defines = values
            .iter()
            .map(|(name, value)| format!("-D {name}={value}"));
        let defines: Vec<String> = defines.collect();
        Ok((found.body, defines.join(" ")))
    })()
    .or_raise_in(&call);
    TableIterator::once(row)
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
