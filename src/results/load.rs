//! Reading the result tables, with the rights of the caller: row security decides.

use super::insert::{Row, columns_of_table};
use super::json::{fields, parsed, query_json};
use super::waits::SeenWaits;
use crate::error::{Error, Result};
use crate::query::{self, quote_literal};
use crate::run::script::has_writes;
use crate::security::{as_owner, with_pinned_settings};
use selfbench_model::{
    Blocked, CourseInterval, Evidence, LockWaits, PgioRun, Run, RunCheck, RunProfile, RunRecord,
    RunScript, RunStall, RunStatement, RunTable, RunTimes, ServerMoment, Setting, Validation,
};
use selfbench_report::condition::Arm;
use selfbench_script::builtin;
use selfbench_stats::LatencyHistogram;
use selfbench_stats::budget::LatencyPart;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, HashMap};

/// Reads a run that the caller may see, as it is now, not as the caller's snapshot shows it; without
/// histograms and texts of scripts.
pub fn load(run_id: i64) -> Result<Option<RunRecord>> {
    let Some(run) = rows::<Run>(run_id, "run_id")?.into_iter().next() else {
        return Ok(None);
    };
    let mut scripts = rows::<RunScript>(run_id, "script_no")?;
    if scripts.is_empty() {
        // Scripts are stored at the end of a run.
        scripts = planned_scripts(&run);
    }
    Ok(Some(RunRecord {
        run,
        scripts,
        statements: rows::<RunStatement>(run_id, "script_no, command_no")?,
        pgio: rows::<PgioRun>(run_id, "run_id")?.into_iter().next(),
        profiles: rows::<RunProfile>(run_id, "sampled DESC, process")?,
        checks: rows::<RunCheck>(run_id, "check_no")?,
    }))
}

/// Reads the runs of a set that the caller may see, in their order, with their scripts alone.
pub fn load_set(set_id: i64) -> Result<Vec<RunRecord>> {
    let runs = rows_where::<Run>("set_id = $1", set_id, "run_id")?;
    let of_set = "run_id IN (SELECT run_id FROM bench.runs WHERE set_id = $1)";
    let mut scripts: BTreeMap<i64, Vec<RunScript>> = BTreeMap::new();
    for script in rows_where::<RunScript>(of_set, set_id, "run_id, script_no")? {
        scripts.entry(script.run_id).or_default().push(script);
    }
    let record = |run: Run| RunRecord {
        scripts: scripts.remove(&run.run_id).unwrap_or_default(),
        run,
        ..RunRecord::default()
    };
    Ok(runs.into_iter().map(record).collect())
}

/// The first of these numbers, in their order, of which there is no run that the caller may see.
pub fn first_unknown(run_ids: &[i64]) -> Result<Option<i64>> {
    let sql = "SELECT g.run_id FROM unnest($1) WITH ORDINALITY g (run_id, place)
                WHERE NOT EXISTS (SELECT FROM bench.runs r WHERE r.run_id = g.run_id)
                ORDER BY g.place LIMIT 1";
    with_pinned_settings(|| query::first_value::<i64>(sql, &[run_ids.to_vec().into()]))
}

/// Whether a run that the caller may see was to be observed.
pub fn is_observed(run_id: i64) -> Result<bool> {
    let sql = "SELECT observe FROM bench.runs WHERE run_id = $1";
    let observes = with_pinned_settings(|| query::first_value::<bool>(sql, &[run_id.into()]))?;
    Ok(observes == Some(true))
}

/// Whether a run that the caller may see had its stacks sampled.
pub fn has_profile(run_id: i64) -> Result<bool> {
    let sql = "SELECT profile FROM bench.runs WHERE run_id = $1";
    let profile = with_pinned_settings(|| query::first_value::<bool>(sql, &[run_id.into()]))?;
    Ok(profile == Some(true))
}

/// Reads a run with the rights of the tables' owner, for any caller.
pub fn load_any(run_id: i64) -> Result<Option<RunRecord>> {
    as_owner(|| load(run_id))
}

/// The rows of a run in a table, in that order.
fn rows<R: Row + DeserializeOwned + Default>(run_id: i64, order: &str) -> Result<Vec<R>> {
    rows_where("run_id = $1", run_id, order)
}

/// The rows of a table that meet a condition on a number, in that order. Columns that the table does not have yet
/// have their defaults.
fn rows_where<R: Row + DeserializeOwned + Default>(
    condition: &str,
    number: i64,
    order: &str,
) -> Result<Vec<R>> {
    let has = columns_of_table::<R>()?;
    let (existing, missing): (Map<_, _>, Map<_, _>) =
        (fields(&R::default())?.into_iter()).partition(|(name, _)| has.contains(name));
    if existing.is_empty() {
        return Ok(Vec::new());
    }
    let columns: Vec<&str> = existing.keys().map(String::as_str).collect();
    let (table, columns) = (R::TABLE, columns.join(", "));
    let sql = format!(
        "SELECT (to_jsonb(r) || {})::text
           FROM (SELECT {columns} FROM bench.{table} WHERE {condition} ORDER BY {order}) r",
        quote_literal(&Value::from(missing).to_string())
    );
    query_json(&sql, number)
}

/// The columns of a run by name, of `bench.runs` and, for pgio's workload, of `bench.pgio_runs`;
/// without histograms. Empty if the caller may not see it.
pub fn load_figures(run_id: i64) -> Result<Map<String, Value>> {
    let found = query_json::<Map<String, Value>>(
        "SELECT (coalesce(to_jsonb(p), '{}') || to_jsonb(r) - '{histogram,read_histogram}'::text[])::text
           FROM bench.runs r LEFT JOIN bench.pgio_runs p USING (run_id) WHERE run_id = $1",
        run_id,
    )?;
    Ok(found.into_iter().next().unwrap_or_default())
}

/// The arms of a stored comparison, with the figures of `bench.arms`.
pub fn load_arms(set_id: i64) -> Result<Vec<Arm>> {
    let rows = query_json::<(String, bool, Map<String, Value>)>(
        "SELECT jsonb_build_array(arm, verdict IS NOT NULL AND verdict LIKE 'baseline%', to_jsonb(v))::text
           FROM bench.arms($1) v",
        set_id,
    )?;
    let arm = |(name, is_baseline, figures)| Arm {
        name,
        is_baseline,
        figures,
    };
    Ok(rows.into_iter().map(arm).collect())
}

/// The histogram of all latencies of a run, if it is stored.
pub fn load_histogram(run_id: i64) -> Result<Option<LatencyHistogram>> {
    let stored = with_pinned_settings(|| {
        query::first_value::<Vec<u8>>(
            "SELECT histogram FROM bench.runs WHERE run_id = $1",
            &[run_id.into()],
        )
    })?;
    let histogram = stored.map(|bytes| LatencyHistogram::decode(&bytes));
    histogram
        .transpose()
        .map_err(|e| Error::BadHistogram(e.to_string()))
}

/// The stalls of a run, as many as runs store: a document that was imported may have more.
pub fn load_stalls(run_id: i64) -> Result<Vec<RunStall>> {
    rows_where("run_id = $1 AND stall_no < 1000", run_id, "stall_no")
}

/// Time budget of a run, if it was observed until its end.
pub fn load_times(run_id: i64) -> Result<Option<RunTimes>> {
    Ok(rows::<RunTimes>(run_id, "run_id")?.into_iter().next())
}

/// The parts of the mean latency of a run, with what was seen of its waits.
pub fn time_budget(run: &Run, seen: &SeenWaits) -> Result<Vec<LatencyPart>> {
    let (is_observed, times) = (is_observed(run.run_id)?, load_times(run.run_id)?);
    let waits = seen.waits.clone();
    Ok(selfbench_report::time_budget(
        run,
        is_observed,
        times.as_ref(),
        waits,
    ))
}

/// The teardown of a run.
pub struct Teardown {
    /// Its statements, if they are due.
    pub text: Option<String>,
    /// The target that they are for, if the run had one.
    pub target: Option<String>,
    /// The segment of the run, while it is in progress.
    pub segment: Option<i64>,
    /// Whether the run is the current role's.
    pub is_own: bool,
}

/// The teardown of a run that the caller may see.
pub fn teardown(run_id: i64) -> Result<Option<Teardown>> {
    let rows = query_json::<(Option<String>, Option<String>, Option<i64>, bool)>(
        "SELECT jsonb_build_array(CASE WHEN teardown_due THEN teardown END, target, segment,
                                  owner = quote_ident(current_user)::regrole)::text
           FROM bench.runs WHERE run_id = $1",
        run_id,
    )?;
    let teardown = |(text, target, segment, is_own)| Teardown {
        text,
        target,
        segment,
        is_own,
    };
    Ok(rows.into_iter().next().map(teardown))
}

/// The first run of a role whose teardown is still due, with the rights of the tables' owner.
pub fn left_teardown(role: u32) -> Result<Option<i64>> {
    as_owner(|| {
        query::first_value::<i64>(
            "SELECT min(run_id) FROM bench.runs
              WHERE teardown_due AND owner::oid = $1::oid
                AND NOT bench_internal.is_locked('runs', run_id)",
            &[i64::from(role).into()],
        )
    })
}

/// The scripts of a run of which only the names are known, with their weights as they were given.
fn planned_scripts(run: &Run) -> Vec<RunScript> {
    let planned = |text: &String| {
        let (name, weight) = builtin::parse_weight(text).unwrap_or((text, 1));
        let description = match builtin::find_builtin(name) {
            Ok(script) if script.name == name => script.description,
            _ => name,
        };
        RunScript {
            run_id: run.run_id,
            name: name.into(),
            description: description.into(),
            weight,
            ..RunScript::default()
        }
    };
    run.scripts.iter().map(planned).collect()
}

/// Number of other runs in progress on this server, of all roles and databases, plus those of this
/// database that have ended since this one started.
pub fn other_runs(run: &Run) -> Result<i32> {
    let recorded = as_owner(|| {
        query::first_value::<i64>(
            "SELECT count(*) FROM bench.runs r
              WHERE r.run_id <> $1 AND r.imported_at IS NULL AND r.started_at < now()
                AND coalesce(r.finished_at > $2::timestamptz,
                             $2 IS NOT NULL AND r.state = 'running')",
            &[run.run_id.into(), run.started_at.as_deref().into()],
        )
    })?;
    Ok(runs_in_progress()?.max(recorded.unwrap_or(0) as i32))
}

/// Number of other runs in progress on this server, of all roles and databases. Reads no table of
/// ours: a caller would keep its lock, and with it block `DROP EXTENSION`, until its run ends.
pub fn runs_in_progress() -> Result<i32> {
    // Not every role sees what others' processes are.
    let count = as_owner(|| {
        query::first_value::<i64>(
            "SELECT count(*) FROM pg_stat_activity
              WHERE backend_type = 'pg_selfbench coordinator' AND pid <> pg_backend_pid()",
            &[],
        )
    })?;
    Ok(count.unwrap_or(0) as i32)
}

/// The last run of the current role, if it may see one.
pub fn last_run_of_caller() -> Result<Option<i64>> {
    with_pinned_settings(|| {
        query::first_value::<i64>(
            "SELECT max(run_id) FROM bench.runs
              WHERE owner = (SELECT quote_ident(current_user)::regrole) AND imported_at IS NULL",
            &[],
        )
    })
}

/// Known circumstances of a run that the caller may see, with its waits.
pub fn load_evidence(run_id: i64, seen: &SeenWaits) -> Result<Evidence> {
    let settings = query_json::<(String, String, String)>(
        "SELECT jsonb_build_array(name, setting, source)::text FROM bench.run_settings
          WHERE run_id = $1 AND setting IS NOT NULL ORDER BY name COLLATE \"C\"",
        run_id,
    )?;
    let setting = |(name, value, source)| Setting {
        name,
        value,
        source,
    };
    let facts = query_json::<(String, String)>(
        "SELECT jsonb_build_array(name, value)::text FROM bench.run_environment
          WHERE run_id = $1 AND machine = 'server'",
        run_id,
    )?;
    let Intervals {
        course,
        server,
        lock_waits,
    } = intervals(run_id, seen)?;
    let tables = rows::<RunTable>(run_id, "relation")?;
    Ok(Evidence {
        settings: settings.into_iter().map(setting).collect(),
        facts: facts.into_iter().collect(),
        writes: writes(run_id, &tables)?,
        tables,
        course,
        server,
        run_queue_share: run_queue_share(run_id)?,
        waits: seen.events.clone(),
        wait_rounds: seen.rounds,
        lock_waits,
        blocked: query_json::<Blocked>(
            "SELECT jsonb_build_object('relation', relation, 'locktype', locktype,
                                       'own', blocker = 'own client', 'samples', sum(samples))::text
               FROM bench.run_blockers WHERE run_id = $1 AND blocker <> 'other'
              GROUP BY relation, locktype, blocker = 'own client'",
            run_id,
        )?,
        stalls: load_stalls(run_id)?,
        clients: rows(run_id, "client_no")?,
        validation: query_json::<Validation>(
            "SELECT jsonb_build_object(
                        'workload', w.workload,
                        'verdict', max(v.judgement) FILTER (WHERE v.statement_no IS NULL),
                        'others', coalesce(jsonb_agg(jsonb_build_array(v.statement_no, v.judgement) ORDER BY v.statement_no)
                                  FILTER (WHERE v.judgement ~ '^(differs|not measured)' AND v.statement_no IS NOT NULL),
                                  '[]'))::text
               FROM bench_internal.captured_workload_of($1) w, bench.validate_workload(w.workload, $1) v
              GROUP BY w.workload",
            run_id,
        )?
        .into_iter()
        .next(),
    })
}

/// Other use of the server and its machine during a run whose intervals are stored: findings of advice.
pub fn disturbances(run: &Run) -> Result<Vec<String>> {
    let moments = with_pinned_settings(|| {
        query::numbers::<3>(
            "SELECT other_sessions::float8,
                    (cpu_user_ms + cpu_system_ms + cpu_idle_ms + cpu_iowait_ms + cpu_steal_ms)::float8,
                    cpu_steal_ms::float8
               FROM bench.run_server_intervals WHERE run_id = $1",
            run.run_id,
        )
    })?;
    let moment = |[other_sessions, cpu_ms, cpu_steal_ms]: [_; 3]| ServerMoment {
        other_sessions,
        cpu_ms,
        cpu_steal_ms,
        ..ServerMoment::default()
    };
    let moments: Vec<ServerMoment> = moments.into_iter().map(moment).collect();
    let found = selfbench_report::disturbances(run, &moments).into_iter();
    Ok(found.map(|finding| finding.finding.to_owned()).collect())
}

/// Share of the time of the clients' transactions in which their sessions waited for a CPU; `None`
/// if that was not measured, or no transaction was. With a rate, a client also waits for a CPU when
/// it wakes up: that is schedule lag.
fn run_queue_share(run_id: i64) -> Result<Option<f64>> {
    let shares = query_json::<f64>(
        "SELECT to_jsonb(least(w.run_queue_ms / w.transactions_ms, 1))::text
           FROM (SELECT t.sessions_run_queue_ms, t.busy_ms + coalesce(r.lag_avg_ms * r.transactions, 0)
                   FROM bench.run_times t JOIN bench.runs r USING (run_id)
                  WHERE t.run_id = $1 AND r.transactions + r.failed > 0) w (run_queue_ms, transactions_ms)
          WHERE w.run_queue_ms IS NOT NULL AND w.transactions_ms > 0",
        run_id,
    )?;
    Ok(shares.into_iter().next())
}

/// Whether the scripts of a run have statements that write, or rows of tables that it used have been
/// changed meanwhile, as functions do; `None` if the scripts are not stored, changes not counted, or no
/// tables known of a run that has ended early. Plans do not tell the tables of functions, so all tables
/// count, although another session may have changed them.
fn writes(run_id: i64, tables: &[RunTable]) -> Result<Option<bool>> {
    let scripts = query_json::<(String, String)>(
        "SELECT jsonb_build_array(name, body)::text FROM bench.run_scripts
          WHERE run_id = $1 AND weight > 0",
        run_id,
    )?;
    let has_writes = |(name, body): &(String, String)| has_writes(name, body).unwrap_or(true);
    if scripts.is_empty() || scripts.iter().any(has_writes) {
        return Ok((!scripts.is_empty()).then_some(true));
    }
    let has_tables = !tables.is_empty();
    let has_rows = |table: &&RunTable| table.kind != "index" && !table.is_of_toast();
    let tables = tables.iter().filter(has_rows);
    let counts: Option<Vec<i64>> = tables
        .flat_map(|table| [table.rows_inserted, table.rows_updated, table.rows_deleted])
        .collect();
    let changed = counts.map(|counts| counts.into_iter().any(|rows| rows > 0));
    // After a run that ended early, tables are not looked at.
    let is_finished = query_json::<bool>(
        "SELECT to_jsonb(observe AND state = 'finished')::text FROM bench.runs WHERE run_id = $1",
        run_id,
    )?;
    Ok(changed.filter(|_| has_tables || is_finished == [true]))
}

/// A last interval has no rate of its own if it is shorter than this part of the mean one: a single
/// transaction in a moment would be the highest of all.
pub const SHORT: f64 = 0.1;

/// The intervals of a run.
struct Intervals {
    /// Their figures, but those of a last one that is [`SHORT`].
    course: Vec<CourseInterval>,
    /// Activity of the server in these.
    server: Vec<ServerMoment>,
    /// Waits for locks, of all intervals that had any.
    lock_waits: Vec<LockWaits>,
}

/// Reads what advice needs of the intervals of a run.
///
/// They are joined here: a plan for few rows, made before the tables are analyzed, takes minutes for a
/// day of intervals.
fn intervals(run_id: i64, seen: &SeenWaits) -> Result<Intervals> {
    let (mut intervals, blockers, server) = with_pinned_settings(|| {
        let intervals = query::numbers::<5>(
            "SELECT interval_no::float8, begins_s, seconds, tps, latency_avg_ms
               FROM bench.run_intervals WHERE run_id = $1 ORDER BY interval_no",
            run_id,
        )?;
        let blockers = query::numbers::<3>(
            "SELECT interval_no::float8,
                    (sum(samples) FILTER (WHERE blocker = 'own client'))::float8,
                    (sum(samples) FILTER (WHERE blocker <> 'own client'))::float8
               FROM bench.run_blockers WHERE run_id = $1 AND blocker <> 'other' GROUP BY interval_no",
            run_id,
        )?;
        let server = query::numbers::<8>(
            "SELECT interval_no::float8,
                    (checkpoint_begun OR checkpoint_active OR checkpoint_ended)::int::float8,
                    (autovacuum_workers > 0)::int::float8, other_sessions::float8,
                    (cpu_user_ms + cpu_system_ms + cpu_idle_ms + cpu_iowait_ms + cpu_steal_ms)::float8,
                    cpu_steal_ms::float8, (cpu_idle_ms + cpu_iowait_ms)::float8,
                    (sessions_cpu_ms + coalesce(workers_cpu_ms, 0) + coordinator_cpu_ms)::float8
               FROM bench.run_server_intervals WHERE run_id = $1 ORDER BY interval_no",
            run_id,
        )?;
        Ok((intervals, blockers, server))
    })?;
    let number = |no: Option<f64>| no.map(|no| no as i64);
    let mut lock_waits = BTreeMap::<i64, LockWaits>::new();
    for (no, interval) in &seen.intervals {
        if let Some(samples) = interval.locks {
            lock_waits.entry(*no).or_default().samples = samples;
        }
    }
    for [no, own, others] in blockers {
        if let Some(no) = number(no) {
            let waits = lock_waits.entry(no).or_default();
            waits.own = own.unwrap_or(0.0);
            waits.others = others.unwrap_or(0.0);
        }
    }
    let mut tps_of = HashMap::new();
    let mut course = Vec::new();
    let mean_s = intervals.iter().filter_map(|row| row[2]).sum::<f64>() / intervals.len() as f64;
    let is_short = |row: &[Option<f64>; 5]| row[2].is_some_and(|seconds| seconds < SHORT * mean_s);
    if intervals.last().is_some_and(is_short) {
        intervals.pop();
    }
    for [no, begins_s, seconds, tps, latency_avg_ms] in intervals {
        if let (Some(no), Some(begins_s), Some(seconds)) = (number(no), begins_s, seconds) {
            tps_of.insert(no, tps);
            course.push(CourseInterval {
                begins_s,
                seconds,
                tps,
                latency_avg_ms,
                storage_share: seen.intervals.get(&no).and_then(|i| i.storage_share),
            });
        }
    }
    let is = |flag: Option<f64>| flag.map(|flag| flag > 0.0);
    let moment = |[
        no,
        checkpoint,
        autovacuum,
        other_sessions,
        cpu_ms,
        cpu_steal_ms,
        cpu_idle_ms,
        cpu_own_ms,
    ]: [_; 8]| {
        Some(ServerMoment {
            tps: *tps_of.get(&number(no)?)?,
            checkpoint: is(checkpoint),
            autovacuum: is(autovacuum),
            other_sessions,
            cpu_ms,
            cpu_idle_ms,
            cpu_own_ms,
            cpu_steal_ms,
        })
    };
    let server = server.into_iter().filter_map(moment).collect();
    Ok(Intervals {
        course,
        server,
        lock_waits: lock_waits.into_values().collect(),
    })
}

/// The first rows of a query, at most that many, under the latest snapshot, and which columns are numbers.
pub fn load_rows<T: DeserializeOwned>(sql: &str, limit: usize) -> Result<(Vec<T>, Vec<bool>)> {
    with_pinned_settings(|| {
        let (texts, numbers) = query::first_column_and_numbers(
            &format!("SELECT row_to_json(q)::text, q.* FROM ({sql}) q LIMIT $1"),
            limit as i64,
        )?;
        Ok((parsed(&texts)?, numbers))
    })
}
