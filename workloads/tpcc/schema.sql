CREATE TABLE warehouse (
    w_id integer NOT NULL,
    w_name varchar(10) NOT NULL,
    w_street_1 varchar(20) NOT NULL,
    w_street_2 varchar(20) NOT NULL,
    w_city varchar(20) NOT NULL,
    w_state char(2) NOT NULL,
    w_zip char(9) NOT NULL,
    w_tax numeric(4,4) NOT NULL,
    w_ytd numeric(12,2) NOT NULL
);

CREATE TABLE district (
    d_id integer NOT NULL,
    d_w_id integer NOT NULL,
    d_name varchar(10) NOT NULL,
    d_street_1 varchar(20) NOT NULL,
    d_street_2 varchar(20) NOT NULL,
    d_city varchar(20) NOT NULL,
    d_state char(2) NOT NULL,
    d_zip char(9) NOT NULL,
    d_tax numeric(4,4) NOT NULL,
    d_ytd numeric(12,2) NOT NULL,
    d_next_o_id integer NOT NULL
);

CREATE TABLE customer (
    c_id integer NOT NULL,
    c_d_id integer NOT NULL,
    c_w_id integer NOT NULL,
    c_first varchar(16) NOT NULL,
    c_middle char(2) NOT NULL,
    c_last varchar(16) NOT NULL,
    c_street_1 varchar(20) NOT NULL,
    c_street_2 varchar(20) NOT NULL,
    c_city varchar(20) NOT NULL,
    c_state char(2) NOT NULL,
    c_zip char(9) NOT NULL,
    c_phone char(16) NOT NULL,
    c_since timestamp NOT NULL,
    c_credit char(2) NOT NULL,
    c_credit_lim numeric(12,2) NOT NULL,
    c_discount numeric(4,4) NOT NULL,
    c_balance numeric(12,2) NOT NULL,
    c_ytd_payment numeric(12,2) NOT NULL,
    c_payment_cnt integer NOT NULL,
    c_delivery_cnt integer NOT NULL,
    c_data varchar(500) NOT NULL
);

CREATE TABLE history (
    h_c_id integer NOT NULL,
    h_c_d_id integer NOT NULL,
    h_c_w_id integer NOT NULL,
    h_d_id integer NOT NULL,
    h_w_id integer NOT NULL,
    h_date timestamp NOT NULL,
    h_amount numeric(6,2) NOT NULL,
    h_data varchar(24) NOT NULL
);

CREATE TABLE new_order (
    no_o_id integer NOT NULL,
    no_d_id integer NOT NULL,
    no_w_id integer NOT NULL
);

CREATE TABLE orders (
    o_id integer NOT NULL,
    o_d_id integer NOT NULL,
    o_w_id integer NOT NULL,
    o_c_id integer NOT NULL,
    o_entry_d timestamp NOT NULL,
    o_carrier_id integer,
    o_ol_cnt integer NOT NULL,
    o_all_local integer NOT NULL
);

CREATE TABLE order_line (
    ol_o_id integer NOT NULL,
    ol_d_id integer NOT NULL,
    ol_w_id integer NOT NULL,
    ol_number integer NOT NULL,
    ol_i_id integer NOT NULL,
    ol_supply_w_id integer NOT NULL,
    ol_delivery_d timestamp,
    ol_quantity integer NOT NULL,
    ol_amount numeric(6,2) NOT NULL,
    ol_dist_info char(24) NOT NULL
);

CREATE TABLE item (
    i_id integer NOT NULL,
    i_im_id integer NOT NULL,
    i_name varchar(24) NOT NULL,
    i_price numeric(5,2) NOT NULL,
    i_data varchar(50) NOT NULL
);

CREATE TABLE stock (
    s_i_id integer NOT NULL,
    s_w_id integer NOT NULL,
    s_quantity integer NOT NULL,
    s_dist_01 char(24) NOT NULL,
    s_dist_02 char(24) NOT NULL,
    s_dist_03 char(24) NOT NULL,
    s_dist_04 char(24) NOT NULL,
    s_dist_05 char(24) NOT NULL,
    s_dist_06 char(24) NOT NULL,
    s_dist_07 char(24) NOT NULL,
    s_dist_08 char(24) NOT NULL,
    s_dist_09 char(24) NOT NULL,
    s_dist_10 char(24) NOT NULL,
    s_ytd integer NOT NULL,
    s_order_cnt integer NOT NULL,
    s_remote_cnt integer NOT NULL,
    s_data varchar(50) NOT NULL
);

-- The procedures of the mix tpcc-procedures do what the scripts of the mix tpcc do.

-- An item that does not exist rolls back what was done for the lines before it.
CREATE PROCEDURE tpcc_new_order(
    warehouse_id integer, district_id integer, customer_id integer, line_count integer,
    items integer[], suppliers integer[], quantities integer[],
    OUT order_number integer, OUT total numeric, OUT rolled_back boolean)
LANGUAGE plpgsql AS $$
DECLARE
    order_row record;
    customer_row record;
    item_row record;
    stock_row record;
    warehouse_tax numeric;
    amount numeric;
BEGIN
    total := 0;
    rolled_back := false;
    SELECT w_tax INTO STRICT warehouse_tax FROM warehouse WHERE w_id = warehouse_id;
    UPDATE district
       SET d_next_o_id = d_next_o_id + 1
     WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_next_o_id - 1 AS number, d_tax INTO STRICT order_row;
    order_number := order_row.number;
    SELECT c_discount, c_last, c_credit INTO STRICT customer_row
      FROM customer
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_id;
    INSERT INTO orders (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local)
    VALUES (order_number, district_id, warehouse_id, customer_id, localtimestamp, line_count,
            (warehouse_id = ALL (suppliers[1:line_count]))::integer);
    INSERT INTO new_order (no_o_id, no_d_id, no_w_id) VALUES (order_number, district_id, warehouse_id);
    FOR line IN 1 .. line_count LOOP
        SELECT i_price, i_name, i_data INTO item_row FROM item WHERE i_id = items[line];
        IF NOT FOUND THEN
            ROLLBACK;
            rolled_back := true;
            RETURN;
        END IF;
        SELECT s_quantity, s_data,
               (ARRAY[s_dist_01, s_dist_02, s_dist_03, s_dist_04, s_dist_05,
                      s_dist_06, s_dist_07, s_dist_08, s_dist_09, s_dist_10])[district_id] AS dist_info
          INTO STRICT stock_row
          FROM stock
         WHERE s_w_id = suppliers[line] AND s_i_id = items[line]
           FOR UPDATE;
        UPDATE stock
           SET s_quantity = stock_row.s_quantity - quantities[line]
                   + CASE WHEN stock_row.s_quantity >= quantities[line] + 10 THEN 0 ELSE 91 END,
               s_ytd = s_ytd + quantities[line],
               s_order_cnt = s_order_cnt + 1,
               s_remote_cnt = s_remote_cnt + CASE WHEN s_w_id = warehouse_id THEN 0 ELSE 1 END
         WHERE s_w_id = suppliers[line] AND s_i_id = items[line];
        amount := quantities[line] * item_row.i_price;
        INSERT INTO order_line (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id,
                                ol_quantity, ol_amount, ol_dist_info)
        VALUES (order_number, district_id, warehouse_id, line, items[line], suppliers[line],
                quantities[line], amount, stock_row.dist_info);
        total := total + amount;
    END LOOP;
    total := total * (1 - customer_row.c_discount) * (1 + warehouse_tax + order_row.d_tax);
END
$$;

-- The customer is found by the number of its last name if by_name is 1.
CREATE PROCEDURE tpcc_payment(
    warehouse_id integer, district_id integer, customer_warehouse integer, customer_district integer,
    by_name integer, last_name integer, customer_id integer, amount numeric,
    OUT customer_number integer, OUT balance numeric)
LANGUAGE plpgsql AS $$
DECLARE
    warehouse_row record;
    district_row record;
    customer_row record;
BEGIN
    customer_number := customer_id;
    UPDATE warehouse
       SET w_ytd = w_ytd + amount
     WHERE w_id = warehouse_id
    RETURNING w_name, w_street_1, w_street_2, w_city, w_state, w_zip INTO STRICT warehouse_row;
    UPDATE district
       SET d_ytd = d_ytd + amount
     WHERE d_w_id = warehouse_id AND d_id = district_id
    RETURNING d_name, d_street_1, d_street_2, d_city, d_state, d_zip INTO STRICT district_row;
    IF by_name = 1 THEN
        SELECT numbers[(cardinality(numbers) + 1) / 2] INTO STRICT customer_number
          FROM (SELECT array_agg(c_id ORDER BY c_first, c_id) AS numbers
                  FROM customer
                 WHERE c_w_id = customer_warehouse AND c_d_id = customer_district
                   AND c_last = (SELECT s[last_name / 100 + 1] || s[last_name / 10 % 10 + 1] || s[last_name % 10 + 1]
                                   FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE',
                                                      'ANTI', 'CALLY', 'ATION', 'EING']) AS syllables (s))
               ) AS named;
    END IF;
    SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone,
           c_since, c_credit, c_credit_lim, c_discount, c_balance
      INTO STRICT customer_row
      FROM customer
     WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_number
       FOR UPDATE;
    balance := customer_row.c_balance - amount;
    IF customer_row.c_credit = 'BC' THEN
        UPDATE customer
           SET c_balance = c_balance - amount,
               c_ytd_payment = c_ytd_payment + amount,
               c_payment_cnt = c_payment_cnt + 1,
               c_data = left(concat_ws(' ', c_id, c_d_id, c_w_id, district_id, warehouse_id,
                                       amount, c_data), 500)
         WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_number;
    ELSE
        UPDATE customer
           SET c_balance = c_balance - amount,
               c_ytd_payment = c_ytd_payment + amount,
               c_payment_cnt = c_payment_cnt + 1
         WHERE c_w_id = customer_warehouse AND c_d_id = customer_district AND c_id = customer_number;
    END IF;
    INSERT INTO history (h_c_id, h_c_d_id, h_c_w_id, h_d_id, h_w_id, h_date, h_amount, h_data)
    VALUES (customer_number, customer_district, customer_warehouse, district_id, warehouse_id,
            localtimestamp, amount, warehouse_row.w_name || '    ' || district_row.d_name);
END
$$;

CREATE PROCEDURE tpcc_order_status(
    warehouse_id integer, district_id integer, by_name integer, last_name integer, customer_id integer,
    OUT customer_number integer, OUT balance numeric, OUT order_number integer, OUT carrier integer,
    OUT entered timestamp, OUT items integer[], OUT suppliers integer[], OUT quantities integer[],
    OUT amounts numeric[], OUT delivered timestamp[])
LANGUAGE plpgsql AS $$
DECLARE
    customer_row record;
BEGIN
    customer_number := customer_id;
    IF by_name = 1 THEN
        SELECT numbers[(cardinality(numbers) + 1) / 2] INTO STRICT customer_number
          FROM (SELECT array_agg(c_id ORDER BY c_first, c_id) AS numbers
                  FROM customer
                 WHERE c_w_id = warehouse_id AND c_d_id = district_id
                   AND c_last = (SELECT s[last_name / 100 + 1] || s[last_name / 10 % 10 + 1] || s[last_name % 10 + 1]
                                   FROM (SELECT ARRAY['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE',
                                                      'ANTI', 'CALLY', 'ATION', 'EING']) AS syllables (s))
               ) AS named;
    END IF;
    SELECT c_first, c_middle, c_last, c_balance INTO STRICT customer_row
      FROM customer
     WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_number;
    balance := customer_row.c_balance;
    SELECT o_id, o_entry_d, o_carrier_id INTO STRICT order_number, entered, carrier
      FROM orders
     WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_c_id = customer_number
     ORDER BY o_id DESC
     LIMIT 1;
    SELECT array_agg(ol_i_id), array_agg(ol_supply_w_id), array_agg(ol_quantity),
           array_agg(ol_amount), array_agg(ol_delivery_d)
      INTO STRICT items, suppliers, quantities, amounts, delivered
      FROM order_line
     WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_number;
END
$$;

-- A district is left out if it has no new order, or if a concurrent delivery removes the oldest.
CREATE PROCEDURE tpcc_delivery(
    warehouse_id integer, carrier integer, OUT delivered integer)
LANGUAGE plpgsql AS $$
DECLARE
    order_number integer;
    customer_number integer;
    amount numeric;
BEGIN
    delivered := 0;
    FOR district_id IN 1 .. 10 LOOP
        DELETE FROM new_order
         WHERE no_w_id = warehouse_id AND no_d_id = district_id
           AND no_o_id = (SELECT min(no_o_id) FROM new_order WHERE no_w_id = warehouse_id AND no_d_id = district_id)
        RETURNING no_o_id INTO order_number;
        CONTINUE WHEN NOT FOUND;
        UPDATE orders
           SET o_carrier_id = carrier
         WHERE o_w_id = warehouse_id AND o_d_id = district_id AND o_id = order_number
        RETURNING o_c_id INTO STRICT customer_number;
        UPDATE order_line
           SET ol_delivery_d = localtimestamp
         WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_number;
        SELECT sum(ol_amount) INTO STRICT amount
          FROM order_line
         WHERE ol_w_id = warehouse_id AND ol_d_id = district_id AND ol_o_id = order_number;
        UPDATE customer
           SET c_balance = c_balance + amount,
               c_delivery_cnt = c_delivery_cnt + 1
         WHERE c_w_id = warehouse_id AND c_d_id = district_id AND c_id = customer_number;
        delivered := delivered + 1;
    END LOOP;
END
$$;

CREATE PROCEDURE tpcc_stock_level(
    warehouse_id integer, district_id integer, threshold integer, OUT low_stock bigint)
LANGUAGE plpgsql AS $$
DECLARE
    next_order integer;
BEGIN
    SELECT d_next_o_id INTO STRICT next_order
      FROM district
     WHERE d_w_id = warehouse_id AND d_id = district_id;
    SELECT count(DISTINCT s_i_id) INTO STRICT low_stock
      FROM order_line
      JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id
     WHERE ol_w_id = warehouse_id AND ol_d_id = district_id
       AND ol_o_id >= next_order - 20 AND ol_o_id < next_order
       AND s_quantity < threshold;
END
$$;
