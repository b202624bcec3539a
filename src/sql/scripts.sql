/* Stored scripts. */

CREATE FUNCTION bench.define_script(name text, body text, description text DEFAULT NULL)
RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'define_script_wrapper';
COMMENT ON FUNCTION bench.define_script IS 'store a benchmark script, or replace one that you own';

CREATE FUNCTION bench.drop_script(name text) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'drop_script_wrapper';
COMMENT ON FUNCTION bench.drop_script IS 'drop a stored script that you own';

CREATE FUNCTION bench.check_script(
    body text, protocol text DEFAULT 'prepared', resolve boolean DEFAULT false,
    OUT line int, OUT column_no int, OUT severity text, OUT message text, OUT hint text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'check_script_wrapper';
COMMENT ON FUNCTION bench.check_script IS 'errors of a script, and what may be wrong with it; executes nothing';
