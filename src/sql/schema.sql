/* pg_selfbench: the schema, and what keeps it closed. */

COMMENT ON SCHEMA bench IS 'benchmarks that run inside the server';
