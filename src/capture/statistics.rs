//! Counts of pg_stat_statements in a window: the differences of two looks, for the top-level statements of
//! this database.

use crate::error::{Error, Report, Result};
use crate::query::{self, quote_literal};
use crate::security::with_pinned_settings;
use crate::server;
use crate::state::session;
use pgrx::PgSqlErrorCode as Sqlstate;
use selfbench_capture::is_query;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::ffi::CStr;

/// The least version of the extension that tells which statements are top-level.
const LEAST_VERSION: (u32, u32) = (1, 9);
/// Bytes of a statement's text that tell what kind of command it is.
const HEAD: usize = 1000;
/// Names that only statements of this extension and calls of it have, as a regular expression.
const OWN_NAMES: &str = r"\m(bench(_internal)?\.|pg_stat_force_next_flush\M)";

/// Counters of a statement; an array of the values of [`COLUMNS`] in documents.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(from = "[f64; COLUMNS.len()]")]
pub struct Counters {
    /// Executions.
    pub calls: f64,
    /// Rows that were returned or changed.
    pub rows: f64,
    /// Time of executions, in milliseconds.
    pub total_exec_time_ms: f64,
    /// Blocks found in shared buffers.
    pub blocks_hit: f64,
    /// Blocks read into shared buffers.
    pub blocks_read: f64,
    /// Blocks dirtied.
    pub blocks_dirtied: f64,
    /// Blocks written.
    pub blocks_written: f64,
    /// Bytes of WAL.
    pub wal_bytes: f64,
}

/// Columns of the counters in pg_stat_statements, in the order of the fields.
const COLUMNS: [&str; 8] = [
    "calls",
    "rows",
    "total_exec_time",
    "shared_blks_hit",
    "shared_blks_read",
    "shared_blks_dirtied",
    "shared_blks_written",
    "wal_bytes",
];

impl From<[f64; COLUMNS.len()]> for Counters {
    fn from(values: [f64; COLUMNS.len()]) -> Counters {
        let [
            calls,
            rows,
            total_exec_time_ms,
            blocks_hit,
            blocks_read,
            blocks_dirtied,
            blocks_written,
            wal_bytes,
        ] = values;
        Counters {
            calls,
            rows,
            total_exec_time_ms,
            blocks_hit,
            blocks_read,
            blocks_dirtied,
            blocks_written,
            wal_bytes,
        }
    }
}

impl Counters {
    /// The values, in the order of [`COLUMNS`].
    pub fn values(&self) -> [f64; COLUMNS.len()] {
        [
            self.calls,
            self.rows,
            self.total_exec_time_ms,
            self.blocks_hit,
            self.blocks_read,
            self.blocks_dirtied,
            self.blocks_written,
            self.wal_bytes,
        ]
    }

    /// Differences from an earlier look; `None` if the entry was made again meanwhile.
    pub fn since(&self, before: &Counters) -> Option<Counters> {
        if self.calls < before.calls {
            return None;
        }
        let mut values = self.values();
        for (value, before) in values.iter_mut().zip(before.values()) {
            *value = (*value - before).max(0.0);
        }
        Some(values.into())
    }

    /// Adds those of another statement.
    pub fn add(&mut self, other: &Counters) {
        let mut values = self.values();
        for (value, other) in values.iter_mut().zip(other.values()) {
            *value += other;
        }
        *self = values.into();
    }
}

/// The columns of [`Counters`] in a row of pg_stat_statements, as SQL.
pub fn counters_of(alias: &str) -> String {
    COLUMNS.map(|name| format!("{alias}.{name}")).join(", ")
}

/// A statement of a role; without number if the caller may not see it.
type Key = (u32, Option<i64>);

/// Statements by role and number, as they are at a moment.
pub struct Look {
    counters: BTreeMap<Key, Counters>,
    /// Beginnings of texts, and whether they mention this extension.
    heads: BTreeMap<Key, (String, bool)>,
    commits: f64,
    resets: String,
    evictions: f64,
    /// Seconds since the last reset.
    age_s: f64,
    taken_us: i64,
}

/// Where the extension is.
pub struct Source {
    schema: String,
}

impl Source {
    /// Fails if pg_stat_statements is not there, not loaded, too old, or counts nothing.
    pub fn find() -> Result<Source> {
        let row = with_pinned_settings(|| {
            query::first_row(
                "SELECT quote_ident(n.nspname), e.extversion FROM pg_extension e
                   JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_stat_statements'",
            )
        })?;
        let [Some(schema), Some(version)] = row.as_slice() else {
            return Err(unusable(
                "extension \"pg_stat_statements\" does not exist in this database",
                "Create it with CREATE EXTENSION pg_stat_statements.",
            ));
        };
        let mut parts = version.split('.').map(|part| part.parse().unwrap_or(0));
        if (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) < LEAST_VERSION {
            return Err(unusable(
                &format!("pg_stat_statements {version} is too old"),
                "Update it with ALTER EXTENSION pg_stat_statements UPDATE.",
            ));
        }
        match session::setting(c"pg_stat_statements.track").as_deref() {
            None => {
                return Err(unusable(
                    "pg_stat_statements is not loaded",
                    "Add it to \"shared_preload_libraries\" and restart the server.",
                ));
            }
            Some("none") => {
                return Err(unusable(
                    "pg_stat_statements counts no statements",
                    "Set \"pg_stat_statements.track\" to top or all.",
                ));
            }
            Some(_) => {}
        }
        if setting(c"compute_query_id") == "off" {
            return Err(unusable(
                "pg_stat_statements counts no statements",
                "Set \"compute_query_id\" to auto or on.",
            ));
        }
        Ok(Source {
            schema: schema.clone(),
        })
    }

    /// Looks at the statements; with the beginnings of their texts, if it is the second look.
    pub fn look(&self, with_texts: bool) -> Result<Look> {
        let schema = &self.schema;
        let counters: Vec<_> = COLUMNS
            .iter()
            .map(|name| format!("s.{name}::text"))
            .collect();
        let texts = match with_texts {
            true => format!("left(s.query, {HEAD}), (s.query ~ '{OWN_NAMES}')::text"),
            false => "NULL, NULL".into(),
        };
        let sql = format!(
            "SELECT s.userid::text, s.queryid::text, {}, {texts}
               FROM {schema}.pg_stat_statements({with_texts}) s
              WHERE s.toplevel AND s.dbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())",
            counters.join(", ")
        );
        let about = format!(
            "SELECT i.stats_reset::text, i.dealloc::text, extract(epoch FROM clock_timestamp() - i.stats_reset)::text,
                    (SELECT pg_stat_get_db_xact_commit(d.oid)::text FROM pg_database d
                      WHERE d.datname = current_database())
               FROM {schema}.pg_stat_statements_info() i"
        );
        with_pinned_settings(|| {
            // The session may have read the statistics of the database before.
            query::first_row("SELECT pg_stat_clear_snapshot()::text")?;
            let about = query::first_row(&about)?;
            let text = |at: usize| about.get(at).cloned().flatten().unwrap_or_default();
            let mut look = Look {
                counters: BTreeMap::new(),
                heads: BTreeMap::new(),
                commits: number(&text(3)),
                resets: text(0),
                evictions: number(&text(1)),
                age_s: number(&text(2)),
                taken_us: server::epoch_us(),
            };
            for row in query::rows_of_texts(&sql)? {
                let mut row = row.into_iter();
                let role = row.next().flatten().and_then(|text| text.parse().ok());
                let statement = row.next().flatten().and_then(|text| text.parse().ok());
                let key = (role.unwrap_or(0), statement);
                let mut values = [0.0; COLUMNS.len()];
                for value in &mut values {
                    *value = row.next().flatten().map_or(0.0, |text| number(&text));
                }
                look.counters.entry(key).or_default().add(&values.into());
                if let Some(head) = row.next().flatten() {
                    let is_own = row.next().flatten().as_deref() == Some("true");
                    look.heads.insert(key, (head, is_own));
                }
            }
            Ok(look)
        })
    }

    /// The texts of statements.
    pub fn texts(&self, statements: &[&Statement]) -> Result<BTreeMap<Key, String>> {
        let numbers: Vec<_> = statements.iter().map(|s| s.queryid.to_string()).collect();
        let list = quote_literal(&format!("{{{}}}", numbers.join(",")));
        let sql = format!(
            "SELECT s.userid::text, s.queryid::text, s.query FROM {}.pg_stat_statements(true) s
              WHERE s.toplevel AND s.queryid = ANY ({list}::bigint[])
                AND s.dbid = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())",
            self.schema
        );
        let rows = with_pinned_settings(|| query::rows_of_texts(&sql))?;
        let rows = rows.into_iter().filter_map(|row| {
            let mut row = row.into_iter();
            let role = row.next()??.parse().ok()?;
            let statement = row.next()??.parse().ok()?;
            Some(((role, Some(statement)), row.next()??))
        });
        Ok(rows.collect())
    }
}

fn number(text: &str) -> f64 {
    text.parse().unwrap_or(0.0)
}

fn setting(name: &CStr) -> String {
    session::setting(name).unwrap_or_default()
}

fn unusable(message: &str, hint: &str) -> Error {
    let report = Report::new(Sqlstate::ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE, message);
    Report {
        hint: Some(hint.into()),
        ..report
    }
    .into()
}

/// A statement in a window.
#[derive(Clone, Debug)]
pub struct Statement {
    /// Role that executed it.
    pub role: u32,
    /// Its number in pg_stat_statements.
    pub queryid: i64,
    /// Its counters.
    pub counters: Counters,
}

impl Statement {
    /// Its key in maps.
    pub fn key(&self) -> Key {
        (self.role, Some(self.queryid))
    }
}

/// Statements that are left out together.
#[derive(Clone, Debug)]
pub struct LeftOut {
    /// Their description.
    pub what: &'static str,
    /// Their number.
    pub number: usize,
    /// Sums of their counters.
    pub counters: Counters,
}

/// Counts of a window.
pub struct Window {
    /// Its length in seconds.
    pub seconds: f64,
    /// Statements of the role, in the order of their time.
    pub statements: Vec<Statement>,
    /// Statements that are left out.
    pub left_out: Vec<LeftOut>,
    /// Commits of the role, as far as they are known.
    pub commits: Option<f64>,
    /// Transaction blocks of the role, if they were counted.
    pub begins: Option<f64>,
    /// Time of all statements of the database.
    pub total_exec_time_ms: f64,
    /// Observations that make the figures doubtful: a message, details and a hint.
    pub notes: Vec<[&'static str; 3]>,
}

const OTHER_ROLES: &str = "of other roles";
const OWN: &str = "of pg_selfbench";
const UTILITY: &str = "utility commands";
const ONCE: &str = "executed once";
/// Statements beyond the number that was asked for.
pub const BEYOND: &str = "beyond the top";

/// The differences between two looks, for the current role; since the reset of the statistics if there was no
/// first one.
pub fn window(first: Option<&Look>, second: &Look) -> Window {
    let own_role = server::role().to_u32();
    let mut left_out: BTreeMap<&'static str, LeftOut> = BTreeMap::new();
    let mut statements = Vec::new();
    let (mut all, mut own, mut begins) = (0.0, 0.0, 0.0);
    let mut total_exec_time_ms = 0.0;
    for (key, now) in &second.counters {
        let before = first.and_then(|first| first.counters.get(key));
        let counters = before.and_then(|before| now.since(before)).unwrap_or(*now);
        if counters.calls < 1.0 {
            continue;
        }
        total_exec_time_ms += counters.total_exec_time_ms;
        let (head, is_ours) = second
            .heads
            .get(key)
            .map_or(("", false), |(head, ours)| (head, *ours));
        let what = match *key {
            (role, Some(_)) if role != own_role => Some(OTHER_ROLES),
            (_, None) => Some(OTHER_ROLES),
            _ if is_ours => Some(OWN),
            _ if !is_query(head) => Some(UTILITY),
            _ if counters.calls < 2.0 => Some(ONCE),
            _ => None,
        };
        if what != Some(OWN) {
            all += counters.calls;
            if what != Some(OTHER_ROLES) {
                own += counters.calls;
            }
        }
        if what == Some(UTILITY) && begins_block(head) {
            begins += counters.calls;
        }
        if let (None, (role, Some(queryid))) = (what, *key) {
            statements.push(Statement {
                role,
                queryid,
                counters,
            });
        }
        if let Some(what) = what {
            let entry = left_out.entry(what).or_insert(LeftOut {
                what,
                number: 0,
                counters: Counters::default(),
            });
            entry.number += 1;
            entry.counters.add(&counters);
        }
    }
    statements.sort_by(|a, b| {
        b.counters
            .total_exec_time_ms
            .total_cmp(&a.counters.total_exec_time_ms)
            .then(a.key().cmp(&b.key()))
    });
    let counts_blocks = setting(c"pg_stat_statements.track_utility") == "on";
    let share = if all > 0.0 { own / all } else { 0.0 };
    Window {
        seconds: match first {
            Some(first) => (second.taken_us - first.taken_us) as f64 / 1e6,
            None => second.age_s,
        },
        statements,
        left_out: left_out.into_values().collect(),
        commits: first.map(|first| (second.commits - first.commits).max(0.0) * share),
        begins: counts_blocks.then_some(begins),
        total_exec_time_ms,
        notes: first.map_or_else(Vec::new, |first| notes(first, second)),
    }
}

/// Whether a utility command begins a transaction block.
fn begins_block(head: &str) -> bool {
    let mut words = head.split(|c: char| c.is_whitespace() || c == ';');
    let word = |word: Option<&str>| word.unwrap_or_default().to_ascii_lowercase();
    match word(words.next()).as_str() {
        "begin" => true,
        "start" => word(words.next()) == "transaction",
        _ => false,
    }
}

fn notes(first: &Look, second: &Look) -> Vec<[&'static str; 3]> {
    let mut notes = Vec::new();
    if first.resets != second.resets {
        notes.push([
            "pg_stat_statements was reset during the capture",
            "Statements have their calls since the reset.",
            "Capture again without a reset.",
        ]);
    }
    if first.evictions < second.evictions {
        notes.push([
            "pg_stat_statements has evicted statements during the capture",
            "Statements that were evicted are missing, or have too few calls.",
            "Increase \"pg_stat_statements.max\".",
        ]);
    }
    notes
}
