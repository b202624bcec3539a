//! Data for charts of a run, with the rights of the caller: reduced by queries to some 800 moments,
//! each with the lowest, the mean and the highest value, so that a day of seconds is drawn in a
//! second and no spike is lost.

mod latency;
mod waits;

use super::json::query_json;
use super::load::{SHORT, load_stalls, time_budget};
use super::waits::{HAS_THE_TURN, MOMENTS, SeenWaits};
use crate::error::Result;
use crate::query;
use crate::security::with_pinned_settings;
use latency::{heat, latencies};
use selfbench_chart::run::{RunChart, RunData, RunFigure, Source, point};
use selfbench_chart::{Bar, Part, Point, Series, Span, SpanKind, TimeAxis};
use selfbench_model::{Run, RunStall, RunState};
use selfbench_report::counted;
use selfbench_stats::budget::LatencyPart;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;

/// Bars, and stacks, at most: those that took most time. That many bars fit on a page of paper.
const BARS: i32 = 25;
const STACKS: i32 = 20_000;

/// Time in seconds after which processes of the server add what they counted to its statistics: intervals that are
/// shorter have all of it or nothing.
const FLUSHED_S: f64 = 1.0;

/// Figures of some intervals together.
#[derive(Deserialize)]
struct Moment {
    from: f64,
    to: f64,
    /// By the names of [`RunFigure`]: lowest, mean, highest.
    figures: HashMap<String, [Value; 3]>,
    #[serde(default)]
    autovacuum: Option<bool>,
}

/// Loads the data of a run for charts of these sources. Charts over time mark what the server did,
/// so they all need its intervals. A run in progress comes with its figures so far. What was seen
/// of its waits is read if it is needed and not given. Beside `other`, both have the same bins of latencies.
pub fn load(
    run: &Run,
    sources: &[Source],
    seen: Option<&SeenWaits>,
    other: Option<&Run>,
) -> Result<RunData> {
    let run_id = run.run_id;
    let has = |source: Source| sources.contains(&source);
    let read = match seen {
        None if has(Source::Waits) || has(Source::Budget) => Some(SeenWaits::load(run_id)?),
        _ => None,
    };
    let seen = seen.or(read.as_ref());
    let mut data = RunData {
        run_id,
        label: run.label.clone().unwrap_or_default(),
        setup: setup(run),
        ..RunData::default()
    };
    if [
        Source::Intervals,
        Source::Server,
        Source::Waits,
        Source::Heat,
    ]
    .into_iter()
    .any(has)
    {
        let (clients, server) = (clients(run_id)?, server(run_id)?);
        let (checkpoints, stalls) = (checkpoints(run_id)?, load_stalls(run_id)?);
        data.spans = spans(run, &clients, &server, &checkpoints, &stalls);
        // The server's last interval may end after the last client was done.
        let ends = clients
            .iter()
            .chain(&server)
            .map(|moment| moment.to)
            .chain(data.spans.iter().map(|span| span.to));
        data.time = TimeAxis {
            from: 0.0,
            to: ends.fold(0.0, f64::max),
        };
        for figure in RunFigure::ALL {
            data.figures.extend(series(*figure, &clients));
            data.figures.extend(series(*figure, &server));
        }
    }
    if has(Source::Waits)
        && let Some(seen) = seen
    {
        data.waits = waits::series(run_id, seen)?;
    }
    // What a chart of latencies over time says of the whole run is in the histogram of all.
    if has(Source::Latencies) || has(Source::Heat) || has(Source::Intervals) {
        (data.bins, data.percentiles) = latencies(run, other)?;
    }
    if has(Source::Heat) {
        data.heat = heat(run)?;
    }
    if has(Source::Statements) {
        data.statements = statements(run_id)?;
    }
    if has(Source::Budget)
        && let Some(seen) = seen
    {
        let part = |part: LatencyPart| Part {
            name: part.component,
            value: part.us,
        };
        data.budget = time_budget(run, seen)?.into_iter().map(part).collect();
    }
    if has(Source::Stacks) {
        data.stacks = query_json(
            // The others are one more stack of their process.
            &format!(
                "WITH s AS (
                     SELECT process, stack, samples,
                            row_number() OVER (ORDER BY samples DESC, process, stack COLLATE \"C\") AS n
                       FROM bench.run_stacks WHERE run_id = $1)
                 SELECT jsonb_build_array(process || ';' || CASE WHEN n <= {STACKS} THEN stack ELSE '[other stacks]' END,
                                          least(sum(samples), 9223372036854775807))::text
                   FROM s GROUP BY process, CASE WHEN n <= {STACKS} THEN stack ELSE '[other stacks]' END
                  ORDER BY min(n)"
            ),
            run_id,
        )?;
        let count = "SELECT count(*) FROM bench.run_stacks WHERE run_id = $1";
        data.stack_count =
            with_pinned_settings(|| query::first_value::<i64>(count, &[run_id.into()]))?;
    }
    Ok(data)
}

/// Throughput over time alone.
pub fn tps(run_id: i64) -> Result<Series> {
    let moments = moments(
        run_id,
        "run_intervals",
        0.0,
        &[(RunFigure::Tps, rate("transactions"))],
        "",
    )?;
    Ok(series(RunFigure::Tps, &moments).unwrap_or_default())
}

/// The charts of a run for which there are rows or, if it is in progress, figures so far.
pub fn charts(run: &Run) -> Result<Vec<RunChart>> {
    let found = query_json::<HashMap<String, bool>>(
        &format!(
        "SELECT jsonb_build_object(
                    'intervals', EXISTS (SELECT FROM bench.run_intervals i WHERE i.run_id = r.run_id),
                    'wal', EXISTS (SELECT FROM bench.run_server_intervals i
                                    WHERE i.run_id = r.run_id AND i.wal_bytes IS NOT NULL),
                    'blocks', EXISTS (SELECT FROM bench.run_server_intervals i
                                       WHERE i.run_id = r.run_id AND i.blocks_read IS NOT NULL),
                    'cpu', EXISTS (SELECT FROM bench.run_server_intervals i
                                    WHERE i.run_id = r.run_id AND i.cpu_user_ms IS NOT NULL),
                    'device', EXISTS (SELECT FROM bench.run_server_intervals i
                                       WHERE i.run_id = r.run_id AND i.device_read_bytes IS NOT NULL),
                    'waits', EXISTS (SELECT FROM bench.run_waits w WHERE w.run_id = r.run_id AND NOT {HAS_THE_TURN}),
                    'latencies', r.histogram IS NOT NULL AND r.transactions > 0,
                    'heat', r.transactions > 0 AND EXISTS (
                        SELECT FROM bench.run_intervals i WHERE i.run_id = r.run_id AND i.histogram IS NOT NULL),
                    'statements', EXISTS (SELECT FROM bench.run_statements s WHERE s.run_id = r.run_id),
                    'budget', r.transactions > 0 AND EXISTS (
                        SELECT FROM bench.run_times t WHERE t.run_id = r.run_id),
                    'stacks', EXISTS (SELECT FROM bench.run_stacks s WHERE s.run_id = r.run_id))::text
           FROM bench.runs r WHERE r.run_id = $1"
        ),
        run.run_id,
    )?;
    let mut found = found.into_iter().next().unwrap_or_default();
    if run.figures.histogram.is_some() {
        found.insert("latencies".into(), true);
    }
    let key = |chart: &RunChart| match chart.source() {
        Source::Intervals => "intervals",
        Source::Server => chart.name(),
        Source::Waits => "waits",
        Source::Latencies => "latencies",
        Source::Heat => "heat",
        Source::Statements => "statements",
        Source::Budget => "budget",
        Source::Stacks => "stacks",
    };
    // Of a thinned run, what remains of the server and of waits is one interval.
    let is_over_time = |source| matches!(source, Source::Server | Source::Waits);
    let has_rows = |chart: &&RunChart| {
        found.get(key(chart)) == Some(&true)
            && !(run.thinned_at.is_some() && is_over_time(chart.source()))
    };
    Ok(RunChart::ALL.iter().filter(has_rows).copied().collect())
}

/// Setup of a run, for the titles of its charts.
fn setup(run: &Run) -> String {
    format!(
        "mode {}, {}",
        run.mode.name(),
        counted(run.clients, "client")
    )
}

fn series(figure: RunFigure, moments: &[Moment]) -> Option<Series> {
    let known = |moment: &Moment| {
        let values = moment.figures.get(figure.name())?;
        let values = [0, 1, 2].map(|i| values[i].as_f64());
        Some(point(moment.from, moment.to, values))
    };
    let points: Vec<Point> = moments.iter().filter_map(known).collect();
    (!points.is_empty()).then(|| Series {
        name: figure.name().to_owned(),
        points,
    })
}

/// A query for moments of a table with intervals, which last at least `least_s` seconds: `figures` and more columns
/// of each. A last interval that is [`SHORT`] belongs to the moment before. Without MATERIALIZED, a plan made for few
/// rows may look for it again for each interval.
fn moments(
    run_id: i64,
    table: &str,
    least_s: f64,
    figures: &[(RunFigure, String)],
    more: &str,
) -> Result<Vec<Moment>> {
    let figures: Vec<String> = figures
        .iter()
        .map(|(figure, values)| format!("'{}', jsonb_build_array({values})", figure.name()))
        .collect();
    query_json(
        &format!(
            "WITH w AS MATERIALIZED (
                 SELECT greatest(max(interval_no) / {MOMENTS} + 1,
                                 CASE WHEN max(mean) > 0 THEN least(ceil({least_s} / max(mean) - 0.05), 1e9) END::int4) AS intervals,
                        max(mean) >= 0.95 * {least_s} AS are_long,
                        max(interval_no) FILTER (WHERE seconds >= {SHORT} * mean) AS last
                   FROM (SELECT interval_no, seconds, avg(seconds) OVER () AS mean
                           FROM bench.{table} WHERE run_id = $1) j)
             SELECT jsonb_build_object('from', min(i.begins_s), 'to', max(i.begins_s + i.seconds),
                                       'figures', jsonb_build_object({}){more})::text
               FROM bench.{table} i, w
              WHERE i.run_id = $1
              GROUP BY least(i.interval_no, w.last) / w.intervals ORDER BY least(i.interval_no, w.last) / w.intervals",
            figures.join(", ")
        ),
        run_id,
    )
}

/// Lowest, mean and highest rate per second of a counter. A last interval that is [`SHORT`] has none of its own, nor
/// have those that are shorter than a moment must be.
fn rate(counter: &str) -> String {
    let mean = format!(
        "sum({counter})::float8 / nullif(sum(seconds) FILTER (WHERE {counter} IS NOT NULL), 0)"
    );
    // A last interval of a moment may move the mean beyond the only other one.
    format!(
        "least({mean}, min({counter} / nullif(seconds, 0)) FILTER (WHERE w.are_long AND interval_no <= w.last)),
         {mean},
         greatest({mean}, max({counter} / nullif(seconds, 0)) FILTER (WHERE w.are_long AND interval_no <= w.last))"
    )
}

fn clients(run_id: i64) -> Result<Vec<Moment>> {
    let latency = |column: &str| {
        format!(
            "min({column}),
             sum({column} * transactions) / nullif(sum(transactions) FILTER (WHERE {column} IS NOT NULL), 0)::float8,
             max({column})"
        )
    };
    moments(
        run_id,
        "run_intervals",
        0.0,
        &[
            (RunFigure::Tps, rate("transactions")),
            (RunFigure::Failed, rate("failed")),
            (RunFigure::Skipped, rate("skipped")),
            (RunFigure::Retried, rate("retried")),
            (RunFigure::Lag, latency("lag_avg_ms")),
            (
                RunFigure::LatencyAvg,
                "min(latency_avg_ms), sum(latency_sum_ms) / nullif(sum(transactions), 0)::float8,
                 max(latency_avg_ms)"
                    .to_owned(),
            ),
            (RunFigure::LatencyP50, latency("latency_p50_ms")),
            (RunFigure::LatencyP95, latency("latency_p95_ms")),
            (RunFigure::LatencyP99, latency("latency_p99_ms")),
            (
                RunFigure::LatencyMax,
                "max(latency_max_ms), max(latency_max_ms), max(latency_max_ms)".to_owned(),
            ),
        ],
        "",
    )
}

fn server(run_id: i64) -> Result<Vec<Moment>> {
    let all = "nullif(cpu_user_ms + cpu_system_ms + cpu_idle_ms + cpu_iowait_ms + cpu_steal_ms, 0)::float8";
    let share = |counter: &str| {
        // Where one of them is not known, the other does not count.
        format!(
            "min({counter} / {all}),
             sum({counter}) FILTER (WHERE {all} IS NOT NULL) / sum({all}) FILTER (WHERE {counter} IS NOT NULL),
             max({counter} / {all})"
        )
    };
    // The kernel counts times of processes exactly, and those of CPUs in ticks.
    let of_run =
        "least(sessions_cpu_ms + coalesce(workers_cpu_ms, 0) + coalesce(coordinator_cpu_ms, 0),
                        cpu_user_ms + cpu_system_ms + 0 * sessions_cpu_ms)";
    let of_others = format!("(cpu_user_ms + cpu_system_ms - {of_run})");
    moments(
        run_id,
        "run_server_intervals",
        FLUSHED_S,
        &[
            (RunFigure::Wal, rate("wal_bytes")),
            (RunFigure::BlocksHit, rate("blocks_hit")),
            (RunFigure::BlocksRead, rate("blocks_read")),
            (RunFigure::BlocksWritten, rate("blocks_written")),
            (RunFigure::CpuRun, share(of_run)),
            (RunFigure::CpuOther, share(&of_others)),
            (RunFigure::CpuUser, share("cpu_user_ms")),
            (RunFigure::CpuSystem, share("cpu_system_ms")),
            (RunFigure::CpuIowait, share("cpu_iowait_ms")),
            (RunFigure::CpuSteal, share("cpu_steal_ms")),
            (RunFigure::DeviceRead, rate("device_read_bytes")),
            (RunFigure::DeviceWrite, rate("device_write_bytes")),
        ],
        ", 'autovacuum', bool_or(autovacuum_workers > 0)",
    )
}

/// A row of an interval in which a checkpoint began or ended, or the last row.
#[derive(Deserialize)]
struct CheckpointRow {
    from: f64,
    to: f64,
    /// Whether one was in progress at the begin, and at the end.
    was_active: bool,
    is_active: bool,
    begun: bool,
    ended: bool,
    /// Time that the one that ended took, as the statistics have it, which may know it in the next interval.
    seconds: Option<f64>,
}

/// Begins and ends of the checkpoints of a run. An interval tells that one began, and that one ended; how long it
/// took, the statistics tell.
fn checkpoints(run_id: i64) -> Result<Vec<(f64, f64)>> {
    let rows = query_json::<CheckpointRow>(
        "SELECT jsonb_build_object('from', begins_s, 'to', begins_s + seconds, 'begun', begun, 'ended', ended,
                                   'was_active', was_active, 'is_active', is_active,
                                   'seconds', CASE WHEN ms > 0 OR next_ended THEN ms ELSE coalesce(next_ms, ms) END / 1000.0)::text
           FROM (SELECT interval_no, begins_s, seconds, ms, begun, ended, is_active,
                        lag(is_active, 1, false) OVER w AS was_active, lead(interval_no) OVER w IS NULL AS is_last,
                        lead(ms) OVER w AS next_ms, lead(ended, 1, false) OVER w AS next_ended
                   FROM (SELECT interval_no, begins_s, seconds, checkpoint_write_ms + checkpoint_sync_ms AS ms,
                                coalesce(checkpoint_begun, false) AS begun, coalesce(checkpoint_ended, false) AS ended,
                                coalesce(checkpoint_active, false) AS is_active
                           FROM bench.run_server_intervals WHERE run_id = $1) i
                 WINDOW w AS (ORDER BY interval_no)) i
          WHERE begun OR ended OR is_active <> was_active OR is_last
          ORDER BY interval_no",
        run_id,
    )?;
    Ok(lengths_of_checkpoints(&rows))
}

fn lengths_of_checkpoints(rows: &[CheckpointRow]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    let mut open: Option<f64> = None;
    for row in rows {
        let began = match row.was_active {
            true => open.unwrap_or(0.0),
            false => row.from,
        };
        if row.ended {
            // It began no earlier than the interval that shows it, and ended no earlier than this one began.
            let earliest = match row.was_active || row.begun {
                true => began,
                false => 0.0,
            };
            found.push(match row.seconds {
                Some(seconds) => {
                    let from = earliest.max(row.from - seconds);
                    (from, (from + seconds).min(row.to))
                }
                None => (began, row.to),
            });
        } else if row.was_active && !row.is_active {
            found.push((began, row.from));
        }
        open = match (row.is_active, row.was_active && !row.ended) {
            (true, true) => open,
            (true, false) => Some(row.from),
            (false, _) => None,
        };
    }
    if let (Some(from), Some(last)) = (open, rows.last()) {
        found.push((from, last.to));
    }
    found
}

/// Marked spans of a run's time.
fn spans(
    run: &Run,
    clients: &[Moment],
    server: &[Moment],
    checkpoints: &[(f64, f64)],
    stalls: &[RunStall],
) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut push = |kind, from, to| {
        if to > from {
            spans.push(Span { kind, from, to });
        }
    };
    if let Some(first) = clients.first() {
        push(SpanKind::WarmUp, 0.0, run.warmup_s.min(first.from));
    }
    for (from, to) in checkpoints {
        push(SpanKind::Checkpoint, *from, *to);
    }
    for moments in server.chunk_by(|a, b| a.autovacuum == b.autovacuum) {
        if let ([first, ..], [.., last]) = (moments, moments)
            && first.autovacuum == Some(true)
        {
            push(SpanKind::Autovacuum, first.from, last.to);
        }
    }
    for stall in stalls {
        let ends_s = stall.begin_s + stall.length_s;
        push(SpanKind::Stall, stall.begin_s, ends_s);
    }
    if let (RunState::Canceled, Some(last), Some(planned)) =
        (run.state, clients.last(), run.duration_s)
    {
        push(SpanKind::Canceled, last.to, run.warmup_s + planned);
    }
    spans
}

/// The statements that took most time, in the order of the scripts.
fn statements(run_id: i64) -> Result<Vec<Bar>> {
    let rows = query_json::<(String, Option<f64>, i64)>(
        &format!(
            "SELECT jsonb_build_array(s.command, s.ms, s.failures)::text
               FROM (SELECT s.*, s.latency_avg_ms * s.executions / nullif(r.transactions, 0) AS ms,
                            row_number() OVER (ORDER BY s.latency_avg_ms * s.executions DESC NULLS LAST,
                                                      s.script_no, s.command_no) AS no
                       FROM bench.run_statements s JOIN bench.runs r USING (run_id)
                      WHERE s.run_id = $1) s
              WHERE s.no <= {BARS} ORDER BY s.script_no, s.command_no"
        ),
        run_id,
    )?;
    let bar = |(name, value, failures)| Bar {
        name,
        value,
        note: match failures {
            0 => String::new(),
            failures => counted(failures, "failure"),
        },
    };
    Ok(rows.into_iter().map(bar).collect())
}
