//! Values of results, as the client keeps them.

use selfbench_client::{ColumnValue, MAX_VALUE_BYTES};

/// A value in text form, as `\gset` and `\aset` take it.
pub fn column_value(bytes: &[u8]) -> ColumnValue {
    if bytes.len() > MAX_VALUE_BYTES {
        ColumnValue::TooLong(bytes.len())
    } else {
        ColumnValue::Text(String::from_utf8_lossy(bytes).into_owned())
    }
}
