ALTER TABLE usertable ADD PRIMARY KEY (ycsb_key);
