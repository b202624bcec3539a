SELECT count(*) FILTER (
           WHERE state = 'active' AND leader_pid IS NULL
             AND wait_event_type IS DISTINCT FROM 'Extension'
             AND backend_type NOT IN ('autovacuum worker', 'walsender',
                                      'pg_selfbench coordinator')
             AND pid <> pg_backend_pid()
             AND pid NOT IN (SELECT unnest(:pids))
             -- Behind a pooler, clients know other process IDs than the server; connections of single transactions,
             -- which 0 stands for, have ever new ones.
             AND (0 <> ALL (:pids) AND EXISTS (SELECT FROM pg_stat_get_activity(NULL) o
                           WHERE o.pid IN (SELECT unnest(:pids)) AND o.backend_type = a.backend_type
                             AND o.application_name = a.application_name)
                  OR NOT EXISTS (SELECT FROM pg_stat_get_activity(pg_backend_pid()) own
                                  WHERE own.usesysid = a.usesysid
                                    AND own.application_name = a.application_name))) AS other_sessions,
       count(*) FILTER (WHERE backend_type = 'autovacuum worker') AS autovacuum_workers,
       coalesce(json_agg(w.does) FILTER (WHERE w.does IS NOT NULL), '[]') AS autovacuum,
       min(wait_event) FILTER (WHERE backend_type = 'checkpointer'
                                 AND wait_event_type <> 'Activity') AS checkpoint_phase
  FROM pg_stat_get_activity(NULL) a
  LEFT JOIN LATERAL (
      SELECT CASE WHEN pg_has_role(:role, 'pg_read_all_stats', 'USAGE')
                  THEN substr(a.query, length('autovacuum: ') + 1)
                       || CASE WHEN a.datid <> d.oid THEN
                              (SELECT format(' in database %I', o.datname)
                                 FROM pg_database o WHERE o.oid = a.datid)
                          ELSE '' END
                  ELSE (SELECT 'VACUUM ' || v.relid::regclass
                          FROM pg_stat_get_progress_info('VACUUM') v
                         WHERE v.pid = a.pid AND v.datid = d.oid
                           AND has_table_privilege(:role, v.relid, 'SELECT'))
             END
        FROM pg_database d WHERE d.datname = current_database()) w (does)
    ON a.backend_type = 'autovacuum worker'
