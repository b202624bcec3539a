-- usertable: (:records + 1999) / 2000 parts of 2000 rows
SELECT ('user' || abs(bench.hash_fnv1a(record, 0)))::varchar AS ycsb_key,
       bench.random_text($3, 1, record, 100, 100)::varchar AS field0,
       bench.random_text($3, 2, record, 100, 100)::varchar AS field1,
       bench.random_text($3, 3, record, 100, 100)::varchar AS field2,
       bench.random_text($3, 4, record, 100, 100)::varchar AS field3,
       bench.random_text($3, 5, record, 100, 100)::varchar AS field4,
       bench.random_text($3, 6, record, 100, 100)::varchar AS field5,
       bench.random_text($3, 7, record, 100, 100)::varchar AS field6,
       bench.random_text($3, 8, record, 100, 100)::varchar AS field7,
       bench.random_text($3, 9, record, 100, 100)::varchar AS field8,
       bench.random_text($3, 10, record, 100, 100)::varchar AS field9
  FROM generate_series($1 * 2000, least(($1 + 1) * 2000, ($4->'records')::bigint) - 1) AS record;
