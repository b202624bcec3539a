SELECT pg_catalog.current_schema()::pg_catalog.text, coalesce((
SELECT pg_catalog.json_agg(pg_catalog.json_build_array(
           taken.name, taken.kind, taken.oid::pg_catalog.int8,
           pg_catalog.format('%I.%I', n.nspname, taken.name), taken.rows,
           ARRAY(SELECT pg_catalog.concat_ws(' ', a.attname,
                            pg_catalog.format_type(a.atttypid, a.atttypmod))
                   FROM pg_catalog.pg_attribute a
                  WHERE a.attrelid OPERATOR(pg_catalog.=) taken.oid
                    AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
                  ORDER BY a.attnum)))
  FROM (SELECT c.relname::pg_catalog.text AS name, c.relkind::pg_catalog.text AS kind,
               c.oid AS oid, c.relnamespace AS namespace,
               CASE WHEN c.reltuples OPERATOR(pg_catalog.>) 0
                    THEN c.reltuples::pg_catalog.int8 END AS rows
          FROM pg_catalog.pg_class c
        UNION ALL
        SELECT t.typname::pg_catalog.text, 'type', 0, t.typnamespace, NULL
          FROM pg_catalog.pg_type t
         WHERE t.typrelid OPERATOR(pg_catalog.=) 0) taken
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) taken.namespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND taken.name OPERATOR(pg_catalog.~) '^pgio[1-9][0-9]*$')::pg_catalog.text, '[]')
