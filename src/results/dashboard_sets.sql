SELECT jsonb_build_object(
           'set_id', s.set_id, 'kind', s.kind, 'label', s.label, 'state', s.state,
           'planned_runs', s.planned_runs, 'finished_runs', s.finished_runs,
           'started_at', to_char(s.started_at, 'YYYY-MM-DD HH24:MI'),
           'arms', a.arms, 'fastest', a.fastest, 'fastest_tps', a.tps, 'verdict', s.result ->> 'verdict')::text
  FROM (SELECT * FROM bench.set_summary ORDER BY set_id DESC LIMIT $1) s,
       LATERAL (SELECT count(*) AS arms, (array_agg(m.arm ORDER BY m.tps DESC))[1] AS fastest, max(m.tps) AS tps
                  FROM (SELECT r.arm, avg(r.tps) AS tps FROM bench.runs r
                         WHERE r.set_id = s.set_id AND r.round > 0 AND r.state = 'finished'
                           AND r.aborted_clients = 0 AND s.kind <> 'find_capacity'
                         GROUP BY r.arm) m) a
 ORDER BY s.set_id DESC
