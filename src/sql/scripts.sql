/* Stored scripts. */

CREATE FUNCTION bench.define_script(
    name text, -- name of the script
    body text, -- text in pgbench's language
    description text DEFAULT NULL -- text that reports show
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'define_script_wrapper';
COMMENT ON FUNCTION bench.define_script IS 'store a benchmark script, or replace one that you own';

CREATE FUNCTION bench.drop_script(
    name text -- name of the script, with the owner in front for another role's
) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'drop_script_wrapper';
COMMENT ON FUNCTION bench.drop_script IS 'drop a stored script that you own';

CREATE FUNCTION bench.check_script(
    body text, -- text in pgbench's language
    protocol text DEFAULT 'prepared', -- query protocol: simple, extended or prepared
    resolve boolean DEFAULT false, -- whether names in statements are looked up
    variables jsonb DEFAULT NULL, -- all variables that a run sets; NULL if they are not known
    OUT line int, -- line of the script, from 1
    OUT column_no int, -- column in the line, from 1
    OUT severity text, -- error, warning or note
    OUT message text, -- finding
    OUT hint text -- proposal
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'check_script_wrapper';
COMMENT ON FUNCTION bench.check_script IS 'errors of a script, and what may be wrong with it; executes nothing';
