WITH locks AS MATERIALIZED (SELECT * FROM pg_locks),
waiting AS MATERIALIZED (
    SELECT w.*,
           coalesce(head_lock.pid, min(w.pid) OVER (
               PARTITION BY w.locktype, w.database, w.relation, w.page, w.tuple, w.virtualxid,
                            w.transactionid::text, w.classid, w.objid, w.objsubid, w.mode)) AS head,
           CASE w.locktype WHEN 'transactionid' THEN coalesce(row_lock.relation, (
               SELECT min(r.relation) FROM locks r JOIN pg_class c ON c.oid = r.relation
                WHERE r.pid = w.pid AND r.locktype = 'relation' AND c.relkind = 'r'
                  AND r.mode IN ('RowShareLock', 'RowExclusiveLock')
               HAVING count(DISTINCT r.relation) = 1))
           ELSE w.relation END AS of_table
      FROM locks w
      LEFT JOIN LATERAL (
           SELECT h.pid FROM locks h
            WHERE w.locktype = 'tuple' AND h.locktype = 'tuple' AND h.granted
              AND (h.database, h.relation, h.page, h.tuple)
                  = (w.database, w.relation, w.page, w.tuple)
            LIMIT 1) head_lock ON true
      LEFT JOIN LATERAL (
           SELECT r.relation FROM locks r
            WHERE w.locktype = 'transactionid' AND r.pid = w.pid AND r.locktype = 'tuple' AND r.granted
            LIMIT 1) row_lock ON true
     WHERE NOT w.granted AND w.pid = ANY ('{PIDS}'::int[])),
blocked AS MATERIALIZED (
    SELECT h.head, b.pid, l.gid, l.owner
      FROM (SELECT DISTINCT head FROM waiting ORDER BY head LIMIT 10) h
      CROSS JOIN LATERAL (
           SELECT DISTINCT b.pid, held.virtualtransaction
             FROM unnest(pg_blocking_pids(h.head)) b (pid)
             LEFT JOIN (locks wanted JOIN locks held
                        ON (held.locktype, held.database, held.relation, held.page, held.tuple,
                            held.virtualxid, held.transactionid, held.classid, held.objid, held.objsubid)
                           IS NOT DISTINCT FROM
                           (wanted.locktype, wanted.database, wanted.relation, wanted.page, wanted.tuple,
                            wanted.virtualxid, wanted.transactionid, wanted.classid, wanted.objid,
                            wanted.objsubid))
               ON wanted.pid = h.head AND NOT wanted.granted AND held.granted
                  AND coalesce(held.pid, 0) = b.pid
            WHERE held.locktype IS NOT NULL
               OR NOT EXISTS (SELECT FROM locks q WHERE q.pid = b.pid AND NOT q.granted)
            ORDER BY b.pid LIMIT 3) b
      LEFT JOIN LATERAL (
           SELECT p.gid, p.owner FROM locks x JOIN pg_prepared_xacts p ON p.transaction = x.transactionid
            WHERE b.pid = 0 AND x.pid IS NULL AND x.locktype = 'transactionid'
              AND x.virtualtransaction = b.virtualtransaction) l ON true)
SELECT json_agg(json_build_array(
           w.pid, w.locktype, w.mode, w.of_table::regclass::text, b.pid,
           CASE WHEN b.pid = 0 THEN 'prepared transaction' ELSE coalesce(a.backend_type, 'session') END,
           coalesce(a.usename, b.owner), a.application_name, a.state,
           left(coalesce(b.gid, a.query), 1000),
           pg_has_role('pg_read_all_stats', 'USAGE')
               OR coalesce(pg_has_role(a.usesysid, 'USAGE'), pg_has_role(b.owner, 'USAGE'), false), a.query_start))::text
  FROM waiting w
  JOIN blocked b USING (head)
  LEFT JOIN pg_stat_activity a ON a.pid = b.pid
