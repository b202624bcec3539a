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
CALL tpcc_payment(
    :w_id::integer, :d_id::integer, :c_w_id::integer, :c_d_id::integer, :by_name::integer, :last_name::integer,
    :c_id::integer, :amount * 0.01::numeric, NULL::integer, NULL::numeric);
