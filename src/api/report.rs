//! `bench.report`: runs and sets as text, Markdown, JSON or HTML.

use super::charts::{course_of, glyphs, other};
use super::last;
use super::live;
use crate::backend::call::{Arguments, Call, OrRaiseIn};
use crate::check::{self, Ids, argument, invalid, one_of};
use crate::error::{Error, Result};
use crate::query;
use crate::results::load::{load_evidence, load_rows, time_budget};
use crate::results::waits::SeenWaits;
use crate::results::{repeat, series, sets};
use crate::security::with_pinned_settings;
use crate::server::literal_to_copy;
use crate::text::storable;
use pgrx::datum::DatumWithOid;
use pgrx::prelude::*;
use selfbench_chart::text::Glyphs;
use selfbench_model::RunRecord;
use selfbench_page::{
    MAX_ROWS, Report, Rows, Side, Source, fitting, label_report, pair_report, run_lead, run_report,
    set_report,
};

/// Format of a report.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Format {
    /// Text like pgbench's report, with more lines.
    Text,
    /// Markdown, for an issue or a mail.
    Markdown,
    /// The document of `bench.export_run`.
    Json,
    /// One file for a browser.
    Html,
}

impl Format {
    fn take(arguments: &mut Arguments<'_>) -> Result<Format> {
        let name: Option<String> = arguments.take("format")?;
        one_of("format", &argument("format", name)?, FORMATS)
    }
}

/// A report in a format other than JSON.
fn written(report: &Report, format: Format) -> Result<String> {
    let text = match format {
        Format::Html => return Ok(report.html()),
        Format::Markdown => {
            let glyphs = glyphs()?;
            let text = report.markdown(glyphs);
            match glyphs {
                Glyphs::Unicode => text,
                // Not every encoding has a micro sign.
                Glyphs::Ascii => text.replace("\u{b5}s", "us"),
            }
        }
        Format::Text | Format::Json => report.text(),
    };
    Ok(storable(&text).into_owned())
}

const FORMATS: [(&str, Format); 4] = [
    ("text", Format::Text),
    ("markdown", Format::Markdown),
    ("json", Format::Json),
    ("html", Format::Html),
];

/// The report of a run, of sets or of a label that the caller may see; of the last run without an
/// argument. A text is a row per line, all other formats are one row.
#[pg_extern(sql = false)]
fn report(call: Call<'_>) -> SetOfIterator<'static, String> {
    let text = (|| {
        let (run_id, format, set_ids, label, against) = call.read(|arguments| {
            let run_id: i64 = argument("run_id", arguments.take("run_id")?)?;
            let format = Format::take(arguments)?;
            let set_ids: Ids = argument("set_ids", arguments.take("set_ids")?)?;
            let label: String = argument("label", arguments.take("label")?)?;
            let against: i64 = argument("against", arguments.take("against")?)?;
            Ok((
                run_id,
                format,
                Some(set_ids).filter(|ids| !ids.0.is_empty()),
                Some(label).filter(|label| !label.is_empty()),
                against,
            ))
        })?;
        if against != 0 && (set_ids.is_some() || label.is_some()) {
            return Err(Error::OptionConflict {
                message: "option \"against\" is for a single run".into(),
                hint: "Give \"run_id\" with it, or give \"set_ids\" or \"label\" alone.".into(),
            });
        }
        let text = match (run_id, set_ids, label) {
            (0, Some(set_ids), None) => of_sets(&check::ids("set_ids", &set_ids)?, format)?,
            (0, None, Some(label)) => of_label(&label, format)?,
            (run_id, None, None) => {
                let record = live::visible(last::run(Some(run_id))?)?;
                match (format, other(record.run.run_id, against)?) {
                    (_, Some(other)) => of_two(&record, &other, format)?,
                    (Format::Text, None) => text_of(&record)?,
                    (Format::Json, None) => exported(record.run.run_id)?,
                    (_, None) => written(&report_of(&record)?, format)?,
                }
            }
            _ => {
                return Err(Error::OptionConflict {
                    message: "options \"run_id\", \"set_ids\" and \"label\" exclude each other"
                        .into(),
                    hint: "Give one of them, or none for the last run.".into(),
                });
            }
        };
        Ok(match format {
            Format::Text => text.lines().map(str::to_owned).collect(),
            _ => vec![text],
        })
    })()
    .or_raise_in(&call);
    SetOfIterator::new(text)
}

/// The report of a run beside another one.
fn of_two(record: &RunRecord, other: &RunRecord, format: Format) -> Result<String> {
    if format == Format::Json {
        return Err(Error::OptionConflict {
            message: "format \"json\" is of a single run".into(),
            hint: "Use bench.export_run for each run, or bench.compare_runs for what differs."
                .into(),
        });
    }
    let mut charts = series::charts(&record.run)?;
    let of_other = series::charts(&other.run)?;
    charts.retain(|chart| chart.takes_two() && of_other.contains(chart));
    let sources: Vec<_> = charts.iter().map(|chart| chart.source()).collect();
    let sides = [
        side([record, other], &sources)?,
        side([other, record], &sources)?,
    ];
    written(&pair_report(&sides, &charts, &mut Stored)?, format)
}

/// The first of two runs, for a report of both.
fn side<'r>(
    [record, other]: [&'r RunRecord; 2],
    sources: &[selfbench_chart::run::Source],
) -> Result<Side<'r>> {
    let seen = SeenWaits::load(record.run.run_id)?;
    Ok(Side {
        record,
        evidence: load_evidence(record.run.run_id, &seen)?,
        data: series::load(&record.run, sources, Some(&seen), Some(&other.run))?.since_warm_up(),
    })
}

/// Most sets of a report.
const MAX_SETS: usize = 100;

/// The report of sets.
fn of_sets(set_ids: &[i64], format: Format) -> Result<String> {
    let first = match set_ids[..] {
        [first, ..] if set_ids.len() <= MAX_SETS => first,
        _ => {
            let sets = format!("{} sets", set_ids.len());
            let valid = format!("From 1 to {MAX_SETS} sets.");
            return Err(invalid("set_ids", sets, &valid));
        }
    };
    for set_id in set_ids {
        sets::load(*set_id)?;
    }
    if format == Format::Json {
        return document("SELECT bench_internal.export_sets($1)", set_ids.into());
    }
    let repeats = set_ids.iter().map(|set_id| repeat::of_set(*set_id));
    let repeats = repeats.collect::<Result<Vec<String>>>()?;
    let report = set_report(set_ids, &repeats, &mut Stored)?;
    written(&report.ok_or(Error::UnknownSet { set_id: first })?, format)
}

/// The report of the runs with a label.
fn of_label(label: &str, format: Format) -> Result<String> {
    let report = label_report(label, &literal_to_copy(label), &mut Stored)?;
    let report = report.ok_or_else(|| Error::UnknownLabel(label.to_owned()))?;
    match format {
        Format::Json => document("SELECT bench_internal.export_label($1)", label.into()),
        _ => written(&report, format),
    }
}

fn text_of(record: &RunRecord) -> Result<String> {
    let run_id = record.run.run_id;
    let evidence = load_evidence(run_id, &SeenWaits::load(run_id)?)?;
    let lead = run_lead(record, &evidence);
    let mut text = format!("{lead}\n\n{}", selfbench_report::text(record, &evidence));
    text.extend(course_of(run_id)?);
    let lines = selfbench_markup::lines(&text);
    // Commands are indented, as pgbench prints them.
    let fit = |line: &str| match line.starts_with(' ') {
        true => vec![line.to_owned()],
        false => fitting(line),
    };
    let lines: Vec<String> = lines.lines().flat_map(fit).collect();
    Ok(lines.join("\n") + "\n")
}

/// The document of a run, with the caller's rights.
fn exported(run_id: i64) -> Result<String> {
    document("SELECT bench.export_run($1)::text", run_id.into())
}

/// The document that a query with one parameter returns.
fn document(sql: &str, parameter: DatumWithOid) -> Result<String> {
    let text = with_pinned_settings(|| query::first_value::<String>(sql, &[parameter]))?;
    text.ok_or(Error::NoRun)
}

/// Report of a run.
pub(super) fn report_of(record: &RunRecord) -> Result<Report> {
    let run_id = record.run.run_id;
    let seen = SeenWaits::load(run_id)?;
    let evidence = load_evidence(run_id, &seen)?;
    let repeat = repeat::statements(record, &evidence)?;
    let charts = series::charts(&record.run)?;
    let sources: Vec<_> = charts.iter().map(|chart| chart.source()).collect();
    let data = series::load(&record.run, &sources, Some(&seen), None)?;
    let budget = time_budget(&record.run, &seen)?;
    run_report(
        record,
        &evidence,
        &repeat,
        &data,
        &charts,
        &budget,
        &mut Stored,
    )
}

/// The tables, with the caller's rights.
struct Stored;

impl Source for Stored {
    type Error = Error;

    fn read(&mut self, query: &str) -> Result<Rows> {
        let (rows, numbers) = load_rows(query, MAX_ROWS + 1)?;
        Ok(Rows { numbers, rows })
    }
}
