WITH locked AS MATERIALIZED (
    SELECT l.relation FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE d.datname = current_database() AND l.locktype = 'relation' AND l.mode = 'AccessExclusiveLock'
       AND l.pid IS DISTINCT FROM pg_backend_pid()),
own AS MATERIALIZED (
    SELECT c.oid, c.reltoastrelid, i.indrelid
      FROM pg_class c LEFT JOIN pg_index i ON i.indexrelid = c.oid
     WHERE c.relkind IN ('r', 'm', 'i') AND c.relpersistence <> 't' AND c.oid >= 16384
       AND c.relnamespace <> ALL (SELECT n.oid FROM pg_namespace n
                                   WHERE n.nspname IN ('pg_catalog', 'information_schema', 'pg_toast',
                                                       'bench'))
     ORDER BY c.relpages DESC, c.oid LIMIT LIMIT_OF_RELATIONS),
relations (oid, of_table, main_table, of_toast) AS (
    SELECT o.oid, o.indrelid, coalesce(o.indrelid, o.oid), false FROM own o
     UNION ALL
    SELECT o.reltoastrelid, o.oid, o.oid, true FROM own o WHERE o.reltoastrelid <> 0
     UNION ALL
    SELECT i.indexrelid, i.indrelid, o.oid, true FROM own o JOIN pg_index i ON i.indrelid = o.reltoastrelid)
SELECT json_build_object(
    'is_full', (SELECT count(*) >= LIMIT_OF_RELATIONS FROM own),
    'locked', (SELECT coalesce(json_agg(r.oid::bigint), '[]') FROM relations r
                WHERE r.oid IN (SELECT relation FROM locked)),
    'reset_at', (SELECT d.stats_reset FROM pg_stat_database d WHERE d.datname = current_database()),
    'states', coalesce(json_agg(json_build_object(
           'relation', r.oid::bigint, 'schema_name', n.nspname, 'name', c.relname,
           'of_table', r.of_table::bigint, 'main_table', r.main_table::bigint, 'of_toast', r.of_toast,
           'parents', (WITH RECURSIVE parents (oid) AS (
                           SELECT h.inhparent FROM pg_inherits h WHERE h.inhrelid = r.main_table
                            UNION
                           SELECT h.inhparent FROM parents p JOIN pg_inherits h ON h.inhrelid = p.oid)
                       SELECT coalesce(json_agg(p.oid::bigint), '[]') FROM parents p),
           'kind', CASE c.relkind WHEN 'i' THEN 'index' WHEN 'm' THEN 'materialized view'
                                  WHEN 't' THEN 'TOAST table' ELSE 'table' END,
           'bytes', pg_relation_size(r.oid),
           -- A crash, or a reset, sets them to 0, and forgets that they were ever vacuumed or analyzed.
           'live_rows', CASE WHEN coalesce(t.last_vacuum, t.last_autovacuum, t.last_analyze, t.last_autoanalyze)
                                  IS NOT NULL OR t.n_live_tup >= c.reltuples THEN t.n_live_tup END,
           'dead_rows', t.n_dead_tup,
           'last_vacuum', greatest(t.last_vacuum, t.last_autovacuum),
           'last_analyze', greatest(t.last_analyze, t.last_autoanalyze),
           'counters', json_build_object(
               'autovacuums', t.autovacuum_count,
               'sequential_scans', t.seq_scan,
               'index_scans', coalesce(x.idx_scan, t.idx_scan),
               'rows_inserted', t.n_tup_ins, 'rows_updated', t.n_tup_upd,
               'rows_hot_updated', t.n_tup_hot_upd, 'rows_deleted', t.n_tup_del))), '[]'))::text
  FROM relations r
  JOIN pg_class c ON c.oid = r.oid
  JOIN pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_stat_all_tables t ON t.relid = r.oid AND current_setting('track_counts')::boolean
  LEFT JOIN pg_stat_all_indexes x ON x.indexrelid = r.oid AND current_setting('track_counts')::boolean
 WHERE r.oid NOT IN (SELECT relation FROM locked)
   AND NOT (r.of_toast AND r.main_table IN (SELECT relation FROM locked))
