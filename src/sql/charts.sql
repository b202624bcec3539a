/* Charts of runs: as SVG, and as text for psql. */

CREATE FUNCTION bench.chart(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    name text DEFAULT 'tps', -- chart, one of bench.charts
    against bigint DEFAULT 0 -- run to show beside it; 0: none
) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'chart_wrapper';
COMMENT ON FUNCTION bench.chart IS 'a chart of a run, or of two, as a document in SVG; bench.charts lists them';

CREATE FUNCTION bench.charts(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    OUT name text, -- name of the chart
    OUT shows text -- contents of the chart
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 13 AS 'MODULE_PATHNAME', 'charts_wrapper';
COMMENT ON FUNCTION bench.charts IS 'charts of a run for which there are data, and what each shows';

CREATE FUNCTION bench.plot(
    run_id bigint DEFAULT 0, -- number of the run; 0 is the last run
    figure text DEFAULT 'tps', -- figure, such as tps, latency_p99 or wal
    width int DEFAULT 80 -- width in characters, 30 to 1000
) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'plot_wrapper';
COMMENT ON FUNCTION bench.plot IS 'a figure of a run over time as text';
