-- The last order of a customer. 60 % of the customers are found by last name: the one in the middle,
-- by first name.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set by_name CASE WHEN random(1, 100) <= 60 THEN 1 ELSE 0 END
\set last_name ((random(0, 255) | random(0, 999)) + :nurand_last) % 1000
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + :nurand_customer) % 3000
BEGIN;
\if :by_name = 1
SELECT numbers[(cardinality(numbers) + 1) / 2] AS c_id
  FROM (SELECT array_agg(c_id ORDER BY c_first, c_id) AS numbers
          FROM customer
         WHERE c_w_id = :w_id AND c_d_id = :d_id
           AND c_last = (SELECT s[:last_name / 100 + 1] || s[:last_name / 10 % 10 + 1] || s[:last_name % 10 + 1]
                           FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE',
                                              'ANTI', 'CALLY', 'ATION', 'EING']) AS syllables (s))
       ) AS named \gset
\endif
SELECT c_first, c_middle, c_last, c_balance
  FROM customer
 WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id;
SELECT o_id, o_entry_d, coalesce(o_carrier_id, 0) AS carrier
  FROM orders
 WHERE o_w_id = :w_id AND o_d_id = :d_id AND o_c_id = :c_id
 ORDER BY o_id DESC
 LIMIT 1 \gset
SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id;
COMMIT;
