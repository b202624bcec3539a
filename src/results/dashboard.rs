//! Data of the page over all runs and sets, read with the rights of the caller.

use super::json::query_json;
use crate::error::{Error, Result};
use crate::server::literal_to_copy;
use selfbench_page::dashboard::{Dashboard, Origin, Run};

/// Number of the newest runs on the page.
const MAX_RUNS: i64 = 5000;
/// Number of the newest sets on the page.
const MAX_SETS: i64 = 500;
/// Number of reports that can be part of it.
pub const MAX_INLINE: i32 = 100;

/// Reads what the page shows that the caller may see.
pub fn load() -> Result<Dashboard> {
    let origin = query_json::<Origin>(
        "SELECT jsonb_build_object('role', current_user, 'database', current_database(),
                                   'server_version', current_setting('server_version'),
                                   'at', to_char(clock_timestamp(), 'YYYY-MM-DD HH24:MI'),
                                   'runs', (SELECT count(*) FROM bench.runs),
                                   'sets', (SELECT count(*) FROM bench.sets))::text",
        0,
    )?;
    let mut runs: Vec<Run> = query_json(RUNS, MAX_RUNS)?;
    for run in &mut runs {
        run.label_literal = run.label.as_deref().map(literal_to_copy);
    }
    Ok(Dashboard {
        origin: origin
            .into_iter()
            .next()
            .ok_or_else(|| Error::Limit("cannot count runs".into()))?,
        runs,
        sets: query_json(SETS, MAX_SETS)?,
        reports: Vec::new(),
    })
}

/// A run in progress whose coordinator is gone was lost.
const RUNS: &str = "
    SELECT jsonb_build_object(
               'run_id', r.run_id, 'label', r.label,
               'set_id', r.set_id, 'arm', r.arm,
               'state', CASE WHEN r.state NOT IN ('starting', 'running')
                               OR bench_internal.is_live(r.run_id, r.segment) THEN r.state
                             ELSE 'lost' END,
               'counts', r.state = 'finished' AND r.aborted_clients = 0,
               'workload', array_to_string(r.scripts[:3], ', ')
                           || CASE WHEN cardinality(r.scripts) > 3
                                   THEN format(' and %s more', cardinality(r.scripts) - 3) ELSE '' END
                           || ': ' || CASE WHEN length(w.setup) > 300 THEN left(w.setup, 300) || '...' ELSE w.setup END,
               'workload_key', md5(jsonb_build_array(r.scripts, w.setup)::text),
               'started_at', to_char(coalesce(r.started_at, r.created_at), 'YYYY-MM-DD HH24:MI'),
               'seconds', r.seconds, 'tps', r.tps, 'latency_avg_ms', r.latency_avg_ms,
               'latency_p95_ms', r.latency_p95_ms, 'failed', r.failed)::text
      FROM (SELECT * FROM bench.runs ORDER BY run_id DESC LIMIT $1) r,
           LATERAL (SELECT concat_ws(', ', r.mode, r.protocol,
                                     r.clients || CASE r.clients WHEN 1 THEN ' client' ELSE ' clients' END,
                                     'scale ' || nullif(r.scale, 0),
                                     'rate ' || trim_scale(round(r.rate::numeric, 2)),
                                     CASE WHEN r.reconnect THEN 'reconnect' END, nullif(r.variables, '{}')::text,
                                     r.target, CASE WHEN r.imported_at IS NOT NULL THEN 'imported' END) AS setup) w
     ORDER BY r.run_id DESC";

/// The arms of a search are its rates, of which the highest says nothing.
const SETS: &str = "
    SELECT jsonb_build_object(
               'set_id', s.set_id, 'kind', s.kind, 'label', s.label, 'state', s.state,
               'planned_runs', s.planned_runs, 'finished_runs', s.finished_runs,
               'started_at', to_char(s.started_at, 'YYYY-MM-DD HH24:MI'),
               'arms', a.arms, 'fastest', a.fastest, 'fastest_tps', a.tps, 'verdict', s.result ->> 'verdict')::text
      FROM (SELECT * FROM bench.set_summary ORDER BY set_id DESC LIMIT $1) s,
           LATERAL (SELECT count(*) AS arms, (array_agg(m.arm ORDER BY m.tps DESC))[1] AS fastest, max(m.tps) AS tps
                      FROM (SELECT r.arm, avg(r.tps) AS tps FROM bench.runs r
                             WHERE r.set_id = s.set_id AND r.round > 0 AND r.state = 'finished'
                               AND r.aborted_clients = 0 AND s.kind <> 'find_capacity'
                             GROUP BY r.arm) m) a
     ORDER BY s.set_id DESC";
