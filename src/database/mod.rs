//! The database that has pgbench's or pgio's tables: this server's, in this process, or a target's,
//! over a connection (`remote`). `target` determines the connection parameters of a target, and
//! `foreign` reads them from the catalogs if it is a foreign server. `pooler` finds out whether its
//! connections share sessions. `terminate` ends sessions on a
//! target that cancel requests have not ended.

mod foreign;
pub mod pooler;
pub mod remote;
pub mod target;
pub mod terminate;

use crate::backend::statement;
use crate::backend::transaction::transaction;
use crate::error::{Error, Result};
use crate::pq::{ConnectWith, TransactionStatus};
use crate::query;
use crate::security::without_waiting;
use crate::server;
use crate::state::lock::{Object, Until};
use crate::state::session;
use crate::state::transaction::InTransaction;
use remote::Remote;

/// The first version that compiles expressions of queries.
const HAS_JIT_FROM: i32 = 110000;

/// Time to wait for a lock that sessions of targets can take, in milliseconds, if `lock_timeout` is not set.
const LOCK_WAIT_MS: i32 = 60_000;
/// Waits between two looks whether such a lock is still held.
const LOOK_AGAIN: &str = "SELECT pg_catalog.pg_sleep(0.1)";
/// The time that this takes.
const LOOK_AGAIN_MS: i64 = 100;

/// Tables that initializations create.
#[derive(Clone, Copy, Debug)]
pub enum TablesKind {
    /// pgbench's.
    Pgbench,
    /// pgio's.
    Pgio,
    /// Workloads, which share a table.
    Workload,
}

/// The lock against concurrent initializations of the same tables. It is not one of the tables, because
/// they are dropped and created while it is held.
#[derive(Clone, Copy, Debug)]
pub struct TablesLock {
    /// The tables.
    pub kind: TablesKind,
    /// The OID of their schema.
    pub schema: u32,
}

impl TablesLock {
    /// Of this server.
    fn object(self) -> Object {
        Object::Tables(self.schema.into(), self.part())
    }

    fn part(self) -> u16 {
        match self.kind {
            TablesKind::Pgbench => 1,
            TablesKind::Pgio => 2,
            TablesKind::Workload => 3,
        }
    }

    /// The key of an advisory lock, the only kind that a session of a target can take.
    fn key(self) -> i64 {
        let of_tables = match self.kind {
            TablesKind::Pgbench => *b"pgb-",
            TablesKind::Pgio => *b"pgio",
            TablesKind::Workload => *b"wkld",
        };
        i64::from(u32::from_be_bytes(of_tables)) << 32 | i64::from(self.schema)
    }

    /// The query of the process that has the advisory lock.
    fn holder(self) -> String {
        self.locker("advisory", (self.key() >> 32) as u32, 1)
    }

    /// The query of the process that initializes the tables of this server for a session of another one, or
    /// of this one, which has it as its target. Another role could not create tables in the schema.
    fn remote_loader(self) -> String {
        format!(
            "{} AND EXISTS (SELECT FROM pg_catalog.pg_stat_activity a
                             WHERE a.pid OPERATOR(pg_catalog.=) l.pid
                               AND pg_catalog.has_schema_privilege(a.usesysid, l.objid, 'CREATE'))",
            self.holder()
        )
    }

    /// The query of the loader that initializes the tables of a target for a session there.
    fn local_loader(self) -> String {
        let class = pgrx::pg_sys::NamespaceRelationId.to_u32();
        self.locker("object", class, self.part())
    }

    fn locker(self, of_type: &str, class: u32, part: u16) -> String {
        format!(
            "SELECT l.pid::pg_catalog.text FROM pg_catalog.pg_locks l
              WHERE l.locktype OPERATOR(pg_catalog.=) '{of_type}' AND l.granted
                AND l.database OPERATOR(pg_catalog.=)
                    (SELECT d.oid FROM pg_catalog.pg_database d
                      WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
                AND l.classid OPERATOR(pg_catalog.=) {class}::pg_catalog.oid
                AND l.objid OPERATOR(pg_catalog.=) {}::pg_catalog.oid
                AND l.objsubid OPERATOR(pg_catalog.=) {part}",
            self.schema
        )
    }
}

/// A database to run statements in.
pub enum Database {
    /// The database of this worker.
    Here,
    /// A target.
    There(Box<Remote>),
}

impl Database {
    /// Opens the database of the target or, if there is none, of this worker.
    pub fn open(target: Option<&ConnectWith>) -> Result<Database> {
        Ok(match target {
            None => Database::Here,
            Some(with) => Database::There(Box::new(Remote::connect(with)?)),
        })
    }

    /// Version of its server as a number, such as 150018.
    pub fn version_num(&self) -> i32 {
        match self {
            Database::Here => server::version_num(),
            Database::There(remote) => remote.connection().server_version_num(),
        }
    }

    /// Version of its server as text.
    pub fn version(&self) -> String {
        match self {
            Database::Here => server::version(),
            Database::There(remote) => remote.connection().server_version(),
        }
    }

    /// Host, port, database and user, if it is a target.
    pub fn description(&self) -> Option<String> {
        match self {
            Database::Here => None,
            Database::There(remote) => Some(remote.connection().description()),
        }
    }

    /// The first row of a query whose columns are texts, in a separate transaction; empty if there
    /// is no row.
    pub fn first_row(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        match self {
            Database::Here => transaction(|| query::first_row(sql)),
            Database::There(remote) => remote.first_row(sql),
        }
    }

    /// [`first_row`](Self::first_row) of a query to which `statement_timeout` applies.
    pub fn first_row_limited(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        match self {
            Database::Here => statement::limited(|| transaction(|| query::first_row(sql))),
            Database::There(remote) => remote.first_row(sql),
        }
    }

    /// Returns the first row, with `search_path` and the formats of values pinned. Fails if it has
    /// to wait for a lock, except for a moment.
    pub fn pinned_row(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        let mut row = Vec::new();
        match self {
            Database::Here => row = transaction(|| without_waiting(|| query::first_row(sql)))?,
            Database::There(_) => {
                let read = self.transaction(|database| {
                    database.execute("SET LOCAL search_path = pg_catalog, pg_temp")?;
                    database.execute("SET LOCAL timezone = 'UTC'")?;
                    database.execute("SET LOCAL lock_timeout = '200ms'")?;
                    if database.version_num() >= HAS_JIT_FROM {
                        database.execute("SET LOCAL jit = off")?;
                    }
                    row = database.first_row(sql)?;
                    Ok(())
                });
                if read.is_err() {
                    self.execute("ROLLBACK")?;
                }
                read?;
            }
        }
        Ok(row)
    }

    /// Takes the lock for initializing tables in a schema, until the session ends. If `wait` is false,
    /// returns whether the lock was free. A loader of the server with the tables and one for which that is a
    /// target have locks of their own, so each also looks for the other, and the latter one gives way.
    ///
    /// # Errors
    /// If there still is one of the other kind, or a lock that is held on a target, after `lock_timeout` of
    /// this session or, if that is 0, after [`LOCK_WAIT_MS`]: any role can take the locks that a target has.
    /// Each of the two waits has that time.
    pub fn lock(&mut self, lock: TablesLock, wait: bool) -> Result<bool> {
        let is_here = matches!(self, Database::Here);
        let other = match is_here {
            true => lock.remote_loader(),
            false => lock.local_loader(),
        };
        let mut waited_ms = 0;
        if !self.take(lock, wait)? {
            return Ok(false);
        }
        while let Some(pid) = self.first_row(&other)?.into_iter().flatten().next() {
            let gives_up = !wait || waited_ms >= i64::from(lock_wait_ms());
            if gives_up || !is_here {
                self.unlock(lock)?;
            }
            if gives_up {
                return match wait {
                    true => Err(Error::TablesLocked { pid: Some(pid) }),
                    false => Ok(false),
                };
            }
            self.execute_alone(LOOK_AGAIN)?;
            waited_ms += LOOK_AGAIN_MS;
            if !is_here {
                self.take(lock, wait)?;
            }
        }
        Ok(true)
    }

    /// Takes the lock that loaders of one kind have.
    fn take(&mut self, lock: TablesLock, wait: bool) -> Result<bool> {
        let sql = |function: &str| format!("SELECT pg_catalog.{function}({})::text", lock.key());
        match self {
            Database::Here => transaction(|| {
                lock.object()
                    .lock(InTransaction::current()?, Until::Exit, wait)
            }),
            Database::There(remote) if !wait => {
                let taken = remote.first_row(&sql("pg_try_advisory_lock"))?;
                Ok(taken.into_iter().next().flatten().as_deref() == Some("true"))
            }
            Database::There(remote) => {
                remote.execute("BEGIN")?;
                remote.execute(&format!("SET LOCAL lock_timeout = {}", lock_wait_ms()))?;
                let taken = remote.execute(&sql("pg_advisory_lock"));
                remote.execute(if taken.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
                match taken {
                    Err(error) if error.is_lock_timeout() => Err(Error::TablesLocked {
                        pid: remote
                            .first_row(&lock.holder())?
                            .into_iter()
                            .next()
                            .flatten(),
                    }),
                    taken => taken.map(|()| true),
                }
            }
        }
    }

    /// Releases the lock.
    pub fn unlock(&mut self, lock: TablesLock) -> Result<()> {
        match self {
            Database::Here => transaction(|| lock.object().unlock(InTransaction::current()?)),
            Database::There(remote) => remote.execute(&format!(
                "SELECT pg_catalog.pg_advisory_unlock({})",
                lock.key()
            )),
        }
    }

    /// Executes one statement in a separate transaction; commands such as VACUUM may use several.
    pub fn execute_alone(&mut self, sql: &str) -> Result<()> {
        match self {
            Database::Here => statement::execute_alone(sql),
            Database::There(remote) => remote.execute(sql),
        }
    }

    /// Executes one statement in a separate transaction, after `before`, which locks what the statement uses.
    /// Commands such as VACUUM may use several transactions; a target executes these after the one of `before`.
    pub fn execute_after(
        &mut self,
        before: impl Fn(&mut Database) -> Result<()>,
        sql: &str,
    ) -> Result<()> {
        if let Database::Here = self {
            return statement::execute_after(|| before(&mut Database::Here), sql);
        }
        let done = self.transaction(|database| {
            before(database)?;
            database.execute(sql)
        });
        match done {
            Err(error) if error.is_of_transaction_block() => {
                self.execute("ROLLBACK")?;
                self.transaction(before)?;
                self.execute_alone(sql)
            }
            done => done,
        }
    }

    /// Executes one statement of the caller's, to which `statement_timeout` applies.
    pub fn execute_limited(&mut self, sql: &str) -> Result<()> {
        match self {
            Database::Here => statement::execute_limited(sql),
            Database::There(remote) => remote.execute(sql),
        }
    }

    /// Whether the last statement of [`execute_limited`](Self::execute_limited) has left a transaction
    /// block open.
    pub fn is_in_transaction(&self) -> bool {
        match self {
            // Nothing that a worker executes alone does.
            Database::Here => false,
            Database::There(remote) => {
                remote.connection().transaction_status() != TransactionStatus::Idle
            }
        }
    }

    /// Whether it is a target to which the connection is lost.
    pub fn is_lost(&self) -> bool {
        match self {
            Database::Here => false,
            Database::There(remote) => remote.connection().is_bad(),
        }
    }

    /// Runs `body` in a transaction, which is committed if it succeeds. After a failure, a
    /// connection can only be closed.
    pub fn transaction(&mut self, body: impl FnOnce(&mut Database) -> Result<()>) -> Result<()> {
        match self {
            Database::Here => transaction(|| body(&mut Database::Here)),
            Database::There(_) => {
                self.execute("BEGIN")?;
                body(self)?;
                self.execute("COMMIT")
            }
        }
    }

    /// The first row of a query whose columns are texts, within a transaction; empty if there is no row.
    pub fn row(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        match self {
            Database::Here => query::first_row(sql),
            Database::There(remote) => remote.first_row(sql),
        }
    }

    /// Executes a statement within a transaction.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        match self {
            Database::Here => statement::execute(sql),
            Database::There(remote) => remote.execute(sql),
        }
    }
}

/// Time to wait for a lock that sessions of targets can take, in milliseconds.
fn lock_wait_ms() -> i32 {
    match session::integer_setting(c"lock_timeout") {
        0 => LOCK_WAIT_MS,
        limit_ms => limit_ms,
    }
}
