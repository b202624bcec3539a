//! `bench.arms`: the arms of stored comparisons and sweeps.

use super::outcomes::Outcomes;
use super::series::Series;
use super::sweep::Sweep;
use super::verdicts::{self, Row};
use crate::api::last;
use crate::error::{Error, OrRaise, Result};
use crate::results::result::composites;
use crate::results::sets;
use pgrx::prelude::*;
use selfbench_model::SetKind;

/// The arms of a set that the caller may see, with the figures of their runs.
#[pg_extern(sql = false)]
fn arms(
    set_id: Option<i64>,
) -> SetOfIterator<'static, pgrx::composite_type!('static, "bench.arm")> {
    let rows = (|| composites("bench.arm", &arms_of(last::set(set_id)?)?))();
    SetOfIterator::new(rows.or_raise())
}

/// The arms of a set that the caller may see.
pub fn arms_of(set_id: i64) -> Result<Vec<Row>> {
    let set = sets::load(set_id)?;
    let outcomes = Outcomes::stored(set_id, &set)?;
    Ok(match set.kind {
        SetKind::Compare => verdicts::rows(Some(set_id), &Series::stored(&set)?, &outcomes),
        SetKind::Sweep => Sweep::stored(&set)?.rows(Some(set_id), &outcomes),
        SetKind::FindCapacity => {
            return Err(Error::OptionConflict {
                message: format!(
                    "set {set_id} is a search by bench.find_capacity, which has no arms"
                ),
                hint: format!("SELECT bench.report(set_ids => {set_id}) shows what it has found."),
            });
        }
    })
}
