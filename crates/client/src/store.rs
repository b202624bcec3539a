//! `\gset` and `\aset`: from the results of statements to variables.

use crate::session::{ColumnValue, MAX_VALUE_BYTES, QueryResult};
use selfbench_script::{Store, StoreKind, Symbols, Variables};

/// Why results cannot be stored.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StoreError {
    /// Number of the statement among those sent together, from 0.
    pub(crate) query: usize,
    /// The part of pgbench's message before the place, if any.
    pub(crate) cause: Option<String>,
    /// The part after it.
    pub(crate) message: String,
}

/// Stores the results that `\gset` or `\aset` asks for. If not all statements succeeded, `complete`
/// is false: `\aset` stores what there is, `\gset` stores nothing.
pub(crate) fn store(
    what: &Store,
    results: &[QueryResult],
    complete: bool,
    symbols: &Symbols,
    variables: &mut Variables,
) -> Result<(), StoreError> {
    match what.kind {
        StoreKind::Aset => {
            for (query, result) in results.iter().enumerate() {
                if result.rows > 0 {
                    store_row(what, query, result, symbols, variables)?;
                }
            }
            Ok(())
        }
        StoreKind::Gset if !complete => Ok(()),
        StoreKind::Gset => {
            let query = results.len().saturating_sub(1);
            match results.last() {
                Some(result) if result.rows == 1 => {
                    store_row(what, query, result, symbols, variables)
                }
                other => Err(StoreError {
                    query,
                    cause: None,
                    message: format!(
                        "expected one row, got {}",
                        other.map_or(0, |result| result.rows)
                    ),
                }),
            }
        }
    }
}

fn store_row(
    what: &Store,
    query: usize,
    result: &QueryResult,
    symbols: &Symbols,
    variables: &mut Variables,
) -> Result<(), StoreError> {
    for column in &result.last_row {
        let fail = |cause: String| StoreError {
            query,
            cause: Some(cause),
            message: format!("error storing into variable {}{}", what.prefix, column.name),
        };
        let target = what
            .target(&column.name, symbols)
            .map_err(|error| fail(error.to_string()))?;
        let Some(slot) = target else { continue };
        match &column.value {
            ColumnValue::Null => variables.set_null_text(slot),
            ColumnValue::Text(text) => variables.set_text(slot, text),
            ColumnValue::NotAscii => {
                return Err(fail(format!(
                    "{}: value is not ASCII, and the encoding of the database is not UTF-8",
                    what.kind.as_str()
                )));
            }
            ColumnValue::TooLong(bytes) => {
                return Err(fail(format!(
                    "{}: value of {bytes} bytes is too long for a variable (maximum is \
                     {MAX_VALUE_BYTES})",
                    what.kind.as_str()
                )));
            }
        }
    }
    Ok(())
}
