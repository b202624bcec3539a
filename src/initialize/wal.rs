//! Compression of the WAL that a loader writes.

use super::heap;
use crate::backend::transaction::transaction;
use crate::error::Result;
use crate::query;

/// Makes this process compress its WAL with LZ4 from now on, if the server supports that, unless
/// `wal_compression` has been set. Returns the value that was set, which is kept. With pglz or Zstandard,
/// a load takes about as long as without compression, or longer.
///
/// Must be called outside of a transaction.
///
/// # Errors
/// If the setting cannot be read.
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

/// Note on what a value of `wal_compression` costs, in comparison with LZ4; `None` for LZ4.
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
