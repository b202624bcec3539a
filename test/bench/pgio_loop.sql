/* pgio's own loop, the peer of bench.run_pgio: for the given seconds, within one transaction, random
   keys, statements that are planned for their literals, and a clock reading in each loop. Returns the
   loops and cache hits per second of the session. */
CREATE FUNCTION pgio_loop(tab text, seconds float8, update_pct int, work_unit int, update_work_unit int,
    keys int, OUT loops float8, OUT hits float8) LANGUAGE plpgsql AS $$
DECLARE
    before bench.session_usage := bench.session_usage();
    began timestamptz := clock_timestamp();
    ends timestamptz := began + seconds * interval '1 s';
    done bigint := 0; first int; total numeric; elapsed float8;
BEGIN
    WHILE clock_timestamp() < ends LOOP
        IF random() * 100 < update_pct THEN
            first := 1 + floor(random() * (keys - update_work_unit));
            EXECUTE 'UPDATE ' || tab || ' SET scratch = scratch + 1 WHERE mykey BETWEEN ' || first
                || ' AND ' || first + update_work_unit;
        ELSE
            first := 1 + floor(random() * (keys - work_unit));
            EXECUTE 'SELECT sum(scratch) FROM ' || tab || ' WHERE mykey BETWEEN ' || first
                || ' AND ' || first + work_unit INTO total;
        END IF;
        done := done + 1;
    END LOOP;
    elapsed := extract(epoch FROM clock_timestamp() - began);
    loops := done / elapsed;
    hits := ((bench.session_usage()).blocks_hit - before.blocks_hit) / elapsed;
END $$;
