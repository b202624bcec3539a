//! Storing the log of single transactions.

use super::store::{as_storer, at_shutdown, hold, patiently};
use crate::copy::{CopyTarget, Source, copy_in};
use crate::error::Result;
use crate::security::without_triggers;
use crate::server;
use pgrx::prelude::*;
use selfbench_model::{LoggedTransaction, TransactionOutcome};
use std::rc::Rc;

/// Stores logged transactions, without waiting for the disk: the end of the run will. While another session has
/// locked the tables, `gives_up` is asked once a second whether to go on.
pub fn store(
    run_id: i64,
    rows: &Rc<Vec<LoggedTransaction>>,
    gives_up: impl FnMut() -> bool,
) -> Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let target = CopyTarget {
        table: "bench.transactions",
        columns: "",
        format: c"binary",
        freeze: false,
    };
    patiently(gives_up, || {
        Spi::run("SET LOCAL synchronous_commit = off")?;
        as_storer(|| {
            hold(run_id)?;
            // Looking their run up for each of them would take longer than storing them.
            without_triggers(|| copy_in(&target, binary(run_id, Rc::clone(rows))))
        })
    })
}

/// Stores the last of a run's logged transactions, as soon as no other session has locked the tables.
pub fn finish(run_id: i64, rows: &Rc<Vec<LoggedTransaction>>) -> Result<()> {
    store(run_id, rows, at_shutdown)
}

/// Rows of `bench.transactions` in COPY's binary format.
fn binary(run_id: i64, rows: Rc<Vec<LoggedTransaction>>) -> Source {
    let mut next = 0;
    let mut buffer = BINARY_COPY_HEADER.to_vec();
    let mut taken = 0;
    let mut ended = false;
    Box::new(move |out: &mut [u8]| {
        while buffer.len() - taken < out.len() && !ended {
            match rows.get(next) {
                Some(row) => write_transaction(run_id, row, &mut buffer),
                None => {
                    ended = true;
                    buffer.extend_from_slice(&(-1i16).to_be_bytes());
                }
            }
            next += 1;
        }
        let n = out.len().min(buffer.len() - taken);
        out[..n].copy_from_slice(&buffer[taken..taken + n]);
        taken += n;
        if taken == buffer.len() {
            buffer.clear();
            taken = 0;
        }
        n
    })
}

/// Signature, flags and length of the extension: what COPY's binary format begins with.
const BINARY_COPY_HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";

/// Appends a row of `bench.transactions` in COPY's binary format.
fn write_transaction(run_id: i64, row: &LoggedTransaction, out: &mut Vec<u8>) {
    fn field(out: &mut Vec<u8>, value: Option<impl AsRef<[u8]>>) {
        let length = value.as_ref().map_or(-1, |v| v.as_ref().len() as i32);
        out.extend_from_slice(&length.to_be_bytes());
        if let Some(value) = value {
            out.extend_from_slice(value.as_ref());
        }
    }
    let ms = |ns: u64| (ns as f64 / 1e6).to_be_bytes();
    let at_us = row.at_us - server::UNIX_TO_SERVER_US;
    let latency_ns = (row.outcome == TransactionOutcome::Success).then_some(row.latency_ns);
    out.extend_from_slice(&9i16.to_be_bytes());
    field(out, Some(run_id.to_be_bytes()));
    field(out, Some((row.client as i32).to_be_bytes()));
    field(out, Some((row.count as i64).to_be_bytes()));
    field(out, Some(i32::from(row.script).to_be_bytes()));
    field(out, Some(row.outcome.as_str()));
    field(out, Some(at_us.to_be_bytes()));
    field(out, latency_ns.map(ms));
    field(out, row.lag_ns.map(ms));
    field(out, Some((row.retries as i32).to_be_bytes()));
}
