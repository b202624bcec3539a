//! The target that mode libpq connects to: another server, or this one by another address or user.
//!
//! dblink's rules apply. Other servers may accept the server's operating system user by trust,
//! peer, certificates or passwords in files, which the caller must not use. So non-superusers must
//! provide a password, and if the target does not ask for it, the connection is closed immediately.

use super::foreign::{self, ForeignServer};
use crate::check::invalid;
use crate::error::{Error, Result};
use crate::pq::ConnectWith;
use crate::pq::conninfo;
use crate::security;

/// Milliseconds until the loss of an unreachable peer is noticed, if data was sent to it.
const TCP_USER_TIMEOUT_MS: &str = "30000";

/// The connection parameters for a target, given as the name of a foreign server or as a connection
/// string, which may contain a password and must not appear in errors.
///
/// Must be called in a transaction.
pub fn resolve(target: &str) -> Result<ConnectWith> {
    let superuser = security::is_superuser();
    let mut with = match foreign::find(target)? {
        Some(server) => of_server(server, superuser),
        None => of_string(target, superuser)?,
    };
    if with.password_required && with.get("password").is_none() {
        return Err(Error::PasswordNotGiven);
    }
    with.set_default("fallback_application_name", "pg_selfbench");
    with.set_default("tcp_user_timeout", TCP_USER_TIMEOUT_MS);
    // Workers get their scripts as UTF-8.
    with.set("client_encoding", "UTF8");
    Ok(with)
}

/// Whether a target is a connection string with a password or another secret, which must not be
/// stored. A foreign server has its secrets in its user mapping.
///
/// Must be called in a transaction.
pub fn has_secret(target: &str) -> Result<bool> {
    if foreign::find(target)?.is_some() {
        return Ok(false);
    }
    let given = conninfo::parse(target).unwrap_or_default();
    let keywords = conninfo::keywords();
    let is_secret = |name: &str| keywords.iter().any(|k| k.secret && k.name == name);
    Ok(given
        .iter()
        .any(|(name, value)| is_secret(name) && !value.is_empty()))
}

/// The parameters of a connection string.
fn of_string(target: &str, superuser: bool) -> Result<ConnectWith> {
    let parameters = conninfo::parse(target).ok_or_else(|| {
        invalid(
            "target",
            "neither a connection string nor the name of a foreign server".into(),
            "A target is a list of keywords and values such as \"host=... dbname=...\", a URI that \
             begins with \"postgresql://\" and has special characters percent-encoded, \
             or the name of a foreign server.",
        )
    })?;
    let may_use = |keyword: &str| superuser || conninfo::UNPRIVILEGED.contains(&keyword);
    match parameters.iter().find(|(keyword, _)| !may_use(keyword)) {
        Some((keyword, _)) => Err(Error::Denied {
            what: format!("connection parameter \"{keyword}\""),
            hint: "Only superusers may use it in a connection string. Ask for a foreign server that has it."
                .into(),
        }),
        None => Ok(ConnectWith {
            parameters,
            password_required: !superuser,
        }),
    }
}

/// The options of a foreign server that are libpq's: user and secrets from the user mapping, with a
/// wrapper that lets only superusers set them also the client's certificate and key, all others from the
/// server.
fn of_server(server: ForeignServer, superuser: bool) -> ConnectWith {
    let waived = server.guards_options
        && server
            .mapping
            .iter()
            .any(|(name, value)| name == "password_required" && is_false(value));
    let keywords = conninfo::keywords();
    let known = |name: &str, of_mapping: bool| {
        keywords.iter().any(|keyword| {
            keyword.name == name
                && !keyword.debug
                && (keyword.secret || keyword.name == "user") == of_mapping
        })
    };
    let own_key = |name: &str| server.guards_options && matches!(name, "sslcert" | "sslkey");
    let from_server = server.server.into_iter().filter(|(n, _)| known(n, false));
    let from_mapping = server
        .mapping
        .into_iter()
        .filter(|(n, _)| known(n, true) || own_key(n));
    ConnectWith {
        parameters: from_server.chain(from_mapping).collect(),
        password_required: !superuser && !waived,
    }
}

/// Whether the value of an option is false, by the server's rules.
fn is_false(value: &str) -> bool {
    ["false", "off", "0"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}
