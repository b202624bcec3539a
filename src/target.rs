//! The target: another server, or another way to this one, that mode libpq connects to.
//!
//! dblink's rules hold. The server's operating system user may be let in elsewhere by trust, peer,
//! certificates or passwords that it keeps in files, none of which is the caller's to use: a role
//! that is not a superuser has to give a password, and a connection for which that password was
//! not asked for is closed at once.

use crate::check::invalid;
use crate::error::{Error, Result};
use crate::foreign::{self, ForeignServer};
use crate::pq::ConnectWith;
use crate::pq::conninfo;
use crate::security;

/// A peer that has vanished from the network is noticed after so many milliseconds, if something
/// was sent to it.
const TCP_USER_TIMEOUT_MS: &str = "30000";

/// What connections to a target are made with: the name of a foreign server, or a connection
/// string, which may hold a password and is not repeated in any error.
///
/// Must be called in a transaction.
pub fn resolve(target: &str) -> Result<ConnectWith> {
    let superuser = security::is_superuser();
    let mut with = match foreign::find(target)? {
        Some(server) => of_server(server, superuser),
        None => ConnectWith {
            parameters: conninfo::parse(target).ok_or_else(|| {
                invalid(
                    "target",
                    "neither a connection string nor the name of a foreign server".into(),
                    "A target is a list of keywords and values such as \"host=... dbname=...\", a URI that \
                     begins with \"postgresql://\" and has special characters percent-encoded, \
                     or the name of a foreign server.",
                )
            })?,
            password_required: !superuser,
        },
    };
    if with.password_required && with.get("password").is_none() {
        return Err(Error::PasswordNotGiven);
    }
    with.set_default("fallback_application_name", "pg_selfbench");
    with.set_default("tcp_user_timeout", TCP_USER_TIMEOUT_MS);
    // Scripts reach the workers in it.
    with.set("client_encoding", "UTF8");
    Ok(with)
}

/// Of a foreign server's options those that are libpq's: user and secrets from the mapping, all
/// others from the server.
fn of_server(server: ForeignServer, superuser: bool) -> ConnectWith {
    let waived = server.guards_password
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
    let from_server = server.server.into_iter().filter(|(n, _)| known(n, false));
    let from_mapping = server.mapping.into_iter().filter(|(n, _)| known(n, true));
    ConnectWith {
        parameters: from_server.chain(from_mapping).collect(),
        password_required: !superuser && !waived,
    }
}

/// Whether the server reads the value of an option so.
fn is_false(value: &str) -> bool {
    ["false", "off", "0"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word))
}
