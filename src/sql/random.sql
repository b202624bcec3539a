/* Random values for rows of workloads. "stream" keeps the columns of a row apart, "row" is the number of
   the row. Each value depends on its arguments alone: the generator is that of pgbench, and its seed
   m(m(m(seed) # stream) # row), where m(x) is the output of splitmix64 for the state x. */

CREATE FUNCTION bench.random_int(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    lo bigint, -- least value
    hi bigint -- greatest value
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_int_wrapper';
COMMENT ON FUNCTION bench.random_int IS 'a random integer for a row, each from lo to hi with the same probability';

CREATE FUNCTION bench.random_real(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint -- number of the row
) RETURNS float8
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_real_wrapper';
COMMENT ON FUNCTION bench.random_real IS 'a random number for a row, from 0 to below 1';

CREATE FUNCTION bench.random_text(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    min int, -- least number of characters
    max int -- greatest number of characters, at most 10485760
) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_text_wrapper';
COMMENT ON FUNCTION bench.random_text IS 'a random text of letters and digits for a row, each length from min to max with the same probability';

CREATE FUNCTION bench.random_template(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    template text -- text in which # stands for a digit and @ for a lower-case letter
) RETURNS text
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_template_wrapper';
COMMENT ON FUNCTION bench.random_template IS 'a template with random digits and letters for a row';

CREATE FUNCTION bench.random_permutation(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    n bigint, -- number of values
    "row" bigint -- number of the row, from 0 to n - 1
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_permutation_wrapper';
COMMENT ON FUNCTION bench.random_permutation IS 'the value for a row in a random order of the numbers from 0 to n - 1';

CREATE FUNCTION bench.random_special(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    lo bigint, -- least value
    hi bigint -- greatest value
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_special_wrapper';
COMMENT ON FUNCTION bench.random_special IS 'a random integer for a row, of the distribution that sysbench calls special';

CREATE FUNCTION bench.random_nurand(
    seed bigint, -- seed of the load
    stream int, -- number of the column
    "row" bigint, -- number of the row
    a bigint, -- constant A of TPC-C's NURand
    lo bigint, -- least value
    hi bigint, -- greatest value
    c bigint -- constant C of TPC-C's NURand
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'random_nurand_wrapper';
COMMENT ON FUNCTION bench.random_nurand IS 'a random integer for a row, of TPC-C''s non-uniform distribution NURand(a, lo, hi)';

CREATE FUNCTION bench.hash_fnv1a(
    value bigint, -- number to hash
    seed bigint -- seed; 0 is FNV-1a itself
) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME', 'hash_fnv1a_wrapper';
COMMENT ON FUNCTION bench.hash_fnv1a IS 'the 64-bit FNV-1a hash of the eight bytes of a number, as pgbench has it';
