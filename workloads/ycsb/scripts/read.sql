-- All fields of a record.
\set record CASE \
    WHEN :distribution = 0 THEN random_ycsb_scrambled(0, :records - 1) \
    WHEN :distribution = 1 THEN permute(random_zipf(0, :records - 1, 0.99), :records, 0) \
    ELSE random(0, :records - 1) END
\set key abs(hash_fnv1a(:record, 0))
SELECT * FROM usertable WHERE ycsb_key = 'user' || :key;
