-- Prints docs/reference.md up to its errors, of the extension on this server: psql -XqAtf tools/reference.sql.
-- The bytes are the same in all versions of the server.
\set ON_ERROR_STOP on
BEGIN;
SET LOCAL client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS pg_selfbench;
-- Which privileges bench.grant_to grants, is seen on a role.
CREATE ROLE selfbench_reference;
DO $$ BEGIN PERFORM bench.grant_to('selfbench_reference'); END $$;
SET LOCAL search_path = pg_catalog;
SET LOCAL intervalstyle = postgres;

CREATE FUNCTION pg_temp.cell(text) RETURNS text LANGUAGE sql RETURN replace(coalesce($1, ''), '|', '\|');
CREATE FUNCTION pg_temp.sentence(text) RETURNS text LANGUAGE sql RETURN upper(left($1, 1)) || substr($1, 2) || '.';

-- Arguments and returned columns of functions; the comment on a function has a line for each.
CREATE TEMP VIEW arguments AS
SELECT p.oid AS function, a.place, a.name, coalesce(a.mode, 'i') AS mode,
       format_type(a.type, NULL) || CASE a.mode WHEN 'v' THEN ', any number of them' ELSE '' END AS type,
       -- Without the type of a constant.
       regexp_replace(pg_get_function_arg_default(p.oid, a.place::int), '::[a-z_. ]+(\[\])?$', '') AS default_value,
       substring(E'\n' || d.description || E'\n' FROM '\n' || a.name || ': ([^\n]*)\n') AS meaning
FROM pg_proc p
JOIN pg_description d ON d.objoid = p.oid AND d.classoid = 'pg_proc'::regclass,
     unnest(coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargmodes, p.proargnames)
       WITH ORDINALITY a (type, mode, name, place)
WHERE p.pronamespace = 'bench'::regnamespace;

CREATE TEMP VIEW objects AS
SELECT 1 AS kind_no, 'Functions' AS kind, p.oid, 'pg_proc'::regclass AS classid, p.proname::text AS name, p.proacl AS acl,
       acldefault('f', p.proowner) AS default_acl
FROM pg_proc p WHERE p.pronamespace = 'bench'::regnamespace
UNION ALL
SELECT k.no, k.kind, c.oid, 'pg_class'::regclass, c.relname::text, c.relacl, acldefault('r', c.relowner)
FROM pg_class c JOIN (VALUES ('r', 2, 'Tables'), ('v', 3, 'Views')) k (relkind, no, kind) ON k.relkind = c.relkind::text
WHERE c.relnamespace = 'bench'::regnamespace
UNION ALL
SELECT CASE t.typtype WHEN 'c' THEN 4 ELSE 5 END, CASE t.typtype WHEN 'c' THEN 'Types of rows' ELSE 'Types of arguments' END,
       t.oid, 'pg_type'::regclass, t.typname::text, t.typacl, acldefault('T', t.typowner)
FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
WHERE t.typnamespace = 'bench'::regnamespace AND t.typcategory <> 'A' AND coalesce(c.relkind, 'c') = 'c';

-- The lines of each object below its heading.
CREATE TEMP VIEW texts AS
SELECT o.kind_no, o.kind, o.oid, o.name,
       concat_ws(E'\n',
         pg_temp.sentence(pg_temp.cell(split_part(obj_description(o.oid, o.classid::name), E'\n', 1))),
         CASE WHEN o.kind_no = 1 THEN
           (SELECT E'\n| argument | type | default | meaning |\n|---|---|---|---|\n'
                   || string_agg(format('| `%s` | %s | %s | %s |', a.name, a.type, coalesce('`' || a.default_value || '`', 'required'),
                                        pg_temp.cell(a.meaning)), E'\n' ORDER BY a.place)
            FROM arguments a WHERE a.function = o.oid AND a.mode IN ('i', 'v', 'b') AND a.name <> '')
         END,
         CASE WHEN o.kind_no = 1 THEN coalesce(
           (SELECT E'\n| returned column | type | meaning |\n|---|---|---|\n'
                   || string_agg(format('| `%s` | %s | %s |', a.name, a.type, pg_temp.cell(a.meaning)), E'\n' ORDER BY a.place)
            FROM arguments a WHERE a.function = o.oid AND a.mode IN ('o', 'b')),
           E'\nReturns ' || regexp_replace(pg_get_function_result(o.oid), 'bench\.(\w+)', '[bench.\1](#bench\1)') || '.')
         END,
         (SELECT E'\n| column | type | meaning |\n|---|---|---|\n'
                 || string_agg(format('| `%s` | %s | %s |', a.attname,
                                      format_type(a.atttypid, a.atttypmod) || CASE WHEN a.attnotnull THEN ', not null' ELSE '' END,
                                      pg_temp.cell(col_description(a.attrelid, a.attnum))), E'\n' ORDER BY a.attnum)
          FROM pg_attribute a
          WHERE a.attrelid = CASE o.kind_no WHEN 4 THEN (SELECT t.typrelid FROM pg_type t WHERE t.oid = o.oid)
                                            WHEN 1 THEN 0 ELSE o.oid END
            AND a.attnum > 0 AND NOT a.attisdropped)) AS text
FROM objects o;

-- Privileges of PUBLIC and of the role, for each kind of object.
CREATE TEMP VIEW privileges AS
SELECT DISTINCT o.kind_no, o.kind, o.name,
       (SELECT string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type COLLATE "C")
        FROM aclexplode(coalesce(o.acl, o.default_acl)) a WHERE a.grantee = 0) AS of_public,
       (SELECT string_agg(a.privilege_type, ', ' ORDER BY a.privilege_type COLLATE "C")
        FROM aclexplode(coalesce(o.acl, o.default_acl)) a WHERE a.grantee = (SELECT r.oid FROM pg_roles r WHERE r.rolname = 'selfbench_reference')) AS granted
FROM objects o;

SELECT $$# Reference

All functions, tables, views and types of schema `bench`, and the errors of the extension. `make reference` writes this
page from the comments on these objects. In psql, `\d+` shows those on columns of tables, views and types, `SELECT
obj_description('bench.time_budget'::regproc)` those on a function, its arguments and columns, and this query what each
function does:

```sql
SELECT proname AS function, split_part(obj_description(oid, 'pg_proc'), E'\n', 1) AS does
FROM pg_proc WHERE pronamespace = 'bench'::regnamespace ORDER BY proname;
```

Most names of figures end in their unit: `_ms`, `_us`, `_s`, `_bytes`; `_share` is a fraction from 0 to 1. The other pages say
what the figures mean and how they are measured.

## Privileges

| objects | PUBLIC | a role after bench.grant_to |
|---|---|---|$$;
SELECT format('| %s%s | %s | %s |', kind,
              CASE WHEN count(*) OVER (PARTITION BY kind) > 1 THEN ': ' || string_agg('`' || name || '`', ', ' ORDER BY name COLLATE "C") END,
              coalesce(of_public, 'none'), coalesce(granted, CASE WHEN of_public IS NULL THEN 'none' ELSE 'as PUBLIC' END))
FROM privileges GROUP BY kind_no, kind, of_public, granted ORDER BY kind_no, of_public, granted;
SELECT concat_ws(E'\n', E'\n## ' || kind || E'\n' || CASE kind WHEN 'Functions' THEN
         E'\nArguments can be given by name: `bench.run(clients => 4)`. [Scripts and options](scripts-and-options.md) describes\n'
         'the options of runs in full, [Loading and pgio](loading-and-pgio.md) those of initializations and pgio''s workload.\n'
         || E'\n| function | |\n|---|---|\n'
         || string_agg(format('| [%s](#bench%s%s) | %s |', name, name, '-' || nullif(same, 1) - 1, summary), E'\n'
                       ORDER BY name COLLATE "C", oid) || E'\n'
         ELSE '' END,
         string_agg(format(E'### bench.%s\n\n%s', name, text), E'\n\n' ORDER BY name COLLATE "C", oid))
FROM (SELECT t.*, split_part(text, E'\n', 1) AS summary,
             row_number() OVER (PARTITION BY kind_no, name ORDER BY oid) AS same FROM texts t) t
GROUP BY kind_no, kind ORDER BY kind_no;
SELECT $$
## Errors

The messages of the extension; parts in braces depend on the case. Other errors are those of PostgreSQL. A failed
connection has the SQLSTATE of its server, if it sent one.

<!-- errors -->
<!-- end -->$$;
ROLLBACK;
