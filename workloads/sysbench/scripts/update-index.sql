-- An update of the indexed column.
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
UPDATE sbtest1 SET k = k + 1 WHERE id = :id;
