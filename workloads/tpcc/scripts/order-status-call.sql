-- The last order of a customer. 60 % of the customers are found by last name: the one in the middle,
-- by first name.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set by_name CASE WHEN random(1, 100) <= 60 THEN 1 ELSE 0 END
\set last_name ((random(0, 255) | random(0, 999)) + :nurand_last) % 1000
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + :nurand_customer) % 3000
CALL tpcc_order_status(
    :w_id::integer, :d_id::integer, :by_name::integer, :last_name::integer, :c_id::integer,
    NULL::integer, NULL::numeric, NULL::integer, NULL::integer, NULL::timestamp, NULL::integer[],
    NULL::integer[], NULL::integer[], NULL::numeric[], NULL::timestamp[]);
