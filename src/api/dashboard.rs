//! `bench.dashboard`: a page over all runs and sets.

use super::live::load;
use super::report::report_of;
use super::sets::stored_arms;
use super::sets::verdicts::Row;
use crate::check::{argument, in_range};
use crate::error::{Error, OrRaise, Result};
use crate::results::dashboard;
use pgrx::prelude::*;
use selfbench_model::SetKind;
use selfbench_page::dashboard::Arm;

/// The page as an HTML document in one file, of what the caller may see, with the reports of the newest
/// `inline` runs.
#[pg_extern(sql = false)]
fn dashboard(inline: Option<i32>) -> String {
    (|| {
        let inline = in_range(
            "inline",
            argument("inline", inline)?,
            0,
            dashboard::MAX_INLINE,
        )?;
        let mut page = dashboard::load()?;
        for set in page.sets.iter_mut().filter(|set| set.verdict.is_none()) {
            set.arms = arms_of(&set.kind, set.set_id)?;
        }
        for run in page.runs.iter().take(inline as usize) {
            // Meanwhile, it may have been deleted.
            if let Some(record) = load(run.run_id)? {
                page.reports.push((run.run_id, report_of(&record)?));
            }
        }
        Ok(page.html())
    })()
    .or_raise()
}

/// The arms of a set; none of a search, whose arms are rates, and none if the set is deleted meanwhile.
fn arms_of(kind: &str, set_id: i64) -> Result<Vec<Arm>> {
    if kind == SetKind::FindCapacity.name() {
        return Ok(Vec::new());
    }
    let rows = match stored_arms::arms_of(set_id) {
        Err(Error::UnknownSet { .. }) => Vec::new(),
        rows => rows?,
    };
    let arm = |row: Row| Arm {
        name: row.arm,
        tps: row.tps,
        verdict: row.verdict,
    };
    Ok(rows.into_iter().map(arm).collect())
}
