-- Ten rows by their keys and four ranges of 100 rows, in a transaction block.
BEGIN;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
SELECT c FROM sbtest1 WHERE id = :id;
\set low CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\set high :low + 99
SELECT c FROM sbtest1 WHERE id BETWEEN :low AND :high;
\set low CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\set high :low + 99
SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN :low AND :high;
\set low CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\set high :low + 99
SELECT c FROM sbtest1 WHERE id BETWEEN :low AND :high ORDER BY c;
\set low CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\set high :low + 99
SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN :low AND :high ORDER BY c;
COMMIT;
