//! Notices that this process would send to its client, such as warnings of its statements.
//!
//! The server filters them by `client_min_messages`. A process without a client, as a background
//! worker is, gets them as well.

use crate::private;
use std::ffi::CStr;
use std::sync::OnceLock;

pub use crate::private::Redirected;

/// Receiver of the notices.
static RECEIVER: OnceLock<fn(&str)> = OnceLock::new();

/// Passes them, formatted as by psql, to a function that must not raise errors, until the value is
/// dropped. A process has one such function.
pub fn redirect_to(receiver: fn(&str)) -> Redirected {
    let _ = RECEIVER.set(receiver);
    private::redirect_notices(|fields| {
        if let Some(receiver) = RECEIVER.get() {
            receiver(&notice_text(fields));
        }
    })
}

/// A message of the server's protocol that is a notice: its severity and text, as psql shows them.
fn notice_text(mut fields: &[u8]) -> String {
    let mut text = String::new();
    while let Some((&code, rest)) = fields.split_first()
        && let Ok(value) = CStr::from_bytes_until_nul(rest)
    {
        let value_text = value.to_string_lossy();
        // In the order in which the server sends them.
        match code {
            b'S' => text = format!("{value_text}:  "),
            b'M' => text += &value_text,
            b'D' => text += &format!("\nDETAIL:  {value_text}"),
            b'H' => text += &format!("\nHINT:  {value_text}"),
            _ => {}
        }
        fields = &rest[value.count_bytes() + 1..];
    }
    text
}
