-- What the extension puts into the catalogs, and who may use it.
CREATE EXTENSION pg_selfbench;

-- Nobody may call a function or read a table who was not granted it.
SELECT p.oid::regprocedure AS callable_by_public
FROM pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
WHERE p.pronamespace = 'bench'::regnamespace AND a.grantee = 0;

SELECT c.oid::regclass AS readable_by_public
FROM pg_class c, aclexplode(c.relacl) a
WHERE c.relnamespace = 'bench'::regnamespace AND a.grantee = 0;

-- A function that runs SQL does not depend on the caller's search_path.
SELECT p.oid::regprocedure AS without_search_path
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
WHERE p.pronamespace = 'bench'::regnamespace AND l.lanname IN ('sql', 'plpgsql')
  AND p.prosqlbody IS NULL
  AND NOT EXISTS (SELECT FROM unnest(p.proconfig) setting WHERE setting LIKE 'search_path=%');

-- Dropping it leaves nothing behind, and it can be created again.
DROP EXTENSION pg_selfbench;
SELECT to_regnamespace('bench') AS schema_left;
CREATE EXTENSION pg_selfbench;
