//! The statements that repeat a run, for its report.

use super::load::load_figures;
use crate::error::Result;
use crate::options::Options;
use crate::query::{self, quote_literal};
use crate::run::{PgioOptions, RunOptions};
use crate::security::with_pinned_settings;
use selfbench_model::{Evidence, Mode, RunRecord};
use selfbench_report::is_shown;
use serde_json::{Map, Value};

/// Options whose columns have another name. All others have columns of their names, or are not stored.
const COLUMNS: [(&str, &str); 5] = [
    ("duration", "duration_s"),
    ("transactions", "transactions_per_client"),
    ("warmup", "warmup_s"),
    ("aggregate_interval", "aggregate_interval_s"),
    ("latency_limit", "latency_limit_ms"),
];
/// Columns in seconds of options that are spans, with their defaults.
const SECONDS: [(&str, Option<f64>); 3] = [
    ("duration_s", None),
    ("warmup_s", Some(0.0)),
    ("aggregate_interval_s", Some(1.0)),
];
/// Options that are stored as they resulted for a number of clients, which matters in mode libpq only.
const OF_CONNECTIONS: [&str; 3] = ["jobs", "workers", "connection"];

/// The statements: settings of the session, then the call with the options that differ from their
/// defaults.
pub fn statements(record: &RunRecord, evidence: &Evidence) -> Result<String> {
    let run = &record.run;
    let (function, defaults) = match record.pgio {
        None => ("run", RunOptions::default().entries()),
        Some(_) => ("run_pgio", PgioOptions::default().entries()),
    };
    let known = arguments_of(function)?;
    let columns = load_figures(run.run_id)?;
    let mut arguments = Vec::new();
    for option in defaults {
        if !known.iter().any(|name| name == option.name)
            || (run.mode == Mode::Spi && OF_CONNECTIONS.contains(&option.name))
        {
            continue;
        }
        if let Some(value) = stored(&columns, option.name)
            && value != option.value
        {
            arguments.push(format!("{} => {}", option.name, literal(&value)));
        }
    }
    let settings = evidence.settings.iter();
    let settings = settings.filter(|setting| setting.source == "session" && is_shown(setting));
    let mut lines: Vec<String> = settings
        .map(|setting| {
            let name = setting.name.replace('"', "\"\"");
            format!("SET \"{name}\" = {};", quote_literal(&setting.value))
        })
        .collect();
    lines.push(format!(
        "SELECT * FROM bench.{function}({});",
        arguments.join(", ")
    ));
    Ok(lines.join("\n"))
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
    let other = COLUMNS.iter().find(|(name, _)| *name == option);
    let column = other.map_or(option, |(_, column)| column);
    let seconds = SECONDS.iter().find(|(name, _)| *name == column);
    match (columns.get(column)?, seconds) {
        (Value::Null, _) => None,
        (Value::Object(members), _) if members.is_empty() => None,
        (Value::Number(number), Some((_, default))) => {
            let is_given = number.as_f64() != *default;
            is_given.then(|| Value::String(format!("{number} s")))
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
        Value::String(text) => quote_literal(text).trim_start().to_owned(),
        Value::Object(_) => quote_literal(&value.to_string()).trim_start().to_owned(),
        other => other.to_string(),
    }
}
