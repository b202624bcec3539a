/* Charts of runs: as SVG, and as text for psql. */

CREATE FUNCTION bench.chart(run_id bigint, name text) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'chart_wrapper';
COMMENT ON FUNCTION bench.chart IS 'a chart of a run, as a document in SVG; bench.charts lists them';

CREATE FUNCTION bench.charts(run_id bigint, OUT name text, OUT shows text) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 13 AS 'MODULE_PATHNAME', 'charts_wrapper';
COMMENT ON FUNCTION bench.charts IS 'charts of a run for which there are data, and what each shows';

CREATE FUNCTION bench.plot(run_id bigint, figure text DEFAULT 'tps', width int DEFAULT 80) RETURNS text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'plot_wrapper';
COMMENT ON FUNCTION bench.plot IS 'a figure of a run over time as text, in that many columns';
