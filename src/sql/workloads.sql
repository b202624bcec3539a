/* The catalog of workloads. */

CREATE FUNCTION bench_internal.workloads(
    OUT family text, OUT mix text, OUT description text, OUT unit text, OUT table_bytes bigint,
    OUT index_bytes bigint, OUT tables text[], OUT scripts text[], OUT variables jsonb, OUT options jsonb
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 20 AS 'MODULE_PATHNAME', 'workloads_wrapper';

CREATE VIEW bench.workloads AS
    SELECT w.family, -- tables, loaded by bench.initialize
           w.mix, -- scripts, executed by bench.run
           w.description, -- what it does
           w.unit, -- unit of the scale
           w.table_bytes, -- size of the tables for a unit, without what they have whatever the scale is
           w.index_bytes, -- size of the indexes for a unit
           w.tables, -- tables of the family
           w.scripts, -- scripts with their weights, in order: name@weight
           w.variables, -- variables with their defaults and ranges
           w.options -- defaults of options of bench.run
      FROM bench_internal.workloads() w;
COMMENT ON VIEW bench.workloads IS 'workloads that bench.initialize loads and bench.run executes: families of tables, and mixes of scripts';

CREATE FUNCTION bench.workload_script(
    mix text, -- name of the mix
    script text, -- name of the script in the mix
    variables jsonb DEFAULT NULL, -- variables, instead of those of the tables
    seed bench.seed DEFAULT NULL, -- random seed of the constants of a run
    OUT body text, -- script, in pgbench's language
    OUT defines text -- options for the pgbench program that set its variables
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'workload_script_wrapper';
COMMENT ON FUNCTION bench.workload_script IS 'text of a script of a workload, and its variables for the loaded tables, to run it by pgbench';

CREATE FUNCTION bench.check_workload(
    workload text, -- family or mix
    OUT condition text, -- name of the condition
    OUT description text, -- condition in words
    OUT holds boolean, -- whether it holds; NULL if only a load has to keep it, and it does not, or if the tables were not loaded here
    OUT violations bigint, -- rows that violate it
    OUT example text -- one of these rows, or the reason why it is not judged
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL RESTRICTED ROWS 12 AS 'MODULE_PATHNAME', 'check_workload_wrapper';
COMMENT ON FUNCTION bench.check_workload IS 'whether the rows of a workload''s tables are right: its conditions, in one snapshot';
