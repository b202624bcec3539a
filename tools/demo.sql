-- What make demo shows: two scripts, each in both modes, then side by side.
-- Variables: seconds, scale, clients.
\pset footer off
\set options 'clients => ' :clients ', duration => \'' :seconds ' s\''

CREATE EXTENSION pg_selfbench;

\echo == bench.initialize(scale => :scale)
SELECT step, round(seconds::numeric, 2) AS seconds FROM bench.initialize(scale => :scale);

\pset tuples_only on
\pset format unaligned

\echo == bench.run(scripts => '''select-only''', mode => '''spi''', :options)
SELECT * FROM bench.run(scripts => 'select-only', mode => 'spi', :options) \gset last_
SELECT bench.report(:last_run_id);

\echo == bench.run(scripts => '''select-only''', mode => '''libpq''', :options)
SELECT * FROM bench.run(scripts => 'select-only', mode => 'libpq', :options) \gset last_
SELECT bench.report(:last_run_id);

\echo == bench.run(scripts => '''tpcb-like''', mode => '''spi''', :options)
SELECT * FROM bench.run(scripts => 'tpcb-like', mode => 'spi', :options) \gset last_
SELECT bench.report(:last_run_id);

\echo == bench.run(scripts => '''tpcb-like''', mode => '''libpq''', :options)
SELECT * FROM bench.run(scripts => 'tpcb-like', mode => 'libpq', :options) \gset last_
SELECT bench.report(:last_run_id);

\pset tuples_only off
\pset format aligned
\echo == side by side: transactions per second, average and 95th percentile of latency in ms
SELECT scripts[1] AS script,
       round(spi.tps) AS "spi tps", round(libpq.tps) AS "libpq tps",
       round((spi.tps / libpq.tps)::numeric, 1) AS "spi / libpq",
       round(spi.latency_avg_ms::numeric, 3) AS "spi avg", round(libpq.latency_avg_ms::numeric, 3) AS "libpq avg",
       round(spi.latency_p95_ms::numeric, 3) AS "spi p95", round(libpq.latency_p95_ms::numeric, 3) AS "libpq p95"
FROM bench.run_summary spi JOIN bench.run_summary libpq USING (scripts)
WHERE spi.mode = 'spi' AND libpq.mode = 'libpq'
ORDER BY spi.run_id;
