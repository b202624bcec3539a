-- An order of 5 to 15 lines. 1 % of the orders have an item that does not exist in the last line,
-- and roll back what was done for the lines before it.
-- Money is in cents. Texts are not passed on in variables, so order_line takes its text from stock.
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
\set all_local 1
\set all_local CASE WHEN :supplier_1 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :supplier_2 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :supplier_3 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :supplier_4 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :supplier_5 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 6 AND :supplier_6 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 7 AND :supplier_7 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 8 AND :supplier_8 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 9 AND :supplier_9 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 10 AND :supplier_10 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 11 AND :supplier_11 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 12 AND :supplier_12 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 13 AND :supplier_13 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 14 AND :supplier_14 <> :w_id THEN 0 ELSE :all_local END
\set all_local CASE WHEN :line_count >= 15 AND :supplier_15 <> :w_id THEN 0 ELSE :all_local END
\set lines :line_count - :rolled_back
\set total 0
BEGIN;
SELECT w_tax FROM warehouse WHERE w_id = :w_id \gset
UPDATE district
   SET d_next_o_id = d_next_o_id + 1
 WHERE d_w_id = :w_id AND d_id = :d_id
RETURNING d_next_o_id - 1 AS o_id, d_tax \gset
SELECT c_discount, c_last, c_credit
  FROM customer
 WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id \gset
INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
VALUES (:o_id, :d_id, :w_id, :c_id, localtimestamp, :line_count, :all_local);
INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (:o_id, :d_id, :w_id);
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_1 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_1 AND s_i_id = :item_1
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_1 + CASE WHEN :s_quantity >= :quantity_1 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_1,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_1 AND s_i_id = :item_1;
\set amount :quantity_1 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 1, :item_1, :supplier_1, :quantity_1, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_1 AND s_i_id = :item_1));
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_2 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_2 AND s_i_id = :item_2
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_2 + CASE WHEN :s_quantity >= :quantity_2 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_2,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_2 AND s_i_id = :item_2;
\set amount :quantity_2 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 2, :item_2, :supplier_2, :quantity_2, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_2 AND s_i_id = :item_2));
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_3 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_3 AND s_i_id = :item_3
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_3 + CASE WHEN :s_quantity >= :quantity_3 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_3,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_3 AND s_i_id = :item_3;
\set amount :quantity_3 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 3, :item_3, :supplier_3, :quantity_3, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_3 AND s_i_id = :item_3));
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_4 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_4 AND s_i_id = :item_4
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_4 + CASE WHEN :s_quantity >= :quantity_4 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_4,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_4 AND s_i_id = :item_4;
\set amount :quantity_4 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 4, :item_4, :supplier_4, :quantity_4, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_4 AND s_i_id = :item_4));
\if :lines >= 5
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_5 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_5 AND s_i_id = :item_5
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_5 + CASE WHEN :s_quantity >= :quantity_5 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_5,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_5 AND s_i_id = :item_5;
\set amount :quantity_5 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 5, :item_5, :supplier_5, :quantity_5, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_5 AND s_i_id = :item_5));
\endif
\if :lines >= 6
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_6 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_6 AND s_i_id = :item_6
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_6 + CASE WHEN :s_quantity >= :quantity_6 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_6,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_6 AND s_i_id = :item_6;
\set amount :quantity_6 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 6, :item_6, :supplier_6, :quantity_6, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_6 AND s_i_id = :item_6));
\endif
\if :lines >= 7
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_7 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_7 AND s_i_id = :item_7
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_7 + CASE WHEN :s_quantity >= :quantity_7 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_7,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_7 AND s_i_id = :item_7;
\set amount :quantity_7 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 7, :item_7, :supplier_7, :quantity_7, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_7 AND s_i_id = :item_7));
\endif
\if :lines >= 8
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_8 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_8 AND s_i_id = :item_8
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_8 + CASE WHEN :s_quantity >= :quantity_8 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_8,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_8 AND s_i_id = :item_8;
\set amount :quantity_8 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 8, :item_8, :supplier_8, :quantity_8, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_8 AND s_i_id = :item_8));
\endif
\if :lines >= 9
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_9 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_9 AND s_i_id = :item_9
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_9 + CASE WHEN :s_quantity >= :quantity_9 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_9,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_9 AND s_i_id = :item_9;
\set amount :quantity_9 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 9, :item_9, :supplier_9, :quantity_9, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_9 AND s_i_id = :item_9));
\endif
\if :lines >= 10
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_10 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_10 AND s_i_id = :item_10
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_10 + CASE WHEN :s_quantity >= :quantity_10 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_10,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_10 AND s_i_id = :item_10;
\set amount :quantity_10 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 10, :item_10, :supplier_10, :quantity_10, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_10 AND s_i_id = :item_10));
\endif
\if :lines >= 11
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_11 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_11 AND s_i_id = :item_11
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_11 + CASE WHEN :s_quantity >= :quantity_11 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_11,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_11 AND s_i_id = :item_11;
\set amount :quantity_11 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 11, :item_11, :supplier_11, :quantity_11, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_11 AND s_i_id = :item_11));
\endif
\if :lines >= 12
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_12 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_12 AND s_i_id = :item_12
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_12 + CASE WHEN :s_quantity >= :quantity_12 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_12,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_12 AND s_i_id = :item_12;
\set amount :quantity_12 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 12, :item_12, :supplier_12, :quantity_12, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_12 AND s_i_id = :item_12));
\endif
\if :lines >= 13
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_13 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_13 AND s_i_id = :item_13
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_13 + CASE WHEN :s_quantity >= :quantity_13 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_13,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_13 AND s_i_id = :item_13;
\set amount :quantity_13 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 13, :item_13, :supplier_13, :quantity_13, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_13 AND s_i_id = :item_13));
\endif
\if :lines >= 14
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_14 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_14 AND s_i_id = :item_14
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_14 + CASE WHEN :s_quantity >= :quantity_14 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_14,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_14 AND s_i_id = :item_14;
\set amount :quantity_14 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 14, :item_14, :supplier_14, :quantity_14, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_14 AND s_i_id = :item_14));
\endif
\if :lines >= 15
SELECT (i_price * 100)::integer AS price, i_name, i_data FROM item WHERE i_id = :item_15 \gset
SELECT s_quantity, s_data,
       (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
              s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id] AS dist_info
  FROM stock
 WHERE s_w_id = :supplier_15 AND s_i_id = :item_15
   FOR UPDATE \gset
\set s_quantity :s_quantity - :quantity_15 + CASE WHEN :s_quantity >= :quantity_15 + 10 THEN 0 ELSE 91 END
UPDATE stock
   SET s_quantity = :s_quantity,
       s_ytd = s_ytd + :quantity_15,
       s_order_cnt = s_order_cnt + 1,
       s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = :w_id THEN 0 ELSE 1 END
 WHERE s_w_id = :supplier_15 AND s_i_id = :item_15;
\set amount :quantity_15 * :price
\set total :total + :amount
INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                        ol_quantity, ol_amount, ol_dist_info)
VALUES (:o_id, :d_id, :w_id, 15, :item_15, :supplier_15, :quantity_15, :amount * 0.01,
        (SELECT (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                       s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[:d_id]
           FROM stock WHERE s_w_id = :supplier_15 AND s_i_id = :item_15));
\endif
\if :rolled_back = 1
SELECT i_price, i_name, i_data FROM item WHERE i_id = 100001;
ROLLBACK;
\else
\set total :total * (1 - :c_discount) * (1 + :w_tax + :d_tax)
COMMIT;
\endif
