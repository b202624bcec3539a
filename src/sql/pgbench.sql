/* pgbench's command line. */

CREATE FUNCTION bench.pgbench(
    arguments text DEFAULT '' -- command line without the name of the program
) RETURNS SETOF text
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'pgbench_wrapper';
COMMENT ON FUNCTION bench.pgbench IS 'execute a pgbench command line and return what pgbench prints';
