CREATE TABLE sbtest1 (
    id integer NOT NULL,
    k integer NOT NULL DEFAULT 0,
    c character(120) NOT NULL DEFAULT '',
    pad character(60) NOT NULL DEFAULT ''
);
