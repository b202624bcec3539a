/*
 * spi_loop.c
 *		A background worker that executes a statement repeatedly through SPI,
 *		each time in a separate transaction, with as little other work as possible.
 *
 * spi_loop(statement, parameters, seconds, reports) starts a dynamic background
 * worker, waits until it has ended and returns how many transactions it did per
 * second.  The statement has one parameter of type int, a random number from 1 to
 * "parameters".  With "reports", each transaction also updates the server's
 * monitoring as a backend does: a statement timestamp, an entry in
 * pg_stat_activity, and reporting of statistics.
 *
 * There is nothing else in the loop but a clock reading every CLOCK_EVERY
 * transactions.
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/pg_prng.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "libpq/pqsignal.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/dsm.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/resowner.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

PG_MODULE_MAGIC;

#define CLOCK_EVERY 64

/* What caller and worker share. */
typedef struct LoopTask
{
	Oid			database;
	Oid			role;
	int			parameters;
	double		seconds;
	bool		reports;
	double		tps;			/* set by the worker when it has succeeded */
	char		statement[FLEXIBLE_ARRAY_MEMBER];
} LoopTask;

PGDLLEXPORT void spi_loop_main(Datum main_arg);

PG_FUNCTION_INFO_V1(spi_loop);

static void
one_transaction(LoopTask *task, SPIPlanPtr plan)
{
	Datum		value = Int32GetDatum((int32) pg_prng_uint64_range(&pg_global_prng_state, 1, task->parameters));

	if (task->reports)
	{
		SetCurrentStatementStartTimestamp();
		pgstat_report_activity(STATE_RUNNING, task->statement);
	}
	StartTransactionCommand();
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	if (SPI_execute_plan(plan, &value, NULL, false, 0) < 0)
		elog(ERROR, "statement could not be executed: %s", task->statement);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	if (task->reports)
	{
		pgstat_report_stat(false);
		pgstat_report_activity(STATE_IDLE, NULL);
	}
}

static SPIPlanPtr
prepare(LoopTask *task)
{
	Oid			type = INT4OID;
	SPIPlanPtr	plan;

	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	SPI_connect();
	PushActiveSnapshot(GetTransactionSnapshot());
	plan = SPI_prepare(task->statement, 1, &type);
	if (plan == NULL || SPI_keepplan(plan) != 0)
		elog(ERROR, "statement could not be prepared: %s", task->statement);
	SPI_finish();
	PopActiveSnapshot();
	CommitTransactionCommand();
	return plan;
}

void
spi_loop_main(Datum main_arg)
{
	dsm_segment *segment;
	LoopTask   *task;
	SPIPlanPtr	plan;
	instr_time	begin;
	instr_time	now;
	uint64		done = 0;

	pqsignal(SIGTERM, die);
	BackgroundWorkerUnblockSignals();
	CurrentResourceOwner = ResourceOwnerCreate(NULL, "spi_loop");
	segment = dsm_attach(DatumGetUInt32(main_arg));
	if (segment == NULL)
		elog(ERROR, "the caller is gone");
	dsm_pin_mapping(segment);
	task = dsm_segment_address(segment);
	BackgroundWorkerInitializeConnectionByOid(task->database, task->role, 0);

	plan = prepare(task);
	INSTR_TIME_SET_CURRENT(begin);
	do
	{
		for (int i = 0; i < CLOCK_EVERY; i++)
			one_transaction(task, plan);
		done += CLOCK_EVERY;
		CHECK_FOR_INTERRUPTS();
		INSTR_TIME_SET_CURRENT(now);
		INSTR_TIME_SUBTRACT(now, begin);
	} while (INSTR_TIME_GET_DOUBLE(now) < task->seconds);
	task->tps = done / INSTR_TIME_GET_DOUBLE(now);
}

Datum
spi_loop(PG_FUNCTION_ARGS)
{
	char	   *statement = text_to_cstring(PG_GETARG_TEXT_PP(0));
	dsm_segment *segment = dsm_create(offsetof(LoopTask, statement) + strlen(statement) + 1, 0);
	LoopTask   *task = dsm_segment_address(segment);
	BackgroundWorker worker = {0};
	BackgroundWorkerHandle *handle;
	double		tps;

	task->database = MyDatabaseId;
	task->role = GetUserId();
	task->parameters = PG_GETARG_INT32(1);
	task->seconds = PG_GETARG_FLOAT8(2);
	task->reports = PG_GETARG_BOOL(3);
	task->tps = 0;
	strcpy(task->statement, statement);

	worker.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION;
	worker.bgw_start_time = BgWorkerStart_RecoveryFinished;
	worker.bgw_restart_time = BGW_NEVER_RESTART;
	worker.bgw_notify_pid = MyProcPid;
	worker.bgw_main_arg = UInt32GetDatum(dsm_segment_handle(segment));
	strcpy(worker.bgw_library_name, "spi_loop");
	strcpy(worker.bgw_function_name, "spi_loop_main");
	strcpy(worker.bgw_name, "spi_loop");
	strcpy(worker.bgw_type, "spi_loop");
	if (!RegisterDynamicBackgroundWorker(&worker, &handle))
		elog(ERROR, "no background worker is free");
	WaitForBackgroundWorkerShutdown(handle);
	tps = task->tps;
	dsm_detach(segment);
	if (tps == 0)
		elog(ERROR, "the loop has failed; the server log tells why");
	PG_RETURN_FLOAT8(tps);
}
