
COMMENT ON COLUMN bench.scripts.spare IS 'spare';
CREATE TABLE bench.run_spares (
    run_id bigint NOT NULL REFERENCES bench.runs ON DELETE CASCADE,
    spare  text NOT NULL
);
ALTER TABLE bench.run_spares ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.run_spares USING (EXISTS (SELECT FROM bench.runs r WHERE r.run_id = run_spares.run_id));
SELECT pg_catalog.pg_extension_config_dump('bench.run_spares', '');
CREATE FUNCTION bench.spare(
    spare int DEFAULT 1,
    OUT result int
) LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN spare;
REVOKE ALL ON FUNCTION bench.spare FROM PUBLIC;
