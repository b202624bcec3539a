-- One row by its key, without a transaction block.
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
