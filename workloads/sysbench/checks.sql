-- ids-distinct: no two rows have the same id
SELECT id, count(*) FROM sbtest1 GROUP BY id HAVING count(*) > 1;
-- ids-from-sequence: ids are from 1 to the last value of the sequence
SELECT id
  FROM sbtest1
 WHERE id < 1
    OR id > (SELECT pg_sequence_last_value(pg_get_serial_sequence('sbtest1', 'id')::regclass));
-- k-positive: k is at least 1, since it is drawn from 1 on and only grows
SELECT id, k FROM sbtest1 WHERE k < 1;
-- texts: c is ten groups of eleven characters with dashes between them, pad is five
SELECT id, c, pad
  FROM sbtest1
 WHERE c::text NOT LIKE '___________-___________-___________-___________-___________-___________-___________-___________-___________-___________'
    OR pad::text NOT LIKE '___________-___________-___________-___________-___________';
-- rows-loaded (after load only): the ids are those from 1 to rows, and k is at most rows
SELECT *
  FROM (SELECT (variables->'rows')::bigint AS rows FROM bench_workload WHERE family = 'sysbench') AS loaded,
       (SELECT count(*) AS count, min(id) AS first_id, max(id) AS last_id, max(k) AS largest_k FROM sbtest1) AS found
 WHERE (count, first_id, last_id) IS DISTINCT FROM (rows, 1, rows)
    OR largest_k > rows;
