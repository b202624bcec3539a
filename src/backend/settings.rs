//! Settings of sessions: those of the caller, which the workers of its task get as far as possible,
//! and those that a run gives to its clients, which they have exactly.

use crate::compat;
use crate::error::{Error, Result};
use crate::state::session;
use crate::state::transaction::{InTransaction, tried};
use pgrx::pg_sys::{GucAction, GucContext};
use pgrx::{PgLogLevel, pg_sys};
use rustix::process::Signal;
use std::ffi::CString;

/// Settings of a session, by name.
pub type Settings = Vec<(String, String)>;

/// A setting that a run gives to its clients.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ClientSetting {
    /// Its name, as the server writes it.
    pub name: String,
    /// The value that was asked for.
    pub value: String,
    /// The value as a session shows it.
    pub shown: String,
}

/// Maximum size of the settings of a session, in bytes.
const MAX_BYTES: usize = 16 << 20;

/// Settings that are not copied: they identify the session, or belong to its connection or
/// transaction.
const NOT_CARRIED: [&str; 7] = [
    "application_name",
    "client_encoding",
    "role",
    "session_authorization",
    "transaction_deferrable",
    "transaction_isolation",
    "transaction_read_only",
];

/// The settings that the calling session has changed: by SET, by connection options or by a
/// function's SET clause, including custom settings. The workers get settings of the configuration
/// files, the database and the role anyway.
///
/// The source is the state that the server passes to its parallel workers, because no view shows
/// custom settings that no extension has defined.
///
/// # Errors
/// If they are too large.
pub fn of_session() -> Result<Settings> {
    // SAFETY: the buffer has the size that the server asks for; it begins with the length of what
    // follows.
    let state = unsafe {
        let room = pg_sys::EstimateGUCStateSpace();
        if room > MAX_BYTES {
            return Err(Error::Limit(format!(
                "the settings of this session have {room} bytes (maximum is {MAX_BYTES})"
            )));
        }
        let mut state = vec![0u8; room];
        pg_sys::SerializeGUCState(room, state.as_mut_ptr().cast());
        state
    };
    Ok(parse(&state).unwrap_or_default())
}

/// Reads the server's serialized settings: for each its name, value and source file as texts with
/// a zero byte at their ends, a line number if there is a file, then source, context and role.
fn parse(state: &[u8]) -> Option<Settings> {
    fn take<'s>(rest: &mut &'s [u8], n: usize) -> Option<&'s [u8]> {
        let (head, tail) = rest.split_at_checked(n)?;
        *rest = tail;
        Some(head)
    }
    fn text(rest: &mut &[u8]) -> Option<String> {
        let end = rest.iter().position(|byte| *byte == 0)?;
        let text = take(rest, end + 1)?;
        Some(String::from_utf8_lossy(&text[..end]).into_owned())
    }
    fn word(rest: &mut &[u8]) -> Option<u32> {
        Some(u32::from_ne_bytes(
            take(rest, size_of::<u32>())?.try_into().ok()?,
        ))
    }
    let mut rest = state;
    let length = usize::from_ne_bytes(take(&mut rest, size_of::<usize>())?.try_into().ok()?);
    rest = rest.get(..length)?;
    let mut settings = Settings::new();
    while !rest.is_empty() {
        let (name, value, file) = (text(&mut rest)?, text(&mut rest)?, text(&mut rest)?);
        if !file.is_empty() {
            word(&mut rest)?;
        }
        let (source, _context, _role) = (word(&mut rest)?, word(&mut rest)?, word(&mut rest)?);
        let by_session =
            source == pg_sys::GucSource::PGC_S_SESSION || source == pg_sys::GucSource::PGC_S_CLIENT;
        if by_session && !NOT_CARRIED.contains(&name.as_str()) {
            settings.push((name, value));
        }
    }
    Some(settings)
}

/// Applies them to this worker, with the privileges of the calling role, until the process exits.
/// Settings that the role may not set, because the session set them as another role, or that only a
/// connection can set, remain unchanged.
pub fn apply(settings: &Settings) -> Result<()> {
    let transaction = InTransaction::current()?;
    for (name, value) in settings {
        set(transaction, name, value, pg_sys::DEBUG1 as i32);
    }
    Ok(())
}

/// Applies the settings of clients to this process, until it exits. Raises an error if one of them
/// cannot be set, and fails if one has another value than expected.
pub fn apply_exactly<'s>(settings: impl IntoIterator<Item = &'s ClientSetting>) -> Result<()> {
    let transaction = InTransaction::current()?;
    for setting in settings {
        let (name, value) = (&setting.name, &setting.value);
        set(transaction, name, value, PgLogLevel::ERROR as i32);
        setting.require(session::shown(transaction, name))?;
    }
    Ok(())
}

/// Fails unless this session has these settings.
pub fn require(settings: &[ClientSetting]) -> Result<()> {
    let transaction = InTransaction::current()?;
    for setting in settings {
        setting.require(session::shown(transaction, &setting.name))?;
    }
    Ok(())
}

impl ClientSetting {
    /// Tries a setting out in this session, which keeps its own value.
    pub fn try_out(name: &str, value: &str) -> Result<ClientSetting> {
        let transaction = InTransaction::current()?;
        tried(transaction, || {
            set(transaction, name, value, PgLogLevel::ERROR as i32);
            Ok(ClientSetting {
                name: session::setting_name(transaction, name),
                value: value.to_owned(),
                shown: session::shown(transaction, name),
            })
        })
    }

    /// Fails unless a client's session shows the value that was asked for.
    pub fn require(&self, is: String) -> Result<()> {
        match is == self.shown {
            true => Ok(()),
            false => Err(Error::SettingDiffers {
                name: self.name.clone(),
                wanted: self.shown.clone(),
                is,
            }),
        }
    }
}

/// Sets a setting of this session, with the privileges of its role; what keeps it from being set is
/// reported at this level.
fn set(_: InTransaction, name: &str, value: &str, level: i32) {
    let (Ok(name), Ok(value)) = (CString::new(name), CString::new(value)) else {
        return;
    };
    let context = match session::is_superuser() {
        true => GucContext::PGC_SUSET,
        false => GucContext::PGC_USERSET,
    };
    session::set(&name, &value, context, GucAction::GUC_ACTION_SET, level);
}

/// Makes a worker react to changed configuration files, as a backend always does.
pub fn follow_configuration() {
    unsafe extern "C-unwind" fn on_sighup(signal: i32) {
        // SAFETY: the server's own handler for this signal.
        unsafe { pg_sys::SignalHandlerForConfigReload(signal) };
    }
    // SAFETY: that handler sets a flag and the latch.
    unsafe { compat::set_signal_handler(Signal::HUP, on_sighup) };
}

/// Applies changes of the configuration files, as a backend does between statements.
#[inline]
pub fn reload() {
    // SAFETY: a flag that signals set, and what the server has for it, between statements.
    unsafe {
        let pending = &raw mut pg_sys::ConfigReloadPending;
        if pending.read_volatile() != 0 {
            pending.write_volatile(0);
            pg_sys::ProcessConfigFile(pg_sys::GucContext::PGC_SIGHUP);
        }
    }
}

/// Adds settings to the parameters of a connection: some that the `options` among these override,
/// and some that override them.
pub fn add_to_connection<'s>(
    mut connection: Vec<(String, String)>,
    weak: &Settings,
    strong: impl IntoIterator<Item = &'s ClientSetting>,
) -> Vec<(String, String)> {
    let weak = weak.iter().map(|(name, value)| (name, value));
    let strong = strong
        .into_iter()
        .map(|setting| (&setting.name, &setting.value));
    let (weak, strong) = (as_connection_options(weak), as_connection_options(strong));
    let given = connection.iter_mut().find(|(name, _)| name == "options");
    let own = given.as_ref().map_or("", |(_, options)| options);
    let all = [&weak, own, &strong]
        .into_iter()
        .filter(|part| !part.is_empty());
    let all = all.collect::<Vec<_>>().join(" ");
    match given {
        _ if all.is_empty() => {}
        Some((_, options)) => *options = all,
        None => connection.push(("options".into(), all)),
    }
    connection
}

/// The settings as the value of libpq's connection option `options`.
fn as_connection_options<'s>(settings: impl Iterator<Item = (&'s String, &'s String)>) -> String {
    let mut options = String::new();
    for (name, value) in settings {
        if !options.is_empty() {
            options.push(' ');
        }
        options.push_str("-c ");
        for c in format!("{name}={value}").chars() {
            if c == '\\' || c.is_whitespace() {
                options.push('\\');
            }
            options.push(c);
        }
    }
    options
}
