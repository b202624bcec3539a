//! What a session has used, as the process that serves it counts it: exact, unlike statistics that
//! all processes of a database share.
//!
//! In mode spi the process is the client's own. A session of mode libpq asks its server process by
//! `bench.usage()`, which a target has only if the extension is there.

use crate::compat;
use crate::error::OrRaise;
use pgrx::prelude::*;
use selfbench_client::{ColumnValue, QueryResult, Usage};

/// What a connection is asked; the columns are those of [`usage`].
pub const QUERY: &std::ffi::CStr = c"SELECT * FROM bench.usage()";

/// What this process has used since it began.
pub fn of_process() -> Usage {
    let mut usage = compat::usage();
    // The kernel's account of this process; other systems have none.
    if let Ok(text) = std::fs::read_to_string("/proc/self/io") {
        usage.device_read_bytes = field(&text, "read_bytes");
        // What is written counts in "write_bytes" by whole folios of the page cache, which may be
        // two megabytes for a block.
        usage.device_write_bytes = field(&text, "wchar");
    }
    usage
}

fn field(text: &str, name: &str) -> Option<u64> {
    text.lines()
        .filter_map(|line| line.split_once(": "))
        .find(|(key, _)| *key == name)
        .and_then(|(_, value)| value.trim().parse().ok())
}

/// What a server process has answered to [`QUERY`].
pub fn of_answer(results: &[QueryResult]) -> Option<Usage> {
    let row = &results.first()?.last_row;
    let column = |name: &str| {
        let column = row.iter().find(|column| column.name == name)?;
        match &column.value {
            ColumnValue::Text(text) => text.parse::<u64>().ok(),
            _ => None,
        }
    };
    Some(Usage {
        blocks_hit: column("blocks_hit")?,
        blocks_read: column("blocks_read")?,
        blocks_dirtied: column("blocks_dirtied")?,
        blocks_written: column("blocks_written")?,
        blocks_evicted: column("blocks_evicted"),
        read_ns: column("read_ns")?,
        write_ns: column("write_ns")?,
        wal_records: column("wal_records")?,
        wal_fpi: column("wal_fpi")?,
        wal_bytes: column("wal_bytes")?,
        device_read_bytes: column("device_read_bytes"),
        device_write_bytes: column("device_write_bytes"),
    })
}

/// `bench.usage`: what the calling session has used, in one row.
#[pg_extern(sql = false)]
fn usage() -> pgrx::composite_type!('static, "bench.session_usage") {
    (|| -> Result<_, Box<dyn std::error::Error>> {
        let used = of_process();
        let mut row = PgHeapTuple::new_composite_type("bench.session_usage")?;
        for (name, value) in [
            ("blocks_hit", Some(used.blocks_hit)),
            ("blocks_read", Some(used.blocks_read)),
            ("blocks_dirtied", Some(used.blocks_dirtied)),
            ("blocks_written", Some(used.blocks_written)),
            ("blocks_evicted", used.blocks_evicted),
            ("read_ns", Some(used.read_ns)),
            ("write_ns", Some(used.write_ns)),
            ("wal_records", Some(used.wal_records)),
            ("wal_fpi", Some(used.wal_fpi)),
            ("wal_bytes", Some(used.wal_bytes)),
            ("device_read_bytes", used.device_read_bytes),
            ("device_write_bytes", used.device_write_bytes),
        ] {
            row.set_by_name(name, value.map(|value| value as i64))?;
        }
        Ok(row)
    })()
    .map_err(|e| crate::error::Error::Limit(format!("cannot form bench.session_usage: {e}")))
    .or_raise()
}
