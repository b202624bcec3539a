//! The option `settings`: session settings that a run gives to its clients.
//!
//! They are tried out before anything runs, in the caller's session or on the target, which also
//! tells how a session shows them. Connections get them as startup options, so that sessions have
//! them from their first statement on, with `reconnect` as well. Behind a pooler that refuses or ignores
//! such options, each client sets them. It then compares what its session shows. So no run can have other settings than those it was asked for.

use crate::backend::activity;
use crate::backend::settings::ClientSetting;
use crate::check::invalid;
use crate::database::pooler;
use crate::database::remote::Remote;
use crate::error::{Error, Report, Result};
use crate::pq::ConnectWith;
use crate::query::quote_literal;
use pgrx::PgSqlErrorCode as Sqlstate;
use serde_json::Value;

/// Maximum length of all names and values: the server limits what connections begin with to 10,000
/// bytes.
const MAX_BYTES: usize = 8000;

/// Settings that clients cannot have, with the reason and what to do instead.
const REFUSED: [(&str, &str, &str); 10] = [
    (
        "application_name",
        "it identifies the sessions of runs",
        "Use \"label\" to find the run.",
    ),
    (
        "client_encoding",
        "clients exchange texts with the server as UTF8",
        "Leave it out.",
    ),
    (
        "local_preload_libraries",
        "it only applies when a session begins",
        "Set it for the role or the database.",
    ),
    (
        "role",
        "clients run as the calling role",
        "Call the function as the other role.",
    ),
    ("seed", "no session shows it", "Call setseed in a script."),
    (
        "session_authorization",
        "clients run as the calling role",
        "Call the function as the other role.",
    ),
    (
        "session_preload_libraries",
        "it only applies when a session begins",
        "Set it for the role or the database.",
    ),
    (
        "transaction_deferrable",
        "it belongs to a single transaction",
        "Use \"default_transaction_deferrable\".",
    ),
    (
        "transaction_isolation",
        "it belongs to a single transaction",
        "Use \"default_transaction_isolation\".",
    ),
    (
        "transaction_read_only",
        "it belongs to a single transaction",
        "Use \"default_transaction_read_only\".",
    ),
];

/// Prefix of the names of settings of sockets.
const OF_SOCKETS: &str = "tcp_";

/// The settings of an option's value, tried out on the target or, without one, in this session.
pub fn check(given: &Value, target: Option<&ConnectWith>) -> Result<Vec<ClientSetting>> {
    let asked = read(given)?;
    if asked.is_empty() {
        return Ok(Vec::new());
    }
    match target {
        None => asked
            .into_iter()
            .map(|(name, value)| {
                ClientSetting::try_out(&name, &value).map_err(|error| refused(&name, error))
            })
            .collect(),
        Some(target) => activity::unchanged(|| try_on(target, asked)),
    }
}

/// Names and values, of which none is one that clients cannot have.
fn read(given: &Value) -> Result<Vec<(String, String)>> {
    const VALID: &str = "An object of texts, numbers and booleans, such as \
                         {\"synchronous_commit\": \"off\", \"work_mem\": \"64MB\"}.";
    let Value::Object(object) = given else {
        return Err(invalid("settings", shortened(given), VALID));
    };
    let mut asked: Vec<(String, String)> = Vec::with_capacity(object.len());
    let mut bytes = 0;
    for (name, value) in object {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Bool(true) => "on".into(),
            Value::Bool(false) => "off".into(),
            _ => {
                let what = format!("setting \"{name}\" is {}", shortened(value));
                return Err(invalid("settings", what, VALID));
            }
        };
        bytes += name.len() + text.len();
        if bytes > MAX_BYTES {
            return Err(invalid(
                "settings",
                format!("more than {MAX_BYTES} bytes"),
                &format!("Names and values together have at most {MAX_BYTES} bytes."),
            ));
        }
        let same = |other: &&(String, String)| other.0.eq_ignore_ascii_case(name);
        if let Some((other, _)) = asked.iter().find(same) {
            return Err(invalid(
                "settings",
                format!("\"{other}\" and \"{name}\" are the same setting"),
                "Each setting once.",
            ));
        }
        require_possible(name)?;
        asked.push((name.clone(), text));
    }
    Ok(asked)
}

/// The value, or its beginning.
fn shortened(value: &Value) -> String {
    const SHOWN: usize = 100;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Fails for a setting that clients cannot have.
fn require_possible(name: &str) -> Result<()> {
    let lower = name.to_ascii_lowercase();
    let (why, hint) = match REFUSED.iter().find(|(refused, _, _)| *refused == lower) {
        Some((_, why, hint)) => (*why, *hint),
        None if lower.starts_with(OF_SOCKETS) => (
            "it belongs to a connection",
            "Put the corresponding keyword into the connection string of a target.",
        ),
        None => return Ok(()),
    };
    let report = Report {
        hint: Some(hint.into()),
        ..Report::new(Sqlstate::ERRCODE_INVALID_PARAMETER_VALUE, why)
    };
    Err(refused(name, report.into()))
}

/// The error of a setting that cannot be set.
fn refused(name: &str, error: Error) -> Error {
    let Report {
        sqlstate,
        message,
        detail,
        hint,
    } = error.report();
    let hint = hint.or_else(|| {
        match sqlstate.as_str() {
        "42704" => Some(
            "Settings are listed in pg_settings; one that no extension defines has a prefix, as in \
             \"my.setting\"."
                .into(),
        ),
        "55P02" => Some(
            "Only settings that a session can change are possible. Change this one for the whole \
             server before the run, with ALTER SYSTEM."
                .into(),
        ),
        "42501" => Some(format!(
            "Ask a superuser for GRANT SET ON PARAMETER {name} (PostgreSQL 15 and later)."
        )),
        _ => None,
    }
    });
    Report {
        sqlstate,
        message: format!("cannot set \"{name}\" for the clients: {message}"),
        detail,
        hint,
    }
    .into()
}

/// Tries settings out on a target, in a transaction that is rolled back.
fn try_on(target: &ConnectWith, asked: Vec<(String, String)>) -> Result<Vec<ClientSetting>> {
    let mut remote = Remote::connect(target)?;
    let hint =
        "Connect to the server itself, use a pool in session mode, or use ALTER ROLE ... SET.";
    pooler::require_own_session(&mut remote, target, "option \"settings\"", hint)?;
    let mut settings = Vec::with_capacity(asked.len());
    remote.execute("BEGIN")?;
    for (name, value) in asked {
        let (literal, value_literal) = (quote_literal(&name), quote_literal(&value));
        let row = remote
            .first_row(&format!(
                "SELECT pg_catalog.set_config({literal}, {value_literal}, true),
                        (SELECT s.name FROM pg_catalog.pg_settings s
                          WHERE pg_catalog.lower(s.name) OPERATOR(pg_catalog.=)
                                pg_catalog.lower({literal}))"
            ))
            .map_err(|error| refused(&name, error))?;
        let mut row = row.into_iter();
        let shown = row.next().flatten().unwrap_or_default();
        let name = row.next().flatten().unwrap_or(name);
        settings.push(ClientSetting { name, value, shown });
    }
    remote.execute("ROLLBACK")?;
    Ok(settings)
}
