//! Source of the data of reports.

use crate::content::{Row, Rows, Section, Table};

/// The stored results, as far as the caller may see them.
pub trait Source {
    /// Why it does not answer.
    type Error;

    /// The first rows of a query that returns them in full, up to one more than [`MAX_ROWS`](crate::MAX_ROWS).
    fn read(&mut self, query: &str) -> Result<Rows, Self::Error>;

    /// Returns the rows without the kinds of the columns.
    fn rows(&mut self, query: &str) -> Result<Vec<Row>, Self::Error> {
        Ok(self.read(query)?.rows)
    }

    /// The rows of a query as a table; `None` without rows.
    fn table(&mut self, caption: &str, query: String) -> Result<Option<Table>, Self::Error> {
        Ok(Table::of(caption, query.clone(), self.read(&query)?))
    }

    /// A section with one table, if it has rows.
    fn section(
        &mut self,
        heading: &str,
        words: &str,
        caption: &str,
        query: String,
    ) -> Result<Option<Section>, Self::Error> {
        let table = self.table(caption, query)?;
        Ok(table.map(|table| Section::of(heading, words, table)))
    }
}
