//! Values as JSON, to it and from it, and texts that the database can store.

use crate::error::{Error, Result, problem};
use crate::query;
use crate::security::with_pinned_settings;
use crate::server;
use selfbench_model::ascii;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::ser::{CharEscape, CompactFormatter, Formatter};
use std::borrow::Cow;
use std::io::Write;

/// A value as JSON. A number that is not finite is null.
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let mut text = Vec::new();
    let storable = Storable {
        ascii: !server::stores_unicode(),
    };
    let mut serializer = serde_json::Serializer::with_formatter(&mut text, storable);
    value.serialize(&mut serializer).map_err(unprintable)?;
    String::from_utf8(text).map_err(|e| Error::Limit(format!("cannot describe a result: {e}")))
}

/// The names of a row's fields.
pub fn names<T: Serialize>(row: &T) -> Result<Vec<String>> {
    match serde_json::to_value(row).map_err(unprintable)? {
        serde_json::Value::Object(fields) => Ok(fields.into_iter().map(|(name, _)| name).collect()),
        _ => Ok(Vec::new()),
    }
}

/// A text as the database can store it, with the same changes as in [`json`].
pub fn storable(text: &str) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(text);
    if text.contains('\0') {
        text = text.replace('\0', "").into();
    }
    if !text.is_ascii() && !server::stores_unicode() {
        text = ascii(&text).into();
    }
    text
}

/// Leaves zero characters out of texts: they cannot be stored, and no text of ours has a meaning
/// with one. In a database whose encoding may not have a character, or has other bytes for it, a
/// question mark takes the place of all that is not ASCII.
struct Storable {
    ascii: bool,
}

impl Formatter for Storable {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> std::io::Result<()> {
        if !self.ascii || fragment.is_ascii() {
            return writer.write_all(fragment.as_bytes());
        }
        writer.write_all(ascii(fragment).as_bytes())
    }

    fn write_char_escape<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        escape: CharEscape,
    ) -> std::io::Result<()> {
        match escape {
            CharEscape::AsciiControl(0) => Ok(()),
            escape => CompactFormatter.write_char_escape(writer, escape),
        }
    }
}

/// The error of a value that cannot be written.
pub fn unprintable(error: serde_json::Error) -> Error {
    Error::Limit(format!("cannot describe a result: {error}"))
}

/// Rows of a query with one JSON column and one parameter, under the latest snapshot.
pub(super) fn query_json<T: DeserializeOwned>(sql: &str, parameter: i64) -> Result<Vec<T>> {
    with_pinned_settings(|| parsed(&query::first_column(sql, parameter)?))
}

/// Texts that are JSON.
pub(super) fn parsed<T: DeserializeOwned>(texts: &[String]) -> Result<Vec<T>> {
    let parse = |text: &String| {
        serde_json::from_str(text)
            .map_err(|e| Error::Limit(format!("cannot read a stored result: {}", problem(&e))))
    };
    texts.iter().map(parse).collect()
}
