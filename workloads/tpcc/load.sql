-- Each column has a stream of its own; o_ol_cnt's is drawn again for the lines of the order.

-- item: 20 parts of 5000 rows
SELECT i_id::integer,
       bench.random_int($3, 101, i_id, 1, 10000)::integer,
       bench.random_text($3, 102, i_id, 14, 24)::varchar(24),
       (bench.random_int($3, 103, i_id, 100, 10000) * 0.01)::numeric(5,2),
       CASE WHEN bench.random_int($3, 104, i_id, 1, 10) = 1
            THEN overlay(i_data PLACING 'ORIGINAL'
                         FROM bench.random_int($3, 105, i_id, 1, length(i_data) - 7)::integer)
            ELSE i_data
       END::varchar(50)
  FROM (SELECT i_id, bench.random_text($3, 106, i_id, 26, 50) AS i_data
          FROM generate_series($1 * 5000 + 1, ($1 + 1) * 5000) AS i_id) AS rows;

-- warehouse: 1 parts of :warehouses rows
SELECT w_id::integer,
       bench.random_text($3, 201, w_id, 6, 10)::varchar(10),
       bench.random_text($3, 202, w_id, 10, 20)::varchar(20),
       bench.random_text($3, 203, w_id, 10, 20)::varchar(20),
       bench.random_text($3, 204, w_id, 10, 20)::varchar(20),
       bench.random_text($3, 205, w_id, 2, 2)::char(2),
       bench.random_template($3, 206, w_id, '####11111')::char(9),
       (bench.random_int($3, 207, w_id, 0, 2000) * 0.0001)::numeric(4,4),
       300000::numeric(12,2)
  FROM generate_series(1, ($4->'warehouses')::bigint) AS w_id;

-- district: 1 parts of 10 * :warehouses rows
SELECT ((n - 1) % 10 + 1)::integer,
       ((n - 1) / 10 + 1)::integer,
       bench.random_text($3, 301, n, 6, 10)::varchar(10),
       bench.random_text($3, 302, n, 10, 20)::varchar(20),
       bench.random_text($3, 303, n, 10, 20)::varchar(20),
       bench.random_text($3, 304, n, 10, 20)::varchar(20),
       bench.random_text($3, 305, n, 2, 2)::char(2),
       bench.random_template($3, 306, n, '####11111')::char(9),
       (bench.random_int($3, 307, n, 0, 2000) * 0.0001)::numeric(4,4),
       30000::numeric(12,2),
       3001
  FROM generate_series(1, 10 * ($4->'warehouses')::bigint) AS n;

-- customer: 10 * :warehouses parts of 3000 rows
SELECT c_id::integer,
       ($1 % 10 + 1)::integer,
       ($1 / 10 + 1)::integer,
       bench.random_text($3, 401, n, 8, 16)::varchar(16),
       'OE'::char(2),
       (s[name / 100 + 1] || s[name / 10 % 10 + 1] || s[name % 10 + 1])::varchar(16),
       bench.random_text($3, 403, n, 10, 20)::varchar(20),
       bench.random_text($3, 404, n, 10, 20)::varchar(20),
       bench.random_text($3, 405, n, 10, 20)::varchar(20),
       bench.random_text($3, 406, n, 2, 2)::char(2),
       bench.random_template($3, 407, n, '####11111')::char(9),
       bench.random_template($3, 408, n, '################')::char(16),
       timestamp '2025-01-01 00:00:00',
       CASE WHEN bench.random_int($3, 409, n, 1, 10) = 1 THEN 'BC' ELSE 'GC' END::char(2),
       50000::numeric(12,2),
       (bench.random_int($3, 410, n, 0, 5000) * 0.0001)::numeric(4,4),
       (-10)::numeric(12,2),
       10::numeric(12,2),
       1,
       0,
       bench.random_text($3, 411, n, 300, 500)::varchar(500)
  FROM (SELECT c_id, n,
               CASE WHEN c_id <= 1000 THEN c_id - 1
                    ELSE bench.random_nurand($3, 402, n, 255, 0, 999, ($4->'nurand_last_load')::bigint)
               END::integer AS name
          FROM (SELECT c_id, $1 * 3000 + c_id AS n
                  FROM generate_series(1, 3000) AS c_id) AS numbers
        OFFSET 0) AS rows,
       (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE',
                     'ANTI', 'CALLY', 'ATION', 'EING']) AS syllables (s);

-- history: 10 * :warehouses parts of 3000 rows
SELECT c_id,
       ($1 % 10 + 1)::integer,
       ($1 / 10 + 1)::integer,
       ($1 % 10 + 1)::integer,
       ($1 / 10 + 1)::integer,
       timestamp '2025-01-01 00:00:00',
       10::numeric(6,2),
       bench.random_text($3, 501, $1 * 3000 + c_id, 12, 24)::varchar(24)
  FROM generate_series(1, 3000) AS c_id;

-- stock: 20 * :warehouses parts of 5000 rows
SELECT s_i_id::integer,
       ($1 / 20 + 1)::integer,
       bench.random_int($3, 601, n, 10, 100)::integer,
       bench.random_text($3, 602, n, 24, 24)::char(24),
       bench.random_text($3, 603, n, 24, 24)::char(24),
       bench.random_text($3, 604, n, 24, 24)::char(24),
       bench.random_text($3, 605, n, 24, 24)::char(24),
       bench.random_text($3, 606, n, 24, 24)::char(24),
       bench.random_text($3, 607, n, 24, 24)::char(24),
       bench.random_text($3, 608, n, 24, 24)::char(24),
       bench.random_text($3, 609, n, 24, 24)::char(24),
       bench.random_text($3, 610, n, 24, 24)::char(24),
       bench.random_text($3, 611, n, 24, 24)::char(24),
       0,
       0,
       0,
       CASE WHEN bench.random_int($3, 612, n, 1, 10) = 1
            THEN overlay(s_data PLACING 'ORIGINAL'
                         FROM bench.random_int($3, 613, n, 1, length(s_data) - 7)::integer)
            ELSE s_data
       END::varchar(50)
  FROM (SELECT $1 % 20 * 5000 + i AS s_i_id, $1 * 5000 + i AS n,
               bench.random_text($3, 614, $1 * 5000 + i, 26, 50) AS s_data
          FROM generate_series(1, 5000) AS i) AS rows;

-- orders: 10 * :warehouses parts of 3000 rows
SELECT o_id,
       ($1 % 10 + 1)::integer,
       ($1 / 10 + 1)::integer,
       (bench.random_permutation($3 # $1, 701, 3000, o_id - 1) + 1)::integer,
       timestamp '2025-01-01 00:00:00' + o_id * interval '1 second',
       CASE WHEN o_id < 2101 THEN bench.random_int($3, 702, n, 1, 10) END::integer,
       bench.random_int($3, 703, n, 5, 15)::integer,
       1
  FROM (SELECT o_id, $1 * 3000 + o_id AS n
          FROM generate_series(1, 3000) AS o_id) AS rows;

-- new_order: 10 * :warehouses parts of 900 rows
SELECT o_id, ($1 % 10 + 1)::integer, ($1 / 10 + 1)::integer
  FROM generate_series(2101, 3000) AS o_id;

-- order_line: 10 * :warehouses parts of 30000 rows, at most 45000
SELECT o_id,
       ($1 % 10 + 1)::integer,
       ($1 / 10 + 1)::integer,
       line,
       bench.random_int($3, 801, n * 15 + line, 1, 100000)::integer,
       ($1 / 10 + 1)::integer,
       CASE WHEN o_id < 2101 THEN timestamp '2025-01-01 00:00:00' + o_id * interval '1 second' END,
       5,
       CASE WHEN o_id < 2101 THEN 0
            ELSE bench.random_int($3, 802, n * 15 + line, 1, 999999) * 0.01
       END::numeric(6,2),
       bench.random_text($3, 803, n * 15 + line, 24, 24)::char(24)
  FROM (SELECT o_id, $1 * 3000 + o_id AS n
          FROM generate_series(1, 3000) AS o_id) AS numbers,
       generate_series(1, bench.random_int($3, 703, n, 5, 15)::integer) AS line;
