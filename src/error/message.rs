//! Messages below the level of an error: to the client and the server log.
//!
//! The server looks for a cancel when it has sent one. The binding's own macros for messages do not
//! guard that call: its error would jump over our functions, whose destructors would not run. So
//! messages are sent here only, and `clippy.toml` forbids the other ways.

use super::sqlstate::encode;
use super::{Report, catch};
use crate::text::storable;
use pgrx::pg_sys::{self, ErrorData};
use pgrx::{PgLogLevel, PgSqlErrorCode as Sqlstate};
use std::ffi::{CString, c_char};
use std::fmt::Display;
use std::panic::Location;

/// Writes a line to the server log. Raises nothing, since it may be called in a drop or when the process
/// exits.
#[track_caller]
pub fn log(message: impl Display) {
    let report = Report::new(Sqlstate::ERRCODE_SUCCESSFUL_COMPLETION, message.to_string());
    let place = Location::caller();
    let _ = catch(|| {
        report.send_from(place, PgLogLevel::LOG_SERVER_ONLY);
        Ok(())
    });
}

/// Sends the client a notice.
#[track_caller]
pub fn notice(message: impl Display) {
    Report::new(Sqlstate::ERRCODE_SUCCESSFUL_COMPLETION, message.to_string())
        .send(PgLogLevel::NOTICE);
}

/// Sends the client a warning, which goes to the server log, too.
#[track_caller]
pub fn warning(message: impl Display) {
    Report::new(Sqlstate::ERRCODE_WARNING, message.to_string()).send(PgLogLevel::WARNING);
}

impl Report {
    /// Sends it as a message of that level. A cancel that comes in the meantime waits for the caller's
    /// next look at interrupts, where it ends what is to be ended; a termination does not wait.
    ///
    /// Raises an error if the client's encoding does not have all characters.
    #[track_caller]
    pub fn send(&self, level: PgLogLevel) {
        self.send_from(Location::caller(), level);
    }

    fn send_from(&self, place: &Location<'_>, level: PgLogLevel) {
        let [message, file] = [&self.message, place.file()].map(c_string);
        let [detail, hint] = [&self.detail, &self.hint].map(|text| text.as_deref().map(c_string));
        let pointer = |text: &Option<CString>| match text {
            Some(text) => text.as_ptr().cast_mut(),
            None => std::ptr::null_mut::<c_char>(),
        };
        let mut data = ErrorData {
            elevel: level as i32,
            sqlerrcode: encode(&self.sqlstate).unwrap_or_default(),
            message: message.as_ptr().cast_mut(),
            detail: pointer(&detail),
            hint: pointer(&hint),
            filename: file.as_ptr(),
            lineno: place.line() as i32,
            ..ErrorData::default()
        };
        // SAFETY: the server copies the texts, but for the file's name, which it needs during the call. The
        // count is one of this process. An error sets it to 0, also one that a hook catches.
        unsafe {
            let before = pg_sys::QueryCancelHoldoffCount;
            pg_sys::QueryCancelHoldoffCount = before + 1;
            pg_sys::ThrowErrorData(&raw mut data);
            pg_sys::QueryCancelHoldoffCount = before;
        }
    }
}

fn c_string(text: &str) -> CString {
    CString::new(&*storable(text)).unwrap_or_default()
}
