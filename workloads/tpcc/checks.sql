-- condition-1: w_ytd is the sum of d_ytd of the warehouse's districts
SELECT coalesce(w_id, d_w_id) AS w_id, w_ytd, district_ytd
  FROM warehouse
  FULL JOIN (SELECT d_w_id, sum(d_ytd) AS district_ytd FROM district GROUP BY d_w_id) AS districts
    ON d_w_id = w_id
 WHERE w_ytd IS DISTINCT FROM district_ytd;

-- condition-2: d_next_o_id - 1 is the greatest o_id of the district, and the greatest no_o_id if it has new orders
SELECT coalesce(d_w_id, o_w_id, no_w_id) AS w_id, coalesce(d_id, o_d_id, no_d_id) AS d_id,
       d_next_o_id, last_order, last_new_order
  FROM district
  FULL JOIN (SELECT o_w_id, o_d_id, max(o_id) AS last_order FROM orders GROUP BY o_w_id, o_d_id) AS o
    ON o_w_id = d_w_id AND o_d_id = d_id
  FULL JOIN (SELECT no_w_id, no_d_id, max(no_o_id) AS last_new_order
               FROM new_order GROUP BY no_w_id, no_d_id) AS n
    ON no_w_id = d_w_id AND no_d_id = d_id
 WHERE d_next_o_id - 1 IS DISTINCT FROM last_order
    OR d_next_o_id - 1 IS DISTINCT FROM coalesce(last_new_order, last_order);

-- condition-3: numbers of a district's new orders have no gaps
SELECT no_w_id, no_d_id, min(no_o_id) AS oldest, max(no_o_id) AS newest, count(*) AS new_orders
  FROM new_order
 GROUP BY no_w_id, no_d_id
HAVING max(no_o_id) - min(no_o_id) + 1 <> count(*);

-- condition-4: the sum of o_ol_cnt of a district is the number of its order lines
SELECT coalesce(o_w_id, ol_w_id) AS w_id, coalesce(o_d_id, ol_d_id) AS d_id, expected, lines
  FROM (SELECT o_w_id, o_d_id, sum(o_ol_cnt) AS expected FROM orders GROUP BY o_w_id, o_d_id) AS o
  FULL JOIN (SELECT ol_w_id, ol_d_id, count(*) AS lines FROM order_line GROUP BY ol_w_id, ol_d_id) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id
 WHERE coalesce(expected, 0) <> coalesce(lines, 0);

-- condition-5: o_carrier_id is null for new orders and no others
SELECT coalesce(o_w_id, no_w_id) AS w_id, coalesce(o_d_id, no_d_id) AS d_id,
       o_id, no_o_id, o_carrier_id
  FROM orders
  FULL JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id
 WHERE o_id IS NULL
    OR (o_carrier_id IS NULL) <> (no_o_id IS NOT NULL);

-- condition-6: o_ol_cnt is the number of lines of the order
SELECT coalesce(o_w_id, ol_w_id) AS w_id, coalesce(o_d_id, ol_d_id) AS d_id,
       coalesce(o_id, ol_o_id) AS o_id, o_ol_cnt, coalesce(lines, 0) AS lines
  FROM orders
  FULL JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, count(*) AS lines
               FROM order_line GROUP BY ol_w_id, ol_d_id, ol_o_id) AS l
    ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
 WHERE o_ol_cnt IS DISTINCT FROM coalesce(lines, 0);

-- condition-7: ol_delivery_d is null if o_carrier_id of the order is, and only then
SELECT ol_w_id, ol_d_id, ol_o_id, ol_number, ol_delivery_d, o_id, o_carrier_id
  FROM order_line
  LEFT JOIN orders ON o_w_id = ol_w_id AND o_d_id = ol_d_id AND o_id = ol_o_id
 WHERE o_id IS NULL
    OR (ol_delivery_d IS NULL) <> (o_carrier_id IS NULL);

-- condition-8: w_ytd is the sum of h_amount of payments to the warehouse
SELECT coalesce(w_id, h_w_id) AS w_id, w_ytd, paid
  FROM warehouse
  FULL JOIN (SELECT h_w_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id) AS h
    ON h_w_id = w_id
 WHERE w_ytd IS DISTINCT FROM coalesce(paid, 0);

-- condition-9: d_ytd is the sum of h_amount of payments to the district
SELECT coalesce(d_w_id, h_w_id) AS w_id, coalesce(d_id, h_d_id) AS d_id, d_ytd, paid
  FROM district
  FULL JOIN (SELECT h_w_id, h_d_id, sum(h_amount) AS paid FROM history GROUP BY h_w_id, h_d_id) AS h
    ON h_w_id = d_w_id AND h_d_id = d_id
 WHERE d_ytd IS DISTINCT FROM coalesce(paid, 0);

-- condition-10: c_balance is ol_amount of the customer's delivered lines less h_amount of its payments
SELECT coalesce(c_w_id, o_w_id, h_c_w_id) AS w_id, coalesce(c_d_id, o_d_id, h_c_d_id) AS d_id,
       coalesce(c_id, o_c_id, h_c_id) AS c_id, c_balance, delivered, paid
  FROM customer
  FULL JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
               FROM orders
               JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
              WHERE ol_delivery_d IS NOT NULL
              GROUP BY o_w_id, o_d_id, o_c_id) AS o
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
  FULL JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) AS paid
               FROM history GROUP BY h_c_w_id, h_c_d_id, h_c_id) AS h
    ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id
 WHERE c_balance IS DISTINCT FROM coalesce(delivered, 0) - coalesce(paid, 0);

-- condition-11 (after load only): a district has 2100 orders more than new orders
SELECT d_w_id, d_id, orders, new_orders
  FROM district
  LEFT JOIN (SELECT o_w_id, o_d_id, count(*) AS orders FROM orders GROUP BY o_w_id, o_d_id) AS o
    ON o_w_id = d_w_id AND o_d_id = d_id
  LEFT JOIN (SELECT no_w_id, no_d_id, count(*) AS new_orders
               FROM new_order GROUP BY no_w_id, no_d_id) AS n
    ON no_w_id = d_w_id AND no_d_id = d_id
 WHERE coalesce(orders, 0) - coalesce(new_orders, 0) <> 2100;

-- condition-12: c_balance + c_ytd_payment is ol_amount of the customer's delivered lines
SELECT coalesce(c_w_id, o_w_id) AS w_id, coalesce(c_d_id, o_d_id) AS d_id,
       coalesce(c_id, o_c_id) AS c_id, c_balance, c_ytd_payment, delivered
  FROM customer
  FULL JOIN (SELECT o_w_id, o_d_id, o_c_id, sum(ol_amount) AS delivered
               FROM orders
               JOIN order_line ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id
              WHERE ol_delivery_d IS NOT NULL
              GROUP BY o_w_id, o_d_id, o_c_id) AS o
    ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id
 WHERE c_balance + c_ytd_payment IS DISTINCT FROM coalesce(delivered, 0);
