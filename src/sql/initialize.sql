/* Filling pgbench's and pgio's tables.

   If tables and primary keys or indexes do not fit into the file systems of their tablespaces, or their
   WAL into that of pg_wal, nothing is dropped or created, and the functions fail with disk_full, unless
   "force" is true. The file systems of a target are not checked. */

CREATE FUNCTION bench.initialize(
    {{arguments initialize_options}},
    OUT step text, -- step
    OUT seconds float8 -- time of the step
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_wrapper';
COMMENT ON FUNCTION bench.initialize IS 'create and fill pgbench''s tables as pgbench -i does; returns the seconds of each step';

CREATE FUNCTION bench.initialize(
    workload text, -- name of a workload or of a mix of it, see bench.workloads
    {{arguments initialize_workload_options}},
    OUT step text, -- step
    OUT seconds float8 -- time of the step
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_workload_wrapper';
COMMENT ON FUNCTION bench.initialize(text, int, jsonb, bench.seed, int, text, text, boolean, boolean, text) IS 'create and fill the tables of a workload in the first schema of search_path; returns the seconds of each step';

/*
 * Creates tables pgio1, pgio2 and so on in the first schema of search_path.
 * "size" is the size of each table: a number of blocks such as '16384', or bytes
 * such as '128M', '64MB' or '1TB', rounded down to whole blocks.  Existing pgio
 * tables are dropped first.  "seed" determines the order of keys.
 */
CREATE FUNCTION bench.initialize_pgio(
    {{arguments initialize_pgio_options}},
    OUT step text, -- step
    OUT seconds float8 -- time of the step
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_pgio_wrapper';
COMMENT ON FUNCTION bench.initialize_pgio IS 'create and fill pgio''s tables, one row per block in random key order; size is that of each table, in blocks or as ''64MB''; returns the seconds of each step';
