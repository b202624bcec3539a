//! The rows of a query as lines of COPY's CSV format, for a target.

use super::insert::Arguments;
use super::spec::RowQuery;
use crate::database::remote::Remote;
use crate::error::Result;
use crate::initialize::tables::quote_identifier;
use crate::query::Cursor;

/// Rows that are fetched at a time.
const BATCH: i32 = 500;

/// Rows, one after the other, in CSV.
pub struct Lines {
    rows: Cursor,
    /// Lines that have been fetched, the first `taken` bytes of which are copied.
    fetched: Vec<u8>,
    taken: usize,
}

impl Lines {
    /// The rows of a query in the current transaction.
    pub fn of(query: &str, arguments: Arguments) -> Result<Lines> {
        // The text of a row is CSV in parentheses, but for backslashes.
        let sql = format!(
            "SELECT pg_catalog.convert_to(ROW(r.*)::pg_catalog.text, 'UTF8') FROM ({query}\n) r"
        );
        Ok(Lines {
            rows: Cursor::open(&sql, &arguments.datums())?,
            fetched: Vec::new(),
            taken: 0,
        })
    }

    /// Copies them into the table of their query in a target. `done` gets the number of rows again and again.
    pub fn copy(
        mut self,
        remote: &mut Remote,
        query: &RowQuery,
        done: &mut dyn FnMut(u64) -> Result<()>,
    ) -> Result<()> {
        let mut failure = None;
        let columns: Vec<_> = query
            .columns
            .iter()
            .map(|name| quote_identifier(name))
            .collect();
        let copy = format!(
            "COPY {} ({}) FROM STDIN WITH (FORMAT csv)",
            query.target,
            columns.join(", ")
        );
        remote.copy_in(&copy, |out| {
            self.fill(out, done).unwrap_or_else(|error| {
                failure = Some(error);
                0
            })
        })?;
        failure.map_or(Ok(()), Err)
    }

    /// Fills `out` with the next bytes; returns their number, 0 at the end.
    fn fill(&mut self, out: &mut [u8], done: &mut dyn FnMut(u64) -> Result<()>) -> Result<usize> {
        if self.taken == self.fetched.len() {
            self.fetched.clear();
            self.taken = 0;
            let lines = &mut self.fetched;
            done(self.rows.fetch(BATCH, |row| line(row, lines))?)?;
        }
        let rest = &self.fetched[self.taken..];
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        self.taken += count;
        Ok(count)
    }
}

/// Appends the line of a row's text, which is in parentheses and doubles backslashes.
fn line(row: &[u8], lines: &mut Vec<u8>) {
    let inner = row.get(1..row.len().saturating_sub(1)).unwrap_or_default();
    let mut bytes = inner.iter();
    while let Some(byte) = bytes.next() {
        lines.push(*byte);
        if *byte == b'\\' {
            bytes.next();
        }
    }
    lines.push(b'\n');
}
