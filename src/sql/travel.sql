/* Runs as documents, which other servers can import. docs/targets-and-nightly.md describes the format.

   What belongs to a run is found in the catalogs: bench.runs, its log, and the tables of the extension that
   refer to it by run_id, directly or through another one. A new table travels by itself. */

/* Columns of bench.runs that mean something on this server only: they are neither exported nor imported.
   A document must not be able to set them, above all not texts that are executed later. */
CREATE FUNCTION bench_internal.local_columns() RETURNS name[]
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN '{run_id,owner,set_id,teardown_due,coordinator_pid,segment,imported_at,imported_from,is_baseline,series}'::pg_catalog.name[];

/* These tables without bench.runs, parents first. */
CREATE FUNCTION bench_internal.tables_of_runs(OUT relation oid, OUT name name, OUT level int) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE t AS (
        SELECT 'bench.runs'::regclass::oid AS relation, 0 AS level
        UNION
        SELECT 'bench.transactions'::regclass::oid, 1
        UNION
        SELECT c.conrelid, t.level + 1
          FROM t JOIN pg_constraint c ON c.confrelid = t.relation AND c.contype = 'f'
          JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.conrelid
                          AND d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
          JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attname = 'run_id' AND c.conkey = ARRAY[a.attnum]
         WHERE c.conrelid <> c.confrelid AND t.level < 10
    )
    SELECT c.oid, c.relname, max(t.level)
      FROM t JOIN pg_class c ON c.oid = t.relation
     WHERE t.level > 0
     GROUP BY c.oid, c.relname
     ORDER BY 3, 2
$$;

/* The columns of such a table or of bench.runs that travel. */
CREATE FUNCTION bench_internal.columns_of_runs(
    relation oid,
    OUT name name, OUT type text, OUT is_generated boolean, OUT is_required boolean, OUT default_value text
) RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT a.attname, format_type(a.atttypid, a.atttypmod), a.attgenerated <> '', a.attnotnull,
           CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
     WHERE a.attrelid = $1 AND a.attnum > 0 AND NOT a.attisdropped
       AND a.attname <> ALL (bench_internal.local_columns())
     ORDER BY a.attnum
$$;

/* Where a run was measured, unless it was imported: the source that its documents name. */
CREATE FUNCTION bench_internal.source_of(run bench.runs) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object(
               'system_identifier', (SELECT system_identifier::text FROM pg_control_system()),
               'cluster_name', nullif(current_setting('cluster_name'), ''),
               'server_version', current_setting('server_version'),
               'database', current_database(),
               'owner', (SELECT rolname FROM pg_roles WHERE oid = ($1).owner),
               'run_id', ($1).run_id,
               'label', ($1).label))
$$;

/* VOLATILE, so that it sees a run that the same statement has made. */
CREATE FUNCTION bench.export_run(
    run_id bigint, -- run that has ended
    without text[] DEFAULT '{}' -- tables to leave out
) RETURNS json
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET bytea_output = hex
SET datestyle = 'ISO, YMD'
SET extra_float_digits = 1
SET intervalstyle = postgres
SET max_parallel_workers_per_gather = 0
SET standard_conforming_strings = on
SET timezone = 'UTC'
AS $$
#variable_conflict use_column
DECLARE
    max_bytes CONSTANT numeric := 1e9;
    run bench.runs;
    tables text[] := ARRAY(SELECT name FROM bench_internal.tables_of_runs());
    part record;
    rows bigint;
    bytes numeric := 0;
    selected text;
    content text;
    document text;
    between text := E'\n';
BEGIN
    IF $1 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'run_id must not be null',
            HINT = 'Runs are listed in bench.run_summary.';
    ELSIF NOT coalesce(without, '{}') <@ tables THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('invalid value for option "without": %s', without),
            DETAIL = format('Valid values are %s.', array_to_string(tables, ', '));
    END IF;
    SELECT * INTO run FROM bench.runs WHERE run_id = $1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('run %s does not exist', $1),
            HINT = 'Runs are listed in bench.run_summary.';
    ELSIF run.state IN ('starting', 'running') THEN
        IF bench_internal.is_live($1, run.segment) THEN
            RAISE object_in_use USING MESSAGE = format('run %s is in progress', $1),
                HINT = 'Cancel it with bench.cancel, or wait for it with bench.wait.';
        END IF;
        run.state := 'lost';
    END IF;

    selected := (SELECT string_agg(quote_ident(c.name), ', ') FROM bench_internal.columns_of_runs('bench.runs'::regclass) c);
    EXECUTE format('SELECT json_strip_nulls(to_json(r)) FROM (SELECT %s FROM (SELECT ($1).*) r) r', selected)
       INTO content USING run;
    document := format(E'{"format": "pg_selfbench run",\n"format_version": 1,\n"extension_version": %s,\n"exported_at": %s,\n'
                       '"source": %s,\n"run": %s,\n"tables": {',
                       to_json((SELECT extversion FROM pg_extension WHERE extname = 'pg_selfbench')),
                       to_json(clock_timestamp()),
                       coalesce(run.imported_from, bench_internal.source_of(run)),
                       content);

    FOR part IN
        SELECT t.name, string_agg(quote_ident(c.name), ', ') AS columns,
               coalesce((SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey, a.attnum))
                           FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
                          WHERE i.indrelid = t.relation AND i.indisprimary), 'ctid') AS key
          FROM bench_internal.tables_of_runs() t, LATERAL bench_internal.columns_of_runs(t.relation) c
         WHERE t.name <> ALL (coalesce(without, '{}'))
         GROUP BY t.relation, t.name, t.level
         ORDER BY t.level, t.name
    LOOP
        EXECUTE format('SELECT count(*) FROM bench.%I WHERE run_id = $1', part.name) INTO rows USING $1;
        CONTINUE WHEN rows = 0;
        selected := format('SELECT json_strip_nulls(to_json(r))::text FROM (SELECT %s FROM bench.%I WHERE run_id = $1 ORDER BY %s) r',
                           part.columns, part.name, part.key);
        -- The server cannot build a longer text than 1 GB, which takes a while to find out.
        EXECUTE format('SELECT $2 + $3 * avg(octet_length(r) + 2) FROM (%s LIMIT 1000) t (r)', selected)
           INTO bytes USING $1, bytes, rows;
        IF bytes > max_bytes THEN
            RAISE program_limit_exceeded USING
                MESSAGE = format('run %s is too large for a document', $1),
                DETAIL = format('With table "%s", which has %s rows of the run, the document would have about %s.',
                                part.name, rows, pg_size_pretty(bytes)),
                HINT = format('Leave tables out, such as without => ''{%s}''.', part.name);
        END IF;
        EXECUTE format('SELECT string_agg(r, E'',\n'') FROM (%s) t (r)', selected) INTO content USING $1;
        document := document || format(E'%s%s: [\n%s]', between, to_json(part.name), content);
        between := E',\n';
    END LOOP;
    content := NULL; -- its memory
    RETURN document || '}}';
END
$$;
COMMENT ON FUNCTION bench.export_run IS 'a run with all its rows as a JSON document, which bench.import_run reads';

CREATE FUNCTION bench.export_schema() RETURNS json
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'export_schema_wrapper';
COMMENT ON FUNCTION bench.export_schema IS 'JSON Schema of the documents of bench.export_run and bench.report';

CREATE FUNCTION bench.import_run(
    document json, -- document of bench.export_run
    label text DEFAULT NULL -- label of the run; NULL is none
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'import_run_wrapper';
COMMENT ON FUNCTION bench.import_run IS 'store the run of a document of bench.export_run, and return its new run id';

/* Stores the run of a document for a role. bench.import_run calls it with the privileges of the owner of
   the tables; with those of another role, it fails. Nothing of a document becomes SQL: names of tables
   and columns are those of the catalogs. */
CREATE FUNCTION bench_internal.store_run(document json, owner regrole, label text) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan -- custom plans have copies of the document
AS $$
#variable_conflict use_variable
DECLARE
    known_version CONSTANT int := 1;
    -- What JSON's numbers hold; sums of a few do not overflow.
    max_number CONSTANT bigint := 9007199254740992;
    max_notes CONSTANT int := 10;
    -- Columns whose values ascend.
    ascending CONSTANT text[] := ARRAY[
        'latency_min_ms', 'latency_p50_ms', 'latency_p90_ms', 'latency_p95_ms', 'latency_p99_ms', 'latency_p999_ms', 'latency_max_ms',
        'lag_avg_ms', 'lag_max_ms',
        'select_p99_ms', 'select_max_ms', 'update_p99_ms', 'update_max_ms',
        'read_p50_ms', 'read_p95_ms', 'read_p99_ms', 'read_max_ms',
        'created_at', 'started_at', 'finished_at'];
    source jsonb;
    run json;
    created_at timestamptz;
    existing bigint;
    new_id bigint;
    part record;
    names text[];
    rows json;
    declared text;
    columns text;
    source_exprs text;
    checks text;
    wrong text;
    unknown text[];
    notes text[] := '{}';
    seen text[] := '{}';
    place text;
    state text; message text; detail text; hint text;
BEGIN
    IF json_typeof(document) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'it is not a JSON object';
    END IF;
    IF document ->> 'format' IS DISTINCT FROM 'pg_selfbench run' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"format" is not "pg_selfbench run"';
    ELSIF json_typeof(document -> 'format_version') IS DISTINCT FROM 'number' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"format_version" is not a number';
    ELSIF (document ->> 'format_version')::numeric <> known_version THEN
        RAISE feature_not_supported USING
            MESSAGE = format('format version %s is not supported', left(document ->> 'format_version', 20)),
            DETAIL = format('This version of pg_selfbench reads version %s.', known_version),
            HINT = 'Update the extension on this server.';
    END IF;
    run := document -> 'run';
    IF json_typeof(document -> 'source') IS DISTINCT FROM 'object' OR json_typeof(run) IS DISTINCT FROM 'object'
       OR json_typeof(document -> 'tables') IS DISTINCT FROM 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"source", "run" or "tables" is not an object';
    END IF;

    place := '"source"';
    SELECT jsonb_strip_nulls(to_jsonb(s)) INTO source FROM json_to_record(document -> 'source') AS s (
        system_identifier text, cluster_name text, server_version text, database text, owner text, run_id bigint, label text);
    IF NOT source ?& '{system_identifier,database,run_id}' THEN
        RAISE invalid_parameter_value USING MESSAGE = '"system_identifier", "database" or "run_id" is missing';
    ELSIF octet_length(source::text) > 10000 THEN
        RAISE invalid_parameter_value USING MESSAGE = 'it is longer than 10000 bytes';
    END IF;
    place := '"run"';
    IF run ->> 'state' IN ('starting', 'running') THEN
        RAISE invalid_parameter_value USING MESSAGE = 'it has not ended';
    ELSIF run ->> 'state' = 'finished' AND run ->> 'started_at' IS NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = '"started_at" is missing';
    END IF;
    created_at := run ->> 'created_at';

    SELECT r.run_id INTO existing FROM bench.runs r
     WHERE r.owner = owner AND r.created_at = created_at AND r.imported_from -> 'run_id' = source -> 'run_id'
       AND r.imported_from -> 'system_identifier' = source -> 'system_identifier'
       AND r.imported_from -> 'database' = source -> 'database';
    IF FOUND THEN
        RAISE NOTICE 'run % has already been imported as run %', source ->> 'run_id', existing
            USING HINT = format('To import it again, delete it first: SELECT bench.delete_runs(ARRAY[%s]).', existing);
        RETURN existing;
    END IF;

    new_id := nextval('bench.run_id_seq');
    names := ARRAY(SELECT k FROM json_object_keys(document -> 'tables') k);
    -- One table after the other is taken out of the document, which may be large.
    FOR part IN
        SELECT 'runs' AS name, 'bench.runs'::regclass::oid AS relation, 0 AS level
        UNION ALL
        SELECT name, t.relation, t.level
          FROM unnest(names) name LEFT JOIN bench_internal.tables_of_runs() t USING (name)
         ORDER BY level NULLS LAST, name
    LOOP
        place := format('table "%s"', left(part.name, 63));
        IF part.relation IS NULL THEN
            notes := notes || format('not imported: %s', place);
            CONTINUE;
        ELSIF part.name = ANY (seen) THEN
            RAISE invalid_parameter_value USING MESSAGE = 'it occurs twice';
        END IF;
        rows := CASE WHEN part.level = 0 THEN json_build_array(run) ELSE document #> ARRAY['tables', part.name] END;
        IF json_typeof(rows) <> 'array' THEN
            RAISE invalid_parameter_value USING MESSAGE = 'it is not an array';
        END IF;
        seen := seen || part.name;
        SELECT string_agg(format('%I %s', c.name, c.type), ', '),
               string_agg(format('%I', c.name), ', '),
               string_agg(CASE WHEN c.default_value IS NULL THEN format('n.%I', c.name)
                               ELSE format('coalesce(n.%I, %s)', c.name, c.default_value) END, ', ')
          INTO declared, columns, source_exprs
          FROM bench_internal.columns_of_runs(part.relation) c
         WHERE NOT c.is_generated AND NOT (part.level = 0 AND c.name = 'label');
        IF part.level = 0 THEN
            EXECUTE format('INSERT INTO bench.runs (run_id, owner, label, imported_at, imported_from, %s)
                            SELECT $2, $3, $4, now(), $5, %s FROM json_array_elements($1) r, json_to_record(r) n (%s)',
                           columns, source_exprs, declared)
              USING rows, new_id, owner, label, source;
        ELSE
            EXECUTE format('INSERT INTO bench.%I (run_id, %s) SELECT $2, %s FROM json_array_elements($1) r, json_to_record(r) n (%s)',
                           part.name, columns, source_exprs, declared)
              USING rows, new_id;
        END IF;

        -- What a run stores is finite and not negative, except for query identifiers. Reports divide and
        -- square figures.
        SELECT string_agg(CASE WHEN c.type = 'double precision'
                               THEN format('WHEN %1$I IN (''NaN'', ''Infinity'', ''-Infinity'') THEN %2$L WHEN %1$I < 0 THEN %3$L'
                                           ' WHEN %1$I <> 0 AND %1$I NOT BETWEEN 1e-30 AND 1e30 THEN %4$L',
                                           c.name, c.name || ' is not finite', c.name || ' is negative', c.name || ' is out of range')
                               WHEN c.type = 'timestamp with time zone'
                               THEN format('WHEN NOT isfinite(%I) THEN %L', c.name, c.name || ' is not finite')
                               ELSE format('WHEN %1$I < 0 THEN %2$L WHEN %1$I > %3$s THEN %4$L', c.name, c.name || ' is negative',
                                           CASE c.name WHEN 'transactions_per_client' THEN 9223372036854775807 ELSE max_number END,
                                           c.name || ' is out of range') END, ' ')
          INTO checks
          FROM bench_internal.columns_of_runs(part.relation) c
         WHERE c.type IN ('double precision', 'timestamp with time zone', 'smallint', 'integer', 'bigint')
           AND c.name NOT LIKE '%query\_id';
        SELECT concat_ws(' ', checks,
                         string_agg(format('WHEN %I > %I THEN %L', low.name, high.name,
                                           CASE low.type WHEN 'double precision' THEN format('%s is above %s', low.name, high.name)
                                                         ELSE format('%s is before %s', high.name, low.name) END), ' '))
          INTO checks
          FROM bench_internal.columns_of_runs(part.relation) low, bench_internal.columns_of_runs(part.relation) high
         WHERE low.type = high.type
           AND array_position(ascending, low.name::text) < array_position(ascending, high.name::text)
           -- The same figure.
           AND split_part(low.name, '_', 1) IN (split_part(high.name, '_', 1), 'created', 'started');
        IF checks <> '' THEN
            EXECUTE format('SELECT w FROM (SELECT CASE %s END FROM bench.%I WHERE run_id = $1) t (w)
                             WHERE w IS NOT NULL LIMIT 1', checks, part.name) INTO wrong USING new_id;
            IF wrong IS NOT NULL THEN
                RAISE invalid_parameter_value USING MESSAGE = wrong;
            END IF;
        END IF;
        -- Reports add up counts, and merge histograms.
        SELECT string_agg(format('WHEN sum(%s) > %s THEN %L',
                                 CASE c.type WHEN 'bytea' THEN format('bench.histogram_count(%I)', c.name) ELSE quote_ident(c.name) END,
                                 CASE c.type WHEN 'bytea' THEN max_number ELSE 9223372036854775807 END,
                                 'the sum of ' || c.name || ' is out of range'), ' ')
          INTO checks
          FROM bench_internal.columns_of_runs(part.relation) c
         WHERE c.type IN ('bytea', 'bigint') AND c.name NOT LIKE '%query\_id' AND c.name <> 'transaction_no';
        IF checks <> '' THEN
            EXECUTE format('SELECT CASE %s END FROM bench.%I WHERE run_id = $1', checks, part.name) INTO wrong USING new_id;
            IF wrong IS NOT NULL THEN
                RAISE invalid_parameter_value USING MESSAGE = wrong;
            END IF;
        END IF;

        unknown := ARRAY(
            SELECT DISTINCT k FROM json_array_elements(rows) r, json_object_keys(r) k
             WHERE k <> ALL (ARRAY(SELECT c.name::text FROM bench_internal.columns_of_runs(part.relation) c)
                             || bench_internal.local_columns()::text[])
             LIMIT max_notes);
        notes := notes || ARRAY(SELECT format('not imported: column "%s" of %s', left(k, 63), place) FROM unnest(unknown) k ORDER BY k);
    END LOOP;

    IF notes <> '{}' THEN
        notes := notes[:max_notes];
        UPDATE bench.runs r SET notes = r.notes || notes WHERE r.run_id = new_id;
        RAISE NOTICE 'parts of the document are not known to this version of pg_selfbench'
            USING DETAIL = array_to_string(notes, E'\n');
    END IF;
    RETURN new_id;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    detail := concat_ws(' ', 'This is in ' || place || '.', nullif(detail, ''));
    IF detail = '' THEN
        detail := 'A document is a JSON object with "format", "format_version", "source", "run" and "tables".';
    END IF;
    RAISE EXCEPTION USING ERRCODE = state, MESSAGE = format('cannot import the document: %s', message), DETAIL = detail,
        HINT = coalesce(nullif(hint, ''), 'Use documents of bench.export_run as they are.');
END
$$;
