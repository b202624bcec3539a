\echo Use "ALTER EXTENSION pg_selfbench UPDATE" to load this file. \quit

/* The functions that are created again, and who may execute them, for the end of this script. */
SELECT set_config('pg_selfbench_update.dropped', coalesce(json_agg(p.proname)::text, '[]'), true),
       set_config('pg_selfbench_update.grants', coalesce(json_agg(json_build_array(p.proname, a.grantee::regrole, a.is_grantable))
                                                         FILTER (WHERE a.grantee NOT IN (0, p.proowner))::text, '[]'), true)
  FROM pg_proc p CROSS JOIN LATERAL aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
 WHERE p.oid = ANY ({{dropped}}::regprocedure[]::oid[]);

/* Changes. */
{{changes}}

/* Privileges on what has been created. Functions that were there before have those of then; the others, and tables, are
   for the roles that may use the schema. These are grants of users, which pg_dump writes, not the extension's own. */
DO $privileges$
DECLARE
    created record;
    role record;
    own aclitem[];
BEGIN
    FOR created IN
        SELECT 'EXECUTE' AS privilege, 'ROUTINE' AS kind, p.oid, 'pg_proc'::regclass AS catalog,
               p.oid::regprocedure::text AS object, p.proname::text AS name
          FROM pg_proc p WHERE p.oid = ANY ({{created}}::regprocedure[]::oid[])
        UNION ALL
        SELECT 'SELECT', 'TABLE', c.oid, 'pg_class', c.oid::regclass::text, ''
          FROM pg_class c WHERE c.oid = ANY ({{relations}}::regclass[]::oid[])
    LOOP
        IF created.kind = 'ROUTINE' THEN
            EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', created.object);
        END IF;
        own := (SELECT i.initprivs FROM pg_init_privs i
                 WHERE i.classoid = created.catalog AND i.objoid = created.oid AND i.objsubid = 0);
        FOR role IN
            SELECT g ->> 1 AS name, (g ->> 2)::boolean AS is_grantable
              FROM json_array_elements(current_setting('pg_selfbench_update.grants')::json) g
             WHERE g ->> 0 = created.name
             UNION
            SELECT a.grantee::regrole::text, a.is_grantable
              FROM pg_namespace n, aclexplode(n.nspacl) a
             WHERE n.nspname = 'bench' AND a.privilege_type = 'USAGE' AND a.grantee NOT IN (0, n.nspowner)
               AND NOT current_setting('pg_selfbench_update.dropped')::jsonb ? created.name
        LOOP
            EXECUTE format('GRANT %s ON %s %s TO %s%s', created.privilege, created.kind, created.object, role.name,
                           CASE WHEN role.is_grantable THEN ' WITH GRANT OPTION' END);
        END LOOP;
        DELETE FROM pg_init_privs i
         WHERE own IS NULL AND i.classoid = created.catalog AND i.objoid = created.oid;
        UPDATE pg_init_privs i SET initprivs = own
         WHERE own IS NOT NULL AND i.classoid = created.catalog AND i.objoid = created.oid AND i.objsubid = 0;
    END LOOP;
END
$privileges$;
