//! `bench.capture_workload` and `bench.set_parameter`.

use super::warnings::notice;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::backend::interrupts::check_for_interrupts;
use crate::capture;
use crate::capture::statistics::{Source, current_role, window};
use crate::capture::store::Row;
use crate::check;
use crate::clock;
use crate::latch::{self, WaitEvent};
use crate::server;
use crate::state::session;
use pgrx::datum::Interval;
use pgrx::prelude::*;
use std::collections::BTreeSet;
use std::time::Duration;

/// The most statements of a capture: a run has so many scripts at most.
const MOST: i32 = 100;
/// Period of the checks whether the window has ended.
const TICK: Duration = Duration::from_secs(1);

type Rows = TableIterator<
    'static,
    (
        name!(statement_no, i32),
        name!(calls, i64),
        name!(time_share, Option<f64>),
        name!(script, Option<String>),
        name!(status, String),
        name!(reason, Option<String>),
        name!(query, Option<String>),
    ),
>;

fn rows(rows: Vec<Row>) -> Rows {
    TableIterator::new(rows.into_iter().map(|row| {
        (
            row.number,
            row.calls,
            row.time_share.map(rounded),
            row.script,
            row.status.to_owned(),
            row.reason,
            row.query.map(|query| beginning(&query)),
        )
    }))
}

/// A share with three digits.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

/// The beginning of a text, in a line.
fn beginning(text: &str) -> String {
    const LENGTH: usize = 100;
    let mut words = String::new();
    for word in text.split_whitespace() {
        if !words.is_empty() {
            words.push(' ');
        }
        words.push_str(word);
        if words.len() > LENGTH {
            return words.chars().take(LENGTH).collect::<String>() + "...";
        }
    }
    words
}

#[pg_extern(sql = false)]
fn capture_workload(call: Call<'_>) -> Rows {
    let horizon = call.horizon();
    let found = (|| {
        let (name, period, top, search_path) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<String>>("name")?,
                arguments.take::<Option<Interval>>("period")?,
                arguments.take::<i32>("top")?,
                arguments.take::<Option<String>>("search_path")?,
            ))
        })?;
        let name = check::argument("name", name)?;
        let period_us = match &period {
            Some(period) => Some(check::duration("period", period, false)?),
            None => None,
        };
        let top = check::in_range("top", top, 1, MOST)?;
        server::require_writable_transaction("capture workloads")?;
        capture::require_name(&name)?;
        let (expressions, copies) = capture::discarded(&name)?;
        if expressions > 0 || copies.is_some() {
            let copies =
                copies.map(|schema| format!("the copies of its tables in schema \"{schema}\""));
            let expressions =
                (expressions > 0).then(|| "the expressions of its parameters".to_owned());
            let both: Vec<_> = expressions.into_iter().chain(copies).collect();
            notice(
                "the new capture replaces an earlier one",
                &format!(
                    "Workload \"{name}\" will no longer use {}.",
                    both.join(" and ")
                ),
                "Afterwards, call bench.set_parameter and bench.clone_tables again.",
            );
        }
        let source = Source::find()?;
        let search_path =
            search_path.unwrap_or_else(|| session::setting(c"search_path").unwrap_or_default());
        let first = match period_us {
            Some(period_us) => {
                let first = source.look(false)?;
                pause(period_us as u64 * 1000, &horizon);
                call.require_extension()?;
                Some(first)
            }
            None => None,
        };
        let second = source.look(true)?;
        let window = window(first.as_ref(), &second, &BTreeSet::from([current_role()]));
        for [message, detail, hint] in &window.notes {
            notice(message, detail, hint);
        }
        let rows = capture::capture(&name, &source, window, top as usize, search_path)?;
        let lacking: Vec<_> = rows.iter().filter(|row| row.lacks_values).collect();
        if !lacking.is_empty() {
            let numbers: Vec<_> = lacking.iter().map(|row| row.number.to_string()).collect();
            notice(
                "statements are left out because parameters have no values",
                &format!("Statements of workload \"{name}\": {}.", numbers.join(", ")),
                "Say what the values are with bench.set_parameter.",
            );
        }
        Ok(rows)
    })();
    rows(found.or_raise_in(&call))
}

/// Waits, without a snapshot if that is possible, until a cancel request or the end of the window.
fn pause(period_ns: u64, horizon: &Horizon) {
    let end = clock::now_ns() + period_ns;
    if !horizon.releasable() {
        notice(
            "the capture keeps dead rows from being removed",
            "The calling statement needs its snapshot until the end of the window.",
            "Use SELECT * FROM bench.capture_workload(...) at top level, in READ COMMITTED mode, in a separate \
             transaction that reads no table.",
        );
    }
    loop {
        let left = end.saturating_sub(clock::now_ns());
        if left == 0 {
            return;
        }
        latch::end_without_client();
        check_for_interrupts();
        horizon.release();
        latch::wait(TICK.min(Duration::from_nanos(left)), WaitEvent::Window);
    }
}

#[pg_extern(sql = false)]
fn set_parameter(call: Call<'_>) -> Rows {
    let found = (|| {
        let (workload, statement, parameter, expression) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<String>>("workload")?,
                arguments.take::<Option<i32>>("statement")?,
                arguments.take::<Option<i32>>("parameter")?,
                arguments.take::<Option<String>>("expression")?,
            ))
        })?;
        server::require_writable_transaction("change workloads")?;
        let set = capture::set_parameter(
            &check::argument("workload", workload)?,
            check::argument("statement", statement)?,
            check::argument("parameter", parameter)?,
            expression,
        )?;
        if set.only_nulls {
            notice(
                "the expression returns only nulls",
                "The parameter is null in each execution of the statement.",
                "Comparisons with null find no rows.",
            );
        }
        if !set.failed.is_empty() {
            notice(
                "other statements are left out because their expressions fail",
                &format!("{}.", set.failed.join("; ")),
                "Say what the values are with bench.set_parameter.",
            );
        }
        Ok(vec![set.row])
    })();
    rows(found.or_raise_in(&call))
}
