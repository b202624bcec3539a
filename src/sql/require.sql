/* Thresholds for scripts: conditions on figures, and an error if one does not hold. */

CREATE FUNCTION bench.require(
    run_id bigint, -- run that has ended
    VARIADIC conditions text[], -- conditions: a column of bench.runs or bench.pgio_runs or p(N), an operator and a value
    OUT condition text, -- condition
    OUT measured text -- figure of the run
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'require_wrapper';
COMMENT ON FUNCTION bench.require IS 'fail unless a run meets all conditions, such as ''latency_p99_ms < 20''; returns what was measured';

CREATE FUNCTION bench.require_set(
    set_id bigint, -- number of the comparison
    VARIADIC conditions text[], -- conditions: an arm, a colon, a column of bench.arms, an operator and a value
    OUT condition text, -- condition
    OUT measured text -- figure of the arm
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'require_set_wrapper';
COMMENT ON FUNCTION bench.require_set IS 'fail unless the arms of a stored comparison meet all conditions, such as ''spi: ratio_low > 1.2''';
