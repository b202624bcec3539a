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
    ('{"label": "a-label-without-any-place-where-a-line-could-break-and-which-is-longer-than-a-narrow-screen-is-wide"}'),
    ('{"label": null}')) kinds (columns);

SELECT FROM bench.compare('[{"name": "one"}, {"name": "two", "clients": 2}]', scripts => 'select-only', repeats => 2,
                          transactions => 50, vacuum => 'none', label => 'arms');
SELECT FROM bench.sweep('{"clients": [1, 2, 4, 8]}', scripts => 'select-only', repeats => 2, transactions => 50);
SELECT FROM bench.sweep('{"clients": [1, 2, 4, 8]}', scripts => 'select-only', repeats => 2, transactions => 50, mode => 'libpq');

-- A run whose target is the standby.
SELECT run_id AS at_standby
  FROM bench.run('select-only', mode => 'libpq', clients => 2, duration => '4 s', aggregate_interval => '200 ms', vacuum => 'none',
                 target => format('host=%s port=%s dbname=%s user=%s', :'HOST', :'standby_port', :'DBNAME', :'USER'),
                 label => 'at the standby') \gset
SELECT run_id AS clients FROM bench.runs WHERE label = 'many clients' \gset

-- A search takes long: one that has made five runs.
INSERT INTO bench.sets (set_id, kind, owner, database_name, label, options, seed, state, started_at, finished_at, result)
SELECT nextval('bench.set_id_seq'), 'find_capacity', owner, database_name, 'capacity', '{"latency_limit": 20, "percentile": 99}',
       '1', 'finished', now(), now(), '{"verdict": "p99 stays under 20 ms up to 400 transactions per second"}'
  FROM bench.sets LIMIT 1 RETURNING set_id AS capacity \gset
SELECT pg_temp.copy('bench.runs', :nightly, VARIADIC array_agg(pg_temp.run(jsonb_build_object(
           'set_id', :capacity, 'arm', 'rate ' || rate, 'rate', rate, 'tps', least(rate, 380), 'label', 'capacity'))))
  FROM unnest('{400,100,800,200,300}'::int[]) rate;

-- Texts that are hostile, wherever they come from outside: a role, a label, names and texts of scripts,
-- errors, variables, settings, arms.
\set attack '"><script>alert(1)</script><img src=x onerror=alert(1)> \'\' --> | [a](javascript:alert(1)) `x` <!-- \t\33[31m'
SELECT :'attack' || U&'\202E' AS attack \gset
\set attacker '<img src=x onerror=alert(2)>|`[b](javascript:alert(2))'
DROP ROLE IF EXISTS :"attacker";
CREATE ROLE :"attacker" SUPERUSER LOGIN;
SET ROLE :"attacker";
SET application_name = '<script>alert(3)</script>|`';
SELECT bench.define_script('<img src=x onerror=alert(4)>|`',
           format('/* %s */ DO $x$ BEGIN IF random() < 0.5 THEN RAISE EXCEPTION %L; END IF; END $x$;', :'attack', :'attack'), :'attack');
SELECT run_id AS hostile
  FROM bench.run('<img src=x onerror=alert(4)>|`, select-only', transactions => 200, label => :'attack', protocol => 'simple',
                 per_statement => true, profile => true, continue_on_error => true, vacuum => 'none',
                 variables => jsonb_build_object('x', :'attack')) \gset
INSERT INTO bench.run_stacks SELECT :hostile, 'spi client', :'attack' || 'main;' || :'attack' || 'x', 50;
SELECT FROM bench.compare(jsonb_build_array(jsonb_build_object('name', :'attack'), jsonb_build_object('name', 'two', 'clients', 2)),
                          scripts => 'select-only', repeats => 2, transactions => 50, vacuum => 'none', label => :'attack');
RESET ROLE;
RESET application_name;

-- A run of a day comes before those whose reports are in a dashboard, too: it takes as long to look at as all others.
SELECT nextval('bench.run_id_seq') AS day \gset

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

SELECT bench.start('fails', transactions => 3, label => 'nothing') AS nothing \gset
\set ON_ERROR_STOP off
SELECT FROM bench.wait(:nothing);
\set ON_ERROR_STOP on
SELECT pg_temp.copy('bench.runs', :whole, pg_temp.run(jsonb_object_agg(attname, NULL)))
  FROM pg_attribute
 WHERE attrelid = 'bench.runs'::regclass AND attnum > 0 AND attgenerated = '' AND NOT attisdropped AND NOT attnotnull;
SELECT currval('bench.run_id_seq') AS unknown \gset

SELECT bench.start('select-only', duration => '600 s', aggregate_interval => '200 ms', label => 'canceled') AS canceled \gset
SELECT FROM bench.wait(:canceled, '2 s');
SELECT bench.report(:canceled, 'html') \g :pages/report-running.html
\o /dev/null
SELECT FROM bench.cancel(:canceled);
SELECT FROM bench.wait(:canceled);

-- A day of seconds.
SELECT pg_temp.copy('bench.runs', :whole, jsonb_build_object('run_id', :day, 'label', 'day', 'seconds', 86400));
SELECT pg_temp.copy(of, :whole, jsonb_build_object('run_id', :day))
  FROM unnest('{bench.run_scripts,bench.run_statements,bench.run_settings,bench.run_times}'::regclass[]) of;
SELECT pg_temp.copy('bench.run_intervals', :nightly, VARIADIC array_agg(jsonb_build_object(
           'run_id', :day, 'interval_no', n, 'begins_s', n, 'seconds', 1,
           'transactions', (1000 + 200 * sin(n / 7000.0) + n % 50)::int, 'tps', NULL, 'latency_avg_ms', 1 + n % 7 * 0.05, 'latency_p50_ms', 0.9,
           'latency_p95_ms', 2 + n % 11 * 0.1, 'latency_p99_ms', 4 + n % 13 * 0.2 + CASE WHEN n % 9000 = 0 THEN 500 ELSE 0 END)))
  FROM generate_series(0, 86399) n;
INSERT INTO bench.run_server_intervals (run_id, interval_no, begins_s, seconds, wal_bytes, blocks_hit, blocks_read, blocks_written,
           device_read_bytes, device_write_bytes,
           cpu_user_ms, cpu_system_ms, cpu_idle_ms, cpu_iowait_ms, cpu_steal_ms, checkpoint_active, autovacuum_workers)
SELECT :day, n, n, 1, 1e6 * (1 + n % 7), 5000 + n % 100, n % 90, n % 60, 20541, 5e8,
       900 + n % 200, 300, 600 - n % 200, 150, 50, n % 7200 < 1800, (n % 10000 < 300)::int
  FROM generate_series(0, 86399) n;

-- The pages, as files of the page's name.
\o
SELECT bench.dashboard() \g :pages/dashboard.html
-- With the report that has all its parts.
SELECT bench.dashboard(inline => (SELECT count(*)::int FROM bench.runs WHERE run_id >= :whole)) \g :pages/dashboard-inline.html
SELECT bench.report(:whole, 'html') \g :pages/report-whole.html
SELECT bench.report(:whole, 'html', against => :hostile) \g :pages/report-against.html
SELECT bench.report(:canceled, 'html', against => :nightly) \g :pages/report-against-canceled.html
SELECT bench.report(:failures, 'html') \g :pages/report-failures.html
SELECT bench.report(:nothing, 'html') \g :pages/report-nothing.html
SELECT bench.report(:unknown, 'html') \g :pages/report-unknown.html
SELECT bench.report(:nightly, 'html') \g :pages/report-interval.html
SELECT bench.report(:scripts, 'html') \g :pages/report-scripts.html
SELECT bench.report(:canceled, 'html') \g :pages/report-canceled.html
SELECT bench.report(:day, 'html') \g :pages/report-day.html
SELECT bench.report(:hostile, 'html') \g :pages/report-hostile.html
SELECT bench.report(:clients, 'html') \g :pages/report-clients.html
SELECT bench.report(:at_standby, 'html') \g :pages/report-standby.html
SELECT bench.report(set_ids => ARRAY[set_id], format => 'html') FROM bench.sets WHERE label = 'arms' \g :pages/set-compare.html
SELECT bench.report(set_ids => ARRAY[set_id], format => 'html') FROM bench.sets WHERE label = :'attack' \g :pages/set-hostile.html
SELECT bench.report(set_ids => ARRAY[min(set_id)], format => 'html') FROM bench.sets WHERE kind = 'sweep' \g :pages/set-sweep.html
SELECT bench.report(set_ids => ARRAY[:capacity], format => 'html') \g :pages/set-capacity.html
SELECT bench.report(set_ids => array_agg(set_id ORDER BY set_id), format => 'html') FROM bench.sets WHERE label IS DISTINCT FROM :'attack' \g :pages/set-all.html
SELECT bench.report(label => :'attack', format => 'html') \g :pages/label-hostile.html
SELECT bench.report(label => 'nightly', format => 'html') \g :pages/label.html

-- Single charts: all of the report with all its parts, and those with hostile texts.
SELECT format('SELECT bench.chart(%s, %L) \g %s/chart-%s.svg', :whole, name, :'pages', name) FROM bench.charts(:whole) \g :pages/charts.sql
\i :pages/charts.sql
SELECT format('SELECT bench.chart(%s, %L, against => %s) \g %s/chart-against-%s.svg', :whole, name, :hostile, :'pages', name)
  FROM bench.charts(:hostile) WHERE name NOT IN ('heatmap', 'statements') \g :pages/charts.sql
\i :pages/charts.sql
SELECT bench.chart(:hostile, 'statements') \g :pages/chart-hostile-statements.svg
SELECT bench.chart(:hostile, 'flamegraph') \g :pages/chart-hostile-flamegraph.svg

-- The same, read from the standby, while a run is in progress.
SELECT set_id AS arms FROM bench.sets WHERE label = 'arms' \gset
SELECT bench.start('select-only', duration => '600 s', label => 'in progress') AS in_progress \gset
\o /dev/null
SELECT FROM bench.wait(:in_progress, '500 ms');
SELECT pg_current_wal_insert_lsn() AS written \gset
\set primary_port :PORT
\connect - - - :standby_port
SELECT set_config('browser.written', :'written', false);
DO $$ BEGIN
    WHILE pg_last_wal_replay_lsn() < current_setting('browser.written')::pg_lsn LOOP PERFORM pg_sleep(0.05); END LOOP;
END $$;
\o
SELECT bench.report(:whole, 'html') \g :pages/standby-report.html
SELECT bench.report(:in_progress, 'html') \g :pages/standby-running.html
SELECT bench.report(set_ids => ARRAY[:arms], format => 'html') \g :pages/standby-set.html
SELECT bench.dashboard(inline => 2) \g :pages/standby-dashboard.html
\o /dev/null
\connect - - - :primary_port
SELECT bench.cancel(:in_progress);
