//! Data of the page over all runs and sets, read with the rights of the caller.

use super::json::query_json;
use crate::error::{Error, Result};
use crate::server::literal_to_copy;
use selfbench_page::dashboard::{Course, Dashboard, Origin};

/// Number of the newest runs on the page.
const MAX_RUNS: i64 = 5000;
/// Number of series of labels on the page, those with the newest runs.
const MAX_COURSES: i64 = 1000;
/// Number of the newest sets on the page.
const MAX_SETS: i64 = 500;
/// Number of reports that can be part of it.
pub const MAX_INLINE: i32 = 100;

/// Reads what the page shows that the caller may see.
pub fn load() -> Result<Dashboard> {
    let origin = query_json::<Origin>(
        "SELECT jsonb_build_object('role', current_user, 'database', current_database(),
                                   'server_version', current_setting('server_version'),
                                   'at', to_char(clock_timestamp(), 'YYYY-MM-DD HH24:MI'),
                                   'runs', (SELECT count(*) FROM bench.runs),
                                   'sets', (SELECT count(*) FROM bench.sets))::text",
        0,
    )?;
    let mut courses: Vec<Course> = query_json(LABELS, MAX_COURSES)?;
    for course in &mut courses {
        course.label_literal = literal_to_copy(&course.label);
    }
    Ok(Dashboard {
        origin: origin
            .into_iter()
            .next()
            .ok_or_else(|| Error::Limit("cannot count runs".into()))?,
        courses,
        runs: query_json(RUNS, MAX_RUNS)?,
        sets: query_json(SETS, MAX_SETS)?,
        reports: Vec::new(),
    })
}

/// Series of labels.
const LABELS: &str = include_str!("dashboard_labels.sql");

/// A run in progress whose coordinator is gone was lost.
const RUNS: &str = include_str!("dashboard_runs.sql");

/// Sets without their arms, which `bench.arms` has.
const SETS: &str = include_str!("dashboard_sets.sql");
