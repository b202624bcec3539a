-- The statements of read-only and of write-only, in one transaction block.
-- A concurrent delete and insert of the same id ends in a unique violation, which rolls back.
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
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
UPDATE sbtest1 SET k = k + 1 WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\template c ###########-###########-###########-###########-###########-###########-###########-###########-###########-###########
UPDATE sbtest1 SET c = :'c' WHERE id = :id;
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
DELETE FROM sbtest1 WHERE id = :id;
\set k CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
\template c ###########-###########-###########-###########-###########-###########-###########-###########-###########-###########
\template pad ###########-###########-###########-###########-###########
INSERT INTO sbtest1 (id, k, c, pad) VALUES (:id, :k, :'c', :'pad');
COMMIT;
