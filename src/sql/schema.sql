/* pg_selfbench: the schema. It belongs to the extension, and must not exist before. */

CREATE SCHEMA bench;
COMMENT ON SCHEMA bench IS 'benchmarks that run inside the server';

/* A span of time, as arguments have it: an interval, or a number of seconds. It is a type of its own
   since a number does not become an interval by itself, and a second function for numbers would make
   calls ambiguous. */
CREATE TYPE bench.span;
CREATE FUNCTION bench.span_in(cstring, oid, int) RETURNS bench.span
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'interval_in';
CREATE FUNCTION bench.span_out(bench.span) RETURNS cstring
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'interval_out';
CREATE TYPE bench.span (
    INPUT = bench.span_in, OUTPUT = bench.span_out, LIKE = pg_catalog.interval, CATEGORY = 'T'
);
COMMENT ON TYPE bench.span IS 'a span of time: an interval, or a number of seconds';
CREATE CAST (pg_catalog.interval AS bench.span) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.span AS pg_catalog.interval) WITHOUT FUNCTION AS ASSIGNMENT;

CREATE FUNCTION bench.seconds(float8) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.make_interval(secs => $1)::bench.span;
CREATE FUNCTION bench.seconds(int) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.make_interval(secs => $1)::bench.span;
CREATE FUNCTION bench.seconds(numeric) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN pg_catalog.make_interval(secs => $1::pg_catalog.float8)::bench.span;
CREATE CAST (float8 AS bench.span) WITH FUNCTION bench.seconds(float8) AS IMPLICIT;
CREATE CAST (int AS bench.span) WITH FUNCTION bench.seconds(int) AS IMPLICIT;
CREATE CAST (numeric AS bench.span) WITH FUNCTION bench.seconds(numeric) AS IMPLICIT;
