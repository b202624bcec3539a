/* Thresholds for scripts: conditions on figures, and an error if one does not hold. */

CREATE FUNCTION bench.require(
    run_id bigint,
    VARIADIC conditions text[],
    OUT condition text, OUT measured text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'require_wrapper';
COMMENT ON FUNCTION bench.require IS 'fail unless a run meets all conditions, such as ''latency_p99_ms < 20''; returns what was measured';

CREATE FUNCTION bench.require_set(
    set_id bigint,
    VARIADIC conditions text[],
    OUT condition text, OUT measured text
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 5 AS 'MODULE_PATHNAME', 'require_set_wrapper';
COMMENT ON FUNCTION bench.require_set IS 'fail unless the arms of a stored comparison meet all conditions, such as ''spi: ratio_low > 1.2''';
