//! Two versions that never were, for tests of updates: one before this one, and one after it.

use crate::Opt;
use crate::expand::changed_script;
use crate::lists::{Field, Lists};
use std::path::Path;

/// The install script of a version with less: without an option, its column, and a figure.
pub fn previous(root: &Path) -> Result<String, String> {
    changed_script(root, Some(without))
}

/// The install script of a version with more: an option, which is stored, a figure in each list of figures, a column,
/// a table and a function.
pub fn next(root: &Path) -> Result<String, String> {
    const LAST_COLUMN: &str = ", -- time at which it was stored\n    PRIMARY KEY (owner, name)\n);\nCOMMENT ON TABLE bench.scripts";
    let script = changed_script(root, Some(with))?;
    let more = LAST_COLUMN.replacen('\n', "\n    spare text, -- spare\n", 1);
    if !script.contains(LAST_COLUMN) {
        return Err("bench.scripts has another last column".into());
    }
    Ok(script.replace(LAST_COLUMN, &more) + include_str!("next.sql"))
}

fn without(lists: &mut Lists) {
    let keep = |option: &Opt| option.name != "client_process";
    lists
        .options
        .values_mut()
        .for_each(|list| list.retain(keep));
    let keep = |field: &Field| field.name != "latency_stddev_ms";
    lists
        .columns
        .values_mut()
        .for_each(|list| list.retain(keep));
}

fn with(lists: &mut Lists) {
    let option = Opt {
        name: "spare",
        of_type: "Option<i32>",
        default: None,
        description: &["Spare. Since 999.0.0."],
        pgbench: None,
        column: Some("spare"),
        column_type: Some("Option<i32>"),
        is_compared: true,
    };
    // An update appends what stands in the middle of a list, too.
    if let Some(options) = lists.options.get_mut("run_options") {
        options.insert(3, option);
    }
    let figure = |(name, of_type)| Field {
        comment: "Spare".into(),
        since: Some([999, 0, 0]),
        ..Field::new((name, of_type))
    };
    if let Some(figures) = lists.columns.get_mut("Figures") {
        figures.insert(1, figure(("spare_ms", "f64")));
        figures.insert(1, figure(("spare_share", "Option<f64>")));
    }
    if let Some(usage) = lists.columns.get_mut("Usage") {
        usage.insert(1, figure(("spare_bytes", "Option<u64>")));
    }
}
