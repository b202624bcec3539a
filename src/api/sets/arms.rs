//! Arms: the parts of a set that differ in their options. A document has an object of run options
//! for each, which win over the options that are given for all.

use crate::check::invalid;
use crate::database::target;
use crate::error::{Error, Result};
use crate::options::Options;
use crate::run::{Mode, ReadSets, RunOptions, RunSpec};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Longest name, in bytes.
const MAX_NAME_BYTES: usize = 200;
/// Longest part of a name that is made of an option, in characters.
const MAX_PART: usize = 40;
/// Keys of an arm that are not options of runs.
const NAME: &str = "name";
const BASELINE: &str = "baseline";
pub const OWN: [&str; 2] = [NAME, BASELINE];
/// Options that all arms have in common: the seed of a round follows from that of the set, progress
/// lines are the caller's.
const COMMON: [&str; 2] = ["seed", "progress"];

/// An arm of a set.
#[derive(Debug)]
pub struct Arm {
    /// Name, unique in the set.
    pub name: String,
    /// Whether the others are compared with it.
    pub baseline: bool,
    /// Its options, those that are given for all included.
    pub options: RunOptions,
    /// Scale at which tables are loaded before its runs; `None` if they are used as they are.
    pub scale: Option<i32>,
    /// Specification; `None` if it cannot run.
    pub spec: Option<RunSpec>,
    /// Why it cannot run, by no fault of its options.
    pub cannot: Option<String>,
}

/// The arm that the others are compared with: the one marked as the baseline, or the first.
pub fn baseline(arms: &[Arm]) -> Option<&Arm> {
    arms.iter().find(|arm| arm.baseline).or(arms.first())
}

/// The arms that a document has, an array of objects, at most `limit`. They are not
/// [checked](Arm::check) yet.
pub fn parse(document: &Value, common: &RunOptions, limit: usize) -> Result<Vec<Arm>> {
    let Value::Array(objects) = document else {
        return Err(not_arms());
    };
    if objects.is_empty() {
        return Err(invalid("arms", "[]".into(), "At least one arm."));
    }
    if objects.len() > limit {
        return Err(invalid(
            "arms",
            format!("{} arms", objects.len()),
            &format!("At most {limit} arms."),
        ));
    }
    let mut arms = Vec::with_capacity(objects.len());
    let mut given: Vec<Option<String>> = Vec::with_capacity(objects.len());
    for (number, object) in objects.iter().enumerate() {
        let Value::Object(object) = object else {
            return Err(not_arms());
        };
        let arm = format!("arm {}", number + 1);
        let name = given_name(object.get(NAME)).map_err(|error| error.within(&arm))?;
        let within = |error: Error| match &name {
            Some(name) => error.within(&format!("arm \"{name}\"")),
            None => error.within(&arm),
        };
        let baseline = match object.get(BASELINE) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(baseline)) => *baseline,
            Some(other) => {
                return Err(within(invalid(
                    BASELINE,
                    other.to_string(),
                    "true or false.",
                )));
            }
        };
        arms.push(Arm {
            name: name.clone().unwrap_or_default(),
            baseline,
            options: with_options(common, object).map_err(within)?,
            scale: None,
            spec: None,
            cannot: None,
        });
        given.push(name);
    }
    if arms.iter().filter(|arm| arm.baseline).count() > 1 {
        return Err(Error::OptionConflict {
            message: "several arms are marked as the baseline".into(),
            hint: "Mark the one that the others are to be compared with.".into(),
        });
    }
    name_all(&mut arms, objects)?;
    Ok(arms)
}

fn not_arms() -> Error {
    Error::OptionConflict {
        message: "arms must be a JSON array of objects".into(),
        hint: "Write them such as [{\"mode\": \"spi\"}, {\"mode\": \"libpq\", \"name\": \"by \
               socket\"}]."
            .into(),
    }
}

fn given_name(name: Option<&Value>) -> Result<Option<String>> {
    let valid = format!("A text of 1 to {MAX_NAME_BYTES} bytes.");
    match name {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if (1..=MAX_NAME_BYTES).contains(&text.len()) => {
            Ok(Some(text.clone()))
        }
        Some(Value::String(text)) => Err(invalid(NAME, format!("{} bytes", text.len()), &valid)),
        Some(other) => Err(invalid(NAME, other.to_string(), &valid)),
    }
}

/// Options for all, and those of an object over them.
fn with_options(common: &RunOptions, object: &Map<String, Value>) -> Result<RunOptions> {
    let mut options = common.clone();
    for (name, value) in object {
        if OWN.contains(&name.as_str()) {
            continue;
        }
        if COMMON.contains(&name.as_str()) {
            return Err(Error::OptionConflict {
                message: format!("option \"{name}\" is the same for all"),
                hint: "Give it as an argument of the function.".into(),
            });
        }
        options.set_given(name, value, &OWN)?;
    }
    // An arm that chooses its mode does without what is given for all and other modes have.
    if object.contains_key("mode") && options.mode == Mode::Spi {
        let given = |name| object.contains_key(name);
        options.jobs = options.jobs.filter(|_| given("jobs"));
        options.workers = options.workers.filter(|_| given("workers"));
        options.reconnect &= given("reconnect");
    }
    Ok(options)
}

/// Gives those without a name one of what they have and others do not. Fails if two have the same.
fn name_all(arms: &mut [Arm], objects: &[Value]) -> Result<()> {
    let keys: BTreeSet<&str> = objects
        .iter()
        .filter_map(Value::as_object)
        .flat_map(|object| object.keys().map(String::as_str))
        .collect();
    let values: Vec<BTreeMap<&str, Value>> = arms.iter().map(|arm| values(&arm.options)).collect();
    let differing: Vec<&str> = keys
        .into_iter()
        .filter(|key| {
            let mut of_all = values.iter().map(|values| values.get(key));
            let first = of_all.next().flatten();
            of_all.any(|value| value != first)
        })
        .collect();
    let mut names: BTreeSet<String> = BTreeSet::new();
    for arm in arms.iter().filter(|arm| !arm.name.is_empty()) {
        if !names.insert(arm.name.clone()) {
            return Err(Error::OptionConflict {
                message: format!("two arms have the name \"{}\"", arm.name),
                hint: "Give each arm a name of its own, or none.".into(),
            });
        }
    }
    for (number, (arm, values)) in arms.iter_mut().zip(&values).enumerate() {
        if !arm.name.is_empty() {
            continue;
        }
        let parts: Vec<String> = differing
            .iter()
            .filter_map(|key| Some(part(key, values.get(key)?)))
            .collect();
        arm.name = unused_name(parts.join(", "), &format!("arm {}", number + 1), &names);
        names.insert(arm.name.clone());
    }
    Ok(())
}

/// A name that is not used yet, at most as long as one may be. `number` names it if `name` is used, or
/// empty.
pub fn unused_name(mut name: String, number: &str, used: &BTreeSet<String>) -> String {
    while name.len() > MAX_NAME_BYTES {
        name.pop();
    }
    if name.is_empty() || used.contains(&name) {
        name = number.to_owned();
    }
    while used.contains(&name) {
        name.push('\'');
    }
    name
}

/// An option as a part of a name: an object by what is in it.
pub fn part(key: &str, value: &Value) -> String {
    let text = match value {
        Value::String(text) => format!("{key}={text}"),
        Value::Object(object) => {
            let parts: Vec<String> = object.iter().map(|(key, value)| part(key, value)).collect();
            parts.join(", ")
        }
        other => format!("{key}={other}"),
    };
    match text.chars().count() {
        0..=MAX_PART => text,
        _ => text
            .chars()
            .take(MAX_PART - 3)
            .chain("...".chars())
            .collect(),
    }
}

/// All options, except those that are NULL by default and in fact.
pub fn values(options: &RunOptions) -> BTreeMap<&'static str, Value> {
    let defaults = RunOptions::default().entries();
    let entries = options.entries().into_iter().zip(defaults);
    entries
        .filter(|(entry, default)| !entry.value.is_null() || !default.value.is_null())
        .map(|(entry, _)| (entry.name, entry.value))
        .collect()
}

/// Fails if options have a secret, which must not be stored with a set.
pub fn require_storable(options: &RunOptions) -> Result<()> {
    match &options.target {
        Some(target) if target::has_secret(target)? => Err(Error::OptionConflict {
            message: "a connection string with a password cannot be stored".into(),
            hint: "Use the name of a foreign server whose user mapping has the password.".into(),
        }),
        _ => Ok(()),
    }
}

impl Arm {
    /// Checks its options. An error that is not theirs, such as a privilege that the caller lacks,
    /// is kept as the reason why the arm cannot run, and returned. Arms share the value sets.
    pub fn check(&mut self, sets: &mut ReadSets) -> Result<Option<Error>> {
        let within = format!("arm \"{}\"", self.name);
        require_storable(&self.options).map_err(|error| error.within(&within))?;
        match self.options.check_at(self.scale, sets) {
            Ok(spec) => {
                (self.spec, self.cannot) = (Some(spec), None);
                Ok(None)
            }
            Err(error) if error.is_of_circumstances() => {
                (self.spec, self.cannot) = (None, Some(error.report().message));
                Ok(Some(error))
            }
            Err(error) => Err(error.within(&within)),
        }
    }

    /// Stored form: all of its options, with which it can be [parsed](parse) again.
    pub fn document(&self) -> Value {
        let mut object: Map<String, Value> = values(&self.options)
            .into_iter()
            .filter(|(name, _)| !COMMON.contains(name))
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        object.insert(NAME.into(), json!(self.name));
        if self.baseline {
            object.insert(BASELINE.into(), json!(true));
        }
        Value::Object(object)
    }
}
