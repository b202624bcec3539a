SELECT jsonb_build_object(
           'run_id', r.run_id, 'rate', r.rate, 'state', r.state,
           'aborted_clients', r.aborted_clients, 'error', r.errors[1],
           'duration_s', coalesce(r.duration_s, r.seconds, 0),
           'transactions', r.transactions, 'failed', r.failed,
           'skipped', r.skipped, 'late', r.late, 'tps', r.tps,
           'percentile_ms',
           (SELECT bench.percentile(r.histogram, p)
              FROM (SELECT {percentile} * (r.transactions + r.failed + r.skipped)
                           / nullif(r.transactions, 0)::float8 AS p) p
             WHERE p <= 100),
           'course',
           (SELECT coalesce(jsonb_agg(i.latency_avg_ms ORDER BY i.interval_no), '[]')
              FROM bench.run_intervals i WHERE i.run_id = r.run_id),
           'strain', jsonb_build_object(
               'clients_busy', t.busy_ms / nullif(t.clients_ms, 0),
               'run_queue', (t.sessions_run_queue_ms + coalesce(t.workers_run_queue_ms, 0))
                            / nullif(r.latency_sum_ms, 0),
               'cpu_busy', c.busy,
               'lag', r.lag_avg_ms / nullif(r.latency_avg_ms, 0),
               'waits', w.waits))::text
  FROM bench.runs r
       LEFT JOIN bench.run_times t USING (run_id),
       LATERAL (SELECT 1 - sum(s.cpu_idle_ms + s.cpu_iowait_ms)
                           / nullif(sum(s.cpu_user_ms + s.cpu_system_ms + s.cpu_idle_ms
                                        + s.cpu_iowait_ms + s.cpu_steal_ms), 0) AS busy
                  FROM bench.run_server_intervals s WHERE s.run_id = r.run_id) c,
       LATERAL (SELECT coalesce(jsonb_agg(jsonb_build_object(
                           'class', w.class, 'event', w.event, 'samples', w.samples)), '[]') AS waits
                  FROM (SELECT class, event, sum(samples) AS samples
                          FROM bench.run_waits
                         WHERE run_id = r.run_id AND class <> 'Client'
                           AND (event LIKE 'Selfbench%'
                                OR (class, event) = ('Extension', 'Extension')) IS NOT TRUE
                         GROUP BY class, event) w) w
 WHERE r.{key} = $1 AND r.state NOT IN ('starting', 'running')
 ORDER BY r.run_id
