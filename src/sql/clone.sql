/* Copies of the tables that a captured workload uses, for runs that write. Everything is done with the rights
   of the caller. */

CREATE FUNCTION bench_internal.set_clone_schema(workload text, schema text) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'set_clone_schema_wrapper';

/* Executes a query in a security-restricted operation, and returns the first value of its row: functions that it calls cannot
   become another role, such as that of a session which has become the current one by SET ROLE. */
CREATE FUNCTION bench_internal.execute_restricted(query text) RETURNS text
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'execute_restricted_wrapper';

/* Relations that a captured workload uses, and other tables; partitions, and what views read. The OID is null if there is none. */
CREATE FUNCTION bench_internal.used_relations(workload text, tables oid[]) RETURNS TABLE (name text, oid oid)
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    WITH RECURSIVE used (name, oid) AS (
        SELECT t.name, to_regclass(t.name)::oid
          FROM (SELECT format('%I.%I', c.table_schema, c.table_name) AS name FROM bench.captured_tables c
                 WHERE c.owner = quote_ident(current_user)::regrole AND c.workload = $1) t
        UNION
        SELECT t::regclass::text, c.oid FROM unnest($2) t LEFT JOIN pg_class c ON c.oid = t
        UNION
        SELECT n.oid::regclass::text, n.oid
          FROM used u JOIN pg_class c ON c.oid = u.oid,
               LATERAL (SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = c.oid AND c.relkind = 'p' AND NOT i.inhdetachpending
                        UNION ALL
                        SELECT d.refobjid FROM pg_rewrite w
                          JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
                         WHERE w.ev_class = c.oid AND c.relkind = 'v' AND d.refclassid = 'pg_class'::regclass
                           AND d.refobjid >= 16384) n (oid))
    SELECT u.name, u.oid FROM used u
$$;

/* Locks relations and their schemas with ACCESS SHARE. Fails if the current role may not read a table or a sequence of these; views
   that it may not read are left out. LOCK TABLE would take names, which can have become those of others when the lock is there. */
CREATE FUNCTION bench_internal.lock_relations(relations oid[]) RETURNS void
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'lock_relations_wrapper';

/* Executes statements in one snapshot, which is taken at the call; the number of rows of each, and its time. Fails if one uses
   another relation than these. */
CREATE FUNCTION bench_internal.execute_in_one_snapshot(statements text[], relations oid[]) RETURNS TABLE (rows bigint, seconds float8)
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'execute_in_one_snapshot_wrapper';

/* The current role and superusers. */
CREATE FUNCTION bench_internal.trusted_roles() RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$ SELECT w.oid FROM pg_roles w WHERE w.rolsuper OR w.rolname = current_user $$;

/* Roles that are not trusted and own a schema or, if "granted", may create objects in it; 0 is every role. */
CREATE FUNCTION bench_internal.foreign_creators(schema oid, granted boolean) RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT r.oid
      FROM pg_namespace n JOIN pg_database b ON b.datname = current_database(),
           LATERAL (SELECT n.nspowner
                    UNION
                    SELECT e.grantee FROM aclexplode(n.nspacl) e WHERE granted AND e.privilege_type = 'CREATE') g (grantee),
           LATERAL (SELECT CASE g.grantee WHEN 'pg_database_owner'::regrole THEN b.datdba ELSE g.grantee END) r (oid)
     WHERE n.oid = $1 AND r.oid NOT IN (SELECT bench_internal.trusted_roles())
$$;

/* Fails if roles that are not trusted own a schema with copies or something in it, or may create objects there. */
CREATE FUNCTION bench_internal.refuse_foreign_schema(schema oid) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    trusted CONSTANT oid[] := ARRAY(SELECT bench_internal.trusted_roles());
    name CONSTANT text := (SELECT n.nspname FROM pg_namespace n WHERE n.oid = $1);
    found record;
BEGIN
    IF EXISTS (SELECT FROM bench_internal.foreign_creators($1, true)) THEN
        RAISE 'other roles may create objects in schema "%"', name
            USING ERRCODE = 'insufficient_privilege', DETAIL = 'Runs on the copies would use them with your rights.',
            HINT = 'Copy the tables into a new schema.';
    END IF;
    SELECT pg_describe_object(o.class, o.oid, 0) AS object INTO found
      FROM (SELECT 'pg_class'::regclass, c.oid, c.relowner FROM pg_class c WHERE c.relnamespace = $1
            UNION ALL
            SELECT 'pg_proc'::regclass, p.oid, p.proowner FROM pg_proc p WHERE p.pronamespace = $1
            UNION ALL
            SELECT 'pg_operator'::regclass, o.oid, o.oprowner FROM pg_operator o WHERE o.oprnamespace = $1
            UNION ALL
            SELECT 'pg_type'::regclass, t.oid, t.typowner FROM pg_type t WHERE t.typnamespace = $1) o (class, oid, owner)
     WHERE o.owner <> ALL (trusted) ORDER BY 1 LIMIT 1;
    IF found.object IS NOT NULL THEN
        RAISE 'must be owner of %', found.object
            USING ERRCODE = 'insufficient_privilege', DETAIL = 'Runs on the copies would use it with your rights.',
            HINT = 'Copy the tables into a new schema.';
    END IF;
END
$$;

/* Fails if relations, or something that they use, directly or through something else, belong to roles that are not trusted.
   Who owns a function, a type or a schema decides what is called in its name: copies do that with the caller's rights. */
CREATE FUNCTION bench_internal.refuse_foreign_objects(relations oid[], sequences oid[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    trusted CONSTANT oid[] := ARRAY(SELECT bench_internal.trusted_roles());
    found record;
BEGIN
    WITH RECURSIVE used (class, object, is_named) AS (
        SELECT 'pg_class'::regclass::oid, r, true FROM unnest(relations || sequences) r
        UNION
        SELECT n.class, n.object, n.is_named AND u.is_named
          FROM used u, LATERAL (
               SELECT d.refclassid, d.refobjid, true FROM pg_depend d
                WHERE d.classid = u.class AND d.objid = u.object AND d.deptype <> 'e' AND (u.is_named OR d.refclassid <> 'pg_namespace'::regclass)
               UNION ALL
               -- What belongs to it.
               SELECT d.classid, d.objid, true FROM pg_depend d
                WHERE d.refclassid = u.class AND d.refobjid = u.object AND u.class <> 'pg_namespace'::regclass
                  AND d.deptype IN ('a', 'i')
                  AND CASE d.classid
                      WHEN 'pg_class'::regclass THEN (SELECT c.relkind IN ('i', 'I', 'c') FROM pg_class c WHERE c.oid = d.objid)
                      WHEN 'pg_constraint'::regclass THEN (SELECT n.contype NOT IN ('f', 't') FROM pg_constraint n WHERE n.oid = d.objid)
                      WHEN 'pg_rewrite'::regclass THEN (SELECT c.relkind = 'v' FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class WHERE w.oid = d.objid)
                      ELSE d.classid IN ('pg_attrdef'::regclass, 'pg_statistic_ext'::regclass, 'pg_amop'::regclass, 'pg_amproc'::regclass) END
               UNION ALL
               -- The server uses the rest without a dependency and without a name: types of columns and of other types,
               SELECT 'pg_type'::regclass, a.atttypid, false FROM pg_attribute a
                WHERE u.class = 'pg_class'::regclass AND a.attrelid = u.object AND a.attnum > 0 AND NOT a.attisdropped
               UNION ALL
               SELECT u.class, e.oid, false FROM pg_type t, LATERAL (
                      SELECT t.typbasetype UNION ALL SELECT t.typelem
                      UNION ALL
                      SELECT r.rngsubtype FROM pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)) e (oid)
                WHERE u.class = 'pg_type'::regclass AND t.oid = u.object AND e.oid <> 0
               UNION ALL
               -- casts, except those to types of others, who can make them,
               SELECT CASE k.castfunc WHEN 0 THEN u.class ELSE 'pg_proc'::regclass END, CASE k.castfunc WHEN 0 THEN k.casttarget ELSE k.castfunc END, false
                 FROM pg_cast k JOIN pg_type t ON t.oid = k.casttarget
                WHERE u.class = 'pg_type'::regclass AND k.castsource = u.object AND k.oid >= 16384
                  AND (k.castmethod = 'b' OR t.typowner = ANY (trusted))
               UNION ALL
               -- operator classes of types, indexes and partition keys with all of their family, operators of foreign keys, and
               -- operators that stand for another one.
               SELECT 'pg_opclass'::regclass, o.oid, false FROM pg_opclass o
                WHERE u.class = 'pg_type'::regclass AND o.opcintype = u.object AND o.opcdefault
               UNION ALL
               SELECT 'pg_opclass'::regclass, unnest(x.indclass), false FROM pg_index x WHERE u.class = 'pg_class'::regclass AND x.indexrelid = u.object
               UNION ALL
               SELECT 'pg_opclass'::regclass, unnest(t.partclass), false FROM pg_partitioned_table t
                WHERE u.class = 'pg_class'::regclass AND t.partrelid = u.object
               UNION ALL
               SELECT 'pg_opfamily'::regclass, o.opcfamily, false FROM pg_opclass o WHERE u.class = 'pg_opclass'::regclass AND o.oid = u.object
               UNION ALL
               SELECT 'pg_opfamily'::regclass, o.amopfamily, false FROM pg_amop o WHERE u.class = 'pg_operator'::regclass AND o.amopopr = u.object
               UNION ALL
               SELECT 'pg_operator'::regclass, o.amopopr, false FROM pg_amop o
                WHERE u.class = 'pg_opfamily'::regclass AND o.amopfamily = u.object AND o.oid >= 16384
               UNION ALL
               SELECT 'pg_proc'::regclass, o.amproc, false FROM pg_amproc o
                WHERE u.class = 'pg_opfamily'::regclass AND o.amprocfamily = u.object AND o.oid >= 16384
               UNION ALL
               SELECT 'pg_operator'::regclass, unnest(n.conpfeqop || n.conppeqop || n.conffeqop), false FROM pg_constraint n
                WHERE u.class = 'pg_class'::regclass AND n.conrelid = u.object AND n.contype = 'f' AND n.confrelid = ANY (relations)
               UNION ALL
               SELECT u.class, o.oid, false FROM pg_operator p JOIN pg_operator o ON o.oid IN (p.oprcom, p.oprnegate)
                WHERE u.class = 'pg_operator'::regclass AND p.oid = u.object) n (class, object, is_named)),
    owned (class, object, owner) AS (
        SELECT u.class, u.object, o.relowner FROM used u JOIN pg_class o ON u.class = 'pg_class'::regclass AND o.oid = u.object
         WHERE o.relkind NOT IN ('i', 'I')
        UNION ALL
        SELECT u.class, u.object, f FROM used u, bench_internal.foreign_creators(u.object, false) f WHERE u.class = 'pg_namespace'::regclass
        UNION ALL
        SELECT u.class, u.object, o.typowner FROM used u JOIN pg_type o ON u.class = 'pg_type'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.proowner FROM used u JOIN pg_proc o ON u.class = 'pg_proc'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.oprowner FROM used u JOIN pg_operator o ON u.class = 'pg_operator'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.opcowner FROM used u JOIN pg_opclass o ON u.class = 'pg_opclass'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.opfowner FROM used u JOIN pg_opfamily o ON u.class = 'pg_opfamily'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.collowner FROM used u JOIN pg_collation o ON u.class = 'pg_collation'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.lanowner FROM used u JOIN pg_language o ON u.class = 'pg_language'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.stxowner FROM used u JOIN pg_statistic_ext o ON u.class = 'pg_statistic_ext'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.cfgowner FROM used u JOIN pg_ts_config o ON u.class = 'pg_ts_config'::regclass AND o.oid = u.object
        UNION ALL
        SELECT u.class, u.object, o.dictowner FROM used u JOIN pg_ts_dict o ON u.class = 'pg_ts_dict'::regclass AND o.oid = u.object)
    SELECT pg_describe_object(o.class, o.object, 0) AS object, o.class = 'pg_class'::regclass AS is_relation, o.owner::regrole AS role INTO found
      FROM owned o WHERE o.owner <> ALL (trusted)
     ORDER BY 2 DESC, 1 LIMIT 1;
    IF found.role IS NOT NULL THEN
        RAISE 'must be owner of %', found.object USING ERRCODE = 'insufficient_privilege',
            DETAIL = format('Copying may call functions of role %s with your rights.', found.role),
            HINT = CASE WHEN found.is_relation THEN format('Capture and copy the tables as role %s, or change the owner.', found.role)
                        ELSE 'Change the owner to the role that copies the tables, or to a superuser.' END;
    END IF;
END
$$;

/* Fails if copies would use something by a name to which roles that are not trusted could give another meaning: by a function
   or an operator for the same arguments. Expressions of indexes and keys, defaults with sequences, and views are copied as text. */
CREATE FUNCTION bench_internal.refuse_foreign_names(relations oid[], sequences oid[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $$
DECLARE
    found record;
BEGIN
    WITH written (relation, class, object) AS (
        SELECT x.indrelid, 'pg_class'::regclass::oid, x.indexrelid FROM pg_index x
         WHERE x.indrelid = ANY (relations) AND (x.indexprs IS NOT NULL OR x.indpred IS NOT NULL)
        UNION ALL
        SELECT n.conrelid, 'pg_constraint'::regclass, n.oid FROM pg_constraint n WHERE n.conrelid = ANY (relations) AND n.contype = 'x'
        UNION ALL
        SELECT t.partrelid, 'pg_class'::regclass, t.partrelid FROM pg_partitioned_table t
         WHERE t.partrelid = ANY (relations) AND t.partexprs IS NOT NULL
        UNION ALL
        SELECT a.adrelid, 'pg_attrdef'::regclass, a.oid FROM pg_attrdef a
         WHERE a.adrelid = ANY (relations)
           AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid
                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (sequences))
        UNION ALL
        SELECT w.ev_class, 'pg_rewrite'::regclass, w.oid FROM pg_rewrite w JOIN pg_class c ON c.oid = w.ev_class
         WHERE c.oid = ANY (relations) AND c.relkind = 'v'),
    used (relation, class, object) AS (
        SELECT w.relation, d.refclassid, d.refobjid FROM written w JOIN pg_depend d ON d.classid = w.class AND d.objid = w.object
         WHERE d.refobjid >= 16384),
    objects (relation, class, object, schema) AS (
        -- Those of search_path, while the view is made.
        SELECT DISTINCT u.relation, 'pg_namespace'::regclass::oid, c.relnamespace, c.relnamespace
          FROM used u JOIN pg_class c ON u.class = 'pg_class'::regclass AND c.oid = u.object
         WHERE c.oid = ANY (relations) AND c.oid <> u.relation
        UNION ALL
        SELECT u.relation, u.class, p.oid, p.pronamespace
          FROM used u JOIN pg_proc p ON u.class = 'pg_proc'::regclass AND p.oid = u.object
        UNION ALL
        SELECT u.relation, u.class, o.oid, o.oprnamespace
          FROM used u JOIN pg_operator o ON u.class = 'pg_operator'::regclass AND o.oid = u.object)
    SELECT c.oid::regclass AS name, pg_describe_object(o.class, o.object, 0) AS object, w.rolname AS role
      INTO found
      FROM objects o JOIN pg_class c ON c.oid = o.relation,
           LATERAL (SELECT f FROM bench_internal.foreign_creators(o.schema, true) f
                    UNION
                    -- What there is already of others with the same name.
                    SELECT p.proowner FROM pg_proc u JOIN pg_proc p ON p.pronamespace = u.pronamespace AND p.proname = u.proname
                     WHERE o.class = 'pg_proc'::regclass AND u.oid = o.object
                    UNION
                    SELECT p.oprowner FROM pg_operator u JOIN pg_operator p ON p.oprnamespace = u.oprnamespace AND p.oprname = u.oprname
                     WHERE o.class = 'pg_operator'::regclass AND u.oid = o.object
                    UNION
                    -- A call with one argument can be a cast to a type. Domains and the like can be renamed without the privilege
                    -- CREATE, and composite types, the names of whose arrays follow. Those of tables keep their names, but one of a
                    -- function can be found before it, in another schema of search_path, too.
                    SELECT t.typowner
                      FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
                      LEFT JOIN pg_proc p ON o.class = 'pg_proc'::regclass AND p.oid = o.object
                     WHERE t.typnamespace = o.schema
                       AND (o.class = 'pg_namespace'::regclass OR 1 BETWEEN p.pronargs - p.pronargdefaults AND p.pronargs)
                       AND (c.relkind = 'c' OR t.typrelid = 0 AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)
                            OR t.typname IN (SELECT f.proname FROM used k JOIN pg_proc f ON k.class = 'pg_proc'::regclass AND f.oid = k.object
                                              WHERE k.relation = o.relation))) r (oid)
      LEFT JOIN pg_roles w ON w.oid = r.oid
     WHERE r.oid NOT IN (SELECT bench_internal.trusted_roles())
     ORDER BY c.oid::regclass::text, 2, w.rolname LIMIT 1;
    IF found.name IS NOT NULL THEN
        RAISE 'copying "%" would use % by its name', found.name, found.object USING ERRCODE = 'insufficient_privilege',
            DETAIL = format('%s could give this name another meaning, which would have your rights.',
                            coalesce('Role ' || quote_ident(found.role), 'Every role')),
            HINT = 'Revoke the privilege CREATE on the schema, change the owners of what is in it, and wait for the end of transactions in progress.';
    END IF;
END
$$;

/* Fails if one of the relations, sequences included, cannot be copied. */
CREATE FUNCTION bench_internal.refuse_unsupported(relations oid[]) RETURNS void
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS name, c.relrowsecurity AS has_policies, c.relpersistence = 't' AS is_temporary,
               CASE WHEN c.relkind = 'S' THEN 'sequence' WHEN c.relkind = 'v' THEN 'view' WHEN c.relkind IN ('i', 'I') THEN 'index'
                    ELSE 'table' END AS kind,
               c.relnamespace = 'pg_catalog'::regnamespace AS is_catalog, i.of_column
          FROM pg_class c,
               -- Copies of partitions have no identity columns.
               LATERAL (SELECT c.relkind = 'S' AND EXISTS (
                        SELECT FROM pg_depend d JOIN pg_class t ON t.oid = d.refobjid AND NOT t.relispartition
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                           AND d.refobjid = ANY (relations) AND d.deptype = 'i')) i (of_column)
         WHERE c.oid = ANY (relations)
           AND (c.relrowsecurity OR c.relpersistence = 't' OR c.relnamespace = 'pg_catalog'::regnamespace OR c.relkind IN ('i', 'I') OR i.of_column
                OR c.relkind = 'r' AND EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = c.oid))
    LOOP
        RAISE 'cannot copy % "%" %', found.kind, found.name,
              CASE WHEN found.is_catalog THEN 'because it is a system catalog'
                   WHEN found.is_temporary THEN 'because it is temporary'
                   WHEN found.has_policies THEN 'with row-level security'
                   WHEN found.kind = 'index' THEN 'without its table'
                   WHEN found.of_column THEN 'because an identity column owns it'
                   ELSE 'with tables that inherit from it' END
            USING ERRCODE = 'feature_not_supported',
            HINT = CASE WHEN found.is_catalog THEN 'Statements read it where it is.'
                        WHEN found.is_temporary THEN 'Sessions of runs cannot use it either.'
                        WHEN found.kind = 'index' THEN 'Indexes are copied with their tables.'
                        WHEN found.of_column THEN 'The copy of the column gets a sequence of its own, which nothing else can use.'
                        ELSE 'With allow_writes => true, runs change the tables themselves.' END;
    END LOOP;
END
$$;

/* OIDs of the relations that a view reads, except those of the server. */
CREATE FUNCTION bench_internal.view_relations(view oid) RETURNS SETOF oid
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT d.refobjid FROM pg_rewrite w JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
     WHERE w.ev_class = $1 AND w.rulename = '_RETURN' AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> $1 AND d.refobjid >= 16384
$$;

/* OIDs of the functions and operators of a view, in the order of its tree. Of those of pg_catalog, there are no dependencies. */
CREATE FUNCTION bench_internal.view_routines(view oid) RETURNS text[]
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT coalesce(array_agg(m.parts[1] ORDER BY m.place), '{}')
      FROM pg_rewrite w, regexp_matches(w.ev_action::text, ':(?:funcid|aggfnoid|winfnoid|opno|opnos|eqop|sortop) ([0-9]+|\(o [0-9 ]+\))', 'g')
                             WITH ORDINALITY m (parts, place)
     WHERE w.ev_class = $1 AND w.rulename = '_RETURN'
$$;

/* What the guard of a run puts around a sequence that it does not know beforehand. */
CREATE FUNCTION bench_internal.require_copy(sequence regclass) RETURNS regclass
LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'require_copy_wrapper';

/* The options of a table or view, of its TOAST table, or of a column, for a WITH clause. */
CREATE FUNCTION bench_internal.options_clause(options text[], prefix text DEFAULT '') RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT string_agg(prefix || quote_ident(split_part(o, '=', 1)) || ' = '
                      || quote_literal(substr(o, strpos(o, '=') + 1)), ', ')
      FROM unnest(options) o
$$;

/* The statements that make the keys and indexes of a table for its copy in a schema, whose name is quoted; null for one that is being
   renamed. */
CREATE FUNCTION bench_internal.index_statements(relation oid, schema text) RETURNS SETOF text
LANGUAGE plpgsql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    RETURN QUERY
    SELECT CASE WHEN n.oid IS NOT NULL
                THEN format('ALTER TABLE %s.%I ADD CONSTRAINT %I %s', $2, c.relname, n.conname,
                            CASE n.contype WHEN 'x' THEN pg_get_constraintdef(n.oid)
                                           -- The server leaves storage parameters out.
                                           ELSE concat(regexp_replace(pg_get_constraintdef(n.oid), ' DEFERRABLE( INITIALLY DEFERRED)?$', ''),
                                                       ' WITH (' || bench_internal.options_clause(i.reloptions) || ')',
                                                       substring(pg_get_constraintdef(n.oid)
                                                                 FROM '( DEFERRABLE( INITIALLY DEFERRED)?)$')) END)
                -- The server writes the names of the index and of its table in front.
                ELSE format('CREATE %sINDEX %I ON %s.%I', is_unique, i.relname, $2, c.relname)
                     || CASE WHEN starts_with(definition, prefix || ' USING ')
                             THEN substr(definition, 1 + length(prefix)) END END
      FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class c ON c.oid = x.indrelid
      LEFT JOIN pg_constraint n ON n.conindid = i.oid AND n.conrelid = c.oid AND n.contype IN ('p', 'u', 'x'),
           LATERAL (SELECT CASE WHEN x.indisunique THEN 'UNIQUE ' END) u (is_unique),
           LATERAL (SELECT pg_get_indexdef(i.oid),
                           format('CREATE %sINDEX %I ON %s%s', is_unique, i.relname,
                                  CASE i.relkind WHEN 'I' THEN 'ONLY ' END, x.indrelid::regclass) OFFSET 0) d (definition, prefix)
     WHERE c.oid = $1 AND x.indisvalid ORDER BY i.relname;
END
$$;

/* bench.clone_tables, which executes it in a security-restricted operation; its rows as a JSON array. */
CREATE FUNCTION bench_internal.copy_tables(workload text, schema text, tables oid[]) RETURNS text
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
SET synchronize_seqscans = off
SET standard_conforming_strings = on
SET datestyle = 'ISO, YMD'
SET intervalstyle = postgres
SET extra_float_digits = 1
SET array_nulls = on
SET quote_all_identifiers = off
AS $$
#variable_conflict use_column
DECLARE
    new_schema text := quote_ident(copy_tables.schema);
    into_schema oid;
    relations oid[];
    locked oid[] := '{}';
    sequences oid[];
    indexes jsonb;
    partitions text[];
    foreign_keys text[];
    filled oid[];
    copies oid[];
    statements text[];
    rows bigint[];
    seconds float8[];
    found record;
    part record;
    begun timestamptz;
    definition text;
    kept text[];
    -- As the server writes it, which never doubles backslashes.
    literal CONSTANT text := $l$'%s'::regclass$l$;
    changed CONSTANT text := 'definitions have changed while tables were copied';
    copied json[] := '{}';
    -- Whether copies of a workload of the caller's are in the schema.
    has_copies boolean := EXISTS (SELECT FROM bench.workload_definitions w
                                   WHERE w.owner = quote_ident(current_user)::regrole
                                     AND w.manifest #>> '{captured,clone_schema}' = copy_tables.schema);
BEGIN
    PERFORM bench_internal.set_clone_schema(copy_tables.workload, copy_tables.schema);
    -- In the others, queries would find the definitions of the transaction's snapshot, and commands those of this moment.
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE 'tables cannot be copied with isolation level %', upper(current_setting('transaction_isolation'))
            USING ERRCODE = 'invalid_transaction_state', DETAIL = 'Their definitions may have changed since the snapshot of the transaction.',
            HINT = 'Call it after BEGIN ISOLATION LEVEL READ COMMITTED: the rows of all tables are of one moment.';
    ELSIF EXISTS (SELECT FROM unnest(copy_tables.tables) t WHERE t IS NULL) THEN
        RAISE 'tables must not be null' USING ERRCODE = 'null_value_not_allowed';
    ELSIF copy_tables.schema = '' THEN
        RAISE 'schema must not be empty' USING ERRCODE = 'invalid_parameter_value';
    ELSIF copy_tables.schema = '$user' THEN
        RAISE 'unacceptable schema name "%"', copy_tables.schema USING ERRCODE = 'reserved_name',
            DETAIL = 'In search_path, it stands for the schema that has the name of the role.';
    ELSIF octet_length(copy_tables.schema) > current_setting('max_identifier_length')::int THEN
        RAISE 'name of schema "%" is too long', copy_tables.schema USING ERRCODE = 'name_too_long',
            DETAIL = format('It has %s bytes, and may have %s.', octet_length(copy_tables.schema), current_setting('max_identifier_length'));
    END IF;

    -- All of it can be changed, renamed and dropped until it is locked, so it is looked for again.
    LOOP
        SELECT array_agg(DISTINCT u.oid), array_agg(u.name) FILTER (WHERE u.oid IS NULL) INTO relations, kept
          FROM bench_internal.used_relations(copy_tables.workload, copy_tables.tables) u;
        IF kept <> '{}' THEN
            RAISE 'table % of workload "%" does not exist', kept[1], copy_tables.workload USING ERRCODE = 'undefined_table';
        ELSIF relations IS NULL THEN
            RAISE 'workload "%" uses no tables', copy_tables.workload USING ERRCODE = 'undefined_table',
                HINT = 'Give them as tables => ''{public.orders}''.';
        END IF;
        -- Sequences that columns own or whose defaults use them; those of identity columns come with these.
        sequences := ARRAY(
            SELECT c.oid FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind = 'S'
            UNION
            SELECT d.refobjid FROM pg_attrdef a
              JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = a.oid AND d.refclassid = 'pg_class'::regclass
              JOIN pg_class c ON c.oid = d.refobjid AND c.relkind = 'S'
              JOIN pg_class t ON t.oid = a.adrelid AND t.relkind <> 'v'
             WHERE t.oid = ANY (relations)
            UNION
            SELECT d.objid FROM pg_depend d JOIN pg_class c ON c.oid = d.objid AND c.relkind = 'S'
             WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'a'
               AND d.refobjid = ANY (relations));
        EXIT WHEN relations || sequences <@ locked;
        locked := relations || sequences;
        PERFORM bench_internal.lock_relations(locked);
    END LOOP;
    PERFORM bench_internal.refuse_foreign_objects(relations, sequences);
    PERFORM bench_internal.refuse_foreign_names(relations, sequences);
    PERFORM bench_internal.refuse_unsupported(relations || sequences);
    SELECT string_agg(c.oid::regclass::text, ' and ') AS names INTO found FROM pg_class c
     WHERE c.oid = ANY (relations) GROUP BY c.relname HAVING count(*) > 1 LIMIT 1;
    IF found.names IS NOT NULL THEN
        RAISE 'cannot copy % into one schema', found.names USING ERRCODE = 'duplicate_table';
    END IF;

    SELECT n.oid INTO into_schema FROM pg_namespace n WHERE n.nspname = copy_tables.schema;
    IF into_schema IS NULL THEN
        IF NOT has_database_privilege(current_database(), 'CREATE') THEN
            RAISE 'permission denied for database %', current_database() USING ERRCODE = 'insufficient_privilege',
                HINT = format('Have a role that may create schemas execute CREATE SCHEMA %s AUTHORIZATION %I.', new_schema, current_user);
        END IF;
        EXECUTE 'CREATE SCHEMA ' || new_schema;
        into_schema := new_schema::regnamespace;
    ELSIF EXISTS (SELECT FROM pg_depend d WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = into_schema
                     AND d.deptype = 'n') THEN
        RAISE 'schema "%" is not empty', copy_tables.schema USING ERRCODE = 'object_not_in_prerequisite_state',
            HINT = CASE WHEN has_copies
                             AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = ANY (relations) AND c.relnamespace = into_schema)
                             AND NOT EXISTS (SELECT FROM pg_extension e WHERE e.extnamespace = into_schema)
                        THEN format('Name a new schema, or drop this one, which has copies, with DROP SCHEMA %s CASCADE.', new_schema)
                        ELSE 'Name a new schema, or an empty one.' END;
    ELSIF NOT EXISTS (SELECT FROM pg_namespace n WHERE n.oid = into_schema AND pg_has_role(n.nspowner, 'USAGE')) THEN
        RAISE 'must be owner of schema "%"', copy_tables.schema USING ERRCODE = 'insufficient_privilege';
    END IF;
    -- Default privileges apply to a new one.
    PERFORM bench_internal.refuse_foreign_schema(into_schema);

    FOR found IN
        SELECT c.relname, s.* FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid WHERE c.oid = ANY (sequences)
    LOOP
        EXECUTE 'CREATE SEQUENCE ' || format('%s.%I AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s %s', new_schema, found.relname,
                       format_type(found.seqtypid, NULL), found.seqincrement, found.seqmin, found.seqmax, found.seqstart, found.seqcache,
                       CASE WHEN found.seqcycle THEN 'CYCLE' ELSE 'NO CYCLE' END);
    END LOOP;

    FOR found IN
        SELECT c.oid, c.relname, c.relispartition AS is_part,
               format('CREATE %s TABLE %s.%I (LIKE %s INCLUDING ALL EXCLUDING INDEXES EXCLUDING COMMENTS%s)%s%s%s',
                      CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED' END, new_schema, c.relname, c.oid::regclass,
                      CASE WHEN c.relispartition THEN ' EXCLUDING IDENTITY' END,
                      ' PARTITION BY ' || pg_get_partkeydef(c.oid),
                      CASE WHEN c.relkind = 'r' THEN ' USING ' || quote_ident(m.amname) END,
                      ' WITH (' || nullif(concat_ws(', ', bench_internal.options_clause(c.reloptions),
                                                    bench_internal.options_clause(t.reloptions, 'toast.')), '') || ')') AS sql
          FROM pg_class c LEFT JOIN pg_class t ON t.oid = c.reltoastrelid LEFT JOIN pg_am m ON m.oid = c.relam
         WHERE c.oid = ANY (relations) AND c.relkind IN ('r', 'p')
    LOOP
        EXECUTE found.sql;
        -- What LIKE leaves out of columns, and sequences.
        FOR part IN
            SELECT a.attname, a.attstattarget AS statistics,
                   bench_internal.options_clause(ARRAY(SELECT o FROM unnest(a.attoptions) o WHERE o ~ '^n_distinct')) AS options,
                   pg_get_expr(d.adbin, d.adrelid) AS expression,
                   ARRAY(SELECT s.refobjid FROM pg_depend s
                          WHERE s.classid = 'pg_attrdef'::regclass AND s.objid = d.oid AND s.refobjid = ANY (sequences)
                            AND s.refclassid = 'pg_class'::regclass) AS of_sequences
              FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
             WHERE a.attrelid = found.oid AND a.attnum > 0 AND NOT a.attisdropped
        LOOP
            definition := format('ALTER TABLE %s.%I ALTER %I ', new_schema, found.relname, part.attname);
            IF part.statistics >= 0 THEN
                EXECUTE definition || 'SET STATISTICS ' || part.statistics;
            END IF;
            IF part.options IS NOT NULL THEN
                EXECUTE definition || 'SET (' || part.options || ')';
            END IF;
            IF part.of_sequences <> '{}' THEN
                EXECUTE definition || 'SET DEFAULT ' || (
                    WITH RECURSIVE replaced (done, expression) AS (
                        SELECT 0, part.expression
                        UNION ALL
                        SELECT r.done + 1, replace(r.expression, format(literal, replace(c.oid::regclass::text, '''', '''''')),
                                                   format(literal, replace(format('%s.%I', new_schema, c.relname), '''', '''''')))
                          FROM replaced r JOIN pg_class c ON c.oid = part.of_sequences[r.done + 1])
                    SELECT r.expression FROM replaced r ORDER BY r.done DESC LIMIT 1);
            END IF;
        END LOOP;
    END LOOP;
    FOR found IN
        SELECT format('ALTER SEQUENCE %s.%I OWNED BY %s.%I.%I', new_schema, s.relname, new_schema, c.relname, a.attname) AS sql
          FROM pg_depend d JOIN pg_class s ON s.oid = d.objid JOIN pg_class c ON c.oid = d.refobjid
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
         WHERE d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'a'
           AND d.objid = ANY (sequences) AND d.refobjid = ANY (relations)
    LOOP
        EXECUTE found.sql;
    END LOOP;

    -- What is made after the rows, as it is now: what comes meanwhile, such as an index, may not hold for them.
    SELECT jsonb_object_agg(c.oid, to_jsonb(ARRAY(SELECT bench_internal.index_statements(c.oid, new_schema)))) INTO indexes
      FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind IN ('r', 'p');
    partitions := ARRAY(
        SELECT format('ALTER TABLE %s.%I ATTACH PARTITION %s.%I %s', new_schema, p.relname, new_schema, c.relname,
                      pg_get_expr(c.relpartbound, c.oid))
          FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid AND c.relispartition JOIN pg_class p ON p.oid = i.inhparent
         WHERE c.oid = ANY (relations) AND p.oid = ANY (relations) AND c.relkind <> 'f' AND NOT i.inhdetachpending);
    foreign_keys := ARRAY(
        SELECT format('ALTER TABLE %s.%I ADD CONSTRAINT %I %s', new_schema, c.relname, n.conname,
                      replace(pg_get_constraintdef(n.oid), ' REFERENCES ' || n.confrelid::regclass || '(',
                              format(' REFERENCES %s.%I(', new_schema, r.relname)))
          FROM pg_constraint n JOIN pg_class c ON c.oid = n.conrelid JOIN pg_class r ON r.oid = n.confrelid
         WHERE n.contype = 'f' AND n.conparentid = 0 AND c.oid = ANY (relations) AND r.oid = ANY (relations));
    IF EXISTS (SELECT u.oid FROM bench_internal.used_relations(copy_tables.workload, copy_tables.tables) u EXCEPT SELECT unnest(relations)) THEN
        RAISE '%', changed USING ERRCODE = 'serialization_failure', HINT = 'Call it again.';
    END IF;

    -- The rows of all tables are of one moment. Values of sequences are at least those of the rows, so they come later.
    SELECT array_agg(c.oid), array_agg(format('%s.%I', new_schema, c.relname)::regclass::oid),
           array_agg(format('INSERT INTO %s.%I %s SELECT %s FROM ONLY %s', new_schema, c.relname,
                            '(' || c.columns || ') OVERRIDING SYSTEM VALUE', c.columns, c.oid::regclass))
      INTO filled, copies, statements
      FROM (SELECT c.oid, c.relname,
                   (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
                     WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '') AS columns
              FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind = 'r' ORDER BY c.relname) c;
    SELECT array_agg(r.rows), array_agg(r.seconds) INTO rows, seconds
      FROM bench_internal.execute_in_one_snapshot(statements, filled || copies) r;
    FOR found IN
        SELECT c.oid::regclass AS original, format('%s.%I', new_schema, c.relname) AS copy FROM pg_class c WHERE c.oid = ANY (sequences)
        UNION ALL
        SELECT d.objid::regclass, pg_get_serial_sequence(format('%s.%I', new_schema, c.relname), a.attname)
          FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
          JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
                          AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
         WHERE a.attrelid = ANY (relations) AND a.attidentity <> '' AND NOT c.relispartition
    LOOP
        EXECUTE format('SELECT setval(%L, last_value, is_called) FROM %s', found.copy, found.original);
    END LOOP;

    -- Keys and indexes.
    FOR found IN
        SELECT c.oid, c.relname, c.relkind, c.relispartition AS is_part, array_position(filled, c.oid) AS place
          FROM pg_class c
         WHERE c.oid = ANY (relations) AND c.relkind IN ('r', 'p') ORDER BY c.relkind, c.relname
    LOOP
        begun := clock_timestamp();
        FOR definition IN SELECT jsonb_array_elements_text(indexes -> found.oid::text)
        LOOP
            -- Functions and types that it names can have been renamed.
            IF (definition IN (SELECT bench_internal.index_statements(found.oid, new_schema))) IS NOT TRUE THEN
                RAISE '%', changed USING ERRCODE = 'serialization_failure', HINT = 'Call it again.';
            END IF;
            EXECUTE definition;
        END LOOP;
        IF found.relkind = 'r' THEN
            IF NOT found.is_part THEN
                EXECUTE format('ANALYZE %s.%I', new_schema, found.relname);
            END IF;
            copied := copied || json_build_object('table_name', found.relname, 'rows', coalesce(rows[found.place], 0),
                                                  'seconds', coalesce(seconds[found.place], 0) + extract(epoch FROM clock_timestamp() - begun));
        END IF;
    END LOOP;
    FOREACH definition IN ARRAY partitions
    LOOP
        EXECUTE definition;
    END LOOP;
    FOR found IN
        SELECT format('ANALYZE %s.%I', new_schema, c.relname) AS sql FROM pg_class c
         WHERE c.oid = ANY (relations)
           AND (c.relkind = 'p' AND NOT c.relispartition OR c.relkind <> 'f' AND c.relispartition AND NOT EXISTS (
                SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid AND i.inhparent = ANY (relations)))
    LOOP
        EXECUTE found.sql;
    END LOOP;

    FOREACH definition IN ARRAY foreign_keys
    LOOP
        EXECUTE definition;
    END LOOP;

    IF EXISTS (SELECT unnest(relations) EXCEPT SELECT c.oid FROM pg_class c) THEN
        RAISE '%', changed USING ERRCODE = 'serialization_failure', HINT = 'Call it again.';
    END IF;
    -- Views find the copies where they would find the tables; those that are read come first.
    FOR found IN
        WITH RECURSIVE levels (view, level) AS (
            SELECT v.oid, 0 FROM pg_class v WHERE v.oid = ANY (relations) AND v.relkind = 'v'
            UNION
            SELECT w.ev_class, l.level + 1
              FROM levels l JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.refclassid = 'pg_class'::regclass AND d.refobjid = l.view
              JOIN pg_rewrite w ON w.oid = d.objid AND w.ev_class = ANY (relations) AND w.ev_class <> l.view AND w.rulename = '_RETURN'
             -- The server lets views read each other in a circle, and refuses to execute them.
             WHERE l.level < cardinality(relations))
        SELECT c.oid, c.oid::regclass AS name, c.relname, coalesce(u.schemas || ', ', '') AS path,
               format('CREATE VIEW %s.%I%s AS ', new_schema, c.relname,
                      ' WITH (' || bench_internal.options_clause(c.reloptions) || ')') AS sql
          FROM pg_class c,
               LATERAL (SELECT string_agg(DISTINCT t.relnamespace::regnamespace::text, ', ') AS schemas
                          FROM bench_internal.view_relations(c.oid) r JOIN pg_class t ON t.oid = r
                         WHERE t.oid = ANY (relations) AND t.relkind IN ('r', 'p', 'v', 'S')) u
         WHERE c.oid = ANY (relations) AND c.relkind = 'v' ORDER BY (SELECT max(l.level) FROM levels l WHERE l.view = c.oid), c.oid
    LOOP
        PERFORM pg_catalog.set_config('search_path', found.path || 'pg_temp', true);
        SELECT pg_catalog.pg_get_viewdef(found.oid) INTO definition;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        definition := found.sql || definition;
        PERFORM set_config('search_path', format('%s, %spg_temp', new_schema, found.path), true);
        EXECUTE definition;
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        WITH wanted (oid) AS (
            SELECT CASE WHEN c.relkind IN ('r', 'p', 'v', 'S')
                        THEN (SELECT k.oid FROM pg_class k WHERE c.oid = ANY (relations) AND k.relname = c.relname AND k.relnamespace = into_schema)
                        ELSE c.oid END
              FROM bench_internal.view_relations(found.oid) r JOIN pg_class c ON c.oid = r),
        got (oid) AS (SELECT bench_internal.view_relations(format('%s.%I', new_schema, found.relname)::regclass))
        SELECT EXISTS (SELECT w.oid FROM wanted w EXCEPT SELECT g.oid FROM got g)
               OR EXISTS (SELECT g.oid FROM got g EXCEPT SELECT w.oid FROM wanted w) AS differ INTO part;
        IF part.differ THEN
            RAISE 'cannot copy view "%"', found.name USING ERRCODE = 'feature_not_supported',
                DETAIL = 'Its copy would read other relations than the copies of those that it reads.';
        ELSIF bench_internal.view_routines(found.oid) <> bench_internal.view_routines(format('%s.%I', new_schema, found.relname)::regclass) THEN
            RAISE 'cannot copy view "%"', found.name USING ERRCODE = 'feature_not_supported',
                DETAIL = 'Its copy would call another function or operator than it does.';
        END IF;
    END LOOP;

    -- By default privileges, others may have those that make writes call their functions.
    FOR found IN
        SELECT DISTINCT CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END AS role
          FROM pg_class c, aclexplode(c.relacl) e
         WHERE c.relnamespace = into_schema AND e.privilege_type IN ('TRIGGER', 'REFERENCES') AND e.grantee NOT IN (SELECT bench_internal.trusted_roles())
    LOOP
        EXECUTE format('REVOKE TRIGGER, REFERENCES ON ALL TABLES IN SCHEMA %s FROM %s', new_schema, found.role);
    END LOOP;

    -- What has no copy.
    FOR found IN
        SELECT k.kind, string_agg(k.name, ', ' ORDER BY k.name) AS names
          FROM (SELECT 1, 'triggers', format('%I on %s', t.tgname, t.tgrelid::regclass) FROM pg_trigger t
                 WHERE t.tgrelid = ANY (relations) AND NOT t.tgisinternal AND t.tgparentid = 0
                UNION ALL
                SELECT 2, 'rules', format('%I on %s', w.rulename, w.ev_class::regclass) FROM pg_rewrite w
                 WHERE w.ev_class = ANY (relations) AND w.rulename <> '_RETURN'
                UNION ALL
                SELECT 3, 'foreign keys', format('%I on %s', n.conname, n.conrelid::regclass) FROM pg_constraint n
                 WHERE n.contype = 'f' AND n.conparentid = 0
                   AND (n.conrelid = ANY (relations)) <> (n.confrelid = ANY (relations))
                UNION ALL
                SELECT 4, 'defaults of views', format('%I of %s', a.attname, a.attrelid::regclass)
                  FROM pg_attrdef d JOIN pg_attribute a ON a.attrelid = d.adrelid AND a.attnum = d.adnum JOIN pg_class c ON c.oid = a.attrelid
                 WHERE c.oid = ANY (relations) AND c.relkind = 'v'
                UNION ALL
                SELECT 5, CASE c.relkind WHEN 'm' THEN 'materialized views' ELSE 'foreign tables' END, c.oid::regclass::text
                  FROM pg_class c WHERE c.oid = ANY (relations) AND c.relkind IN ('m', 'f')) k (place, kind, name)
         GROUP BY k.place, k.kind ORDER BY k.place, k.kind
    LOOP
        RAISE NOTICE 'not copied: % %', found.kind, found.names;
    END LOOP;
    RETURN array_to_json(copied);
END
$$;

CREATE FUNCTION bench.clone_tables(
    workload text, -- name of the captured workload
    schema text, -- schema for the copies, which is new or empty
    tables regclass[] DEFAULT '{}', -- tables to copy besides those that the workload uses
    OUT table_name text, -- name of the table in the schema
    OUT rows bigint, -- number of rows
    OUT seconds float8 -- time that rows and indexes took
) RETURNS SETOF record
LANGUAGE sql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT c.* FROM json_to_recordset(bench_internal.execute_restricted(
                        format('SELECT bench_internal.copy_tables(%L, %L, %L)', $1, $2, $3::oid[]))::json)
                        AS c (table_name text, rows bigint, seconds float8)
$$;
COMMENT ON FUNCTION bench.clone_tables IS 'copy the tables that a captured workload uses into a schema of their own, where its runs write';
