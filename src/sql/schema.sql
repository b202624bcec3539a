/* The schemas of pg_selfbench. They belong to the extension and must not exist before. */

CREATE SCHEMA bench;
COMMENT ON SCHEMA bench IS 'benchmarks that run inside the server';

/* Functions that only the extension calls, some of them with the privileges of its callers. */
CREATE SCHEMA bench_internal;
COMMENT ON SCHEMA bench_internal IS 'internal functions of pg_selfbench, not for users';

/* The type of arguments that are durations: an interval, or a number of seconds. It exists because
   numbers have no implicit cast to interval, and because overloaded functions would make calls with
   untyped literals ambiguous. */
CREATE TYPE bench.span;
CREATE FUNCTION bench_internal.span_in(cstring, oid, int) RETURNS bench.span
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'interval_in';
CREATE FUNCTION bench_internal.span_out(bench.span) RETURNS cstring
LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'interval_out';
CREATE TYPE bench.span (
    INPUT = bench_internal.span_in, OUTPUT = bench_internal.span_out,
    LIKE = pg_catalog.interval, CATEGORY = 'T'
);
COMMENT ON TYPE bench.span IS 'a duration: an interval, or a number of seconds';
CREATE CAST (pg_catalog.interval AS bench.span) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.span AS pg_catalog.interval) WITHOUT FUNCTION AS ASSIGNMENT;

/* One function for each numeric type, because PostgreSQL does not chain implicit casts. Bodies are texts: pg_upgrade would
   create a parsed one before the casts in it. */
CREATE FUNCTION bench_internal.seconds(float8) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(real) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(smallint) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(int) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(bigint) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE FUNCTION bench_internal.seconds(numeric) RETURNS bench.span
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT ($1::float8 * '1 second'::interval)::bench.span $$;
CREATE CAST (float8 AS bench.span) WITH FUNCTION bench_internal.seconds(float8) AS IMPLICIT;
CREATE CAST (real AS bench.span) WITH FUNCTION bench_internal.seconds(real) AS IMPLICIT;
CREATE CAST (smallint AS bench.span) WITH FUNCTION bench_internal.seconds(smallint) AS IMPLICIT;
CREATE CAST (int AS bench.span) WITH FUNCTION bench_internal.seconds(int) AS IMPLICIT;
CREATE CAST (bigint AS bench.span) WITH FUNCTION bench_internal.seconds(bigint) AS IMPLICIT;
CREATE CAST (numeric AS bench.span) WITH FUNCTION bench_internal.seconds(numeric) AS IMPLICIT;

/* The type of arguments that are seeds: a number from 0 to 2^64 - 1, which bigint does not hold, or a text. */
CREATE TYPE bench.seed;
CREATE FUNCTION bench_internal.seed_in(cstring) RETURNS bench.seed
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION bench_internal.seed_out(bench.seed) RETURNS cstring
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE bench.seed (INPUT = bench_internal.seed_in, OUTPUT = bench_internal.seed_out, LIKE = pg_catalog.text);
COMMENT ON TYPE bench.seed IS 'a random seed: an integer from 0 to 18446744073709551615, "time" or "rand"';
CREATE CAST (pg_catalog.text AS bench.seed) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (varchar AS bench.seed) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.seed AS pg_catalog.text) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION bench_internal.seed(smallint) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE FUNCTION bench_internal.seed(int) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE FUNCTION bench_internal.seed(bigint) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE FUNCTION bench_internal.seed(numeric) RETURNS bench.seed
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.seed $$;
CREATE CAST (smallint AS bench.seed) WITH FUNCTION bench_internal.seed(smallint) AS IMPLICIT;
CREATE CAST (int AS bench.seed) WITH FUNCTION bench_internal.seed(int) AS IMPLICIT;
CREATE CAST (bigint AS bench.seed) WITH FUNCTION bench_internal.seed(bigint) AS IMPLICIT;
CREATE CAST (numeric AS bench.seed) WITH FUNCTION bench_internal.seed(numeric) AS IMPLICIT;

/* The type of arguments that name runs or sets: one number or several. */
CREATE TYPE bench.ids;
CREATE FUNCTION bench_internal.ids_in(cstring) RETURNS bench.ids
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION bench_internal.ids_out(bench.ids) RETURNS cstring
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE TYPE bench.ids (INPUT = bench_internal.ids_in, OUTPUT = bench_internal.ids_out, LIKE = pg_catalog.text);
COMMENT ON TYPE bench.ids IS 'numbers of runs or sets: an integer, an array of integers, or a text such as "41, 43"';
CREATE CAST (pg_catalog.text AS bench.ids) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (bench.ids AS pg_catalog.text) WITHOUT FUNCTION AS ASSIGNMENT;
CREATE FUNCTION bench_internal.ids(int) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(bigint) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(int[]) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(bigint[]) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(smallint) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE FUNCTION bench_internal.ids(numeric) RETURNS bench.ids
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$ SELECT $1::text::bench.ids $$;
CREATE CAST (varchar AS bench.ids) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (smallint AS bench.ids) WITH FUNCTION bench_internal.ids(smallint) AS IMPLICIT;
CREATE CAST (numeric AS bench.ids) WITH FUNCTION bench_internal.ids(numeric) AS IMPLICIT;
CREATE CAST (int AS bench.ids) WITH FUNCTION bench_internal.ids(int) AS IMPLICIT;
CREATE CAST (bigint AS bench.ids) WITH FUNCTION bench_internal.ids(bigint) AS IMPLICIT;
CREATE CAST (int[] AS bench.ids) WITH FUNCTION bench_internal.ids(int[]) AS IMPLICIT;
CREATE CAST (bigint[] AS bench.ids) WITH FUNCTION bench_internal.ids(bigint[]) AS IMPLICIT;
