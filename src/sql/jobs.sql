/* Jobs: runs and sets that pg_cron starts. A job belongs to a role, which pg_cron runs it as.

   pg_cron executes bench.run_job, which starts a worker and does not wait for it: pg_cron 1.4 runs no other job
   while a worker of its own is busy, and repeats jobs that became due meanwhile. */

CREATE SEQUENCE bench.job_id_seq;
COMMENT ON SEQUENCE bench.job_id_seq IS 'numbers of jobs';
CREATE SEQUENCE bench.job_run_id_seq;
COMMENT ON SEQUENCE bench.job_run_id_seq IS 'numbers of runs of jobs';

CREATE TABLE bench.jobs (
    job_id     bigint NOT NULL, -- number of the job, also of an earlier one with its owner and name
    owner      regrole NOT NULL, -- role that scheduled the job and runs it
    job_name   text NOT NULL, -- name, unique among the jobs of its owner
    schedule   text NOT NULL, -- when it is due, as pg_cron reads it
    options    jsonb NOT NULL, -- options of a run, or an object of options below compare, sweep, find_capacity or pgio
    repeats    int NOT NULL, -- runs each time
    confirm    int NOT NULL, -- further runs or sets at most, while the night is suspect
    least_change float8 NOT NULL, -- least change that counts, as a fraction
    figures    text[], -- figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops
    on_alert   text, -- statement that the job's worker executes for each new alert, with its number as $1
    scheduled_at timestamptz NOT NULL DEFAULT now(), -- time at which it was scheduled
    PRIMARY KEY (owner, job_name)
);
COMMENT ON TABLE bench.jobs IS 'jobs of bench.schedule; each role sees its own';

/* They outlive the job. */
CREATE TABLE bench.job_runs (
    job_run_id  bigint PRIMARY KEY, -- number of the run of the job
    job_id      bigint NOT NULL, -- number of the job
    owner       regrole NOT NULL, -- role that the job belongs to
    job_name    text NOT NULL, -- name of the job
    state       text NOT NULL -- state as stored: running, finished, canceled, failed, skipped or lost; bench.job_summary also sees lost ones
        CHECK (state IN ('running', 'finished', 'canceled', 'failed', 'skipped', 'lost')),
    started_at  timestamptz NOT NULL, -- start of the worker
    finished_at timestamptz, -- end of the last run
    run_ids     bigint[] NOT NULL DEFAULT '{}', -- runs that it made, outside of sets
    set_ids     bigint[] NOT NULL DEFAULT '{}', -- sets that it made
    message     text -- error that ended it, or why it was skipped
);
CREATE INDEX ON bench.job_runs (owner, job_name, job_run_id);
CREATE INDEX ON bench.job_runs (job_id) WHERE state = 'running';
CREATE INDEX ON bench.job_runs (job_run_id) WHERE cardinality(run_ids || set_ids) > 1;
COMMENT ON TABLE bench.job_runs IS 'runs of jobs: what each has made, or why not';

ALTER TABLE bench.jobs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.jobs
    USING (owner = (SELECT quote_ident(current_user)::regrole));
ALTER TABLE bench.job_runs ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON bench.job_runs
    USING (owner = (SELECT quote_ident(current_user)::regrole));

SELECT pg_catalog.pg_extension_config_dump('bench.job_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.job_run_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('bench.jobs', '');
SELECT pg_catalog.pg_extension_config_dump('bench.job_runs', '');

/* The name of a job in pg_cron, where names have at most 63 bytes. That of the database is quoted if it has a colon. */
CREATE FUNCTION bench_internal.cron_name(job_name text) RETURNS text
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
AS $$
    SELECT CASE WHEN octet_length(n.name) < 64 THEN n.name ELSE 'pg_selfbench: ' || md5(n.name) END
      FROM format('pg_selfbench: %I: %s', current_database(), $1) n (name)
$$;

/* The statement that pg_cron executes. */
CREATE FUNCTION bench_internal.cron_command(job_name text) RETURNS text
LANGUAGE sql IMMUTABLE
SET search_path = pg_catalog, pg_temp
RETURN format('SELECT bench.run_job(%L)', $1);

/* Whether the caller can schedule jobs with the pg_cron of this database. */
CREATE FUNCTION bench_internal.has_cron() RETURNS boolean
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'pg_cron')
           AND coalesce(has_schema_privilege(to_regnamespace('cron')::oid, 'USAGE'), false)
           AND coalesce(has_function_privilege(to_regprocedure('cron.schedule(text,text,text)')::oid, 'EXECUTE'), false)
$$;

/* The jobs of pg_cron in this database that the caller may see and that run jobs of ours. */
CREATE FUNCTION bench_internal.cron_jobs(
    OUT jobid bigint, OUT jobname text, OUT username text, OUT active boolean
) RETURNS SETOF record
LANGUAGE plpgsql STABLE ROWS 10
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF bench_internal.has_cron() THEN
        RETURN QUERY EXECUTE
            'SELECT jobid, jobname::text, username, active FROM cron.job
              WHERE database = current_database() AND starts_with(command, ''SELECT bench.run_job('')';
    END IF;
END
$$;

/* Schedules a job in pg_cron. Where the caller cannot, cron_jobid is NULL, and the caller is told what to do with the
   statement; cron_database is the database of pg_cron, if the server has it. */
CREATE FUNCTION bench_internal.schedule_in_cron(
    job_name text, schedule text, cron_database text, OUT cron_jobid bigint, OUT statement text
) RETURNS record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    name text := bench_internal.cron_name(job_name);
    command text := bench_internal.cron_command(job_name);
    existing record;
BEGIN
    IF NOT bench_internal.has_cron() THEN
        IF cron_database IS NULL THEN
            statement := command;
            RAISE NOTICE 'job "%" is stored, but not scheduled', job_name
                USING DETAIL = 'This server does not have pg_cron.',
                      HINT = format('Have another scheduler execute the returned statement in database "%s" as role "%s".',
                                    current_database(), current_user);
        ELSE
            statement := format('SELECT cron.schedule_in_database(%L, %L, %L, %L, %L)',
                                name, schedule, command, current_database(), current_user);
            RAISE NOTICE 'job "%" is stored, but not scheduled', job_name
                USING DETAIL = CASE cron_database WHEN current_database() THEN 'This role may not use pg_cron.'
                                                  ELSE 'pg_cron is in another database.' END,
                      HINT = format('Have a superuser execute the returned statement in database "%s".', cron_database);
        END IF;
        RETURN;
    END IF;
    FOR existing IN
        EXECUTE 'SELECT jobid, command, database FROM cron.job WHERE jobname = $1 AND username = current_user' USING name
    LOOP
        IF NOT starts_with(existing.command, 'SELECT bench.run_job(') THEN
            RAISE EXCEPTION 'job "%" of pg_cron is not a job of pg_selfbench', name
                USING ERRCODE = 'duplicate_object', DETAIL = format('Its command is: %s', existing.command),
                      HINT = format('Remove it with SELECT cron.unschedule(%s), or choose another name.', existing.jobid);
        ELSIF existing.database <> current_database() THEN
            /* cron.schedule would keep its database. */
            EXECUTE 'SELECT cron.unschedule($1)' USING existing.jobid;
        END IF;
    END LOOP;
    statement := format('SELECT cron.schedule(%L, %L, %L)', name, schedule, command);
    EXECUTE statement INTO cron_jobid;
END
$$;

/* Removes a job from pg_cron. Where the caller cannot, cron_jobid is NULL. */
CREATE FUNCTION bench_internal.unschedule_in_cron(
    job_name text, cron_database text, OUT cron_jobid bigint, OUT statement text
) RETURNS record
LANGUAGE plpgsql VOLATILE
SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
    IF bench_internal.has_cron() THEN
        SELECT j.jobid, format('SELECT cron.unschedule(%s)', j.jobid) INTO cron_jobid, statement
          FROM bench_internal.cron_jobs() j
         WHERE j.jobname = bench_internal.cron_name(job_name) AND j.username = current_user;
        IF statement IS NOT NULL THEN
            EXECUTE statement;
        END IF;
    ELSIF cron_database IS NOT NULL THEN
        statement := format('SELECT cron.unschedule(jobid) FROM cron.job WHERE jobname = %L AND username = %L',
                            bench_internal.cron_name(job_name), current_user);
        RAISE NOTICE 'pg_cron may still have job "%"', job_name
            USING HINT = format('Have a superuser execute the returned statement in database "%s".', cron_database);
    END IF;
END
$$;

CREATE FUNCTION bench.schedule(
    INOUT job_name text, -- name of the job, unique among the caller's
    schedule text, -- when it is due, as pg_cron reads it, such as 30 2 * * *, which is in GMT
    options jsonb, -- options of bench.run, or an object of options below compare, sweep, find_capacity or pgio
    repeats int DEFAULT 1, -- runs each time, one after the other, whose median is the night's value; 1 for sets
    confirm int DEFAULT 2, -- further runs or sets at most, one by one, while bench.trend takes the night for suspect
    least_change float8 DEFAULT 0.03, -- least change that counts, as a fraction
    figures text[] DEFAULT NULL, -- figures whose changes are alerts, and in which a night may be suspect; NULL: those of bench.changes, and tps, latency_avg_ms, riops
    on_alert text DEFAULT NULL, -- statement that the job's worker executes for each new alert, with its number as $1, for at most 30 s
    OUT cron_jobid bigint, -- number of the job in pg_cron; NULL if it is not scheduled
    OUT statement text -- statement that has scheduled the job; if it is not scheduled, the one to be executed elsewhere
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'schedule_wrapper';
COMMENT ON FUNCTION bench.schedule IS 'store a job that makes runs or a set, or replace one, and have pg_cron run it';

CREATE FUNCTION bench.unschedule(
    INOUT job_name text, -- name of the job
    OUT cron_jobid bigint, -- number that the job had in pg_cron
    OUT statement text -- statement that has removed it from pg_cron, or the one to be executed elsewhere
) RETURNS SETOF record
LANGUAGE c VOLATILE PARALLEL UNSAFE ROWS 1 AS 'MODULE_PATHNAME', 'unschedule_wrapper';
COMMENT ON FUNCTION bench.unschedule IS 'remove a job; its runs stay';

CREATE FUNCTION bench.run_job(
    job_name text -- name of the job
) RETURNS bigint
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'run_job_wrapper';
COMMENT ON FUNCTION bench.run_job IS 'start a job now, and return its number in bench.job_runs without waiting for its end';

/* Makes the run or set of a job; its worker calls it at top level. */
CREATE FUNCTION bench_internal.perform_job(options jsonb) RETURNS void
LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME', 'perform_job_wrapper';

/* When a schedule was due last up to a time; NULL if it is not known. */
CREATE FUNCTION bench_internal.last_due(schedule text, now bigint) RETURNS bigint
LANGUAGE c IMMUTABLE STRICT AS 'MODULE_PATHNAME', 'last_due_wrapper';
/* The time zone of schedules, from pg_cron 1.5 on; NULL before. Only superusers see the setting. */
CREATE FUNCTION bench_internal.cron_timezone() RETURNS text
LANGUAGE c STABLE AS 'MODULE_PATHNAME', 'cron_timezone_wrapper';
CREATE FUNCTION bench_internal.due_at(schedule text, until timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE
SET search_path = pg_catalog, pg_temp
AS $$
    SELECT to_timestamp(60 * bench_internal.last_due($1, floor(extract(epoch FROM $2 AT TIME ZONE z.name) / 60)::bigint))
           AT TIME ZONE 'UTC' AT TIME ZONE z.name
      FROM coalesce(bench_internal.cron_timezone(), 'GMT') z (name)
$$;

CREATE VIEW bench.schedules WITH (security_invoker = true) AS
    SELECT j.job_name, j.schedule,
           CASE WHEN c.jobid IS NOT NULL THEN c.active WHEN bench_internal.has_cron() THEN false END
               AS active, -- whether pg_cron runs it; NULL if pg_cron is not in this database, or not for this role
           greatest(s.started_at, j.scheduled_at) < bench_internal.due_at(j.schedule, now() - interval '1 min')
               AS overdue, -- whether it was due since it started or was skipped last, at least a minute ago; NULL if the schedule is not understood
           r.started_at, -- start of its last run
           r.run_ids, -- runs that it made then
           r.set_ids, -- sets that it made then
           CASE WHEN c.jobid IS NULL AND bench_internal.has_cron() THEN 'not scheduled'
                WHEN r.state = 'running' AND NOT bench_internal.is_locked('jobs', j.job_id) THEN 'lost'
                ELSE r.state END
               AS outcome, -- state of its last run: running, finished, canceled, failed or lost; not scheduled if pg_cron does not have it
           r.message, -- error that ended it
           c.jobid AS cron_jobid, -- number of the job in pg_cron
           j.options, j.repeats, j.confirm, j.least_change, j.figures, j.on_alert, j.owner, j.scheduled_at
      FROM bench.jobs j
      LEFT JOIN bench_internal.cron_jobs() c
             ON c.jobname = bench_internal.cron_name(j.job_name) AND c.username = pg_get_userbyid(j.owner)
      LEFT JOIN LATERAL (SELECT * FROM bench.job_runs r WHERE r.owner = j.owner AND r.job_name = j.job_name
                             AND r.state <> 'skipped'
                          ORDER BY r.job_run_id DESC LIMIT 1) r ON true
      LEFT JOIN LATERAL (SELECT s.started_at FROM bench.job_runs s
                          WHERE s.owner = j.owner AND s.job_name = j.job_name
                          ORDER BY s.job_run_id DESC LIMIT 1) s ON true;
COMMENT ON VIEW bench.schedules IS 'jobs, with their last run that was not skipped';

CREATE VIEW bench.job_summary WITH (security_invoker = true) AS
    SELECT r.job_run_id, r.job_name,
           CASE WHEN r.state = 'running' AND NOT bench_internal.is_locked('jobs', r.job_id) THEN 'lost'
                ELSE r.state END AS state, -- state: running, finished, canceled, failed, skipped or lost
           r.started_at, r.finished_at, r.run_ids, r.set_ids, r.message, r.job_id, r.owner
      FROM bench.job_runs r;
COMMENT ON VIEW bench.job_summary IS 'runs of jobs, also of jobs that were removed';
