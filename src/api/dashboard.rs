//! `bench.dashboard`: a page over all runs and sets.

use super::live::load;
use super::report::report_of;
use crate::check::{argument, in_range};
use crate::error::OrRaise;
use crate::results::dashboard;
use pgrx::prelude::*;

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
        for run in page.runs.iter().take(inline as usize) {
            // Meanwhile, it may have been deleted.
            if let Some(record) = load(run.run_id)? {
                page.reports.push(report_of(&record)?);
            }
        }
        Ok(page.html())
    })()
    .or_raise()
}
