SELECT jsonb_build_object(
           'run_id', r.run_id, 'label', r.label,
           'set_id', r.set_id, 'arm', left(r.arm, 300),
           'state', r.state,
           'workload', left(array_to_string(r.scripts[:3], ', '), 300)
                       || CASE WHEN cardinality(r.scripts) > 3
                               THEN format(' and %s more', cardinality(r.scripts) - 3) ELSE '' END
                       || ': ' || CASE WHEN length(w.setup) > 300 THEN left(w.setup, 300) || '...' ELSE w.setup END,
           'started_at', to_char(coalesce(r.started_at, r.created_at), 'YYYY-MM-DD HH24:MI'),
           'seconds', r.seconds, 'tps', r.tps, 'latency_avg_ms', r.latency_avg_ms,
           'latency_p95_ms', r.latency_p95_ms, 'failed', r.failed)::text
  FROM (SELECT * FROM bench.run_summary ORDER BY run_id DESC LIMIT $1) r,
       LATERAL (SELECT concat_ws(', ', r.mode, r.protocol,
                                 r.clients || CASE r.clients WHEN 1 THEN ' client' ELSE ' clients' END,
                                 'scale ' || nullif(r.scale, 0),
                                 'rate ' || trim_scale(round(r.rate::numeric, 2)),
                                 CASE WHEN r.reconnect THEN 'reconnect' END, nullif(r.variables, '{}')::text,
                                 r.target, CASE WHEN r.imported_at IS NOT NULL THEN 'imported' END) AS setup) w
 ORDER BY r.run_id DESC
