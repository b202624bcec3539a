//! Workloads in a run, those of the library and the role's own: the scripts of a mix, and the values of their
//! variables, which come from the tables.

use super::captured::search_path;
use super::definitions;
use super::script::{MixName, ScriptSpec, built_in, user_script};
use crate::backend::activity;
use crate::check::in_range;
use crate::database::remote::Remote;
use crate::error::{Error, Result, message};
use crate::options::nearest;
use crate::pq::ConnectWith;
use crate::query::{self, quote_literal};
use crate::security::{restricted, with_search_path};
use crate::server;
use selfbench_script::builtin;
use selfbench_workload::{
    Captured, Check, Family, Given, Loader, Manifest, Mix, MixOptions, Values, WorkloadError,
    find_mix,
};
use std::collections::BTreeMap;
use std::ffi::CString;

/// The hint for pgio's workload.
pub const PGIO_FUNCTIONS: &str =
    "bench.initialize_pgio loads pgio's tables, bench.run_pgio executes its workload.";

/// The table beside a family's tables that says what they hold.
pub const TABLE: &str = "bench_workload";

/// Its columns.
const COLUMNS: [&str; 8] = [
    "family text",
    "scale bigint",
    "variables jsonb",
    "seed bigint",
    "constants jsonb",
    "started_at timestamp with time zone",
    "loaded_at timestamp with time zone",
    "created jsonb",
];

/// Executes a query whose columns are texts and returns its first row.
pub type FirstRow<'q> = dyn FnMut(&str) -> Result<Vec<Option<String>>> + 'q;

/// Values that the scripts of a workload need.
pub struct Prepared {
    /// Name of the family.
    pub family: String,
    /// Origin of a captured workload.
    pub captured: Option<Captured>,
    /// Scale of the tables.
    pub scale: i64,
    /// Variables and constants.
    pub values: Values,
    /// Defaults of options of runs.
    pub options: MixOptions,
}

/// The families of the library, then the current role's own.
pub fn families() -> Result<(Vec<Family>, Vec<Family>)> {
    let of_library = selfbench_workload::families().iter().map(Family::parse);
    let of_library = of_library.collect::<Result<_, _>>().map_err(faulty)?;
    Ok((of_library, definitions::families()?))
}

/// The family or mix of that name, if there is one.
pub fn find(name: &str) -> Result<Option<(Family, Option<Mix>)>> {
    if let Some(found) = find_mix(name).map_err(faulty)? {
        return Ok(Some(found));
    }
    let own = definitions::find(name)?;
    Ok(own.map(|family| {
        let mix = family.mix(name).cloned();
        (family, mix)
    }))
}

/// The family or mix of that name.
pub fn named(name: &str) -> Result<(Family, Option<Mix>)> {
    if let Some(found) = find(name)? {
        return Ok(found);
    }
    let (mut known, own) = families()?;
    known.extend(own);
    let families = known.iter().map(|family| family.name.as_str());
    Err(Error::UnknownWorkload {
        name: name.to_owned(),
        nearest: nearest(name, families.chain(mixes_of(&known))).map(str::to_owned),
    })
}

/// The name of a mix, or another one, that may have been meant.
pub fn meant(name: &str, others: &[&str]) -> Result<Option<String>> {
    let (mut known, own) = families()?;
    known.extend(own);
    let names = others.iter().copied().chain(mixes_of(&known));
    Ok(nearest(name, names).map(str::to_owned))
}

fn mixes_of(families: &[Family]) -> impl Iterator<Item = &str> {
    let mixes = families.iter().flat_map(|family| &family.manifest.mixes);
    mixes.map(|mix| mix.name.as_str())
}

/// The scripts of a mix, or the one that `mix:script` names, with their weights times `weight`; `None` if
/// there is no such mix.
pub fn scripts(name: &str, weight: i64) -> Result<Option<Vec<ScriptSpec>>> {
    let (mix_name, wanted) = match name.split_once(':') {
        Some((mix, script)) => (mix, Some(script)),
        None => (name, None),
    };
    let Some((family, mix)) = find(mix_name)? else {
        return Ok(None);
    };
    let Some(mix) = mix else {
        let mixes: Vec<_> = family
            .manifest
            .mixes
            .iter()
            .map(|mix| mix.name.as_str())
            .collect();
        return Err(Error::UnknownScript {
            message: format!("\"{name}\" is a family of workloads, not a mix of scripts"),
            hint: match family.manifest.loader {
                Some(Loader::Pgio) => PGIO_FUNCTIONS.into(),
                _ => format!("Its mixes are {}.", mixes.join(", ")),
            },
        });
    };
    if let (Some(Loader::Pgbench), Ok(script)) =
        (family.manifest.loader, builtin::find_builtin(&mix.name))
        && (wanted.is_none() || wanted == Some(script.name))
    {
        return Ok(Some(vec![built_in(script, weight)]));
    }
    if mix.scripts.is_empty() {
        return Err(Error::OptionConflict {
            message: format!("no statement of workload \"{}\" can be executed", mix.name),
            hint: "Set values for their parameters with bench.set_parameter; bench.captured_parameters lists them."
                .into(),
        });
    }
    let of_mix = mix.scripts.iter().map(|script| ScriptSpec {
        weight: script.weight.saturating_mul(weight),
        workload: Some(MixName {
            family: family.name.clone(),
            mix: mix.name.clone(),
            rolled_back: family.manifest.rolled_back.clone(),
            limit_ms: script.limit_ms,
            per_minute: script.per_minute.clone(),
        }),
        ..user_script(
            &format!("{}:{}", mix.name, script.name),
            script
                .transaction
                .clone()
                .unwrap_or_else(|| script.name.clone()),
            family.body(script).to_owned(),
            1,
        )
    });
    let Some(script) = wanted else {
        return Ok(Some(of_mix.collect()));
    };
    let found = of_mix
        .zip(&mix.scripts)
        .find(|(_, listed)| listed.name == script);
    match found {
        Some((spec, _)) => Ok(Some(vec![ScriptSpec { weight, ..spec }])),
        None => {
            let names: Vec<_> = mix
                .scripts
                .iter()
                .map(|script| script.name.as_str())
                .collect();
            Err(Error::UnknownScript {
                message: format!("mix \"{mix_name}\" has no script \"{script}\""),
                hint: format!("Its scripts are {}.", names.join(", ")),
            })
        }
    }
}

/// The values for scripts, if they are of a workload: `given` by the user, of the tables that the session
/// or the target finds or, with a scale, of those that will be loaded at that scale with the seed of the
/// run, and drawn with this seed.
pub fn prepare(
    scripts: &[ScriptSpec],
    given: &BTreeMap<String, String>,
    seed: u64,
    target: Option<&ConnectWith>,
    scale: Option<i32>,
) -> Result<Option<Prepared>> {
    let mut names = scripts.iter().filter_map(|script| script.workload.as_ref());
    let Some(first) = names.next() else {
        return Ok(None);
    };
    if let Some(other) = names.find(|name| name.family != first.family) {
        return Err(Error::OptionConflict {
            message: format!(
                "scripts of the workloads \"{}\" and \"{}\" cannot be mixed",
                first.mix, other.mix
            ),
            hint: "A run has scripts of one family of workloads, besides your own.".into(),
        });
    }
    let Some((family, Some(mix))) = find(&first.mix)? else {
        return Ok(None);
    };
    values(&family, &mix, given, seed, target, scale).map(Some)
}

/// The values for the scripts of a mix.
fn values(
    family: &Family,
    mix: &Mix,
    given: &BTreeMap<String, String>,
    seed: u64,
    target: Option<&ConnectWith>,
    scale: Option<i32>,
) -> Result<Prepared> {
    let manifest = &family.manifest;
    let constants = || {
        manifest
            .load_constants
            .iter()
            .chain(&manifest.run_constants)
    };
    let given = |wanted: &str| -> Result<Option<i64>> {
        let Some(text) = given.get(wanted) else {
            return Ok(None);
        };
        text.parse().map(Some).map_err(|_| Error::OptionConflict {
            message: format!(
                "variable \"{wanted}\" of workload \"{}\" is not an integer",
                mix.name
            ),
            hint: "Give an integer, or leave it out to get that of the tables.".into(),
        })
    };
    let mut variables = Given::new();
    for variable in &manifest.variables {
        if let Some(value) = given(&variable.name)? {
            variables.insert(variable.name.clone(), value);
        }
    }
    let found = match (scale, target) {
        _ if manifest.captured.is_some() => of_capture(family, variables, target)?,
        (Some(scale), _) => {
            Found::Loaded(Load::planned(manifest, scale, seed)?.values(family, variables)?)
        }
        (None, None) => look_up(family, &mut restricted_row, variables)?,
        (None, Some(target)) => activity::unchanged(|| {
            let mut remote = Remote::connect(target)?;
            look_up(family, &mut |sql| remote.first_row(sql), variables)
        })?,
    };
    let mut values = match found {
        Found::Loaded(values) => values,
        Found::Foreign(detected) => {
            let told: Vec<String> = detected
                .iter()
                .map(|(n, v)| format!("{n} is {v}"))
                .collect();
            message::notice(format_args!(
                "the tables of workload \"{}\" have not been loaded by bench.initialize: {}",
                family.name,
                told.join(", ")
            ));
            let scale = scale_of(family, &detected)?;
            let mut values = Values::of(manifest, scale, &detected).map_err(faulty)?;
            values
                .draw(&manifest.load_constants, seed)
                .map_err(faulty)?;
            values
        }
    };
    values.draw(&manifest.run_constants, seed).map_err(faulty)?;
    for constant in constants() {
        if let Some(value) = given(&constant.name)? {
            values.0.insert(constant.name.clone(), value);
        }
    }
    Ok(Prepared {
        family: family.name.clone(),
        captured: manifest.captured.clone(),
        scale: values.0.get("scale").copied().unwrap_or(1),
        values,
        options: mix.options,
    })
}

/// The conditions on the rows of the families of some scripts. Pgbench's built-in scripts may be beside those of
/// another family; their conditions are then named after the families.
pub fn checks(scripts: &[ScriptSpec]) -> Result<Vec<Check>> {
    let mut families: Vec<_> = scripts.iter().filter_map(ScriptSpec::family).collect();
    families.sort_unstable();
    families.dedup();
    let are_several = families.len() > 1;
    let mut checks = Vec::new();
    for family in families {
        checks.extend(named(family)?.0.checks.into_iter().map(|check| Check {
            name: match are_several {
                true => format!("{family}: {}", check.name),
                false => check.name,
            },
            ..check
        }));
    }
    Ok(checks)
}

/// The values for a captured workload, which has no tables of its own: what is detected there depends on the
/// tables as they are when a run starts, the originals and their copies.
fn of_capture(family: &Family, mut values: Given, target: Option<&ConnectWith>) -> Result<Found> {
    let variables = &family.manifest.variables;
    let mut paths = Vec::new();
    if let Some(captured) = &family.manifest.captured {
        if let Some(schema) = &captured.clone_schema {
            paths.push(search_path(captured, Some(schema))?);
        }
        if paths.is_empty() || target.is_none() {
            paths.push(search_path(captured, None)?);
        }
    }
    let mut detected = Given::new();
    let mut detect = |first_row: &mut FirstRow<'_>| -> Result<()> {
        for variable in variables {
            let Some(query) = variable
                .detect
                .as_ref()
                .filter(|_| !values.contains_key(&variable.name))
            else {
                continue;
            };
            let row = first_row(&format!("SELECT ({query}\n)::pg_catalog.text"))?;
            let found = row.into_iter().next().flatten();
            if let Some(value) = found.and_then(|text| text.parse::<i64>().ok()) {
                let greatest = detected.entry(variable.name.clone()).or_insert(value);
                *greatest = value.max(*greatest);
            }
        }
        Ok(())
    };
    match target {
        _ if variables.is_empty() => {}
        None => {
            for path in &paths {
                let path = CString::new(path.as_str()).unwrap_or_default();
                with_search_path(&path, || detect(&mut restricted_row))?;
            }
        }
        Some(target) => activity::unchanged(|| {
            let mut remote = Remote::connect(target)?;
            for path in &paths {
                let path = quote_literal(path);
                remote.first_row(&format!(
                    "SELECT pg_catalog.set_config('search_path', {path}, false)"
                ))?;
                detect(&mut |sql| remote.first_row(sql))?;
            }
            Ok::<_, Error>(())
        })?,
    }
    values.extend(detected);
    Ok(Found::Loaded(
        Values::of(&family.manifest, 1, &values).map_err(faulty)?,
    ))
}

/// The first row of a query on this server, which may call functions of the owners of the tables.
fn restricted_row(sql: &str) -> Result<Vec<Option<String>>> {
    restricted(server::role(), || query::first_row(sql))
}

/// Contents of tables.
enum Found {
    /// Loaded here: all values.
    Loaded(Values),
    /// Made by another tool: variables as far as they are given or can be detected.
    Foreign(Given),
}

/// Fails if a table of a family is missing, where `first_row` executes queries.
pub fn require_tables(family: &Family, first_row: &mut FirstRow<'_>) -> Result<()> {
    let tables = family.tables();
    let listed: Vec<_> = tables.iter().map(|table| quote_literal(table)).collect();
    let row = first_row(&format!(
        "SELECT (SELECT t.name FROM pg_catalog.unnest(ARRAY[{}]::pg_catalog.text[])
                   WITH ORDINALITY t (name, number)
                  WHERE pg_catalog.to_regclass(pg_catalog.quote_ident(t.name)) IS NULL
                  ORDER BY t.number LIMIT 1)",
        listed.join(", ")
    ))?;
    match row.into_iter().next().flatten() {
        None => Ok(()),
        Some(table) => Err(Error::TableMissing {
            table,
            hint: format!(
                "Create and fill the tables with SELECT * FROM bench.initialize('{}'), or set \
                 search_path so that they are found.",
                family.name
            ),
        }),
    }
}

/// Load of a family, as its row of `bench_workload` says.
pub struct Load {
    scale: i64,
    variables: Given,
    constants: Given,
}

impl Load {
    /// The load by `bench.initialize` at a scale, with a seed.
    fn planned(manifest: &Manifest, scale: i32, seed: u64) -> Result<Load> {
        let scale = in_range("scale", i64::from(scale), 1, manifest.max_scale)?;
        let mut values = Values::of(manifest, scale, &Given::new()).map_err(faulty)?;
        values
            .draw(&manifest.load_constants, seed)
            .map_err(faulty)?;
        Ok(Load {
            scale,
            variables: Given::new(),
            constants: values.0,
        })
    }

    /// The values of its tables, with other variables where they are given.
    fn values(self, family: &Family, given: Given) -> Result<Values> {
        let manifest = &family.manifest;
        let mut of_tables = self.variables;
        of_tables.retain(|name, _| manifest.variables.iter().any(|v| v.name == *name));
        of_tables.extend(given);
        let mut values = Values::of(manifest, self.scale, &of_tables).map_err(faulty)?;
        let constants = &manifest.load_constants;
        let known = |name: &String| constants.iter().any(|constant| constant.name == *name);
        values
            .0
            .extend(self.constants.into_iter().filter(|(name, _)| known(name)));
        Ok(values)
    }
}

/// Whether there is the table `bench_workload`, where `first_row` executes queries.
///
/// # Errors
/// If it is a view, has policies, or columns of other types. It does not keep out a role that owns the schema, and
/// can replace the table behind this check: whoever uses its tables executes its triggers anyway.
pub fn has_loads(first_row: &mut FirstRow<'_>) -> Result<bool> {
    let row = first_row(&format!(
        "SELECT (c.relkind OPERATOR(pg_catalog.=) 'r' AND NOT c.relrowsecurity)::pg_catalog.text,
                (SELECT pg_catalog.json_agg(pg_catalog.concat_ws(' ', a.attname,
                            pg_catalog.format_type(a.atttypid, a.atttypmod)) ORDER BY a.attnum)
                   FROM pg_catalog.pg_attribute a
                  WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
                    AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped)::pg_catalog.text
           FROM pg_catalog.pg_class c
          WHERE c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass('{TABLE}')"
    ))?;
    let [plain, columns] = row.as_slice() else {
        return Ok(false);
    };
    if plain.as_deref() != Some("true") {
        return Err(not_usable(
            "it is no table, or has row-level security".into(),
        ));
    }
    let columns = columns.as_deref().map(serde_json::from_str::<Vec<String>>);
    match other_columns(&columns.and_then(Result::ok).unwrap_or_default()) {
        Some(why) => Err(not_usable(why)),
        None => Ok(true),
    }
}

/// Why a table with these columns, each a name and a type, is not `bench_workload`.
pub fn other_columns(found: &[String]) -> Option<String> {
    // With quote_all_identifiers, format_type quotes these types.
    let quoted = COLUMNS.map(|column| match column.split_once(' ') {
        Some((name, kind @ ("text" | "jsonb"))) => format!("{name} \"{kind}\""),
        _ => column.to_owned(),
    });
    (found != COLUMNS && found != quoted).then(|| {
        let [found, expected] = [found.join(", "), COLUMNS.join(", ")];
        format!("its columns are ({found}), not ({expected})")
    })
}

fn not_usable(why: String) -> Error {
    Error::NotUsable {
        relation: TABLE.into(),
        why,
    }
}

/// The load of a family's tables by `bench.initialize`; `None` if they were made by another tool.
///
/// # Errors
/// If the load did not end, or the tables have lost their rows since.
pub fn of_load(family: &Family, first_row: &mut FirstRow<'_>) -> Result<Option<Load>> {
    if !has_loads(first_row)? {
        return Ok(None);
    }
    let row = first_row(&format!(
        "SELECT w.scale::pg_catalog.text, w.variables::pg_catalog.text,
                w.constants::pg_catalog.text, w.loaded_at::pg_catalog.text
           FROM ONLY {TABLE} w WHERE w.family OPERATOR(pg_catalog.=) {}",
        quote_literal(&family.name)
    ))?;
    let [scale, variables, constants, loaded_at] = row.as_slice() else {
        return Ok(None);
    };
    let empty = |why: &str| Error::TableEmpty {
        table: family
            .load
            .first()
            .map_or(String::new(), |query| query.table.clone()),
        hint: format!(
            "{why} Repeat it with SELECT * FROM bench.initialize('{}').",
            family.name
        ),
    };
    if loaded_at.is_none() {
        return Err(empty("The load of the tables did not end."));
    }
    let is_true = |row: Vec<Option<String>>| row.first() == Some(&Some("true".into()));
    if is_true(first_row(&without_pages(family))?) {
        return Err(empty(
            "The unlogged tables have lost their rows since their load, in a crash.",
        ));
    }
    let unreadable = || {
        not_usable(format!(
            "its row of workload \"{}\" has invalid values",
            family.name
        ))
    };
    let numbers = |text: &Option<String>| -> Result<Given> {
        let found = text
            .as_deref()
            .and_then(|text| serde_json::from_str(text).ok());
        found.ok_or_else(unreadable)
    };
    let scale = scale.as_deref().and_then(|text| text.parse().ok());
    let valid = 1..=family.manifest.max_scale;
    Ok(Some(Load {
        scale: scale
            .filter(|scale| valid.contains(scale))
            .ok_or_else(unreadable)?,
        variables: numbers(variables)?,
        constants: numbers(constants)?,
    }))
}

fn look_up(family: &Family, first_row: &mut FirstRow<'_>, mut variables: Given) -> Result<Found> {
    if let Some(load) = of_load(family, first_row)? {
        return load.values(family, variables).map(Found::Loaded);
    }
    require_tables(family, first_row)?;
    for variable in &family.manifest.variables {
        if let (Some(sql), false) = (variable.detection(), variables.contains_key(&variable.name)) {
            let value = first_row(&sql)?.into_iter().next().flatten();
            if let Some(value) = value.and_then(|text| text.parse().ok()) {
                variables.insert(variable.name.clone(), value);
            }
        }
    }
    Ok(Found::Foreign(variables))
}

/// The query that tells whether all tables of a family are unlogged and empty files. It needs no privilege
/// on them.
fn without_pages(family: &Family) -> String {
    let tables = family.load.iter().map(|query| quote_literal(&query.table));
    format!(
        "SELECT pg_catalog.bool_and(c.relkind OPERATOR(pg_catalog.=) 'r'
                    AND c.relpersistence OPERATOR(pg_catalog.=) 'u'
                    AND pg_catalog.pg_relation_size(c.oid) OPERATOR(pg_catalog.=) 0)::pg_catalog.text
           FROM pg_catalog.unnest(ARRAY[{}]) t (name)
           JOIN pg_catalog.pg_class c
             ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(pg_catalog.quote_ident(t.name))",
        tables.collect::<Vec<_>>().join(", ")
    )
}

/// Scale of tables with these variables: the one at which defaults give the first of them.
fn scale_of(family: &Family, detected: &Given) -> Result<i64> {
    let at_one = Values::of(&family.manifest, 1, &Given::new()).map_err(faulty)?;
    let mut variables = family.manifest.variables.iter();
    let ratio = variables.find_map(|variable| {
        let found = *detected.get(&variable.name)?;
        let unit = *at_one.0.get(&variable.name)?;
        (unit > 0).then(|| found / unit)
    });
    Ok(ratio.unwrap_or(1).max(1))
}

/// The error for a fault of a workload.
pub fn faulty(error: WorkloadError) -> Error {
    Error::OptionConflict {
        message: error.to_string(),
        hint: "bench.workloads lists the variables of each workload with their ranges.".into(),
    }
}
