//! The value sets that scripts of a run draw from: rows of `bench.value_sets`, read once, with the role of
//! the caller, which uses its own sets only.

use crate::error::{Error, Result};
use crate::query;
use crate::security::as_owner;
use crate::server;
use selfbench_script::{Action, CollectedSets, UsedSet, Workload};

/// Shared memory for the rows of a run's sets at most.
const MAX_BYTES: usize = 1 << 30;

/// The rows of all sets that scripts draw from.
///
/// # Errors
/// If a set has no rows, or one with fewer values than a script takes, or all are too large.
pub fn read(workload: &Workload) -> Result<CollectedSets> {
    let mut collected = CollectedSets::new(&workload.value_sets);
    // The caller is no longer the current role there.
    let role = server::role();
    for (number, set) in workload.value_sets.iter().enumerate() {
        collected.begin(number);
        let mut rows = 0u64;
        as_owner(|| {
            query::text_arrays(
                "SELECT v.row_no, v.values FROM bench.value_sets v
                  WHERE v.owner = $1 AND v.set_name = $2 ORDER BY v.row_no",
                &[role.into(), set.name.as_str().into()],
                |row, values| {
                    rows += 1;
                    if values.len() < set.columns {
                        return Err(too_short(workload, set, row, values.len()));
                    }
                    collected.push(values.iter().map(|value| value.as_deref()));
                    match collected.bytes() <= MAX_BYTES {
                        true => Ok(()),
                        false => Err(Error::Limit(format!(
                            "value sets are too large (maximum is {} MB)",
                            MAX_BYTES >> 20
                        ))),
                    }
                },
            )
        })?;
        if rows == 0 {
            return Err(Error::UnknownValueSet {
                set: set.name.clone(),
                detail: place(workload, set),
            });
        }
    }
    Ok(collected)
}

fn too_short(workload: &Workload, set: &UsedSet, row: i32, length: usize) -> Error {
    Error::OptionConflict {
        message: format!(
            "value set \"{}\" has too few values for {} variables: {length} in row {row}",
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
