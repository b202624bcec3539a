//! The tables that a run used: bloat, and whether they fit into memory.

use super::{Finding, is_builtin, writes};
use crate::pgio::{WorkingSet, size};
use selfbench_model::{Evidence, RunRecord, RunTable};

/// A table that is larger than its rows by this factor is bloated.
const BLOATED: f64 = 2.0;
/// Unless the difference is smaller: bytes.
const NEGLIGIBLE: f64 = (1 << 20) as f64;
/// Growth below this fraction of a table is usual: autovacuum's default lets so many rows be dead.
const USUAL_GROWTH: f64 = 0.2;
/// At most this many tables are named.
const NAMED: usize = 3;

pub(super) fn findings(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    let tables = used(evidence);
    let mut all = Vec::new();
    all.extend(of_tables(
        &tables,
        |table| bloat(table.bytes_before?, table.live_rows_before?, table.row_bytes?),
        "tables were bloated before the run",
        "Initialize again, or use VACUUM FULL: scans and caches have to deal with dead rows and free \
         space.",
    ));
    all.extend(of_tables(
        &tables,
        |table| {
            let (before, after) = (table.bytes_before?, table.bytes_after?);
            let grown = after - before;
            if (grown as f64) < USUAL_GROWTH * before as f64 {
                return None;
            }
            let rows = table.live_rows_after? - table.live_rows_before.unwrap_or(0);
            bloat(grown, rows.max(0), table.row_bytes?)
        },
        "tables grew by more than their rows during the run",
        "Dead rows were not removed in time: look for long transactions, and at autovacuum's settings.",
    ));
    all.extend(working_set(record, evidence, &tables));
    all
}

/// The tables that the run has used, as far as that is certain: if plans tell some, those, because the
/// counters of others may have been moved by other sessions. Without plans, as in mode libpq, all.
fn used(evidence: &Evidence) -> Vec<&RunTable> {
    let all = evidence.tables.iter();
    let planned: Vec<&RunTable> = all.clone().filter(|table| table.is_planned()).collect();
    match planned.is_empty() {
        true => all.collect(),
        false => planned,
    }
}

/// Bytes, and how many the rows need, if these are much fewer.
fn bloat(bytes: i64, rows: i64, row_bytes: f64) -> Option<(i64, i64)> {
    let packed = (rows as f64 * row_bytes).max(8192.0);
    (bytes as f64 > BLOATED * packed + NEGLIGIBLE).then_some((bytes, packed as i64))
}

/// A finding about the tables to which it applies, the largest first.
fn of_tables(
    tables: &[&RunTable],
    applies: impl Fn(&RunTable) -> Option<(i64, i64)>,
    finding: &'static str,
    remedy: &'static str,
) -> Option<Finding> {
    let mut found: Vec<_> = tables
        .iter()
        .filter_map(|table| Some((applies(table)?, &table.name)))
        .collect();
    found.sort_by_key(|((bytes, _), _)| std::cmp::Reverse(*bytes));
    let others = found.len().saturating_sub(NAMED);
    let mut named: Vec<String> = found
        .into_iter()
        .take(NAMED)
        .map(|((bytes, packed), name)| {
            format!(
                "{name}: {}, of which rows need {}",
                size(bytes),
                size(packed)
            )
        })
        .collect();
    if others > 0 {
        named.push(format!("{others} others"));
    }
    (!named.is_empty()).then(|| Finding::warning(finding, named.join("; "), remedy))
}

/// Whether what the run used fits into shared buffers or into memory. Functions and triggers may use
/// tables that plans do not tell, so nothing is said if these could make a difference, nor if not all
/// tables are known, or not what was used of them, as after a canceled run. TOAST tables that were not used
/// do not count; nor do other tables and indexes, unless the run writes: writing to an index is not counted.
fn working_set(record: &RunRecord, evidence: &Evidence, used: &[&RunTable]) -> Option<Finding> {
    let reads_only = !writes(record, evidence);
    let bytes = |table: &RunTable| {
        let tells = reads_only || table.is_of_toast();
        let is_unused = tells && table.is_used() == Some(false);
        table.bytes_before.filter(|_| !is_unused)
    };
    let set = match &record.pgio {
        Some(pgio) => WorkingSet::of(pgio),
        None => WorkingSet {
            bytes: used.iter().copied().filter_map(bytes).sum(),
            shared_buffers_bytes: evidence.setting("shared_buffers").and_then(bytes_of),
            memory_bytes: ["memory_bytes", "cgroup_memory_limit_bytes"]
                .into_iter()
                .filter_map(|name| evidence.number(name))
                .reduce(f64::min)
                .map(|bytes| bytes as i64),
        },
    };
    let is_known = record.run.has_all_tables()
        && (is_builtin(record) || used.iter().any(|table| table.bytes_after.is_some()));
    if set.bytes == 0 || (record.pgio.is_none() && !is_known) {
        return None;
    }
    let largest = match record.pgio.is_some() || is_builtin(record) {
        true => set.bytes,
        false => evidence.tables.iter().filter_map(bytes).sum(),
    };
    let limits = [set.shared_buffers_bytes, set.memory_bytes];
    let fits_into = |bytes: i64| limits.iter().position(|limit| Some(bytes) <= *limit);
    if fits_into(set.bytes) != fits_into(largest) {
        return None;
    }
    set.what_is_measured().map(|measured| {
        Finding::note(
            "the run measures memory, not storage",
            measured,
            "To measure storage, use tables that are larger than the memory, or, with pgio's \
             workload, a larger working_set_pct.",
        )
    })
}

/// The value of a setting that is a size, such as `128MB`.
fn bytes_of(setting: &str) -> Option<i64> {
    let digits = setting.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor: i64 = match &setting[digits.len()..] {
        "B" => 1,
        "kB" => 1 << 10,
        "MB" => 1 << 20,
        "GB" => 1 << 30,
        "TB" => 1 << 40,
        _ => return None,
    };
    digits.parse::<i64>().ok()?.checked_mul(factor)
}
