//! The rows of pgbench's and pgio's tables, for COPY.

use super::options::{ACCOUNTS, TELLERS};
use super::pgio::Keys;
use crate::copy::{CopyTarget, copy_in};
use crate::error::Result;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of rows between updates of the progress.
const PROGRESS_ROWS: i64 = 10_000;

/// One of pgbench's tables that are filled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Table {
    /// Branches.
    Branches,
    /// Tellers.
    Tellers,
    /// Accounts.
    Accounts,
}

impl Table {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Table::Branches => "pgbench_branches",
            Table::Tellers => "pgbench_tellers",
            Table::Accounts => "pgbench_accounts",
        }
    }

    /// Number of its rows.
    pub fn rows(self, scale: i64) -> i64 {
        match self {
            Table::Branches => scale,
            Table::Tellers => TELLERS * scale,
            Table::Accounts => ACCOUNTS * scale,
        }
    }

    /// Writes row `n`, counted from 1, in COPY's text format.
    fn write_row(self, n: i64, out: &mut String) {
        // Writing to a String does not fail.
        let _ = match self {
            Table::Branches => writeln!(out, "{n}\t0\t\\N"),
            Table::Tellers => writeln!(out, "{n}\t{}\t0\t\\N", (n - 1) / TELLERS + 1),
            Table::Accounts => writeln!(out, "{n}\t{}\t0\t", (n - 1) / ACCOUNTS + 1),
        };
    }
}

/// The rows of a table.
#[derive(Clone, Copy, Debug)]
enum Content {
    Pgbench(Table),
    Pgio(Keys),
}

/// The rows of a table, one after the other, in COPY's text format.
pub struct Rows {
    /// Name in SQL.
    table: String,
    content: Content,
    next: i64,
    last: i64,
    buffer: String,
    taken: usize,
    done: &'static AtomicU64,
}

impl Rows {
    /// All rows of one of pgbench's tables, as SQL names it. `done` counts those that have been
    /// taken.
    pub fn of_pgbench(name: String, table: Table, scale: i64, done: &'static AtomicU64) -> Rows {
        Rows {
            table: name,
            content: Content::Pgbench(table),
            next: 1,
            last: table.rows(scale),
            buffer: String::new(),
            taken: 0,
            done,
        }
    }

    /// All rows of one of pgio's tables, as SQL names it. `done` counts those that have been taken.
    pub fn of_pgio(name: String, keys: Keys, done: &'static AtomicU64) -> Rows {
        Rows {
            table: name,
            content: Content::Pgio(keys),
            next: 1,
            last: keys.rows,
            buffer: String::new(),
            taken: 0,
            done,
        }
    }

    /// The table, as SQL has it.
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Whether the table may have partitions.
    pub fn may_be_partitioned(&self) -> bool {
        matches!(self.content, Content::Pgbench(_))
    }

    /// Writes row `n`, counted from 1.
    fn write_row(content: Content, n: i64, out: &mut String) {
        match content {
            Content::Pgbench(table) => table.write_row(n, out),
            Content::Pgio(keys) => {
                // Writing to a String does not fail.
                let _ = writeln!(out, "{}\t0\t", keys.of(n));
            }
        }
    }

    /// Fills `out` with the next rows; returns the number of bytes, 0 at the end.
    pub fn fill(&mut self, out: &mut [u8]) -> usize {
        let mut filled = 0;
        while filled < out.len() {
            if self.taken == self.buffer.len() {
                self.buffer.clear();
                self.taken = 0;
                if self.next > self.last {
                    break;
                }
                Rows::write_row(self.content, self.next, &mut self.buffer);
                if self.next % PROGRESS_ROWS == 0 || self.next == self.last {
                    self.done.fetch_add(
                        if self.next % PROGRESS_ROWS == 0 {
                            PROGRESS_ROWS
                        } else {
                            self.next % PROGRESS_ROWS
                        } as u64,
                        Relaxed,
                    );
                }
                self.next += 1;
            }
            let rest = &self.buffer.as_bytes()[self.taken..];
            let n = rest.len().min(out.len() - filled);
            out[filled..filled + n].copy_from_slice(&rest[..n]);
            self.taken += n;
            filled += n;
        }
        filled
    }
}

/// Fills a table in the current transaction, which must have emptied or created it.
pub fn copy(mut rows: Rows) -> Result<()> {
    let table = rows.table().to_owned();
    let target = CopyTarget {
        table: &table,
        columns: "",
        format: c"text",
        freeze: true,
    };
    copy_in(&target, Box::new(move |out| rows.fill(out)))
}
