/* The catalog of workloads. Each role sees and uses its own ones only, beside those of the library. */

CREATE FUNCTION bench.define_workload(
    name text, -- name of the workload, of letters, digits, underscores and hyphens
    manifest jsonb, -- description, unit of the scale, sizes, variables and mixes
    schema text, -- CREATE TABLE, FUNCTION and PROCEDURE statements
    load text, -- query of the rows of each table
    scripts jsonb, -- object of the texts of the scripts, in pgbench's language
    finish text DEFAULT '', -- statements behind the load, such as those that create keys
    checks text DEFAULT '' -- query of violating rows for each condition
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'define_workload_wrapper';
COMMENT ON FUNCTION bench.define_workload IS 'store a workload, or replace one that you own; executes nothing';

CREATE FUNCTION bench.drop_workload(
    name text -- name of the workload, with the owner in front for another role's
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'drop_workload_wrapper';
COMMENT ON FUNCTION bench.drop_workload IS 'drop a stored workload that you own; its tables stay';

CREATE FUNCTION bench_internal.workloads(
    OUT family text, OUT mix text, OUT description text, OUT unit text, OUT table_bytes bigint,
    OUT index_bytes bigint, OUT tables text[], OUT scripts text[], OUT variables jsonb, OUT options jsonb,
    OUT is_own boolean
) RETURNS SETOF record
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 20 AS 'MODULE_PATHNAME', 'workloads_wrapper';

CREATE VIEW bench.workloads AS
    SELECT w.family, -- tables, loaded by bench.initialize
           w.mix, -- scripts, executed by bench.run; NULL if the family has functions of its own
           w.description, -- what it does
           w.unit, -- unit of the scale
           w.table_bytes, -- size of the tables for a unit, without what they have whatever the scale is
           w.index_bytes, -- size of the indexes for a unit
           w.tables, -- tables of the family
           w.scripts, -- scripts with their weights, in order: name@weight
           w.variables, -- variables with their defaults and ranges
           w.options, -- defaults of options of bench.run
           CASE WHEN w.is_own THEN quote_ident(current_user)::regrole END AS owner -- role that defined it, the current one; NULL if the library has it
      FROM bench_internal.workloads() w;
COMMENT ON VIEW bench.workloads IS 'workloads that bench.initialize loads and bench.run executes, those of the library and your own: families of tables, and mixes of scripts';

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
LANGUAGE c STABLE PARALLEL UNSAFE ROWS 12 AS 'MODULE_PATHNAME', 'check_workload_wrapper';
COMMENT ON FUNCTION bench.check_workload IS 'whether the rows of a workload''s tables are right: its conditions, in one snapshot';
