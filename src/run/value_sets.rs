//! The value sets that scripts of a run draw from: rows of `bench.value_sets`, read once, with the role of
//! the caller, which uses its own sets only.

use crate::error::{Error, Result};
use crate::query;
use crate::security::as_owner;
use crate::server;
use crate::state::session::readable;
use selfbench_script::{Action, CollectedSet, UsedSet, Workload};
use std::rc::Rc;

/// Shared memory for the rows of a run's sets at most.
const MAX_BYTES: usize = 1 << 30;

/// The value sets that a call has read: its runs share them.
#[derive(Default)]
pub struct ReadSets(Vec<(UsedSet, Rc<CollectedSet>)>);

impl ReadSets {
    /// The sets of a workload, in its order.
    ///
    /// # Errors
    /// If a set has no rows, or one with fewer values than a script takes or with a text that cannot be
    /// read, or all are too large.
    pub fn of(&mut self, workload: &Workload) -> Result<Vec<Rc<CollectedSet>>> {
        let mut left = MAX_BYTES;
        let mut of_workload = Vec::with_capacity(workload.value_sets.len());
        for set in &workload.value_sets {
            let rows = match self.0.iter().find(|(read, _)| read == set) {
                Some((_, rows)) => Rc::clone(rows),
                None => {
                    let rows = Rc::new(read(workload, set, left)?);
                    self.0.push((set.clone(), Rc::clone(&rows)));
                    rows
                }
            };
            left = left.checked_sub(rows.bytes()).ok_or_else(too_large)?;
            of_workload.push(rows);
        }
        Ok(of_workload)
    }
}

/// The rows of a set, which take that number of bytes at most.
fn read(workload: &Workload, set: &UsedSet, most: usize) -> Result<CollectedSet> {
    // The caller is no longer the current role there.
    let role = server::role();
    let mut collected = CollectedSet::new(set.columns);
    as_owner(|| {
        query::text_arrays(
            "SELECT v.row_no, v.values FROM bench.value_sets v
              WHERE v.owner = $1 AND v.set_name = $2 ORDER BY v.row_no",
            &[role.into(), set.name.as_str().into()],
            |row, values| {
                let Some(values) = values.get(..set.columns) else {
                    return Err(too_short(workload, set, row, values.len()));
                };
                let texts = values
                    .iter()
                    .map(|value| value.as_deref().map(readable).transpose());
                let texts = texts.collect::<std::result::Result<Vec<_>, _>>();
                let texts = texts.map_err(|needed| Error::UnreadableRow {
                    set: set.name.clone(),
                    row,
                    needed,
                })?;
                collected.push(texts.into_iter());
                match collected.bytes() <= most {
                    true => Ok(()),
                    false => Err(too_large()),
                }
            },
        )
    })?;
    match collected.is_empty() {
        false => Ok(collected),
        true => Err(Error::UnknownValueSet {
            set: set.name.clone(),
            detail: place(workload, set),
        }),
    }
}

fn too_large() -> Error {
    Error::Limit(format!(
        "value sets are too large (maximum is {} MB)",
        MAX_BYTES >> 20
    ))
}

fn too_short(workload: &Workload, set: &UsedSet, row: i32, length: usize) -> Error {
    Error::OptionConflict {
        message: format!(
            "row {row} of value set \"{}\" has too few values: {length} of {}",
            set.name, set.columns
        ),
        hint: format!(
            "{} Each row needs a value for each variable; it may be NULL.",
            place(workload, set)
        ),
    }
}

/// The first command that takes the most values of a set, in words.
fn place(workload: &Workload, set: &UsedSet) -> String {
    let takes = |action: &Action| match action {
        Action::Values(values) => values.set() == set.name && values.variables() == set.columns,
        _ => false,
    };
    let mut commands = workload.each_command();
    match commands.find(|(_, command)| takes(&command.action)) {
        Some((script, command)) => format!(
            "Script \"{}\" takes its values in line {}.",
            script.name, command.line
        ),
        None => String::new(),
    }
}
