//! Values as JSON, to it and from it, and texts that the database can store.

use crate::error::{Error, Result, problem};
use crate::query;
use crate::security::with_pinned_settings;
use crate::text::stores_unicode;
use selfbench_model::make_storable;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A value as JSON that the database can store. A number that is not finite is null.
pub fn stored<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    let mut value = serde_json::to_value(value).map_err(unprintable)?;
    make_storable(&mut value, !stores_unicode());
    Ok(value)
}

/// The text of [`stored`].
pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    Ok(stored(value)?.to_string())
}

/// The fields of a row, as [`stored`].
pub fn fields<T: Serialize>(row: &T) -> Result<Map<String, Value>> {
    match stored(row)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
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
