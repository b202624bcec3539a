SELECT txid_snapshot_xmax(txid_current_snapshot())::text,
       coalesce(json_agg(json_build_array(h.pid, h.oldest, h.who, h.begin::text,
                                            extract(epoch FROM clock_timestamp() - h.begin)::float8,
                                            h.of_standby))::text, '[]')
  FROM (SELECT pid,
               CASE WHEN backend_xmin IS NULL OR age(backend_xid) > age(backend_xmin)
                    THEN backend_xid ELSE backend_xmin END::text,
               CASE WHEN pg_has_role(ROLE, 'pg_read_all_stats', 'USAGE') OR pg_has_role(ROLE, usesysid, 'USAGE')
                    THEN format('process %s (%s)', pid,
                                concat_ws(', ', nullif(backend_type, 'client backend'), 'role ' || usename,
                                          nullif(application_name, ''))) END,
               xact_start, backend_type = 'walsender' AND xact_start IS NULL
          FROM pg_stat_activity
         WHERE (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
           AND pid <> pg_backend_pid()
           AND (datname = current_database() OR backend_type = 'walsender')
           AND backend_type NOT IN ('autovacuum worker', 'parallel worker')
           AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
         UNION ALL
        SELECT 0, transaction::text, format('prepared transaction %s', quote_literal(gid)), prepared, false
          FROM pg_prepared_xacts WHERE database = current_database()
         UNION ALL
        SELECT 0, xmin::text, format('replication slot %s', slot_name), NULL, active
          FROM pg_replication_slots WHERE xmin IS NOT NULL
       ) h (pid, oldest, who, begin, of_standby)
