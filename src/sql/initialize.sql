/* Filling pgbench's tables. */

CREATE FUNCTION bench.initialize(
    scale            int     DEFAULT 1,
    steps            text    DEFAULT 'dtgvp',
    fillfactor       int     DEFAULT 100,
    partitions       int     DEFAULT 0,
    partition_method text    DEFAULT NULL,
    foreign_keys     boolean DEFAULT false,
    unlogged         boolean DEFAULT false,
    tablespace       text    DEFAULT NULL,
    index_tablespace text    DEFAULT NULL,
    target           text    DEFAULT NULL,
    workers          int     DEFAULT NULL,
    OUT step    text,
    OUT seconds float8
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'initialize_wrapper';
COMMENT ON FUNCTION bench.initialize IS 'create and fill pgbench''s tables as pgbench -i does; returns the seconds of each step';
