//! `bench.report`: a run as text, Markdown, JSON or HTML.

use super::live::load;
use crate::check::{argument, one_of};
use crate::error::{Error, OrRaise, Result};
use crate::query;
use crate::results::json::storable;
use crate::results::load::{last_run_of_caller, load_evidence, load_rows};
use crate::results::repeat;
use crate::shared::Segment;
use pgrx::prelude::*;
use selfbench_model::RunRecord;
use selfbench_page::{MAX_ROWS, Report, Row, Source, run_report};
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// How a report is written.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    /// As pgbench reports, with more lines.
    Text,
    /// For an issue or a mail.
    Markdown,
    /// The document of `bench.export_run`.
    Json,
    /// One file for a browser.
    Html,
}

const FORMATS: [(&str, Format); 4] = [
    ("text", Format::Text),
    ("markdown", Format::Markdown),
    ("json", Format::Json),
    ("html", Format::Html),
];

/// The report of a run that the caller may see.
#[pg_extern(sql = false)]
fn report(run_id: Option<i64>, format: Option<&str>) -> String {
    (|| {
        let run_id = argument("run_id", run_id)?;
        let format = one_of("format", argument("format", format)?, FORMATS)?;
        let record = load(run_id)?.ok_or(Error::UnknownRun { run_id })?;
        match format {
            Format::Text => text_of(&record),
            Format::Json => exported(run_id),
            Format::Markdown => Ok(storable(&report_of(&record)?.markdown()).into_owned()),
            Format::Html => Ok(report_of(&record)?.html()),
        }
    })()
    .or_raise()
}

/// The last run of this session, 0 before its first.
static LAST_RUN: AtomicI64 = AtomicI64::new(0);

/// Remembers a run as the last one of this session, unless it is not stored.
pub(super) fn remember(segment: &Segment) {
    let run_id = segment.header().run_id.load(Relaxed);
    if run_id != 0 {
        LAST_RUN.store(run_id, Relaxed);
    }
}

/// The report of the last run of this session; if it has none that the caller may see, of the
/// caller's last one.
#[pg_extern(sql = false)]
fn report_last() -> String {
    (|| {
        let of_session = match LAST_RUN.load(Relaxed) {
            0 => None,
            run_id => load(run_id)?,
        };
        let found = match of_session {
            Some(found) => Some(found),
            None => match last_run_of_caller()? {
                Some(run_id) => load(run_id)?,
                None => None,
            },
        };
        text_of(&found.ok_or(Error::NoRun)?)
    })()
    .or_raise()
}

fn text_of(record: &RunRecord) -> Result<String> {
    let evidence = load_evidence(record.run.run_id)?;
    Ok(selfbench_report::text(record, &evidence))
}

/// The document of a run, with the caller's rights.
fn exported(run_id: i64) -> Result<String> {
    let sql = "SELECT bench.export_run($1)::text";
    let document = query::first_value::<String>(sql, &[run_id.into()])?;
    document.ok_or(Error::UnknownRun { run_id })
}

/// What the report of a run says.
pub(super) fn report_of(record: &RunRecord) -> Result<Report> {
    let evidence = load_evidence(record.run.run_id)?;
    let repeat = repeat::statements(record, &evidence)?;
    run_report(record, &evidence, &repeat, &mut Stored)
}

/// The tables, with the caller's rights.
struct Stored;

impl Source for Stored {
    type Error = Error;

    fn rows(&mut self, query: &str) -> Result<Vec<Row>> {
        load_rows(query, MAX_ROWS + 1)
    }
}
