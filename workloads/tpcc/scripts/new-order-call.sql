-- An order of 5 to 15 lines. 1 % of the orders have an item that does not exist in the last line,
-- and roll back what was done for the lines before it.
\set w_id random(1, :warehouses)
\set d_id random(1, 10)
\set c_id 1 + ((random(0, 1023) | random(1, 3000)) + :nurand_customer) % 3000
\set line_count random(5, 15)
\set rolled_back CASE WHEN random(1, 100) = 1 THEN 1 ELSE 0 END
\set item_1 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000
\set supplier_1 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_1 random(1, 10)
\set item_2 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000
\set supplier_2 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_2 random(1, 10)
\set item_3 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000
\set supplier_3 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_3 random(1, 10)
\set item_4 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000
\set supplier_4 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_4 random(1, 10)
\set item_5 CASE WHEN :rolled_back = 1 AND :line_count = 5 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_5 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_5 random(1, 10)
\set item_6 CASE WHEN :rolled_back = 1 AND :line_count = 6 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_6 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_6 random(1, 10)
\set item_7 CASE WHEN :rolled_back = 1 AND :line_count = 7 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_7 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_7 random(1, 10)
\set item_8 CASE WHEN :rolled_back = 1 AND :line_count = 8 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_8 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_8 random(1, 10)
\set item_9 CASE WHEN :rolled_back = 1 AND :line_count = 9 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_9 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_9 random(1, 10)
\set item_10 CASE WHEN :rolled_back = 1 AND :line_count = 10 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_10 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_10 random(1, 10)
\set item_11 CASE WHEN :rolled_back = 1 AND :line_count = 11 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_11 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_11 random(1, 10)
\set item_12 CASE WHEN :rolled_back = 1 AND :line_count = 12 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_12 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_12 random(1, 10)
\set item_13 CASE WHEN :rolled_back = 1 AND :line_count = 13 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_13 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_13 random(1, 10)
\set item_14 CASE WHEN :rolled_back = 1 AND :line_count = 14 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_14 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_14 random(1, 10)
\set item_15 CASE WHEN :rolled_back = 1 AND :line_count = 15 THEN 100001 ELSE 1 + ((random(0, 8191) | random(1, 100000)) + :nurand_item) % 100000 END
\set supplier_15 CASE WHEN :warehouses > 1 AND random(1, 100) = 1 THEN 1 + (:w_id + random(0, :warehouses - 2)) % :warehouses ELSE :w_id END
\set quantity_15 random(1, 10)
CALL tpcc_new_order(
    :w_id::integer, :d_id::integer, :c_id::integer, :line_count::integer,
    ARRAY[:item_1, :item_2, :item_3, :item_4, :item_5,
          :item_6, :item_7, :item_8, :item_9, :item_10,
          :item_11, :item_12, :item_13, :item_14, :item_15]::integer[],
    ARRAY[:supplier_1, :supplier_2, :supplier_3, :supplier_4, :supplier_5,
          :supplier_6, :supplier_7, :supplier_8, :supplier_9, :supplier_10,
          :supplier_11, :supplier_12, :supplier_13, :supplier_14, :supplier_15]::integer[],
    ARRAY[:quantity_1, :quantity_2, :quantity_3, :quantity_4, :quantity_5,
          :quantity_6, :quantity_7, :quantity_8, :quantity_9, :quantity_10,
          :quantity_11, :quantity_12, :quantity_13, :quantity_14, :quantity_15]::integer[],
    NULL::integer, NULL::numeric, NULL::boolean);
