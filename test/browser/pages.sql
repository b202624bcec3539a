-- Runs of all kinds, and every kind of page over them, as files in the directory :pages.
SET client_min_messages = error;
\o /dev/null
CREATE EXTENSION pg_selfbench;
SELECT FROM bench.initialize();

-- Inserts copies of the rows that a run has in a table, with columns replaced by those of objects.
CREATE FUNCTION pg_temp.copy(of regclass, run_id bigint, VARIADIC columns jsonb[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    names text := (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
                    WHERE attrelid = of AND attnum > 0 AND attgenerated = '' AND NOT attisdropped);
BEGIN
    EXECUTE format('INSERT INTO %1$s (%2$s) SELECT %3$s FROM %1$s r, unnest($2) c, jsonb_populate_record(r, c) n WHERE r.run_id = $1',
                   of, names, regexp_replace(names, '(^|, )', '\1n.', 'g'))
      USING run_id, columns;
END
$$;
CREATE FUNCTION pg_temp.run(columns jsonb) RETURNS jsonb LANGUAGE sql AS $$
    SELECT jsonb_build_object('run_id', nextval('bench.run_id_seq')) || $1
$$;

-- A label over some nights, of which the last one is slower.
SELECT run_id AS nightly
  FROM bench.run('select-only', transactions => 50, vacuum => 'none', label => 'nightly') \gset
SELECT pg_temp.copy('bench.runs', :nightly, VARIADIC array_agg(pg_temp.run(jsonb_build_object(
           'tps', 20000 + 100 * (night % 5), 'latency_p95_ms', 0.05 + 0.001 * (night % 3)))))
  FROM generate_series(1, 12) night;
SELECT pg_temp.copy('bench.runs', :nightly, pg_temp.run('{"tps": 9000, "latency_p95_ms": 0.2}'));

-- Runs with figures that are missing or large, and texts that are hostile.
SELECT pg_temp.copy('bench.runs', :nightly, VARIADIC array_agg(pg_temp.run(columns))) FROM (VALUES
    ('{"label": "fails", "state": "failed", "tps": null, "latency_p95_ms": null, "latency_avg_ms": null, "errors": ["out of memory"]}'::jsonb),
    ('{"label": "many clients", "clients": 1000, "jobs": 16}'),
    ('{"label": "\u003cscript\u003ealert(1)\u003c/script\u003e \u202e\u001b[31m", "scripts": ["\" onclick=\"alert(1)", "[a](javascript:alert(1)) | b"]}'),
    ('{"label": "a-label-without-any-place-where-a-line-could-break-and-which-is-longer-than-a-narrow-screen-is-wide"}'),
    ('{"label": null}')) kinds (columns);

SELECT FROM bench.compare('[{"name": "one"}, {"name": "two", "clients": 2}]', scripts => 'select-only', repeats => 2,
                          transactions => 50, vacuum => 'none', label => 'arms');
SELECT FROM bench.sweep('{"clients": [1, 2, 4, 8]}', scripts => 'select-only', repeats => 2, transactions => 50);
SELECT FROM bench.sweep('{"clients": [1, 2, 4, 8]}', scripts => 'select-only', repeats => 2, transactions => 50, mode => 'libpq');
SELECT min(run_id) FILTER (WHERE label LIKE '<script>%') AS hostile,
       min(run_id) FILTER (WHERE label = 'many clients') AS clients FROM bench.runs \gset

-- A report with all its parts.
SELECT run_id AS whole
  FROM bench.run('tpcb-like@3, select-only', mode => 'libpq', clients => 4, jobs => 2, duration => '4 s', warmup => '1 s',
                 rate => 400, latency_limit => 50, per_statement => true, profile => true, checkpoint => true,
                 aggregate_interval => '200 ms', label => 'whole') \gset

-- Reports with less than usual, or more.
SELECT bench.define_script('fails', 'SELECT 1/0;'), bench.define_script('nothing ' || n, 'SELECT ' || n || ';')
  FROM generate_series(1, 128) n;
SELECT run_id AS failures FROM bench.run('fails', transactions => 3, continue_on_error => true, label => 'failures') \gset
SELECT run_id AS scripts FROM bench.run((SELECT string_agg('nothing ' || n, ',') FROM generate_series(1, 128) n),
                                        transactions => 500, per_statement => true, label => '128 scripts') \gset

SELECT bench.start('select-only', duration => '600 s', label => 'canceled') AS canceled \gset
SELECT FROM bench.wait(:canceled, '1200 ms');
SELECT FROM bench.cancel(:canceled);
SELECT FROM bench.wait(:canceled);

-- A day of seconds.
SELECT nextval('bench.run_id_seq') AS day \gset
SELECT pg_temp.copy('bench.runs', :whole, jsonb_build_object('run_id', :day, 'label', 'day', 'seconds', 86400));
SELECT pg_temp.copy(of, :whole, jsonb_build_object('run_id', :day))
  FROM unnest('{bench.run_scripts,bench.run_statements,bench.run_settings,bench.run_times}'::regclass[]) of;
SELECT pg_temp.copy('bench.run_intervals', :nightly, VARIADIC array_agg(jsonb_build_object(
           'run_id', :day, 'interval_no', n, 'begins_s', n, 'seconds', 1, 'transactions', 1000,
           'tps', 1000 + 200 * sin(n / 7000.0) + n % 50, 'latency_avg_ms', 1 + n % 7 * 0.05, 'latency_p50_ms', 0.9,
           'latency_p95_ms', 2 + n % 11 * 0.1, 'latency_p99_ms', 4 + n % 13 * 0.2 + CASE WHEN n % 9000 = 0 THEN 500 ELSE 0 END)))
  FROM generate_series(0, 86399) n;
SELECT pg_temp.copy('bench.run_server_intervals', :nightly, VARIADIC array_agg(jsonb_build_object(
           'run_id', :day, 'interval_no', n, 'checkpoint_active', n % 300 < 20, 'autovacuum_workers', (n % 1000 < 30)::int)))
  FROM generate_series(0, 86399) n;

-- The pages, as files of the page's name.
\o
SELECT bench.dashboard() \g :pages/dashboard.html
SELECT bench.dashboard(inline => 2) \g :pages/dashboard-inline.html
SELECT bench.report(:whole, 'html') \g :pages/report-whole.html
SELECT bench.report(:failures, 'html') \g :pages/report-failures.html
SELECT bench.report(:scripts, 'html') \g :pages/report-scripts.html
SELECT bench.report(:canceled, 'html') \g :pages/report-canceled.html
SELECT bench.report(:day, 'html') \g :pages/report-day.html
SELECT bench.report(:hostile, 'html') \g :pages/report-hostile.html
SELECT bench.report(:clients, 'html') \g :pages/report-clients.html
SELECT bench.report_set(ARRAY[max(set_id)], 'html') FROM bench.sets WHERE kind = 'compare' \g :pages/set-compare.html
SELECT bench.report_set(array_agg(set_id), 'html') FROM bench.sets WHERE kind = 'sweep' \g :pages/set-sweep.html
SELECT bench.report_label('nightly', 'html') \g :pages/label.html
