-- An update of a column without an index.
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\template c ###########-###########-###########-###########-###########-###########-###########-###########-###########-###########
UPDATE sbtest1 SET c = :'c' WHERE id = :id;
