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

-- A function that runs SQL does not depend on the caller's search_path. A procedure that commits cannot set it.
SELECT p.oid::regprocedure AS without_search_path
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = ANY ('{bench,bench_internal}'::regnamespace[]) AND l.lanname IN ('sql', 'plpgsql')
  AND p.prosqlbody IS NULL AND p.oid <> 'bench.prune'::regproc
  AND NOT EXISTS (SELECT FROM unnest(p.proconfig) setting WHERE setting LIKE 'search_path=%');

-- Objects for users, columns and arguments have a description; all others are functions, and a type of theirs, in a
-- separate schema.
SELECT pg_describe_object(classid, objid, objsubid) AS without_description
FROM (SELECT 'pg_namespace'::regclass, oid, 0 FROM pg_namespace WHERE nspname IN ('bench', 'bench_internal')
      UNION ALL
      SELECT 'pg_proc'::regclass, oid, 0 FROM pg_proc WHERE pronamespace = 'bench'::regnamespace
      UNION ALL
      SELECT 'pg_class'::regclass, oid, 0 FROM pg_class
      WHERE relnamespace = 'bench'::regnamespace AND relkind NOT IN ('c', 'i')
      UNION ALL
      SELECT 'pg_class'::regclass, a.attrelid, a.attnum
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'bench'::regnamespace AND c.relkind NOT IN ('i', 'S') AND a.attnum > 0
      UNION ALL
      SELECT 'pg_type'::regclass, oid, 0 FROM pg_type t
      WHERE typnamespace = 'bench'::regnamespace AND typcategory <> 'A'
        AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = t.typrelid AND c.relkind <> 'c')) AS ours (classid, objid, objsubid)
WHERE NOT EXISTS (SELECT FROM pg_description d
                  WHERE (d.classoid, d.objoid, d.objsubid) = (ours.classid, ours.objid, ours.objsubid));
SELECT p.oid::regproc AS function, a.name AS without_description
FROM pg_proc p, unnest(coalesce(p.proargnames, array_fill(''::text, ARRAY[p.pronargs::int]))) a (name)
WHERE p.pronamespace = 'bench'::regnamespace AND obj_description(p.oid, 'pg_proc') !~ ('\n' || a.name || ': \S');

-- Columns with a unit end in it.
SELECT c.name, c.type, string_agg(c.object, ', ' ORDER BY c.object) AS without_unit
FROM (SELECT c.relname::text AS object, a.attname::text AS name, format_type(a.atttypid, NULL) AS type
      FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
      WHERE c.relnamespace = 'bench'::regnamespace AND c.relkind IN ('r', 'v', 'c') AND a.attnum > 0
      UNION ALL
      SELECT p.proname, a.name, format_type(a.type, NULL)
      FROM pg_proc p, unnest(p.proallargtypes, p.proargmodes, p.proargnames) a (type, mode, name)
      WHERE p.pronamespace = 'bench'::regnamespace AND a.mode IN ('o', 'b')) c
WHERE CASE WHEN c.type ~ '^timestamp' THEN c.name !~ '_at$'
           WHEN c.type ~ '^(double|real|numeric)' THEN c.name !~ '_(ms|us|s|bytes|share|per_s)$'
           ELSE c.name ~ '(^|_)(time|latency|duration|seconds|size|bytes|memory|mb|kb|fraction|share|percent|pct)(_|$)'
                AND c.name !~ '_(ms|us|s|bytes|share)$' AND c.type ~ 'int' END
  -- The unit is the name, or does not end it.
  AND c.name <> ALL ('{seconds,share,bytes,us_per_transaction,latency_sum_squares_ms2,bytes_before,bytes_after,bytes_per_run,
                       wal_bytes_by_clients,wal_bytes_per_update}')
  AND c.name !~ '^last_(vacuum|analyze)_(before|after)$'
  -- Transactions and blocks per second, and samples per second; pgbench's fraction of transactions.
  AND c.name !~ '(^|_)(tps|rate)(_|$)' AND c.name <> 'riops'
  -- pgio's percentages.
  AND c.name NOT IN ('update_pct', 'working_set_pct')
  -- Numbers without a unit.
  AND c.name !~ '(ratio|_factor|^lambda|^sigma|^kappa)(_low|_high)?$'
  AND c.name NOT IN ('p_value', 'r_squared', 'peak_clients', 'bend_clients', 'sessions', 'waiting_sessions', 'per_minute', 'commits', 'begins',
                     'before', 'after', 'level', 'level_low', 'level_high', 'value',
                     'captured_rows', 'run_rows', 'captured_blocks', 'run_blocks', 'least_change')
GROUP BY c.name, c.type ORDER BY c.type, c.name;
SELECT DISTINCT classid::regclass
FROM pg_depend
WHERE refclassid = 'pg_namespace'::regclass AND refobjid = 'bench_internal'::regnamespace;

-- Dropping it removes everything, and it can be created again.
DROP EXTENSION pg_selfbench;
SELECT to_regnamespace('bench') AS schema_left, to_regnamespace('bench_internal') AS internal_left;
CREATE EXTENSION pg_selfbench;
