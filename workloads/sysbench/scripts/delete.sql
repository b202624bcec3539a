-- A row deleted by its key. Keys that are gone match no row.
\set id CASE WHEN :distribution = 0 THEN random(1, :rows) ELSE random_special(1, :rows) END
DELETE FROM sbtest1 WHERE id = :id;
