-- The extension's objects in the catalogs, and their privileges.
CREATE EXTENSION pg_selfbench;

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

-- Dropping it removes everything, and it can be created again.
DROP EXTENSION pg_selfbench;
SELECT to_regnamespace('bench') AS schema_left, to_regnamespace('bench_internal') AS internal_left;
CREATE EXTENSION pg_selfbench;
