//! What a client keeps of results.

use crate::pq::PqResult;
use crate::session::column::column_value;
use selfbench_client::{Column, ColumnValue, QueryResult};

/// What `\gset` and `\aset` need of a result.
pub(super) fn kept(result: &PqResult) -> QueryResult {
    let rows = result.rows();
    let mut last_row = Vec::new();
    if let Some(row) = rows.checked_sub(1) {
        last_row.extend((0..result.columns()).map(|column| Column {
            name: result.column_name(column),
            value: match result.value(row, column) {
                None => ColumnValue::Null,
                Some(bytes) => column_value(bytes),
            },
        }));
    }
    QueryResult {
        rows: rows as u64,
        last_row,
    }
}
