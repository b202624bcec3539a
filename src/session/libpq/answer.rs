//! The server's answer to a client's command.

use super::link::Link;
use crate::backend::statement::COPY_IN_SCRIPT;
use crate::pq::{PqResult, Status, TransactionStatus};
use crate::session::column::column_value;
use selfbench_client::{Column, ColumnValue, Outcome, QueryResult, SqlError};

/// The answer to a command, or to a pipeline.
#[derive(Default)]
pub(super) struct Answer {
    /// Position of the next result among those of the statements sent together.
    pub(super) query: usize,
    /// Whether results are kept.
    pub(super) store: bool,
    /// Kept results.
    pub(super) results: Vec<QueryResult>,
    /// The first error.
    pub(super) failure: Option<SqlError>,
}

impl Answer {
    /// Takes a result. That of preparing a statement is not one of the statement's: `executing` is
    /// whether the statement itself is in progress.
    pub(super) fn take(&mut self, result: &PqResult, executing: bool, link: &Link) {
        match result.status() {
            Status::Command | Status::Rows if self.store && executing => {
                self.results.push(kept(result));
            }
            Status::Command | Status::Rows | Status::Sync | Status::Skipped => {}
            Status::Copy => {
                self.failure = Some(SqlError {
                    sqlstate: "0A000".into(),
                    message: COPY_IN_SCRIPT.into(),
                    lost: true,
                    query: self.query,
                });
            }
            Status::Error => {
                // The first error is the cause of the others.
                if self.failure.is_none() {
                    let lost = link
                        .transaction_status()
                        .is_none_or(|status| status == TransactionStatus::Unknown);
                    self.failure = Some(SqlError {
                        sqlstate: result.sqlstate().unwrap_or_default(),
                        message: result.error_message(),
                        lost,
                        query: self.query,
                    });
                }
            }
        }
        if executing {
            self.query += 1;
        }
    }

    /// Whether an error has ended the connection.
    #[inline]
    pub(super) fn is_lost(&self) -> bool {
        self.failure.as_ref().is_some_and(|failure| failure.lost)
    }

    /// The error of a connection that is lost.
    pub(super) fn loss(&self, link: &Link) -> SqlError {
        SqlError {
            message: link.error_message(),
            lost: true,
            // The server may have sent the reason before it closed the connection.
            query: self
                .failure
                .as_ref()
                .map_or(self.query, |first| first.query),
            ..SqlError::default()
        }
    }

    /// The outcome of the command, once its results are complete.
    #[inline]
    pub(super) fn outcome(&mut self) -> Outcome {
        match self.failure.take() {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Done,
        }
    }
}

/// Number of rows that a statement matched or returned; `None` if it failed, is of a kind that does
/// neither, or inserts.
pub(super) fn matched(result: &PqResult) -> Option<u64> {
    let tag = result.command_tag();
    let (command, rows) = tag.rsplit_once(' ')?;
    match command {
        "SELECT" | "UPDATE" | "DELETE" | "MERGE" => rows.parse().ok(),
        _ => None,
    }
}

/// Result as `\gset` and `\aset` need it.
fn kept(result: &PqResult) -> QueryResult {
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
