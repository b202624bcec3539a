SELECT coalesce((
SELECT pg_catalog.json_agg(pg_catalog.json_build_array(
           c.relname::pg_catalog.text, c.relkind::pg_catalog.text, c.oid::pg_catalog.int8,
           pg_catalog.format('%I.%I', n.nspname, c.relname),
           CASE WHEN c.reltuples OPERATOR(pg_catalog.>) 0
                THEN c.reltuples::pg_catalog.int8 END,
           ARRAY(SELECT pg_catalog.concat_ws(' ', a.attname,
                            pg_catalog.format_type(a.atttypid, a.atttypmod))
                   FROM pg_catalog.pg_attribute a
                  WHERE a.attrelid OPERATOR(pg_catalog.=) c.oid
                    AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
                  ORDER BY a.attnum),
           pg_catalog.pg_get_userbyid(c.relowner) OPERATOR(pg_catalog.=) CURRENT_USER,
           c.relhastriggers OR c.relhasrules OR c.relrowsecurity))
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND c.relname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ({tables}::pg_catalog.text[]))::pg_catalog.text,
  '[]'), coalesce((
SELECT pg_catalog.json_agg(t.typname::pg_catalog.text)
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND t.typrelid OPERATOR(pg_catalog.=) 0
   AND t.typname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ({tables}::pg_catalog.text[])
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_type e
                    WHERE e.typarray OPERATOR(pg_catalog.=) t.oid))::pg_catalog.text,
  '[]'), coalesce((
-- The relations, and everything that depends on them.
WITH RECURSIVE dependent (classid, objid) AS (
SELECT 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid, c.oid
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND c.relname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ({tables}::pg_catalog.text[])
UNION
SELECT d.classid, d.objid
  FROM dependent o
  JOIN pg_catalog.pg_depend d
    ON d.refclassid OPERATOR(pg_catalog.=) o.classid AND d.refobjid OPERATOR(pg_catalog.=) o.objid)
SELECT pg_catalog.json_agg(pg_catalog.json_build_array(
           p.oid::pg_catalog.regprocedure::pg_catalog.text,
           pg_catalog.format('%I(%s)', p.proname, (
               SELECT pg_catalog.string_agg(pg_catalog.format_type(a.type, NULL), ',' ORDER BY a.place)
                 FROM pg_catalog.unnest(p.proargtypes) WITH ORDINALITY a (type, place))),
           EXISTS (SELECT FROM dependent o
                    WHERE o.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid
                      AND o.objid OPERATOR(pg_catalog.=) p.oid)))
  FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) p.pronamespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND p.proname::pg_catalog.text OPERATOR(pg_catalog.=) ANY ({routines}::pg_catalog.text[]))::pg_catalog.text,
  '[]')
