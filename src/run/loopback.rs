//! Paths of connections to this server: through a Unix-domain socket, or over TCP on a loopback
//! address.

use crate::error::{Error, Result};
use crate::options::choice;
use crate::server;
use crate::state::session;
use std::net::IpAddr;

choice! {
    /// The way that connections to this server take.
    pub enum Route {
        /// Through a socket if the server has one, else over TCP.
        Auto = "auto",
        /// Through the first Unix-domain socket directory.
        Socket = "socket",
        /// Over TCP on a loopback address.
        Tcp = "tcp",
    }
}

impl Route {
    /// The way that connections to a host take.
    pub fn to_host(host: &str) -> Route {
        match host.starts_with(['/', '@']) {
            true => Route::Socket,
            false => Route::Tcp,
        }
    }

    /// libpq's parameters for a connection to this server and database as the current role.
    ///
    /// # Errors
    /// If the server does not accept connections on that way.
    pub fn parameters(self) -> Result<Vec<(String, String)>> {
        let host = match self {
            Route::Auto => socket_directory()
                .or_else(loopback_address)
                .unwrap_or_else(|| "localhost".into()),
            Route::Socket => socket_directory().ok_or_else(|| Error::Misplaced {
                message: "the server has no Unix-domain socket".into(),
                hint: "connection => 'socket' needs one: set \"unix_socket_directories\" and \
                       restart the server, or use connection => 'tcp'."
                    .into(),
            })?,
            Route::Tcp => loopback_address().ok_or_else(|| Error::Misplaced {
                message: "the server does not listen on a loopback address".into(),
                hint: format!(
                    "connection => 'tcp' needs one: add \"localhost\" to \"listen_addresses\", \
                     which is \"{}\", and restart the server, or use connection => 'socket'.",
                    session::setting(c"listen_addresses").unwrap_or_default()
                ),
            })?,
        };
        let port = session::setting(c"port").unwrap_or_default();
        Ok(vec![
            ("host".into(), host),
            ("port".into(), port),
            ("dbname".into(), server::database_name()),
            ("user".into(), server::role_name()),
            ("application_name".into(), "pg_selfbench".into()),
            ("client_encoding".into(), "UTF8".into()),
        ])
    }
}

/// The first directory in which the server has a Unix-domain socket.
fn socket_directory() -> Option<String> {
    let directories = session::setting(c"unix_socket_directories")?;
    entries(&directories).next().map(str::to_owned)
}

/// The first loopback address on which the server listens. Names are not resolved: only `localhost`
/// is known to be one.
fn loopback_address() -> Option<String> {
    let addresses = session::setting(c"listen_addresses")?;
    entries(&addresses).find_map(|address| match address {
        "*" => Some("127.0.0.1".into()),
        name if name.eq_ignore_ascii_case("localhost") => Some(name.into()),
        _ => match address.parse::<IpAddr>().ok()? {
            IpAddr::V4(ip) if ip.is_unspecified() => Some("127.0.0.1".into()),
            IpAddr::V6(ip) if ip.is_unspecified() => Some("::1".into()),
            ip => ip.is_loopback().then(|| ip.to_string()),
        },
    })
}

/// The entries of a setting that is a list.
fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(|entry| entry.trim().trim_matches('"'))
        .filter(|entry| !entry.is_empty())
}
