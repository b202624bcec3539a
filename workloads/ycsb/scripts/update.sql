-- One field of a record, each of the ten equally often.
\set record CASE \
    WHEN :distribution = 0 THEN random_ycsb_scrambled(0, :records - 1) \
    WHEN :distribution = 1 THEN permute(random_zipf(0, :records - 1, 0.99), :records, 0) \
    ELSE random(0, :records - 1) END
\set key abs(hash_fnv1a(:record, 0))
\set field random(0, 9)
\template value @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
\if :field = 0
UPDATE usertable SET field0 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 1
UPDATE usertable SET field1 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 2
UPDATE usertable SET field2 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 3
UPDATE usertable SET field3 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 4
UPDATE usertable SET field4 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 5
UPDATE usertable SET field5 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 6
UPDATE usertable SET field6 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 7
UPDATE usertable SET field7 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 8
UPDATE usertable SET field8 = :'value' WHERE ycsb_key = 'user' || :key;
\elif :field = 9
UPDATE usertable SET field9 = :'value' WHERE ycsb_key = 'user' || :key;
\endif
