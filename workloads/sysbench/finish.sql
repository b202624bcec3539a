ALTER TABLE sbtest1 ADD PRIMARY KEY (id);
CREATE INDEX k_1 ON sbtest1 (k);
CREATE SEQUENCE sbtest1_id_seq AS integer OWNED BY sbtest1.id;
ALTER TABLE sbtest1 ALTER COLUMN id SET DEFAULT pg_catalog.nextval('sbtest1_id_seq');
SELECT pg_catalog.setval('sbtest1_id_seq', pg_catalog.max(id)) FROM sbtest1;
