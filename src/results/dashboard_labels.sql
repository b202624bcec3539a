WITH series AS MATERIALIZED (
    SELECT l.label, s.series, s.figure, cardinality(s.nights) AS nights, s.nights[cardinality(s.nights)] AS last,
           jsonb_build_object(
               'value', s.of_nights[cardinality(s.nights)],
               'disturbances', coalesce((s.nights[cardinality(s.nights)]).disturbances, '{}'), 'state', j.state, 'level', j.level,
               'before', c.level_before, 'since', (s.nights[c.at]).run_ids[1],
               'curve', to_jsonb(s.of_nights[greatest(cardinality(s.nights) - 39, 1):])) AS found
      FROM (SELECT DISTINCT r.label FROM bench.runs r WHERE r.label IS NOT NULL) l,
           bench_internal.series_of(l.label, '{tps,latency_p95_ms}') s,
           LATERAL (SELECT j.level, j.state
                      FROM bench_internal.judge_nights(s.figure, s.of_nights, s.disturbed, s.baselines)
                               WITH ORDINALITY j (level, level_low, level_high, state, night)
                     ORDER BY j.night DESC LIMIT 1) j
           LEFT JOIN LATERAL (SELECT c.at, c.level_before
                                FROM bench_internal.change_points(s.figure, s.of_nights, s.disturbed, s.baselines) c
                               ORDER BY c.at DESC LIMIT 1) c ON true)
SELECT jsonb_build_object(
           'label', t.label, 'nights', t.nights, 'run_id', r.run_id,
           'workload', left(array_to_string(r.scripts[:3], ', '), 300)
                       || CASE WHEN cardinality(r.scripts) > 3
                               THEN format(' and %s more', cardinality(r.scripts) - 3) ELSE '' END
                       || ': ' || t.series,
           'started_at', to_char(coalesce(r.started_at, r.created_at), 'YYYY-MM-DD HH24:MI'), 'tps', t.found, 'latency', coalesce(p.found, '{"state": "", "curve": []}'))::text
  FROM series t
  LEFT JOIN series p ON p.label = t.label AND p.series = t.series AND p.figure = 'latency_p95_ms'
  JOIN bench.runs r ON r.run_id = (t.last).run_ids[1]
 WHERE t.figure = 'tps'
 ORDER BY r.run_id DESC
 LIMIT $1
