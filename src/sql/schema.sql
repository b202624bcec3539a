/* pg_selfbench: the schema. It belongs to the extension, and must not exist before. */

CREATE SCHEMA bench;
COMMENT ON SCHEMA bench IS 'benchmarks that run inside the server';
