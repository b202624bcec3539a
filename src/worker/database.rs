//! The database that has pgbench's or pgio's tables: this server's, in this very process, or a
//! target's, over a connection.

use super::page_worker;
use super::remote::Remote;
use crate::backend::statement;
use crate::backend::transaction::transaction;
use crate::error::Result;
use crate::initialize::pages::Plan;
use crate::initialize::pgio::Schema;
use crate::initialize::rows::{self, Rows, Table};
use crate::initialize::tables::quote_literal;
use crate::initialize::{InitializeSpec, PgioSpec};
use crate::pq::ConnectWith;
use crate::query;
use crate::server;
use crate::shared::Header;
use pgrx::pg_sys;

/// First server version into which pgbench, too, copies with FREEZE.
const FREEZES: i32 = 140_000;

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

    /// Version of its server as that says it.
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

    /// The first row of a query whose columns are texts, in a transaction of its own; empty if
    /// there is no row.
    pub fn first_row(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        match self {
            Database::Here => transaction(|| query::first_row(sql)),
            Database::There(remote) => remote.first_row(sql),
        }
    }

    /// Takes a lock that is for the initialization of tables in the first schema of `search_path`,
    /// for as long as the session lasts. Whether it has been taken, if `wait` is false. It is an
    /// advisory one: no lock on what is dropped and created lasts so long.
    pub fn lock(&mut self, lock: i64, wait: bool) -> Result<bool> {
        let function = if wait {
            "pg_advisory_lock"
        } else {
            "pg_try_advisory_lock"
        };
        let found = self.call_on_schema(function, lock)?;
        // Without a schema, what follows will fail.
        Ok(found.is_none_or(|taken| taken != "false"))
    }

    /// Gives it back.
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

    /// Executes one statement in a transaction of its own; VACUUM and its like may make more.
    pub fn execute_alone(&mut self, sql: &str) -> Result<()> {
        match self {
            Database::Here => statement::execute_alone(sql),
            Database::There(remote) => remote.execute(sql),
        }
    }

    /// Runs `body` in a transaction, which is committed if it succeeds. After a failure, a
    /// connection is good for nothing but to be closed.
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

    /// Fills accounts within a transaction that has emptied them: by finished pages where that is
    /// possible. `header` counts the rows.
    pub fn fill_accounts(
        &mut self,
        spec: &InitializeSpec,
        accounts: String,
        header: &'static Header,
    ) -> Result<()> {
        if let Database::Here = self {
            let processes = page_worker::processes(spec.workers);
            if let Some(plan) = Plan::of_accounts(spec, &accounts, processes)? {
                return page_worker::fill(&plan, processes, header);
            }
        }
        let done = &header.rows_done;
        self.copy(Rows::of_pgbench(
            accounts,
            Table::Accounts,
            spec.scale,
            done,
        ))
    }

    /// Fills pgio's tables within a transaction that has created them: by finished pages where that
    /// is possible. `header` counts the rows.
    pub fn fill_pgio(
        &mut self,
        spec: &PgioSpec,
        schema: &Schema,
        header: &'static Header,
    ) -> Result<()> {
        if let Database::Here = self {
            let oid = |number| {
                let table = schema.table(number);
                let sql = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid";
                query::one::<pg_sys::Oid>(sql, &[table.into()])
            };
            let tables: Vec<_> = (1..=spec.tables).map(oid).collect::<Result<_>>()?;
            let tables: Vec<_> = tables.into_iter().flatten().collect();
            if let Some(plan) = Plan::of_pgio(spec, &tables) {
                return page_worker::fill(&plan, page_worker::processes(spec.workers), header);
            }
        }
        (1..=spec.tables).try_for_each(|number| {
            let (table, keys) = (schema.table(number), spec.keys(number));
            self.copy(Rows::of_pgio(table, keys, &header.rows_done))
        })
    }

    /// Fills a table within a transaction that has created or emptied it.
    pub fn copy(&mut self, mut rows: Rows) -> Result<()> {
        let remote = match self {
            Database::Here => return rows::copy(rows),
            Database::There(remote) => remote,
        };
        let table = rows.table().to_owned();
        // Freezing is not possible across partitions.
        let plain = if rows.may_be_partitioned() {
            let kind = remote.first_row(&format!(
                "SELECT c.relkind::pg_catalog.text FROM pg_catalog.pg_class c
                  WHERE c.oid OPERATOR(pg_catalog.=) {}::pg_catalog.regclass",
                quote_literal(&table)
            ))?;
            kind.first().and_then(Option::as_deref) == Some("r")
        } else {
            true
        };
        let freeze = if plain && remote.connection().server_version_num() >= FREEZES {
            " WITH (FREEZE ON)"
        } else {
            ""
        };
        remote.copy_in(&format!("COPY {table} FROM STDIN{freeze}"), |buffer| {
            rows.fill(buffer)
        })
    }
}
