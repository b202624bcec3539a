-- Stored histograms: counting, percentiles, merging, and invalid bytes.
SET client_min_messages = error;
\t on
\pset format unaligned
SELECT count(*) FROM bench.initialize();
SELECT transactions FROM bench.run(clients => 2, transactions => 50, label => 'a', seed => '1');
SELECT transactions FROM bench.run(transactions => 30, label => 'b', seed => '2', scripts => 'select-only,simple-update');

-- Percentiles grow, and their ends are those of the run.
SELECT bool_and(p <= lead) FROM (
    SELECT bench.percentile(histogram, p) AS p, lead(bench.percentile(histogram, p)) OVER (ORDER BY p)
      FROM bench.runs, generate_series(0, 100) p WHERE label = 'a') t;
-- a histogram's buckets may reach beyond the longest latency, which is exact
SELECT label, least(bench.percentile(histogram, 50), latency_max_ms) = latency_p50_ms,
       least(bench.percentile(histogram, 99.9), latency_max_ms) = latency_p999_ms,
       latency_min_ms <= latency_p50_ms AND latency_p50_ms <= latency_p90_ms
       AND latency_p90_ms <= latency_p95_ms AND latency_p95_ms <= latency_p99_ms
       AND latency_p99_ms <= latency_p999_ms AND latency_p999_ms <= latency_max_ms,
       latency_min_ms <= latency_avg_ms AND latency_avg_ms <= latency_max_ms,
       abs(latency_avg_ms - latency_sum_ms / transactions) < 1e-9
  FROM bench.runs ORDER BY run_id;
-- a result has the values of its row, figures rounded
SELECT r.label, e.key
  FROM bench.runs r, bench.wait(r.run_id) w, jsonb_each(to_jsonb(w)) e
 WHERE e.value IS DISTINCT FROM to_jsonb(r) -> e.key
   AND (e.key !~ '^(tps|latency)' OR abs(e.value::float8 - (to_jsonb(r) -> e.key)::float8) > 0.0005 + 0.0001 * e.value::float8);

-- Merging
SELECT bench.histogram_count(bench.merge_histograms(histogram)) FROM bench.runs;
SELECT bench.histogram_count(bench.merge_histograms(histogram ORDER BY label)),
       bench.merge_histograms(histogram ORDER BY label) = bench.merge_histograms(histogram ORDER BY label DESC),
       bench.merge_histograms(CASE label WHEN 'a' THEN histogram END ORDER BY label)
         = (SELECT histogram FROM bench.runs WHERE label = 'a'),
       bench.merge_histograms(CASE label WHEN 'a' THEN histogram END ORDER BY label DESC)
         = (SELECT histogram FROM bench.runs WHERE label = 'a')
  FROM bench.runs WHERE label IN ('a', 'b');
SELECT bench.merge_histograms(histogram) IS NULL FROM bench.runs WHERE false;
SELECT bench.merge_histograms(NULL) IS NULL;
SELECT label, bench.histogram_count(bench.merge_histograms(histogram) OVER (ORDER BY label))
  FROM bench.runs WHERE label IN ('a', 'b') ORDER BY label;
SELECT bench.histogram_count(NULL) IS NULL, bench.percentile(NULL, 50) IS NULL;
-- all scripts of a run are the run
SELECT label, bench.merge_histograms(s.histogram) = min(r.histogram::text)::bytea
  FROM bench.runs r JOIN bench.run_scripts s USING (run_id) GROUP BY label ORDER BY label;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE histograms AS SELECT histogram FROM bench.runs, generate_series(1, 1000);
ALTER TABLE histograms SET (parallel_workers = 2);
SELECT bench.histogram_count(bench.merge_histograms(histogram)) FROM histograms;
DROP TABLE histograms;
RESET ALL;
SET client_min_messages = error;

-- Wrong percentages
SELECT public.error_of(format('SELECT bench.percentile(histogram, %L) FROM bench.runs WHERE label = ''a''', p))
  FROM unnest(ARRAY['-1', '100.001', 'NaN', 'Infinity', '-Infinity']) p;

-- Invalid histograms
SELECT public.error_of(format('SELECT bench.histogram_count(%L)', b)) FROM unnest(ARRAY[
    '', '\x00', '\x01', 'x', '\xffffffff', '\x1c849304', '\x1c84930400000000000000000000000000000000000000000000000000000000',
    '\x1c849313ffffffff', '\x1c849303ffffffff0000000000000003000000000000000100000000ffffffff3ff0000000000000'
]::bytea[]) b;
SELECT public.error_of('SELECT bench.percentile(''\x00'', 50)');
SELECT public.error_of('SELECT bench.merge_histograms(h) FROM (VALUES (''\x00''::bytea), (''\x01'')) v (h)');

-- A histogram that is truncated or changed in one place is rejected or read, and the
-- server does not crash.
DO $$
DECLARE
    h bytea := (SELECT histogram FROM bench.runs WHERE label = 'a');
    n bigint;
BEGIN
    FOR i IN 0..length(h) - 1 LOOP
        BEGIN
            n := bench.histogram_count(substring(h FROM 1 FOR i));
        EXCEPTION WHEN invalid_parameter_value THEN NULL;
        END;
        FOR v IN 0..3 LOOP
            BEGIN
                n := bench.histogram_count(set_byte(h, i, (get_byte(h, i) + 63 * v + 1) % 256));
                PERFORM bench.percentile(set_byte(h, i, (get_byte(h, i) + 63 * v + 1) % 256), 99);
                PERFORM bench.merge_histograms(b) FROM (VALUES (h), (set_byte(h, i, (get_byte(h, i) + 63 * v + 1) % 256))) m (b);
            EXCEPTION WHEN invalid_parameter_value THEN NULL;
            END;
        END LOOP;
    END LOOP;
END $$;
SELECT 'alive';

-- Conditions: rows if all hold, otherwise one error with all of them
SELECT r.* FROM bench.runs, bench.require(run_id, 'transactions = 100', ' failed<1', 'state = finished', 'reconnect = false', 'label <> ''b''') r WHERE label = 'a';
SELECT bench.require(run_id, 'transactions > 1e2', 'failed = 0', 'rate <> 5', 'state = finished') FROM bench.runs WHERE label = 'a';
SELECT public.error_of(format('SELECT bench.require(%s, %L)', run_id, c)) FROM bench.runs, unnest(ARRAY[
    '', 'tps', 'tps >', 'tps > 20ms', 'tps == 5', 'tps > 5; DROP TABLE x', 'p(101) < 5', 'state = ''x',
    'tpz > 5', 'p99 < 5', 'tps = fast', 'state > 5', 'spi: tps > 5', repeat('x', 200)
]) c WHERE label = 'a';
SELECT public.error_of(format('SELECT bench.require(%s)', c)) FROM unnest(ARRAY[
    'NULL, ''tps > 5''', '0, ''tps > 5''', '1, NULL', '1, VARIADIC NULL', '1, VARIADIC ''{}''',
    '1, ''tps > 5'', NULL', '1, repeat(''x'', 1048577)'
]) c;
-- a percentile is that of the column
SELECT count(*) FROM bench.runs r, bench.require(r.run_id, 'p(50) > 0', 'p(90) > 0', 'p(95) > 0', 'p(99) > 0', 'p(99.9) > 0') m
 WHERE m.measured::float8 = CASE m.condition WHEN 'p(50) > 0' THEN latency_p50_ms WHEN 'p(90) > 0' THEN latency_p90_ms
       WHEN 'p(95) > 0' THEN latency_p95_ms WHEN 'p(99) > 0' THEN latency_p99_ms ELSE latency_p999_ms END;

-- Documents: errors, and a run that comes back
SELECT public.error_of(format('SELECT bench.export_run(%s)', c)) FROM unnest(ARRAY['NULL', '0']) c;
SELECT public.error_of(format('SELECT bench.import_run(%s)', c)) FROM unnest(ARRAY[
    'NULL', '''5''', '''{}''', '''{"format": "pg_selfbench run"}''', '''{"format": "pg_selfbench run", "format_version": 2}''',
    '''{"format": "pg_selfbench run", "format_version": 1, "source": {}, "run": {}}''',
    '''{"format": "pg_selfbench run", "format_version": 1, "source": {}, "run": {}, "tables": {}}'''
]) c;
SELECT bench.import_run(bench.export_run(run_id), label => 'imported') > run_id FROM bench.runs WHERE label = 'a';
SELECT to_jsonb(a) - bench_internal.local_columns()::text[] - 'label' = to_jsonb(i) - bench_internal.local_columns()::text[] - 'label',
       i.imported_from - '{system_identifier,cluster_name,server_version,owner}'::text[] = jsonb_build_object('run_id', a.run_id, 'label', 'a', 'database', a.database_name)
  FROM bench.runs a, bench.runs i WHERE a.label = 'a' AND i.label = 'imported';
SELECT count(*) FROM bench.delete_runs(label => 'imported');
\pset format aligned
\t off
DROP TABLE pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers;

-- Options in a document: values are read as SQL casts their text, and null is not to give one.
SELECT runs FROM bench.compare(
    '[{"clients": "2", "jobs": null, "max_warmup": "1 min", "latency_limit": 100, "log": "on",
       "variables": {"x": 1}, "max_tries": null}]', sql => 'SELECT 1', transactions => 1, repeats => 1);
SELECT o.* FROM bench.sets, jsonb_each(options -> 'arms' -> 0) o
WHERE key IN ('clients', 'jobs', 'max_warmup', 'latency_limit', 'log', 'variables', 'max_tries')
ORDER BY key COLLATE "C";
