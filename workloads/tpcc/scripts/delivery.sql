-- Delivers the oldest new order of each district of a warehouse. A district is left out if it has no
-- new order, or if a concurrent delivery removes the oldest.
-- Money is in cents.
\set w_id random(1, :warehouses)
\set carrier random(1, 10)
BEGIN;
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 1
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 1)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 1 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 1 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 1 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 1 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 2
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 2)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 2 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 2 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 2 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 2 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 3
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 3)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 3 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 3 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 3 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 3 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 4
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 4)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 4 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 4 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 4 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 4 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 5
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 5)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 5 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 5 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 5 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 5 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 6
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 6)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 6 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 6 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 6 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 6 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 7
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 7)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 7 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 7 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 7 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 7 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 8
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 8)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 8 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 8 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 8 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 8 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 9
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 9)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 9 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 9 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 9 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 9 AND c_id = :c_id;
\endif
WITH removed AS (
    DELETE FROM new_order
     WHERE no_w_id = :w_id AND no_d_id = 10
       AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = :w_id AND no_d_id = 10)
    RETURNING no_o_id)
SELECT coalesce(max(no_o_id), 0) AS o_id FROM removed \gset
\if :o_id > 0
UPDATE orders
   SET o_carrier_id = :carrier
 WHERE o_w_id = :w_id AND o_d_id = 10 AND o_id = :o_id
RETURNING o_c_id AS c_id \gset
UPDATE order_line
   SET ol_delivery_d = localtimestamp
 WHERE ol_w_id = :w_id AND ol_d_id = 10 AND ol_o_id = :o_id;
SELECT (coalesce(sum(ol_amount), 0) * 100)::bigint AS amount
  FROM order_line
 WHERE ol_w_id = :w_id AND ol_d_id = 10 AND ol_o_id = :o_id \gset
UPDATE customer
   SET c_balance = c_balance + :amount * 0.01,
       c_delivery_cnt = c_delivery_cnt + 1
 WHERE c_w_id = :w_id AND c_d_id = 10 AND c_id = :c_id;
\endif
COMMIT;
