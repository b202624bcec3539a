//! Carrying the caller's session settings over to the workers of its task.

use crate::error::Result;
use pgrx::pg_sys;
use pgrx::prelude::*;
use std::ffi::CString;

/// Settings of a session, by name.
pub type Settings = Vec<(String, String)>;

/// What the calling session has set for itself: by SET, by connection options or by a function's
/// SET clause. What comes from the configuration, the database or the role reaches the workers
/// without our doing.
pub fn of_session() -> Result<Settings> {
    Spi::connect(|client| {
        let rows = client.select(
            "SELECT name::pg_catalog.text, pg_catalog.current_setting(name)
               FROM pg_catalog.pg_settings
              WHERE source::pg_catalog.text IN ('session', 'client')
                AND context::pg_catalog.text IN ('user', 'superuser')
                AND name::pg_catalog.text NOT IN
                    ('application_name', 'client_encoding', 'transaction_isolation',
                     'transaction_read_only', 'transaction_deferrable')
              ORDER BY 1",
            None,
            &[],
        )?;
        let mut settings = Settings::new();
        for row in rows {
            if let (Some(name), Some(value)) = (row.get::<String>(1)?, row.get::<String>(2)?) {
                settings.push((name, value));
            }
        }
        Ok(settings)
    })
}

/// Sets them in this worker, with the rights of the calling role, for the life of the process. A
/// setting that the role may not set, since the session had set it as another role, stays as it is
/// and the server log tells.
///
/// Must be called in a transaction.
pub fn apply(settings: &Settings) -> Result<()> {
    for (name, value) in settings {
        let (Ok(name), Ok(value)) = (CString::new(name.as_str()), CString::new(value.as_str()))
        else {
            continue;
        };
        // SAFETY: both texts end in a zero byte; errors are raised and caught by the transaction.
        unsafe {
            let context = if pg_sys::superuser() {
                pg_sys::GucContext::PGC_SUSET
            } else {
                pg_sys::GucContext::PGC_USERSET
            };
            pg_sys::set_config_option(
                name.as_ptr(),
                value.as_ptr(),
                context,
                pg_sys::GucSource::PGC_S_SESSION,
                pg_sys::GucAction::GUC_ACTION_SET,
                true,
                pg_sys::WARNING as i32,
                false,
            );
        }
    }
    Ok(())
}

/// The settings as the value of libpq's connection option `options`.
pub fn as_connection_options(settings: &Settings) -> String {
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
