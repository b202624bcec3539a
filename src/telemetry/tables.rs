//! The tables and indexes that a run uses: their sizes and statistics before and after it.
//!
//! Clients of mode spi tell which tables their plans use. All others, such as those that functions
//! use and those of runs in mode libpq, show by their counters, which other sessions move, too.

use crate::clock;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::latch::{self, WaitEvent};
use crate::shared::Segment;
use selfbench_model::{LARGEST_TABLES, LOCKED_TABLES, RunTable};
use serde::{Deserialize, Deserializer};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Number of tables and indexes, the largest ones, whose state is taken, beside their TOAST tables.
const MAX_RELATIONS: usize = 2000;
/// Maximum number of rows that are stored.
const MAX_ROWS: usize = 500;
/// The note of a run during which counters were reset.
const RESET: &str = "run_tables has no counts of what was done: counters were reset during the run";
/// The note of a run during which tables or indexes were replaced.
const REPLACED: &str = "run_tables has no counts of what was done with tables and indexes that were replaced during the run";
/// Sessions send their last statistics when they end; for so long they are waited for.
const FLUSH_NS: u64 = 5_000_000_000;
/// The time between two looks at whether they have ended.
const FLUSH_TICK: Duration = Duration::from_millis(10);

/// The tables and indexes of the database, except temporary ones, those of the server and ours, with the
/// TOAST tables that belong to them. Of a relation that is locked exclusively, or is to be, there is no more
/// than its Oid, because its size could not be read without waiting; prepared transactions hold locks
/// without a process.
const STATE: &str = include_str!("tables.sql");

/// Estimates how many bytes a row of a table takes on its page: the header of the row, its place in
/// the page, its columns as ANALYZE has found them, and the space that fillfactor keeps free. The
/// session sees only columns that its role may read, so tables with others have no estimate.
const ROW_BYTES: &str = "
SELECT coalesce(json_object_agg(c.oid, e.row_bytes)::text, '{}')
  FROM pg_class c
  JOIN pg_namespace n ON n.oid = c.relnamespace,
       LATERAL (SELECT count(*) FROM pg_attribute a
                 WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped) a (columns),
       LATERAL (SELECT (28 + ceil(sum(s.avg_width * (1 - s.null_frac)) / 8) * 8)
                       * 100 / coalesce((SELECT o.option_value::float8 FROM pg_options_to_table(c.reloptions) o
                                          WHERE o.option_name = 'fillfactor'), 100)
                  FROM pg_stats s WHERE s.schemaname = n.nspname AND s.tablename = c.relname
                   AND NOT s.inherited
                HAVING count(*) = a.columns) e (row_bytes)
 WHERE c.oid = ANY ('{OIDS}') AND c.relkind IN ('r', 'm')";

/// Makes a session send its statistics when the transaction ends, not up to a second later.
const SEND_STATISTICS: &str = "SELECT '' FROM pg_stat_force_next_flush()";
/// The first version that has this.
const SENDS_FROM: i32 = 150000;

/// Counters; `None` if the server does not count this for a relation of that kind.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
struct Counters {
    autovacuums: Option<i64>,
    sequential_scans: Option<i64>,
    index_scans: Option<i64>,
    rows_inserted: Option<i64>,
    rows_updated: Option<i64>,
    rows_hot_updated: Option<i64>,
    rows_deleted: Option<i64>,
}

impl Counters {
    /// All of them.
    fn all(&self) -> [Option<i64>; 7] {
        [
            self.autovacuums,
            self.sequential_scans,
            self.index_scans,
            self.rows_inserted,
            self.rows_updated,
            self.rows_hot_updated,
            self.rows_deleted,
        ]
    }

    /// Whether they were reset since they were like that.
    fn were_reset(&self, before: &Counters) -> bool {
        let mut pairs = self.all().into_iter().zip(before.all());
        pairs.any(|(now, before)| now < before)
    }

    /// Whether sessions have used what has these counters since it had others, or since these were reset.
    fn moved(&self, before: &Counters) -> bool {
        let before = match self.were_reset(before) {
            true => &Counters::default(),
            false => before,
        };
        let used = |counters: &Counters| {
            let [_autovacuums, used @ ..] = counters.all().map(Option::unwrap_or_default);
            used
        };
        used(self) != used(before)
    }
}

/// A table or index at some moment.
#[derive(Deserialize)]
struct State {
    relation: i64,
    schema_name: String,
    name: String,
    /// Table of an index or a TOAST table.
    of_table: Option<i64>,
    /// The table itself, or the one to which the index, the TOAST table or its index belongs.
    main_table: i64,
    /// Whether it is a TOAST table or the index of one.
    of_toast: bool,
    /// The tables that its table is a partition of, or inherits from, at all levels.
    parents: Vec<i64>,
    kind: String,
    bytes: Option<i64>,
    live_rows: Option<i64>,
    dead_rows: Option<i64>,
    last_vacuum: Option<String>,
    last_analyze: Option<String>,
    counters: Counters,
}

impl State {
    /// Whether it is a table that belongs to no other one.
    fn is_main(&self) -> bool {
        self.relation == self.main_table
    }
}

/// The states of all tables and indexes at some moment.
#[derive(Deserialize)]
pub struct RelationStates {
    #[serde(deserialize_with = "by_relation")]
    states: BTreeMap<i64, State>,
    /// Whether there may be more than are looked at.
    is_full: bool,
    /// Relations that could not be looked at.
    locked: BTreeSet<i64>,
    /// When counters of the database were last reset.
    reset_at: Option<String>,
}

/// The rows of a run, and notes on what they lack.
pub type UsedTables = (Vec<RunTable>, Vec<&'static str>);

impl RelationStates {
    /// Takes the states, before the start barrier opens. What the session itself has used so far, such
    /// as the table that tells the scale, is not used by the run.
    pub fn before(database: &mut Database) -> Result<RelationStates> {
        if database.version_num() >= SENDS_FROM {
            database.pinned_row(SEND_STATISTICS)?;
        }
        states(database)
    }

    /// Notes on what could not be looked at.
    pub fn lacks(&self) -> Vec<&'static str> {
        let full = self.is_full.then_some(LARGEST_TABLES);
        let locked = (!self.locked.is_empty()).then_some(LOCKED_TABLES);
        full.into_iter().chain(locked).collect()
    }

    /// Whether there are tables, and the server counts nothing of them.
    pub fn is_not_counted(&self) -> bool {
        let mut states = self.states.values();
        !self.states.is_empty() && states.all(|state| state.counters == Counters::default())
    }

    /// The tables and indexes that the run has used, when its clients have ended.
    pub fn after(
        &self,
        run_id: i64,
        segment: &Segment,
        pids: &[i32],
        database: &mut Database,
    ) -> Result<UsedTables> {
        wait_for_statistics(database, pids)?;
        let after = states(database)?;
        let planned = Planned::of(segment);
        let replaced = self.replaced_by(&after);
        let before = |state: &State| match replaced.get(&state.relation) {
            Some(replaced) => Some(*replaced),
            None => self.states.get(&state.relation),
        };
        // What the server begins to count meanwhile has counts from before that.
        let is_counted = !self.is_not_counted();
        let counters_before = |state: &State| self.counters(state).filter(|_| is_counted);
        let counters = |state: &State| match replaced.contains_key(&state.relation) {
            true => None,
            false => counters_before(state),
        };
        let has_moved = |state: &State| {
            let before = match replaced.get(&state.relation) {
                // REINDEX CONCURRENTLY hands on the counters of an index.
                Some(replaced) if !state.is_main() => Some(replaced.counters),
                Some(_) => Some(Counters::default()),
                None => counters_before(state),
            };
            before.is_some_and(|before| state.counters.moved(&before))
        };
        let moved: BTreeSet<i64> = after
            .states
            .values()
            .filter(|state| has_moved(state))
            .map(|state| state.main_table)
            .collect();
        let used: Vec<&State> = after
            .states
            .values()
            // Plans of partitioned tables exclude most partitions.
            .filter(|state| moved.contains(&state.main_table) || planned.has_table_of(state))
            .filter(|state| !(self.is_of_empty_toast(state) && after.is_of_empty_toast(state)))
            .collect();
        let oids: Vec<i64> = used.iter().map(|state| state.relation).collect();
        let row_bytes = row_bytes(database, &oids)?;
        let is_reset = |state: &State| {
            let before = counters(state);
            self.reset_at != after.reset_at
                || before.is_some_and(|before| state.counters.were_reset(&before))
        };
        let reset = used.iter().any(|state| is_reset(state)).then_some(RESET);
        let is_replaced = |state: &&State| replaced.contains_key(&state.relation);
        let replaced = used.iter().any(is_replaced).then_some(REPLACED);
        let notes = after.lacks().into_iter();
        let notes = notes.chain(reset).chain(replaced).collect();
        let rows = used.into_iter().map(|state| {
            let counters = counters(state).filter(|_| !is_reset(state));
            let counted = |of: fn(&Counters) -> Option<i64>| {
                Some(of(&state.counters)? - of(counters.as_ref()?).unwrap_or(0))
            };
            RunTable {
                bytes_after: state.bytes,
                live_rows_after: state.live_rows,
                dead_rows_after: state.dead_rows,
                row_bytes: row_bytes.get(&state.relation).copied(),
                last_vacuum_after: state.last_vacuum.clone(),
                last_analyze_after: state.last_analyze.clone(),
                autovacuums: counted(|c| c.autovacuums),
                sequential_scans: counted(|c| c.sequential_scans),
                index_scans: counted(|c| c.index_scans),
                rows_inserted: counted(|c| c.rows_inserted),
                rows_updated: counted(|c| c.rows_updated),
                rows_hot_updated: counted(|c| c.rows_hot_updated),
                rows_deleted: counted(|c| c.rows_deleted),
                ..after.row_before(run_id, state, before(state), &planned)
            }
        });
        let rows = rows.collect();
        Ok(planned.largest(rows, notes))
    }

    /// Tables that plans name, as they were before the run, without a look after it. It is not
    /// known which partitions of a table were used, so all are included.
    pub fn only_before(&self, run_id: i64, segment: &Segment) -> UsedTables {
        let planned = Planned::of(segment);
        let used = self
            .states
            .values()
            .filter(|state| planned.has_parent_of(state) && !self.is_of_empty_toast(state));
        let rows = used.map(|state| self.row_before(run_id, state, Some(state), &planned));
        let rows = rows.collect();
        planned.largest(rows, Vec::new())
    }

    /// Relations replaced by those of a later moment, with the same names: by DROP and CREATE, by
    /// REINDEX CONCURRENTLY, or as TOAST tables of what was written anew. Their counters do not go
    /// on: those of the old ones, or what sessions had not yet sent of them, are lost.
    fn replaced_by(&self, after: &RelationStates) -> BTreeMap<i64, &State> {
        let is_in = |states: &RelationStates, state: &State| {
            states.is_full
                || states.states.contains_key(&state.relation)
                || states.locked.contains(&state.relation)
                || states.locked.contains(&state.main_table)
        };
        let gone: Vec<&State> = self
            .states
            .values()
            .filter(|then| !is_in(after, then))
            .collect();
        let new = after.states.values().filter(|now| !is_in(self, now));
        let (tables, parts): (Vec<&State>, Vec<&State>) = new.partition(|now| now.is_main());
        let mut replaced: BTreeMap<i64, &State> = BTreeMap::new();
        for now in tables.into_iter().chain(parts) {
            let main_table = match replaced.get(&now.main_table) {
                Some(then) => then.relation,
                None => now.main_table,
            };
            let is_same = |then: &&&State| {
                let has_name = then.schema_name == now.schema_name && then.name == now.name;
                then.kind == now.kind
                    && match now.is_main() {
                        true => has_name,
                        false => {
                            let is_toast = then.of_toast && now.of_toast;
                            then.main_table == main_table && (has_name || is_toast)
                        }
                    }
            };
            if let Some(then) = gone.iter().find(is_same) {
                replaced.insert(now.relation, then);
            }
        }
        replaced
    }

    /// The counters that a relation had then, which is nothing if it did not exist; `None` if it was not
    /// looked at.
    fn counters(&self, state: &State) -> Option<Counters> {
        let is_locked = |relation| self.locked.contains(relation);
        match self.states.get(&state.relation) {
            Some(then) => Some(then.counters),
            None if is_locked(&state.relation) || is_locked(&state.main_table) => None,
            None => (!self.is_full).then(Counters::default),
        }
    }

    /// Row of a relation without a look at it after the run.
    fn row_before(
        &self,
        run_id: i64,
        state: &State,
        before: Option<&State>,
        planned: &Planned,
    ) -> RunTable {
        let table = state.of_table.and_then(|table| self.states.get(&table));
        let known_by = match planned.has_parent_of(state) {
            true => RunTable::PLANS,
            false => RunTable::COUNTERS,
        };
        RunTable {
            run_id,
            relation: state.relation,
            schema_name: state.schema_name.clone(),
            name: state.name.clone(),
            kind: state.kind.clone(),
            // A TOAST table has a schema of its own, and tables of several schemas may have the same name.
            of_table: table.map(|table| match table.schema_name == state.schema_name {
                true => table.name.clone(),
                false => format!("{}.{}", table.schema_name, table.name),
            }),
            known_by: known_by.into(),
            bytes_before: before.and_then(|before| before.bytes),
            live_rows_before: before.and_then(|before| before.live_rows),
            dead_rows_before: before.and_then(|before| before.dead_rows),
            last_vacuum_before: before.and_then(|before| before.last_vacuum.clone()),
            last_analyze_before: before.and_then(|before| before.last_analyze.clone()),
            ..RunTable::default()
        }
    }

    /// Whether a relation is a TOAST table without a block, as most are, or the index of one.
    fn is_of_empty_toast(&self, state: &State) -> bool {
        let toast = match state.kind.as_str() {
            "TOAST table" => Some(state.relation),
            _ => state.of_table,
        };
        let toast = toast.and_then(|toast| self.states.get(&toast));
        state.of_toast && toast.and_then(|toast| toast.bytes).unwrap_or(0) == 0
    }
}

/// The tables that plans of clients in mode spi name.
struct Planned {
    relations: BTreeSet<i64>,
    /// Whether there may be more.
    is_full: bool,
}

impl Planned {
    fn of(segment: &Segment) -> Planned {
        let relations = &segment.header().relations;
        Planned {
            relations: relations.all().into_iter().map(i64::from).collect(),
            is_full: relations.is_full(),
        }
    }

    /// Whether they name the table of this relation.
    fn has_table_of(&self, state: &State) -> bool {
        self.relations.contains(&state.main_table)
    }

    /// Whether they name its table, or one that its table is a partition of or inherits from.
    fn has_parent_of(&self, state: &State) -> bool {
        let mut parents = state.parents.iter();
        self.has_table_of(state) || parents.any(|oid| self.relations.contains(oid))
    }

    /// Rows of a run that are stored: those of tables that plans name first, then the largest ones.
    fn largest(&self, mut rows: Vec<RunTable>, mut notes: Vec<&'static str>) -> UsedTables {
        if rows.len() > MAX_ROWS || self.is_full {
            notes.push(LARGEST_TABLES);
        }
        rows.sort_by_key(|row| {
            let bytes = row.bytes_before.max(row.bytes_after);
            (!row.is_planned(), Reverse(bytes))
        });
        rows.truncate(MAX_ROWS);
        (rows, notes)
    }
}

/// The states in a map.
fn by_relation<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<i64, State>, D::Error> {
    let states = Vec::<State>::deserialize(from)?.into_iter();
    Ok(states.map(|state| (state.relation, state)).collect())
}

fn states(database: &mut Database) -> Result<RelationStates> {
    let sql = STATE.replace("LIMIT_OF_RELATIONS", &MAX_RELATIONS.to_string());
    match read(database, &sql) {
        // A relation was locked after the query had looked for locks; it leaves out that one now.
        Err(error) if error.is_lock_timeout() => read(database, &sql),
        states => states,
    }
}

fn row_bytes(database: &mut Database, oids: &[i64]) -> Result<BTreeMap<i64, f64>> {
    let oids: Vec<String> = oids.iter().map(i64::to_string).collect();
    let rows: BTreeMap<String, f64> = read(database, &ROW_BYTES.replace("OIDS", &oids.join(",")))?;
    let row = |(oid, bytes): (String, f64)| Some((oid.parse().ok()?, bytes));
    Ok(rows.into_iter().filter_map(row).collect())
}

/// The only value of a query, which is JSON.
fn read<T: for<'de> Deserialize<'de>>(database: &mut Database, sql: &str) -> Result<T> {
    let row = database.pinned_row(sql)?;
    let text = row.into_iter().flatten().next().unwrap_or_default();
    serde_json::from_str(&text)
        .map_err(|e| Error::Limit(format!("cannot read the state of tables: {e}")))
}

/// Waits until these sessions have ended, which is when they have sent their last statistics.
fn wait_for_statistics(database: &mut Database, pids: &[i32]) -> Result<()> {
    if pids.is_empty() {
        return Ok(());
    }
    let pids: Vec<String> = pids.iter().map(i32::to_string).collect();
    let left = format!(
        "SELECT count(*)::text FROM pg_stat_activity WHERE pid = ANY ('{{{}}}')",
        pids.join(",")
    );
    let end_ns = clock::now_ns() + FLUSH_NS;
    while clock::now_ns() < end_ns {
        let row = database.pinned_row(&left)?;
        if row.into_iter().flatten().next().as_deref() == Some("0") {
            break;
        }
        latch::wait(FLUSH_TICK, WaitEvent::Workers);
    }
    Ok(())
}
