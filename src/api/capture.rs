//! `bench.capture_workload` and `bench.set_parameter`.

use super::warnings::notice;
use crate::backend::call::{Call, OrRaiseIn};
use crate::backend::horizon::Horizon;
use crate::backend::interrupts::check_for_interrupts;
use crate::capture;
use crate::capture::statistics::{Source, window};
use crate::capture::store::Row;
use crate::check;
use crate::clock;
use crate::error::Result;
use crate::latch::{self, WaitEvent};
use crate::security::{require_role, restricted};
use crate::server;
use crate::state::session;
use pgrx::datum::Interval;
use pgrx::prelude::*;
use std::time::Duration;

/// The most statements of a capture: a run has so many scripts at most.
const MOST: i32 = 100;
/// Period of the checks whether the window has ended.
const TICK: Duration = Duration::from_secs(1);

type Rows = TableIterator<
    'static,
    (
        name!(role, String),
        name!(statement_no, i32),
        name!(calls, i64),
        name!(time_share, Option<f64>),
        name!(script, Option<String>),
        name!(status, String),
        name!(reason, Option<String>),
        name!(query, Option<String>),
    ),
>;

/// Rows of a workload of the current role, with its name.
fn of_current_role(rows: Vec<Row>) -> Vec<(String, Row)> {
    let role = server::role_name();
    rows.into_iter().map(|row| (role.clone(), row)).collect()
}

fn rows(rows: Vec<(String, Row)>) -> Rows {
    TableIterator::new(rows.into_iter().map(|(role, row)| {
        (
            role,
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
        let (name, period, top, search_path, roles) = call.read(|arguments| {
            Ok((
                arguments.take::<Option<String>>("name")?,
                arguments.take::<Option<Interval>>("period")?,
                arguments.take::<i32>("top")?,
                arguments.take::<Option<String>>("search_path")?,
                arguments.take_or::<Option<Vec<Option<pg_sys::Oid>>>>("roles", None)?,
            ))
        })?;
        let name = check::argument("name", name)?;
        let period_us = match &period {
            Some(period) => Some(check::duration("period", period, false)?),
            None => None,
        };
        let top = check::in_range("top", top, 1, MOST)? as usize;
        server::require_writable_transaction("capture workloads")?;
        let captures = Captures {
            name,
            roles: captured_roles(roles)?,
        };
        captures.of_each(|_, name| {
            capture::require_name(&captures.name)?;
            tell_discarded(name, capture::discarded(&captures.name)?);
            Ok(())
        })?;
        let source = Source::find()?;
        let search_path =
            search_path.unwrap_or_else(|| session::setting(c"search_path").unwrap_or_default());
        let first = match period_us {
            Some(period_us) => {
                let first = captures.of_each(|_, _| source.look(false))?;
                pause(period_us as u64 * 1000, &horizon);
                call.require_extension()?;
                Some(first)
            }
            None => None,
        };
        // All of them before any of the work.
        let second = captures.of_each(|_, _| source.look(true))?;
        let rows = captures.of_each(|number, name| {
            let first = first.as_ref().map(|looks| &looks[number]);
            let window = window(first, &second[number]);
            for [message, detail, hint] in &window.notes {
                notice(message, detail, hint);
            }
            let path = search_path.clone();
            let rows = capture::capture(&captures.name, &source, window, top, path)?;
            let lacking: Vec<_> = rows.iter().filter(|row| row.lacks_values).collect();
            if !lacking.is_empty() {
                let numbers: Vec<_> = lacking.iter().map(|row| row.number.to_string()).collect();
                notice(
                    "statements are left out because parameters have no values",
                    &format!("Statements of workload \"{name}\": {}.", numbers.join(", ")),
                    "Say what the values are with bench.set_parameter.",
                );
            }
            Ok(of_current_role(rows))
        })?;
        Ok(rows.into_iter().flatten().collect())
    })();
    rows(found.or_raise_in(&call))
}

/// Captures of one window: a workload of each role.
struct Captures {
    name: String,
    roles: Vec<pg_sys::Oid>,
}

impl Captures {
    /// Runs `each` as each role, which the caller still may become, with its place in the list and the name of its
    /// workload, with the owner's if that is not the caller.
    fn of_each<T>(&self, mut each: impl FnMut(usize, &str) -> Result<T>) -> Result<Vec<T>> {
        let caller = server::role();
        let of_role = |(number, role): (usize, &pg_sys::Oid)| {
            require_role(*role)?;
            restricted(*role, || {
                if *role == caller {
                    return each(number, &self.name);
                }
                let role = server::role_name();
                let done = each(number, &format!("{role}.{}", self.name));
                done.map_err(|error| error.within(&format!("role \"{role}\"")))
            })
        };
        self.roles.iter().enumerate().map(of_role).collect()
    }
}

/// The roles whose statements are captured: those that are given, or the current one.
fn captured_roles(given: Option<Vec<Option<pg_sys::Oid>>>) -> Result<Vec<pg_sys::Oid>> {
    let Some(given) = given else {
        return Ok(vec![server::role()]);
    };
    let mut roles = Vec::new();
    for role in given {
        let role = check::argument("roles", role)?;
        require_role(role)?;
        // Runs are possible as such a role only.
        restricted(role, server::require_login_role)?;
        roles.push(role);
    }
    // In an order, so that captures of the same roles wait for each other.
    roles.sort_unstable_by_key(|role| role.to_u32());
    roles.dedup();
    match roles.is_empty() {
        true => Err(check::invalid(
            "roles",
            "{}".into(),
            "At least one role, or NULL.",
        )),
        false => Ok(roles),
    }
}

/// Tells what a workload loses by a new capture.
fn tell_discarded(name: &str, (expressions, copies): (usize, Option<String>)) {
    let copies = copies.map(|schema| format!("the copies of its tables in schema \"{schema}\""));
    let expressions = (expressions > 0).then(|| "the expressions of its parameters".to_owned());
    let both: Vec<_> = expressions.into_iter().chain(copies).collect();
    if !both.is_empty() {
        notice(
            "the new capture replaces an earlier one",
            &format!(
                "Workload \"{name}\" will no longer use {}.",
                both.join(" and ")
            ),
            "Afterwards, call bench.set_parameter and bench.clone_tables again.",
        );
    }
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
        let (workload, statement, parameter) = (
            check::argument("workload", workload)?,
            check::argument("statement", statement)?,
            check::argument("parameter", parameter)?,
        );
        let set = restricted(server::role(), || {
            capture::set_parameter(&workload, statement, parameter, expression)
        })?;
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
        Ok(of_current_role(vec![set.row]))
    })();
    rows(found.or_raise_in(&call))
}
