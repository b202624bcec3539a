-- Delivers the oldest new order of each district of a warehouse. A district is left out if it has no
-- new order, or if a concurrent delivery removes the oldest.
\set w_id random(1, :warehouses)
\set carrier random(1, 10)
CALL tpcc_delivery(:w_id::integer, :carrier::integer, NULL::integer);
