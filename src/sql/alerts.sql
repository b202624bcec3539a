/* Alerts: what a run of a job shows that somebody should know. The worker of the job raises them. */

CREATE SEQUENCE bench.alert_id_seq;
COMMENT ON SEQUENCE bench.alert_id_seq IS 'numbers of alerts';

CREATE TABLE bench.alerts (
    alert_id    bigint PRIMARY KEY, -- number of the alert
    owner       regrole NOT NULL, -- role that the job belongs to
    job_name    text NOT NULL, -- name of the job
    job_run_id  bigint NOT NULL, -- run of the job that raised it, in bench.job_runs
    kind        text NOT NULL CHECK (kind IN ('slower', 'faster', 'failing', 'gap')), -- kind: slower or faster, of a figure, failing, or gap
    state       text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'acknowledged', 'expected', 'fixed')), -- state: open, acknowledged, expected or fixed; see bench.acknowledge
    message     text NOT NULL, -- what has happened
    cause       text, -- likely cause of a change, or unknown
    label       text, -- label of the runs that changed
    series      text, -- series of the runs that changed
    figure      text, -- figure that changed
    ratio       float8, -- level of the figure after the change, divided by the level before
    changed_at  timestamptz, -- start of the first night of the new level
    runs_before bigint[] NOT NULL DEFAULT '{}', -- runs of the level before, at most of 50 nights
    runs_after  bigint[] NOT NULL DEFAULT '{}', -- runs of the new level when the alert was raised
    raised_at   timestamptz NOT NULL DEFAULT now(), -- time at which it was raised
    on_alert_error text, -- error of the statement on_alert of the job
    state_at    timestamptz, -- time of the last call of bench.acknowledge
    comment     text -- comment of bench.acknowledge
);
/* A change raises one alert, whichever jobs make runs with its label, and whenever they do. */
CREATE UNIQUE INDEX ON bench.alerts (owner, changed_at, hashtextextended(label, 0), hashtextextended(series, 0))
    WHERE changed_at IS NOT NULL;
COMMENT ON TABLE bench.alerts IS 'changes of the figures of jobs, repeated failures, and gaps; each role sees its own';

ALTER TABLE bench.alerts ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.alerts
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.alert_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.alerts', '');

/* What a run of a job that is about to end shows: changes that were found since the last one that has finished, that
   the job fails repeatedly, and that it was due in between. job_runs is the table of its row: if the extension was
   dropped and created again, there may be another row with its number. */
CREATE FUNCTION bench_internal.found_alerts(
    job_run_id bigint, job_runs oid, run_ids bigint[], failure text, figures text[], least_change float8, set_ids bigint[],
    OUT kind text, OUT message text, OUT cause text, OUT label text, OUT series text, OUT figure text, OUT ratio float8,
    OUT changed_at timestamptz, OUT runs_before bigint[], OUT runs_after bigint[]
) RETURNS SETOF record
LANGUAGE sql VOLATILE ROWS 3
SET search_path = pg_catalog, pg_temp
SET jit = off
SET timezone = 'UTC'
AS $$
    WITH this AS MATERIALIZED (
        SELECT r.* FROM bench.job_runs r WHERE r.job_run_id = $1 AND r.tableoid = $2),
    earlier AS MATERIALIZED (
        SELECT (array_agg(e.started_at ORDER BY e.job_run_id DESC))[1] AS started_at,
               max(e.job_run_id) FILTER (WHERE e.state = 'finished') AS finished,
               coalesce(max(e.job_run_id) FILTER (WHERE e.state IN ('finished', 'canceled')), 0) AS last_good
          FROM this t JOIN bench.job_runs e ON e.owner = t.owner AND e.job_name = t.job_name AND e.job_run_id < t.job_run_id),
    /* The clock may have been set back since; the numbers of runs ascend all the same. */
    seen AS MATERIALIZED (
        SELECT coalesce((SELECT max(r.run_id) FROM earlier e JOIN bench.job_runs j ON j.job_run_id = e.finished
                           JOIN bench.runs r ON r.run_id = ANY (j.run_ids) OR r.set_id = ANY (j.set_ids)),
                        (SELECT min(r.run_id) - 1 FROM bench.runs r WHERE r.run_id = ANY ($3) OR r.set_id = ANY ($7))) AS run_id)
    SELECT c.change, format('runs with label "%s" are %s since %s: %s; likely cause: %s', l.label, c.change,
                            to_char(c.changed_at, 'YYYY-MM-DD HH24:MI TZ'), array_to_string(c.figures_changed, ', '), c.cause),
           c.cause, l.label, c.series, c.figure, c.ratio, c.changed_at, c.runs_before, c.runs_after
      FROM this t CROSS JOIN seen e,
           LATERAL (SELECT r.label, ARRAY(SELECT n.series FROM bench_internal.nights(r.label, '{tps}') n
                                           WHERE n.run_ids && array_agg(r.run_id)) AS series
                      FROM bench.runs r WHERE (r.run_id = ANY ($3) OR r.set_id = ANY ($7)) AND r.label IS NOT NULL GROUP BY r.label) l,
           LATERAL bench.changes(l.label, $5, $6) c
     WHERE c.series = ANY (l.series)
       AND e.run_id < (SELECT min(r.run_id) FROM bench.runs r WHERE r.label = l.label AND r.started_at = c.found_at)
           /* Another job, or a worker that was terminated, may have raised it. Of two at once, the index lets one do so. */
       AND NOT EXISTS (SELECT FROM bench.alerts a WHERE a.owner = t.owner AND a.label = l.label AND a.series = c.series
                                                    AND a.changed_at = c.changed_at)
    UNION ALL
    SELECT 'failing', format('the job has failed %s times in a row: %s', f.times, coalesce($4, 'its worker was lost')),
           NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM this t CROSS JOIN earlier e,
           /* A worker that was lost has raised none. */
           LATERAL (SELECT count(*) + ($4 IS NOT NULL)::int AS times FROM bench.job_runs b
                     WHERE b.owner = t.owner AND b.job_name = t.job_name AND b.job_run_id < t.job_run_id
                       AND b.job_run_id > e.last_good AND b.state IN ('failed', 'lost')) f
     WHERE f.times >= 2
       AND NOT EXISTS (SELECT FROM bench.alerts a WHERE a.owner = t.owner AND a.job_name = t.job_name
                                                    AND a.kind = 'failing' AND a.job_run_id > e.last_good)
    UNION ALL
    SELECT 'gap', format('first run since %s, although the job was due at %s', to_char(g.since, 'YYYY-MM-DD HH24:MI TZ'),
                         to_char(g.due_at, 'YYYY-MM-DD HH24:MI TZ')), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
      FROM this t CROSS JOIN earlier e JOIN bench.jobs j ON j.owner = t.owner AND j.job_name = t.job_name,
           /* The last time is that of this run. */
           LATERAL (SELECT greatest(e.started_at, j.scheduled_at) AS since,
                           bench_internal.due_at(j.schedule, bench_internal.due_at(j.schedule, t.started_at) - interval '1 min') AS due_at) g
     WHERE g.since < g.due_at
$$;

CREATE FUNCTION bench.acknowledge(
    alert_id bigint, -- number of the alert
    state text DEFAULT 'acknowledged', -- new state: acknowledged, fixed, open again, or expected, which makes the new level the baseline
    comment text DEFAULT NULL -- comment; NULL leaves it as it is
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'acknowledge_wrapper';
COMMENT ON FUNCTION bench.acknowledge IS 'give an alert another state and a comment';

CREATE FUNCTION bench.set_baseline(
    run_id bigint, -- first run of the new level
    is_baseline boolean DEFAULT true -- whether it is a baseline; false: no longer
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'set_baseline_wrapper';
COMMENT ON FUNCTION bench.set_baseline IS 'have bench.trend and bench.changes compare a run and later ones of its series with no earlier run';
