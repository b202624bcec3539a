//! Connection parameters: reading connection strings, and libpq's keywords.
//!
//! libpq's errors about a connection string may quote a password, so they are discarded here.

use crate::text::c_text;
use pq_sys as pq;
use serde::{Deserialize, Serialize};
use std::ffi::{CStr, CString};
use std::fmt;

/// Parameters of connections.
#[derive(Clone, Serialize, Deserialize)]
pub struct ConnectWith {
    /// libpq's keywords and their values.
    pub parameters: Vec<(String, String)>,
    /// Whether a connection may be used only if the server has asked for the password of the
    /// parameters.
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
    /// The value of a parameter; `None` if it is empty, as in libpq.
    pub fn get(&self, keyword: &str) -> Option<&str> {
        let given = self.parameters.iter().rev().find(|(k, _)| k == keyword)?;
        (!given.1.is_empty()).then_some(given.1.as_str())
    }

    /// Sets a parameter that is not given yet.
    pub fn set_default(&mut self, keyword: &str, value: &str) {
        if self.get(keyword).is_none() {
            self.set(keyword, value);
        }
    }

    /// Sets a parameter, whether it is given or not.
    pub fn set(&mut self, keyword: &str, value: &str) {
        self.parameters.retain(|(k, _)| k != keyword);
        self.parameters.push((keyword.into(), value.into()));
    }
}

/// A value, quoted for a connection string.
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
    /// The keyword.
    pub name: String,
    /// Whether its value is a secret.
    pub secret: bool,
    /// Whether it is meant for libpq's developers only.
    pub debug: bool,
}

/// All keywords that this libpq knows.
pub fn keywords() -> Vec<Keyword> {
    let mut keywords = Vec::new();
    options(c"", |option| {
        // SAFETY: libpq's options have a keyword and a display hint.
        let (name, display) = unsafe { (c_text(option.keyword), c_text(option.dispchar)) };
        keywords.push(Keyword {
            name,
            secret: display.contains('*'),
            debug: display.contains('D'),
        });
    });
    keywords
}

/// Keywords that any role may use in a connection string. All others make libpq read or write files of the
/// server's operating system user, use its identity or its keys, or connect to further servers, or are
/// not known to this version.
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

/// The parameters of a connection string, which consists of keywords and values or is a URI; `None`
/// if it is neither.
///
/// Unlike libpq, it rejects URIs with a second `@`, which would become a part of the host or
/// database name: such an `@` belongs to a password, and libpq's errors would show a part of it.
pub fn parse(text: &str) -> Option<Vec<(String, String)>> {
    if has_stray_at(text) {
        return None;
    }
    let text = CString::new(text).ok()?;
    let mut parameters = Vec::new();
    options(&text, |option| {
        if !option.val.is_null() {
            // SAFETY: both texts end in a zero byte and live until the options are freed.
            parameters.push(unsafe { (c_text(option.keyword), c_text(option.val)) });
        }
    })
    .then_some(parameters)
}

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

/// Calls `each` for every option that libpq knows, with the values that a connection string gives;
/// whether it could be read.
fn options(text: &CStr, mut each: impl FnMut(&pq::_PQconninfoOption)) -> bool {
    let mut message = std::ptr::null_mut();
    // SAFETY: the text ends in a zero byte. The options end in one without a keyword, and are freed
    // after their last use, as is the message.
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
