-- The extension's objects in the catalogs, and their privileges.
CREATE EXTENSION pg_selfbench;

-- The arguments of bench.run are the options of the library, with their types and defaults.
SET intervalstyle = postgres;
\set ECHO none
SELECT format(
    'WITH declared (name, type, value) AS (VALUES %s),
          listed AS (SELECT name, type, value FROM bench_internal.run_options())
     (SELECT ''only in SQL'' AS place, * FROM (TABLE declared EXCEPT TABLE listed) a)
     UNION ALL (SELECT ''only in the library'', * FROM (TABLE listed EXCEPT TABLE declared) a)',
    string_agg(format('(%L, %L, (%s)::text)', a.name, format_type(a.type, NULL),
                      pg_get_function_arg_default(p.oid, a.number::int)), ', '))
FROM pg_proc p, unnest(p.proargnames, p.proargtypes::oid[]) WITH ORDINALITY a (name, type, number)
WHERE p.oid = 'bench.run'::regproc \gexec
\set ECHO all
SELECT name AS without_description FROM bench_internal.run_options() WHERE description !~ '^[A-Z].*\.$';

-- Each option that is on or off has a column.
SELECT o.name AS option, a.attname AS column
FROM (SELECT name FROM bench_internal.run_options() WHERE type = 'boolean') o
     FULL JOIN (SELECT attname FROM pg_attribute
                WHERE attrelid = 'bench.runs'::regclass AND atttypid = 'boolean'::regtype
                  AND attname NOT IN ('warmup_steady', 'teardown_due')) a ON a.attname = o.name
WHERE o.name IS NULL OR a.attname IS NULL;

-- Other functions declare the same options in the same way.
SELECT pg_get_function_arguments('bench.run'::regproc) = pg_get_function_arguments('bench.start'::regproc) AS start,
       pg_get_function_arguments('bench.run_pgio'::regproc) = pg_get_function_arguments('bench.start_pgio'::regproc) AS start_pgio;
WITH arguments AS (
    SELECT p.proname AS function, a.name, format_type(a.type, NULL) AS type,
           pg_get_function_arg_default(p.oid, a.number::int) AS value
    FROM pg_proc p, unnest(p.proargnames[:p.pronargs], p.proargtypes::oid[]) WITH ORDINALITY a (name, type, number)
    WHERE p.oid = ANY ('{bench.run,bench.run_pgio,bench.compare}'::regproc[]))
SELECT other.function, other.name, run.type, run.value, other.type, other.value
FROM arguments run JOIN arguments other USING (name)
WHERE run.function = 'run' AND (run.type, run.value) IS DISTINCT FROM (other.type, other.value);

-- A declaration that does not fit the library is an error, and no value is read as another type.
SELECT format('CREATE FUNCTION pg_temp.%s RETURNS bigint LANGUAGE c AS %L, ''start_wrapper''', declaration, probin)
FROM pg_proc, unnest('{another_type(clients text),another_name(client int),no_name(int)}'::text[]) declaration
WHERE oid = 'bench.start'::regproc \gexec
SELECT pg_temp.another_type('a');
SELECT pg_temp.another_name(1);
SELECT pg_temp.no_name(1);
SELECT format('CREATE FUNCTION pg_temp.wait(run bigint) RETURNS SETOF bench.run_result LANGUAGE c AS %L, ''wait_wrapper''', probin)
FROM pg_proc WHERE oid = 'bench.start'::regproc \gexec
SELECT * FROM pg_temp.wait(1);
DROP FUNCTION pg_temp.wait;

-- PUBLIC has no privileges on functions, tables and schemas.
SELECT p.oid::regprocedure AS callable_by_public
FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
WHERE p.pronamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND a.grantee = 0;

SELECT c.oid::regclass AS readable_by_public
FROM pg_class c, aclexplode(c.relacl) a
WHERE c.relnamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND a.grantee = 0;

SELECT n.nspname AS open_to_public
FROM pg_namespace n, aclexplode(n.nspacl) a
WHERE n.nspname IN ('bench', 'bench_internal') AND a.grantee = 0;

-- A function that runs SQL does not depend on the caller's search_path.
SELECT p.oid::regprocedure AS without_search_path
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND l.lanname IN ('sql', 'plpgsql')
  AND p.prosqlbody IS NULL
  AND NOT EXISTS (SELECT FROM unnest(p.proconfig) setting WHERE setting LIKE 'search_path=%');

-- Objects for users have a description; all others are functions in a separate schema.
SELECT pg_describe_object(classid, objid, 0) AS without_description
FROM (SELECT 'pg_namespace'::regclass, oid FROM pg_namespace WHERE nspname IN ('bench', 'bench_internal')
      UNION ALL
      SELECT 'pg_proc'::regclass, oid FROM pg_proc WHERE pronamespace = 'bench'::regnamespace
      UNION ALL
      SELECT 'pg_class'::regclass, oid FROM pg_class
      WHERE relnamespace = 'bench'::regnamespace AND relkind IN ('r', 'v')
      UNION ALL
      SELECT 'pg_type'::regclass, oid FROM pg_type t
      WHERE typnamespace = 'bench'::regnamespace AND typcategory <> 'A'
        AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c')) AS ours (classid, objid)
WHERE obj_description(objid, classid::name) IS NULL;
SELECT DISTINCT classid::regclass
FROM pg_depend
WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'bench_internal'::regnamespace;

-- Tables, results and views have the same figures under the same names.
SELECT f.attname AS figure, t.name AS missing_in
FROM pg_attribute f,
     (VALUES ('bench.runs'), ('bench.run_intervals'), ('bench.run_result'), ('bench.run_summary')) t (name)
WHERE f.attrelid = 'bench.run_scripts'::regclass AND f.attnum > 0
  AND f.attname NOT IN ('run_id', 'script_no', 'name', 'description', 'body', 'weight')
  -- what merges latencies is in tables alone
  AND NOT (f.attname IN ('latency_sum_ms', 'latency_sum_squares_ms2', 'histogram')
           AND t.name IN ('bench.run_result', 'bench.run_summary'))
  AND NOT EXISTS (SELECT FROM pg_attribute a
                  WHERE a.attrelid = t.name::regclass AND a.attname = f.attname
                    AND a.atttypid = f.atttypid);

-- Dropping it removes everything, and it can be created again.
DROP EXTENSION pg_selfbench;
SELECT to_regnamespace('bench') AS schema_left, to_regnamespace('bench_internal') AS internal_left;
CREATE EXTENSION pg_selfbench;
