-- Counts items of the last 20 orders of a district whose stock is below a threshold.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set threshold random(10, 20)
CALL tpcc_stock_level(:w_id::integer, :d_id::integer, :threshold::integer, NULL::bigint);
