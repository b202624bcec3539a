/*
 * libpq_memory.c
 *		Memory that connections take in libpq itself.
 *
 * libpq_memory CONNINFO FEW MANY  makes FEW connections, executes the select-only
 * transaction of pgbench twice on each as a prepared statement, does the same up
 * to MANY, and prints the growth of this process's private memory in kB per
 * connection.
 */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long
private_kb(void)
{
	char		line[256];
	long		kb = -1;
	FILE	   *status = fopen("/proc/self/status", "r");

	while (status != NULL && fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "RssAnon:", 8) == 0)
			kb = atol(line + 8);
	if (status != NULL)
		fclose(status);
	return kb;
}

static void
check(PGconn *connection, PGresult *result, ExecStatusType expected)
{
	if (PQresultStatus(result) != expected)
	{
		fprintf(stderr, "%s", PQerrorMessage(connection));
		exit(1);
	}
	PQclear(result);
}

static void
connect_and_execute(const char *conninfo)
{
	const char *values[] = {"1"};
	PGconn	   *connection = PQconnectdb(conninfo);

	if (PQstatus(connection) != CONNECTION_OK)
	{
		fprintf(stderr, "%s", PQerrorMessage(connection));
		exit(1);
	}
	check(connection,
		  PQprepare(connection, "s", "SELECT abalance FROM pgbench_accounts WHERE aid = $1;", 1, NULL),
		  PGRES_COMMAND_OK);
	for (int i = 0; i < 2; i++)
		check(connection, PQexecPrepared(connection, "s", 1, values, NULL, NULL, 0),
			  PGRES_TUPLES_OK);
	/* The connection stays open until the process ends. */
}

int
main(int argc, char **argv)
{
	int			few = argc == 4 ? atoi(argv[2]) : 0;
	int			many = argc == 4 ? atoi(argv[3]) : 0;
	long		with_few;

	if (few < 1 || many <= few)
	{
		fprintf(stderr, "usage: libpq_memory CONNINFO FEW MANY\n");
		return 2;
	}
	for (int i = 0; i < few; i++)
		connect_and_execute(argv[1]);
	with_few = private_kb();
	for (int i = few; i < many; i++)
		connect_and_execute(argv[1]);
	if (with_few < 0)
	{
		fprintf(stderr, "/proc/self/status does not tell RssAnon\n");
		return 1;
	}
	printf("%.3f\n", (double) (private_kb() - with_few) / (many - few));
	return 0;
}
