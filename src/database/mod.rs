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
use crate::error::Result;
use crate::pq::{ConnectWith, TransactionStatus};
use crate::query;
use crate::security::without_waiting;
use crate::server;
use remote::Remote;

/// The first version that compiles expressions of queries.
const HAS_JIT_FROM: i32 = 110000;

/// A database to run statements in.
pub enum Database {
    /// That of this worker.
    Here,
    /// A target.
    There(Box<Remote>),
}

impl Database {
    /// That of the target or, if there is none, of this worker.
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

    /// The same with `search_path`, and the formats of values, pinned. Fails if it has to wait for a
    /// lock, except for a moment.
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

    /// Takes the lock for initializing tables in the first schema of `search_path`, until the
    /// session ends. If `wait` is false, returns whether the lock was free. It is an advisory lock,
    /// because the tables are dropped and created while it is held.
    pub fn lock(&mut self, lock: i64, wait: bool) -> Result<bool> {
        let function = if wait {
            "pg_advisory_lock"
        } else {
            "pg_try_advisory_lock"
        };
        let found = self.call_on_schema(function, lock)?;
        // Without a schema, the next steps fail.
        Ok(found.is_none_or(|taken| taken != "false"))
    }

    /// Releases the lock.
    pub fn unlock(&mut self, lock: i64) -> Result<()> {
        self.call_on_schema("pg_advisory_unlock", lock).map(drop)
    }

    fn call_on_schema(&mut self, function: &str, lock: i64) -> Result<Option<String>> {
        let found = self.first_row(&format!(
            "SELECT pg_catalog.{function}({lock}::pg_catalog.int8 OPERATOR(pg_catalog.+)
                                          n.oid::pg_catalog.int8)::pg_catalog.text
               FROM pg_catalog.pg_namespace n
              WHERE n.nspname OPERATOR(pg_catalog.=) pg_catalog.current_schema()"
        ))?;
        Ok(found.into_iter().next().flatten())
    }

    /// Executes one statement in a separate transaction; commands such as VACUUM may use several.
    pub fn execute_alone(&mut self, sql: &str) -> Result<()> {
        match self {
            Database::Here => statement::execute_alone(sql),
            Database::There(remote) => remote.execute(sql),
        }
    }

    /// The same for a statement of the caller's, to which `statement_timeout` applies.
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

    /// Executes a statement within a transaction.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        match self {
            Database::Here => statement::execute(sql),
            Database::There(remote) => remote.execute(sql),
        }
    }
}
