//! Rules for every family, beyond those of parsing.

use crate::error::WorkloadError;
use crate::family::Family;
use crate::manifest::{Manifest, Mix};
use crate::values::{Given, Values};
use selfbench_script::{Protocol, Rng, SqlCommand, Symbols, WorkloadBuilder, valid_variable_name};
use std::collections::BTreeSet;

/// The longest name, in bytes.
const MAX_NAME_BYTES: usize = 63;

/// Whether a family, a mix or a script of a mix can have that name: it never needs quotes, and no list of
/// scripts takes a part of it for something else.
pub fn is_name(name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(is_part)
}

impl Family {
    /// Checks names, ranges and expressions at scale 1, and that scripts parse and find all variables.
    ///
    /// # Errors
    /// The first that is not right.
    pub fn check(&self) -> Result<(), WorkloadError> {
        let manifest = &self.manifest;
        named("workload", [self.name.as_str()])?;
        named("mix", manifest.mixes.iter().map(|mix| mix.name.as_str()))?;
        if manifest.loader.is_none() {
            require(!manifest.mixes.is_empty(), || "no mix".into())?;
            let is_captured = manifest.captured.is_some();
            require(is_captured == self.load.is_empty(), || match is_captured {
                true => "a query of rows, which a captured workload does not have".into(),
                false => "no query of rows".into(),
            })?;
        }
        unique("condition", self.checks.iter().map(|c| c.name.as_str()))?;
        check_sizes(manifest)?;
        let values = check_values(manifest)?;
        for query in &self.load {
            let at_most = query.at_most.as_ref().unwrap_or(&query.rows);
            for (what, text) in [
                ("parts", &query.parts),
                ("rows", &query.rows),
                ("most rows", at_most),
            ] {
                let name = format!("{what} of {}", query.table);
                let number = values.evaluate(&name, text, &mut Rng::from_seed(0))?;
                require(number >= 0, || format!("number of {name} is {number}"))?;
            }
        }
        for mix in &manifest.mixes {
            self.check_mix(mix, &values)?;
        }
        let used = |file: &String| {
            let mut scripts = manifest.mixes.iter().flat_map(|mix| &mix.scripts);
            scripts.any(|script| script.file() == file)
        };
        match self.scripts.keys().find(|file| !used(file)) {
            Some(file) => Err(rule(format!("no mix has script \"{file}\""))),
            None => Ok(()),
        }
    }

    fn check_mix(&self, mix: &Mix, values: &Values) -> Result<(), WorkloadError> {
        let of_mix = format!("of mix \"{}\"", mix.name);
        if mix.scripts.is_empty() && self.manifest.captured.is_some() {
            // Values for its statements have still to be given.
            return Ok(());
        }
        require(!mix.scripts.is_empty(), || {
            format!("mix \"{}\" has no scripts", mix.name)
        })?;
        named("script", mix.scripts.iter().map(|s| s.name.as_str()))?;
        let mut builder = WorkloadBuilder::new(Protocol::Prepared);
        for script in &mix.scripts {
            let name = &script.name;
            require((1..=i64::from(i32::MAX)).contains(&script.weight), || {
                let weight = script.weight;
                format!("script \"{name}\" {of_mix} has the weight {weight}, not 1 to 2147483647")
            })?;
            require(script.limit_ms.is_none_or(|limit| limit > 0.0), || {
                format!("script \"{name}\" {of_mix} has a \"limit_ms\" that is not above 0")
            })?;
            builder
                .add(name, name, self.body(script), script.weight)
                .map_err(|error| WorkloadError::Script(Box::new(error)))?;
        }
        require(mix.options.max_tries.is_none_or(|tries| tries > 0), || {
            format!("\"max_tries\" {of_mix} is not above 0")
        })?;
        let workload = builder
            .finish()
            .map_err(|error| WorkloadError::Script(Box::new(error)))?;
        let any = |_: &SqlCommand| Ok::<_, WorkloadError>(None);
        let unset = workload.unset_variables(|name| values.0.contains_key(name), any)?;
        match unset.mentions.first() {
            Some(mention) => Err(rule(format!(
                "script \"{}\" {of_mix} mentions \"{}\" in line {}, which neither it nor the manifest sets",
                mention.script.name,
                mention.name,
                mention.line()
            ))),
            None => Ok(()),
        }
    }
}

fn check_sizes(manifest: &Manifest) -> Result<(), WorkloadError> {
    require(manifest.max_scale > 0, || {
        format!("\"max_scale\" is {}, not above 0", manifest.max_scale)
    })?;
    let size = &manifest.size;
    let mut sizes = [
        size.table_mb,
        size.index_mb,
        size.fixed_table_mb,
        size.fixed_index_mb,
    ]
    .into_iter();
    require(sizes.all(|mb| mb >= 0.0), || {
        "\"size\" has a number below 0".into()
    })
}

/// Values at scale 1.
fn check_values(manifest: &Manifest) -> Result<Values, WorkloadError> {
    let variables = manifest.variables.iter().map(|v| v.name.as_str());
    let constants = manifest
        .load_constants
        .iter()
        .chain(&manifest.run_constants);
    let names: Vec<&str> = variables
        .chain(constants.map(|constant| constant.name.as_str()))
        .collect();
    let automatic = Symbols::new();
    let is_free = |name: &&str| valid_variable_name(name) && automatic.find(name).is_none();
    if let Some(name) = names.iter().find(|name| !is_free(name)) {
        return Err(rule(format!(
            "\"{name}\" cannot be the name of a variable: it has letters, digits and underscores, does not \
             begin with a digit, and is not one that is always there, such as \"scale\""
        )));
    }
    unique("variable", names)?;
    for variable in &manifest.variables {
        require(variable.min <= variable.max, || {
            format!(
                "variable \"{}\" has a \"min\" above its \"max\"",
                variable.name
            )
        })?;
    }
    let rolled_back = manifest.rolled_back.as_deref();
    require(rolled_back.is_none_or(valid_variable_name), || {
        "\"rolled_back\" is not the name of a variable".into()
    })?;
    let mut values = Values::of(manifest, 1, &Given::new())?;
    values.draw(&manifest.load_constants, 0)?;
    values.draw(&manifest.run_constants, 0)?;
    Ok(values)
}

fn rule(message: String) -> WorkloadError {
    WorkloadError::Rule(message)
}

fn require(holds: bool, message: impl FnOnce() -> String) -> Result<(), WorkloadError> {
    match holds {
        true => Ok(()),
        false => Err(rule(message())),
    }
}

/// Fails unless these are names, each of one thing.
fn named<'n>(what: &str, names: impl IntoIterator<Item = &'n str>) -> Result<(), WorkloadError> {
    let names: Vec<&str> = names.into_iter().collect();
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Err(rule(format!(
            "invalid name of a {what}: \"{name}\" (a name has 1 to {MAX_NAME_BYTES} bytes of letters, \
             digits, underscores and hyphens)"
        )));
    }
    unique(what, names)
}

fn unique<'n>(what: &str, names: impl IntoIterator<Item = &'n str>) -> Result<(), WorkloadError> {
    let mut seen = BTreeSet::new();
    match names.into_iter().find(|name| !seen.insert(*name)) {
        Some(name) => Err(rule(format!("two of {what} \"{name}\""))),
        None => Ok(()),
    }
}
