SELECT jsonb_build_object(
           'set_id', s.set_id, 'kind', s.kind, 'label', s.label, 'state', s.state,
           'planned_runs', s.planned_runs, 'finished_runs', s.finished_runs,
           'started_at', to_char(s.started_at, 'YYYY-MM-DD HH24:MI'),
           'verdict', s.result ->> 'verdict')::text
  FROM bench.set_summary s
 ORDER BY s.set_id DESC
 LIMIT $1
