//! The compression of the WAL that a loader writes.

use super::heap;
use crate::backend::transaction::transaction;
use crate::error::Result;
use crate::query;

/// Compresses this process's WAL with LZ4 from now on (PGLZ and Zstandard take as long as they save), unless `wal_compression` has been set; then it
/// returns the value that is kept. Must be called outside of a transaction.
pub fn compress() -> Result<Option<String>> {
    let kept = transaction(|| {
        query::first_value::<String>(
            "SELECT setting FROM pg_catalog.pg_settings
              WHERE name OPERATOR(pg_catalog.=) 'wal_compression'
                AND source OPERATOR(pg_catalog.<>) 'default'",
            &[],
        )
    })?;
    if kept.is_none() {
        heap::compress_wal("lz4");
    }
    Ok(kept)
}

/// Note on the cost of a value of `wal_compression`; `None` for LZ4.
pub fn cost(kept: &str) -> Option<String> {
    let cost = match kept {
        "lz4" => return None,
        "off" => "WAL is about as large as the tables, with lz4 a fifth of it",
        _ => "it takes more CPU time than lz4",
    };
    Some(format!(
        "\"wal_compression\" is set to {kept} and stays so: {cost}"
    ))
}
