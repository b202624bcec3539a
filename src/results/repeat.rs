//! The statements that repeat a run or a set, for their reports.

use super::json::query_json;
use super::load::load_figures;
use super::sets;
use crate::error::Result;
use crate::options::Options;
use crate::query;
use crate::run::{DEFAULT_SCRIPTS, PgioOptions, RunOptions};
use crate::security::with_pinned_settings;
use crate::server::literal_to_copy;
use selfbench_model::{Evidence, Mode, RunRecord, SetKind, Setting};
use serde_json::{Map, Value};

/// Options that are stored as they resulted for a number of clients, which matters in mode libpq only.
const OF_CONNECTIONS: [&str; 3] = ["jobs", "workers", "connection"];
/// Keys of a set's arm that are not options of runs.
const OF_ARMS: [&str; 2] = ["name", "baseline"];

/// The statements: settings of the session, then the call with the options that differ from their
/// defaults.
pub fn statements(record: &RunRecord, evidence: &Evidence) -> Result<String> {
    let run = &record.run;
    let (function, defaults) = match record.pgio {
        None => ("run", RunOptions::default().entries()),
        Some(_) => ("run_pgio", PgioOptions::default().entries()),
    };
    let known = arguments_of(function)?;
    let mut columns = load_figures(run.run_id)?;
    let of_clients =
        settings_from(evidence, "run").map(|s| (s.name.clone(), s.value.as_str().into()));
    columns.insert("settings".into(), Value::Object(of_clients.collect()));
    let mut arguments = Vec::new();
    let of_workload = run.scripts.iter().any(|name| name.contains(':'));
    for option in defaults {
        if !known.iter().any(|name| name == option.name)
            || (run.mode == Mode::Spi && OF_CONNECTIONS.contains(&option.name))
        {
            continue;
        }
        // The row has the rate that follows from a factor.
        if option.name == "rate" && run.load_factor.is_some() {
            continue;
        }
        // The row names the scripts of statements and of the default, too.
        if option.name == "scripts"
            && (run.sql.is_some() || run.scripts == [DEFAULT_SCRIPTS.to_owned()])
        {
            continue;
        }
        // The row has how long the warm-up was in fact.
        if option.name == "warmup" && run.max_warmup_s.is_some() {
            arguments.push("warmup => NULL".to_owned());
        } else if let Some(value) = stored(&columns, option.name)
            && value != option.value
            && (!is_implied(option.name, &value) || of_workload)
        {
            arguments.push(format!("{} => {}", option.name, literal(&value)));
        }
    }
    let of_session = settings_from(evidence, "session");
    let of_session = of_session.map(|setting| (&setting.name, &setting.value));
    Ok(in_session(of_session, call(function, &arguments)))
}

/// Whether an option of which a workload may have a default has the value that it has without one.
fn is_implied(option: &str, value: &Value) -> bool {
    match option {
        "max_tries" => *value == 1,
        "continue_on_error" => *value == false,
        _ => false,
    }
}

/// The statements that repeat a set: settings of the session, then the call with the options that all of
/// its runs have in common, and with what they differ in.
pub fn of_set(set_id: i64) -> Result<String> {
    let set = sets::load(set_id)?;
    let document = set.options.as_object().cloned().unwrap_or_default();
    let seed = ("seed".to_owned(), Value::String(set.seed.to_string()));
    let (function, mut options) = match set.kind {
        SetKind::FindCapacity => ("find_capacity", document),
        SetKind::Compare => ("compare", of_series(&document, true)),
        SetKind::Sweep => ("sweep", of_series(&document, false)),
    };
    options.extend([seed]);
    let mut defaults = defaults();
    if set.kind == SetKind::FindCapacity {
        // A search has another default.
        defaults.remove("warmup");
    }
    let arguments: Vec<String> = options
        .iter()
        .filter(|(name, value)| !is_default(&defaults, name, value))
        .map(|(name, value)| format!("{name} => {}", literal(value)))
        .collect();
    let of_session = settings_of_set(set_id)?;
    let of_session = of_session.iter().map(|(name, value)| (name, value));
    Ok(in_session(of_session, call(function, &arguments)))
}

/// The arguments of a series whose row has this document: of a comparison its arms, of a sweep the grid
/// that they were made of.
fn of_series(document: &Map<String, Value>, has_arms: bool) -> Map<String, Value> {
    let arms = document.get("arms").and_then(Value::as_array);
    let mut arms: Vec<Map<String, Value>> = arms
        .into_iter()
        .flatten()
        .filter_map(|arm| arm.as_object().cloned())
        .collect();
    let is_common = |(name, value): &(&String, &Value)| {
        let mut others = arms.iter();
        !OF_ARMS.contains(&name.as_str()) && others.all(|arm| arm.get(*name) == Some(value))
    };
    let common: Map<String, Value> = arms
        .iter()
        .take(1)
        .flatten()
        .filter(is_common)
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let defaults = defaults();
    for arm in &mut arms {
        arm.retain(|name, value| !common.contains_key(name) && !is_default(&defaults, name, value));
    }
    let mut arguments = Map::new();
    let grid = document.get("grid");
    if has_arms {
        let arms = arms.into_iter().map(Value::Object).collect();
        arguments.insert("arms".into(), Value::Array(arms));
    }
    for (name, value) in [("grid", grid), ("repeats", document.get("repeats"))] {
        arguments.extend(value.map(|value| (name.to_owned(), value.clone())));
    }
    if grid.is_some_and(|grid| grid.get("scale").is_some()) {
        arguments.insert("initialize".into(), Value::Bool(true));
    }
    let in_grid = |name: &str| grid.is_some_and(|grid| grid.get(name).is_some());
    arguments.extend(common.into_iter().filter(|(name, _)| !in_grid(name)));
    arguments
}

/// The options of runs that have a default, with it.
fn defaults() -> Map<String, Value> {
    let entries = RunOptions::default().entries().into_iter();
    entries
        .map(|entry| (entry.name.to_owned(), entry.value))
        .collect()
}

/// Whether an option is what it is without being given. A stored number may have another type.
fn is_default(defaults: &Map<String, Value>, name: &str, value: &Value) -> bool {
    defaults.get(name).is_some_and(|default| {
        default == value || (value.is_number() && default.as_f64() == value.as_f64())
    })
}

/// The settings of a run that its caller has `SET` ("session") or given in its option ("run").
fn settings_from<'e>(evidence: &'e Evidence, source: &str) -> impl Iterator<Item = &'e Setting> {
    let settings = evidence.settings.iter();
    settings.filter(move |setting| setting.source == source)
}

/// The settings that the caller of a set has `SET`, as its first run with each has them.
fn settings_of_set(set_id: i64) -> Result<Vec<(String, String)>> {
    query_json(
        "SELECT DISTINCT ON (s.name COLLATE \"C\")
                jsonb_build_array(s.name, s.setting)::text
           FROM bench.runs r JOIN bench.run_settings s USING (run_id)
          WHERE r.set_id = $1 AND s.source = 'session' AND s.setting IS NOT NULL
          ORDER BY s.name COLLATE \"C\", r.run_id",
        set_id,
    )
}

/// The call after statements that set settings, given by name and value. `SET` would take the text of a list for a single
/// name.
fn in_session<'s>(
    settings: impl Iterator<Item = (&'s String, &'s String)>,
    call: String,
) -> String {
    // The processes of a run have an application_name of their own.
    let mut lines: Vec<String> = settings
        .filter(|(name, _)| *name != "application_name")
        .map(|(name, value)| {
            let (name, value) = (literal_to_copy(name), literal_to_copy(value));
            format!("SELECT pg_catalog.set_config({name}, {value}, false);")
        })
        .collect();
    lines.push(call);
    lines.join("\n")
}

fn call(function: &str, arguments: &[String]) -> String {
    format!("SELECT * FROM bench.{function}({});", arguments.join(", "))
}

/// The names of a function's arguments.
fn arguments_of(function: &str) -> Result<Vec<String>> {
    let sql = "SELECT to_json(proargnames)::text FROM pg_proc
                WHERE pronamespace = 'bench'::regnamespace AND proname = $1";
    let names = with_pinned_settings(|| query::first_value::<String>(sql, &[function.into()]))?;
    Ok(serde_json::from_str(&names.unwrap_or_default()).unwrap_or_default())
}

/// An option as it is stored with a run; `None` if it was not given, has a default of another type, or is
/// not stored.
fn stored(columns: &Map<String, Value>, option: &str) -> Option<Value> {
    let listed = selfbench_catalog::RUN
        .iter()
        .find(|listed| listed.name == option);
    let column = listed.and_then(|listed| listed.column).unwrap_or(option);
    // A span, whose default is another text than its column.
    let seconds = listed.filter(|_| column.ends_with("_s"));
    match (columns.get(column)?, seconds) {
        (Value::Null, _) => None,
        (Value::Object(members), _) if members.is_empty() => None,
        (Value::Number(number), Some(listed)) => {
            let span = format!("{number} s");
            let is_given = listed.shown_default().as_ref() != Some(&span);
            is_given.then_some(Value::String(span))
        }
        (Value::Array(values), _) => {
            let texts: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
            Some(Value::String(texts.join(", ")))
        }
        (value, _) => Some(value.clone()),
    }
}

/// A value as SQL.
fn literal(value: &Value) -> String {
    match value {
        Value::String(text) => literal_to_copy(text),
        Value::Object(_) | Value::Array(_) => literal_to_copy(&value.to_string()),
        other => other.to_string(),
    }
}
