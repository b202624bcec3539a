-- A new row, with the next id of the sequence.
\set k CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\template c ###########-###########-###########-###########-###########-###########-###########-###########-###########-###########
\template pad ###########-###########-###########-###########-###########
INSERT INTO sbtest1 (k, c, pad) VALUES (:k, :'c', :'pad');
