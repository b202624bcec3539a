SELECT t.typname::pg_catalog.text, 'it is a type'
  FROM pg_catalog.pg_type t
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND t.typrelid OPERATOR(pg_catalog.=) 0
   AND CASE WHEN t.typname::pg_catalog.text OPERATOR(pg_catalog.~)
                 '^pgbench_accounts_[1-9][0-9]{0,8}$'
            THEN pg_catalog.substr(t.typname::pg_catalog.text, 18)::pg_catalog.int4
                 OPERATOR(pg_catalog.<=) {partitions}
            ELSE t.typname::pg_catalog.text OPERATOR(pg_catalog.=)
                 ANY ('{tables}'::pg_catalog.text[]) END
UNION ALL
SELECT c.relname::pg_catalog.text, 'it is not a partition of "pgbench_accounts"'
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
 WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()
   AND CASE WHEN c.relname::pg_catalog.text OPERATOR(pg_catalog.~)
                 '^pgbench_accounts_[1-9][0-9]{0,8}$'
            THEN pg_catalog.substr(c.relname::pg_catalog.text, 18)::pg_catalog.int4
                 OPERATOR(pg_catalog.<=) {partitions}
            ELSE false END
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_inherits i
                    WHERE i.inhrelid OPERATOR(pg_catalog.=) c.oid
                      AND i.inhparent OPERATOR(pg_catalog.=) pg_catalog.to_regclass({accounts}))
 LIMIT 1
