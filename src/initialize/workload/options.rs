//! The options of `bench.initialize` for a workload, checked.

use super::spec::{References, RowQuery, WORKLOADS, WorkloadSpec};
use crate::backend::identity::Identity;
use crate::backend::settings;
use crate::backend::statement::{self, Created};
use crate::check::{self, Seed, in_range, invalid};
use crate::error::{Error, Result};
use crate::initialize::options::{CommonOptions, InitializeOptions};
use crate::options::options;
use crate::query;
use crate::run::workload;
use selfbench_script::Rng;
use selfbench_workload::{Family, Given, Manifest, Values, WorkloadError};
use serde_json::Value;

/// Bytes of a megabyte of manifests.
const MEGABYTE: f64 = (1 << 20) as f64;
/// Most rows of a load.
const MAX_ROWS: i64 = i64::MAX / 4;

selfbench_catalog::initialize_workload_options!(options! {
    /// The options of `bench.initialize` for a workload.
    pub struct WorkloadOptions
});

impl WorkloadOptions {
    /// Options for pgbench's tables, whose rows are always the same.
    pub fn of_pgbench(&self) -> Result<InitializeOptions> {
        if self.seed.is_some() || self.variables.is_some() {
            return Err(Error::OptionConflict {
                message: "pgbench's tables have neither \"seed\" nor \"variables\"".into(),
                hint: "Leave them out: the rows depend on the scale alone.".into(),
            });
        }
        let default = InitializeOptions::default();
        Ok(InitializeOptions {
            scale: self.scale,
            steps: self.steps.clone().unwrap_or_else(|| default.steps.clone()),
            workers: self.workers,
            target: self.target.clone(),
            tablespace: self.tablespace.clone(),
            index_tablespace: self.tablespace.clone(),
            unlogged: self.unlogged,
            force: self.force,
            ..default
        })
    }

    /// Checks everything that can be checked before something is dropped, but for the space.
    pub fn check(&self, workload: &str) -> Result<WorkloadSpec> {
        let family = workload::named(workload)?.0;
        let drops_only = match self.steps.as_deref() {
            None => false,
            Some("d") => true,
            Some(steps) => {
                let valid = "The valid step is \"d\"; NULL is all of them.";
                return Err(invalid("steps", format!("\"{steps}\""), valid));
            }
        };
        let manifest = &family.manifest;
        if manifest.captured.is_some() {
            return Err(Error::OptionConflict {
                message: format!(
                    "workload \"{workload}\" was captured and has no tables of its own"
                ),
                hint: "bench.clone_tables copies the tables that its scripts use.".into(),
            });
        }
        let scale = i64::from(self.scale);
        let scale = in_range("scale", scale, 1, manifest.max_scale)?;
        let given = given(self.variables.as_ref())?;
        let mut values = Values::of(manifest, scale, &given).map_err(|e| refused(&family, &e))?;
        let seed = check::seed(self.seed.as_ref())?;
        let variables = without_scale(&values);
        values
            .draw(&manifest.load_constants, seed)
            .map_err(|error| broken(&family, &error))?;
        let mut constants = without_scale(&values);
        constants.retain(|name, _| !variables.contains_key(name));
        let (mut tables, mut routines) = (Vec::new(), Vec::new());
        for sql in &family.schema {
            match statement::created(sql)? {
                Some(Created::Table(name)) => tables.push(name),
                Some(Created::Routine(name)) => routines.push(name),
                None => {}
            }
        }
        let queries = queries(&family, &values)?;
        require_functions(&queries)?;
        let named: Vec<_> = tables.iter().map(|name| escaped(name)).collect();
        let common = CommonOptions {
            what: "the tables of a workload",
            named: &format!("^({}|{WORKLOADS})$", named.join("|")),
            tablespace: self.tablespace.as_deref(),
            index_tablespace: None,
            target: self.target.as_deref(),
            workers: self.workers,
        };
        let target = common.check(true)?;
        // The manifest says what a scale takes: with other variables, more or less in proportion to the rows.
        let usual = Values::of(manifest, scale, &Given::new()).and_then(|mut usual| {
            usual.draw(&manifest.load_constants, seed)?;
            Ok(usual)
        });
        let rows =
            |queries: &[RowQuery]| queries.iter().map(|query| query.rows as f64).sum::<f64>();
        // Variables may be given because their defaults are not valid at this scale.
        let usual = usual
            .ok()
            .and_then(|usual| self::queries(&family, &usual).ok());
        let share = usual.map_or(1.0, |usual| rows(&queries) / rows(&usual).max(1.0));
        let (table_bytes, index_bytes) = bytes(manifest, scale, share);
        Ok(WorkloadSpec {
            identity: Identity::current(),
            family: family.name,
            scale,
            variables,
            constants,
            seed,
            schema: family.schema,
            tables,
            routines,
            queries,
            finish: family.finish,
            table_bytes,
            index_bytes,
            unlogged: self.unlogged,
            tablespace: self.tablespace.clone(),
            force: self.force,
            drops_only,
            settings: settings::of_session()?,
            target,
            workers: self.workers,
        })
    }
}

/// Variables that a user gives.
fn given(variables: Option<&Value>) -> Result<Given> {
    let valid = "A JSON object of integers, such as {\"items\": 1000}.";
    let Some(document) = variables else {
        return Ok(Given::new());
    };
    let Value::Object(entries) = document else {
        return Err(invalid("variables", document.to_string(), valid));
    };
    entries
        .iter()
        .map(|(name, value)| match value.as_i64() {
            Some(number) => Ok((name.clone(), number)),
            None => Err(invalid(
                "variables",
                format!("\"{name}\" is {value}"),
                valid,
            )),
        })
        .collect()
}

/// The error for variables that a family does not accept.
fn refused(family: &Family, error: &WorkloadError) -> Error {
    let variables = &family.manifest.variables;
    match error {
        WorkloadError::UnknownVariable(name) => {
            let names: Vec<_> = variables
                .iter()
                .map(|v| format!("\"{}\"", v.name))
                .collect();
            let valid = match names.is_empty() {
                true => format!("Workload \"{}\" has no variables.", family.name),
                false => format!("Workload \"{}\" has {}.", family.name, names.join(", ")),
            };
            invalid("variables", format!("unknown variable \"{name}\""), &valid)
        }
        WorkloadError::OutOfRange {
            name,
            value,
            min,
            max,
        } => invalid(
            "variables",
            format!("\"{name}\" is {value}"),
            &format!("The valid range is {min} to {max}."),
        ),
        error => broken(family, error),
    }
}

fn broken(family: &Family, error: &WorkloadError) -> Error {
    Error::Limit(format!("workload \"{}\": {error}", family.name))
}

fn without_scale(values: &Values) -> Given {
    let mut values = values.0.clone();
    values.remove("scale");
    values
}

/// The queries with the numbers of their parts and rows.
fn queries(family: &Family, values: &Values) -> Result<Vec<RowQuery>> {
    let number = |table: &str, text: &str| {
        // No generator: numbers of rows do not depend on the seed.
        let number = values.evaluate(table, text, &mut Rng::from_seed(0));
        let number = number.map_err(|error| broken(family, &error))?;
        in_range("scale", number, 0, MAX_ROWS)
    };
    let query = |query: &selfbench_workload::LoadQuery| {
        let parts = number(&query.table, &query.parts)? as u64;
        let each = number(&query.table, &query.rows)? as u64;
        let at_most = match &query.at_most {
            Some(text) => number(&query.table, text)? as u64,
            None => each,
        };
        Ok(RowQuery {
            table: query.table.clone(),
            sql: query.sql.clone(),
            target: String::new(),
            columns: Vec::new(),
            references: References::Nothing,
            parts,
            rows: parts.saturating_mul(each),
            at_most,
        })
    };
    family.load.iter().map(query).collect()
}

/// Fails if the current role may not execute the functions of schema `bench` that queries use.
fn require_functions(queries: &[RowQuery]) -> Result<()> {
    let texts: Vec<_> = queries.iter().map(|query| query.sql.as_str()).collect();
    let missing = query::first_value::<String>(
        "SELECT pg_catalog.min(p.proname::pg_catalog.text) FROM pg_catalog.pg_proc p
          WHERE p.pronamespace OPERATOR(pg_catalog.=) 'bench'::pg_catalog.regnamespace
            AND pg_catalog.strpos($1, pg_catalog.concat('bench.', p.proname, '('))
                OPERATOR(pg_catalog.>) 0
            AND NOT pg_catalog.has_function_privilege(p.oid, 'EXECUTE')",
        &[texts.concat().into()],
    )?;
    match missing {
        None => Ok(()),
        Some(name) => Err(Error::Denied {
            what: format!("function bench.{name}"),
            hint:
                "The rows of the workload are made with it. Ask for the EXECUTE privilege, which \
                   bench.grant_to grants."
                    .into(),
        }),
    }
}

/// Bytes of tables and of indexes at a scale, with that multiple of the rows.
fn bytes(manifest: &Manifest, scale: i64, share: f64) -> (u64, u64) {
    let size = &manifest.size;
    let bytes = |each: f64, fixed: f64| ((each * scale as f64 + fixed) * share * MEGABYTE) as u64;
    (
        bytes(size.table_mb, size.fixed_table_mb),
        bytes(size.index_mb, size.fixed_index_mb),
    )
}

/// A name in a regular expression.
fn escaped(name: &str) -> String {
    let special = |c: char| !c.is_alphanumeric() && c != '_';
    let escape = |c| {
        if special(c) {
            format!("\\{c}")
        } else {
            c.to_string()
        }
    };
    name.chars().map(escape).collect()
}
