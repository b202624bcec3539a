//! Usage of the server by a session, as the process that serves it counts it: exact, unlike
//! statistics that all processes of a database share.
//!
//! In mode spi the process is the client's own. A session of mode libpq asks its server process by
//! `bench.session_usage()`, which a target has only if the extension is there.

use crate::backend;
use crate::error::OrRaise;
use pgrx::prelude::*;
use selfbench_client::{Column, ColumnValue, QueryResult};
use selfbench_stats::Usage;
use serde_json::{Map, Number, Value};

/// Query for the usage of a connection; the columns are those of [`Usage`].
pub const QUERY: &std::ffi::CStr = c"SELECT * FROM bench.session_usage()";

/// Usage of this process since it began.
pub fn of_process() -> Usage {
    let mut usage = backend::usage::usage();
    // The kernel's account of this process; other systems have none.
    if let Ok(text) = std::fs::read_to_string("/proc/self/io") {
        usage.device_read_bytes = field(&text, "read_bytes");
        // "write_bytes" counts whole folios of the page cache, which may be
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

/// Usage in a server process's answer to [`QUERY`].
pub fn of_answer(results: &[QueryResult]) -> Option<Usage> {
    let column = |column: &Column| {
        let value = match &column.value {
            ColumnValue::Text(text) => serde_json::from_str::<Number>(text).ok().into(),
            _ => Value::Null,
        };
        (column.name.clone(), value)
    };
    let row: Map<String, Value> = results.first()?.last_row.iter().map(column).collect();
    serde_json::from_value(row.into()).ok()
}

/// `bench.session_usage`: what the calling session has used, in one row.
#[pg_extern(sql = false)]
fn usage() -> pgrx::composite_type!('static, "bench.session_usage") {
    (|| -> Result<_, Box<dyn std::error::Error>> {
        let mut row = PgHeapTuple::new_composite_type("bench.session_usage")?;
        if let Value::Object(columns) = serde_json::to_value(of_process())? {
            for (name, value) in columns {
                match value {
                    Value::Number(number) if number.is_f64() => {
                        row.set_by_name(&name, number.as_f64())?;
                    }
                    value => row.set_by_name(&name, value.as_i64())?,
                }
            }
        }
        Ok(row)
    })()
    .map_err(|e| crate::error::Error::Limit(format!("cannot form bench.session_usage: {e}")))
    .or_raise()
}
