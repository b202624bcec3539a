-- keys-distinct: no two records have the same key
SELECT ycsb_key, count(*) FROM usertable GROUP BY ycsb_key HAVING count(*) > 1;
-- keys: a key is user and the digits of a hash
SELECT ycsb_key FROM usertable WHERE ycsb_key !~ '^user[0-9]+$';
-- fields: each of the ten fields has 100 characters
SELECT ycsb_key, lengths
  FROM (SELECT ycsb_key,
               ARRAY[length(field0), length(field1), length(field2), length(field3), length(field4),
                     length(field5), length(field6), length(field7), length(field8), length(field9)] AS lengths
          FROM usertable) AS records
 WHERE lengths <> '{100, 100, 100, 100, 100, 100, 100, 100, 100, 100}';
-- records: no record was added or lost since the load
SELECT *
  FROM (SELECT (variables->'records')::bigint AS loaded FROM bench_workload WHERE family = 'ycsb') AS expected,
       (SELECT count(*) AS found FROM usertable) AS present
 WHERE found <> loaded;
