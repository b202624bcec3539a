-- Objects that several tests need.

-- A statement's error as text: the statement, SQLSTATE and message, detail, hint.
CREATE FUNCTION error_of(sql text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
    state text; message text; detail text; hint text;
BEGIN
    EXECUTE sql;
    RETURN NEXT 'no error: ' || sql;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN NEXT sql;
    RETURN NEXT '  ' || state || ': ' || message;
    IF detail <> '' THEN RETURN NEXT '  DETAIL: ' || detail; END IF;
    IF hint <> '' THEN RETURN NEXT '  HINT: ' || hint; END IF;
END $$;
