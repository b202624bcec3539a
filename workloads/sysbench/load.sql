-- sbtest1: (:rows + 9999) / 10000 parts of 10000 rows
SELECT id::integer AS id,
       CASE WHEN ($4->'distribution')::integer = 0
            THEN bench.random_int($3, 1, id, 1, ($4->'rows')::bigint)
            ELSE bench.random_special($3, 1, id, 1, ($4->'rows')::bigint)
       END::integer AS k,
       bench.random_template($3, 2, id,
           '###########-###########-###########-###########-###########-###########-###########-###########-###########-###########')::character(120) AS c,
       bench.random_template($3, 3, id,
           '###########-###########-###########-###########-###########')::character(60) AS pad
  FROM generate_series($1 * 10000 + 1, least(($1 + 1) * 10000, ($4->'rows')::bigint)) AS id;
