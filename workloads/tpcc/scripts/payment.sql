-- A payment, 15 % of them by a customer of another warehouse. 60 % of the customers are found by
-- last name: the one in the middle, by first name. Money is in cents.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set remote CASE WHEN :warehouses > 1 AND random(1, 100) <= 15 THEN 1 ELSE 0 END
\set c_w_id CASE WHEN :remote = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set c_d_id CASE WHEN :remote = 1 THEN random(1, 10) ELSE :d_id END
\set by_name CASE WHEN random(1, 100) <= 60 THEN 1 ELSE 0 END
\set last_name ((random(0, 255) | random(0, 999)) + :nurand_last) % 1000
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + :nurand_customer) % 3000
\set amount random(100, 500000)
BEGIN;
UPDATE warehouse
   SET w_ytd = w_ytd + :amount * 0.01
 WHERE w_id = :w_id
RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip;
UPDATE district
   SET d_ytd = d_ytd + :amount * 0.01
 WHERE d_w_id = :w_id AND d_id = :d_id
RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip;
\if :by_name = 1
SELECT numbers[(cardinality(numbers) + 1) / 2] AS c_id
  FROM (SELECT array_agg(c_id ORDER BY c_first, c_id) AS numbers
          FROM customer
         WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id
           AND c_last = (SELECT s[:last_name / 100 + 1] || s[:last_name / 10 % 10 + 1] || s[:last_name % 10 + 1]
                           FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE',
                                              'ANTI', 'CALLY', 'ATION', 'EING']) AS syllables (s))
       ) AS named \gset
\endif
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
       c_since, c_credit_lim, c_discount, c_balance,
       CASE WHEN c_credit = 'BC' THEN 1 ELSE 0 END AS bad_credit
  FROM customer
 WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id
   FOR UPDATE \gset
\if :bad_credit = 1
UPDATE customer
   SET c_balance = c_balance - :amount * 0.01,
       c_ytd_payment = c_ytd_payment + :amount * 0.01,
       c_payment_cnt = c_payment_cnt + 1,
       c_data = left(concat_ws(' ', c_id, c_d_id, c_w_id, :d_id::integer, :w_id::integer,
                               :amount * 0.01, c_data), 500)
 WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id;
\else
UPDATE customer
   SET c_balance = c_balance - :amount * 0.01,
       c_ytd_payment = c_ytd_payment + :amount * 0.01,
       c_payment_cnt = c_payment_cnt + 1
 WHERE c_w_id = :c_w_id AND c_d_id = :c_d_id AND c_id = :c_id;
\endif
INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
VALUES (:c_id, :c_d_id, :c_w_id, :d_id, :w_id, localtimestamp, :amount * 0.01,
        (SELECT w_name FROM warehouse WHERE w_id = :w_id)
            || '    ' || (SELECT d_name FROM district WHERE d_w_id = :w_id AND d_id = :d_id));
COMMIT;
