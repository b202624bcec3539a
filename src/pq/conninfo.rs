//! Connection parameters: reading connection strings, and libpq's keywords.
//!
//! libpq's errors about a connection string may quote a password, so they are discarded here.

use crate::text::c_text;
use pq_sys as pq;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString};
use std::fmt;

/// The time limit for connecting, in seconds, unless a connection's parameters have another one.
const CONNECT_TIMEOUT_S: u64 = 60;

/// Parameters of connections.
#[derive(Clone, Serialize, Deserialize)]
pub struct ConnectWith {
    /// libpq's keywords and their values; of several values of a keyword, the last one counts.
    pub parameters: Vec<(String, String)>,
    /// Whether a connection fails unless the server has asked for the password, so that it does not
    /// rest on an identity of the server's operating system user.
    pub password_required: bool,
}

/// Prints only keywords, because one of the values may be a password.
impl fmt::Debug for ConnectWith {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let keywords = self.parameters.iter().map(|(keyword, _)| keyword);
        formatter.debug_set().entries(keywords).finish()
    }
}

impl ConnectWith {
    /// Value of a parameter; `None` if it is not given or empty, which is the same to libpq.
    pub fn get(&self, keyword: &str) -> Option<&str> {
        let given = self.parameters.iter().rev().find(|(k, _)| k == keyword)?;
        (!given.1.is_empty()).then_some(given.1.as_str())
    }

    /// How long it may take to connect, in nanoseconds.
    pub fn timeout_ns(&self) -> u64 {
        let given = self.get("connect_timeout");
        let seconds = given.and_then(|text| text.trim().parse::<u64>().ok());
        let seconds = seconds.filter(|seconds| *seconds > 0);
        seconds
            .unwrap_or(CONNECT_TIMEOUT_S)
            .saturating_mul(1_000_000_000)
    }

    /// Sets a parameter, unless it has a value.
    pub fn set_default(&mut self, keyword: &str, value: &str) {
        if self.get(keyword).is_none() {
            self.set(keyword, value);
        }
    }

    /// Sets a parameter, in place of any value that it has.
    pub fn set(&mut self, keyword: &str, value: &str) {
        self.parameters.retain(|(k, _)| k != keyword);
        self.parameters.push((keyword.into(), value.into()));
    }
}

/// Value as it is written in a connection string, with quotes if it needs them.
pub fn quoted(value: &str) -> String {
    if !value.is_empty() && !value.contains(|c: char| c.is_whitespace() || c == '\'' || c == '\\') {
        return value.to_owned();
    }
    let escaped = value.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{escaped}'")
}

/// A keyword of connection strings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keyword {
    /// Its name.
    pub name: String,
    /// Whether its value is a secret.
    pub secret: bool,
    /// Whether it is meant for libpq's developers only.
    pub debug: bool,
}

/// All keywords that this libpq knows.
pub fn keywords() -> Vec<Keyword> {
    let mut keywords = Vec::new();
    for_each_option(c"", |option| {
        // SAFETY: both texts end in a zero byte and live until the options are freed.
        let (name, display) = unsafe { (c_text(option.keyword), c_text(option.dispchar)) };
        keywords.push(Keyword {
            name,
            // libpq's marks of passwords and of debug options.
            secret: display.contains('*'),
            debug: display.contains('D'),
        });
    });
    keywords
}

/// Keywords that any role may use in a connection string. The others make libpq read or write files of
/// the server's operating system user, use its identity or keys, or connect to further servers; or they
/// are unknown here, as those of later versions of libpq.
pub const UNPRIVILEGED: [&str; 26] = [
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "fallback_application_name",
    "gssencmode",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "load_balance_hosts",
    "options",
    "password",
    "port",
    "require_auth",
    "ssl_max_protocol_version",
    "ssl_min_protocol_version",
    "sslmode",
    "sslnegotiation",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Parameters of a connection string, which consists of keywords and values or is a URI; `None` if libpq
/// cannot read it.
///
/// Also `None`, unlike in libpq, for a URI with a second `@`. libpq takes it as a part of the host or
/// database name, but it belongs to a password that is not percent-encoded, of which errors about that
/// name would show a part.
pub fn parse(text: &str) -> Option<Vec<(String, String)>> {
    if has_stray_at(text) {
        return None;
    }
    let text = CString::new(text).ok()?;
    let mut parameters = Vec::new();
    for_each_option(&text, |option| {
        if !option.val.is_null() {
            // SAFETY: both texts end in a zero byte and live until the options are freed.
            parameters.push(unsafe { (c_text(option.keyword), c_text(option.val)) });
        }
    })
    .then_some(parameters)
}

/// Whether a text is a URI with an `@` after the one that ends user and password.
fn has_stray_at(text: &str) -> bool {
    let Some(rest) = ["postgresql://", "postgres://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
    else {
        return false;
    };
    // As libpq: user and password end at the first @, unless a slash comes before it.
    let after = match rest.find(['@', '/']) {
        Some(at) if rest.as_bytes()[at] == b'@' => &rest[at + 1..],
        _ => rest,
    };
    let path = after.split('?').next().unwrap_or_default();
    path.contains('@')
}

/// Calls `each` for every option that libpq knows, with the value that a connection string gives it, or
/// null. Returns `false`, without any call, if libpq cannot read the string.
fn for_each_option(text: &CStr, mut each: impl FnMut(&pq::_PQconninfoOption)) -> bool {
    let mut message = std::ptr::null_mut();
    // SAFETY: the text ends in a zero byte. libpq returns null or an array whose last option has no
    // keyword, and null or a message; both are the caller's to free. `each` cannot keep its reference.
    unsafe {
        let options = pq::PQconninfoParse(text.as_ptr(), &mut message);
        if !message.is_null() {
            pq::PQfreemem(message.cast());
        }
        if options.is_null() {
            return false;
        }
        let mut option = options;
        while !(*option).keyword.is_null() {
            each(&*option);
            option = option.add(1);
        }
        pq::PQconninfoFree(options);
    }
    true
}
