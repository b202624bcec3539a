//! Runs of captured workloads: where their clients may write, and how fast they are.
//!
//! Clients write to copies of the tables, in a schema that comes first in their `search_path`. In mode spi,
//! hooks of their processes refuse all else, see `session::guard`. Over connections, where no hook of this
//! library is, the role must have no right to write to the originals. A workload that only reads has
//! read-only transactions.

use super::spec::Mode;
use crate::backend::activity;
use crate::database::remote::Remote;
use crate::error::{Error, Result, message};
use crate::pq::ConnectWith;
use crate::query::{self, quote_literal};
use crate::security::{as_owner, require_loopback};
use crate::server;
use selfbench_workload::Captured;
use serde_json::{Map, Value};

/// The `search_path` with which a captured workload finds its tables, or their copies.
pub fn search_path(captured: &Captured, clone_schema: Option<&str>) -> Result<String> {
    let path = match &captured.search_path {
        Some(path) => path.clone(),
        None => {
            let sql = "SELECT pg_catalog.current_setting('search_path')";
            query::first_value::<String>(sql, &[])?.unwrap_or_default()
        }
    };
    Ok(match clone_schema {
        Some(schema) => {
            let schema = format!("\"{}\"", schema.replace('"', "\"\""));
            match path.trim() {
                "" => schema,
                path => format!("{schema}, {path}"),
            }
        }
        None => path,
    })
}

/// A captured workload that a run executes.
pub struct CapturedRun<'c> {
    /// Its name.
    pub workload: &'c str,
    /// Its part of the manifest.
    pub captured: &'c Captured,
    /// Option `allow_writes`.
    pub allow_writes: bool,
    /// Mode of the run.
    pub mode: Mode,
    /// Target, if there is one.
    pub target: Option<&'c ConnectWith>,
}

impl CapturedRun<'_> {
    /// The schema with the copies that its clients write to; `None` if they write to the tables
    /// themselves, or not at all.
    ///
    /// # Errors
    /// If there is no such schema, or the clients' role may write elsewhere.
    pub fn clone_schema(&self) -> Result<Option<&str>> {
        let captured = self.captured;
        if self.allow_writes {
            let tables = self.tables("AND t.written")?;
            if captured.writes {
                message::notice(format_args!(
                    "the run changes the tables of workload \"{}\" themselves{}{}",
                    self.workload,
                    if tables.is_empty() { "" } else { ": " },
                    tables.join(", ")
                ));
            }
            return Ok(None);
        }
        let Some(schema) = captured.clone_schema.as_deref() else {
            return match captured.writes {
                true => Err(self.not_cloned("its tables have not been copied".into())),
                false => Ok(None),
            };
        };
        if self.target.is_none() {
            let found = query::first_value::<bool>(
                "SELECT true FROM pg_catalog.pg_namespace n, LATERAL bench_internal.refuse_foreign_schema(n.oid)
                  WHERE n.nspname OPERATOR(pg_catalog.=) $1",
                &[schema.into()],
            )?;
            if found.is_none() {
                let message =
                    format!("schema \"{schema}\", with copies of its tables, does not exist");
                return Err(self.not_cloned(message));
            }
        }
        if self.mode == Mode::Libpq {
            self.require_no_rights()?;
        }
        Ok(Some(schema))
    }

    /// Copies that no vacuum has seen yet, quoted for SQL: without it, index-only scans read tables.
    pub fn never_vacuumed(&self, clone_schema: &str) -> Result<Vec<String>> {
        if self.target.is_some() {
            return Ok(Vec::new());
        }
        let found = query::first_value::<Vec<String>>(
            "SELECT pg_catalog.array_agg(pg_catalog.format('%I.%I', n.nspname, c.relname) ORDER BY c.relname)
               FROM pg_catalog.pg_class c
               JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
              WHERE n.nspname OPERATOR(pg_catalog.=) $1 AND c.relkind OPERATOR(pg_catalog.=) 'r'
                AND c.relpages OPERATOR(pg_catalog.>) 0 AND c.relallvisible OPERATOR(pg_catalog.=) 0",
            &[clone_schema.into()],
        )?;
        Ok(found.unwrap_or_default())
    }

    fn not_cloned(&self, message: String) -> Error {
        Error::OptionConflict {
            message: format!("workload \"{}\" writes, and {message}", self.workload),
            hint: format!(
                "Copy them with SELECT * FROM bench.clone_tables('{}', 'new_schema'). With allow_writes => \
                 true, the run changes the tables themselves.",
                self.workload
            ),
        }
    }

    /// The quoted names of tables that the workload uses and that meet a condition.
    fn tables(&self, condition: &str) -> Result<Vec<String>> {
        let role = server::role();
        let found = as_owner(|| {
            query::first_value::<Vec<String>>(
                &format!(
                    "SELECT array_agg(format('%I.%I', t.table_schema, t.table_name) ORDER BY 1)
                       FROM bench.captured_tables t WHERE t.owner = $1 AND t.workload = $2 {condition}"
                ),
                &[role.into(), self.workload.into()],
            )
        })?;
        Ok(found.unwrap_or_default())
    }

    /// Fails if the role of connections may write to a table that the workload was captured on.
    fn require_no_rights(&self) -> Result<()> {
        let refused = |role: &str, may: String| {
            Error::Misplaced {
            message: format!("role \"{role}\" {may}"),
            hint: "In mode libpq, no process of this server can keep statements from writing to these tables. \
                   Use mode => 'spi', or a target with a role that may only write to the copies. With \
                   allow_writes => true, the run may change the tables themselves."
                .into(),
        }
        };
        let is_superuser = || "is a superuser, who may write to all tables".to_owned();
        let Some(target) = self.target else {
            // Connections to this server are a superuser's.
            require_loopback()?;
            return Err(refused(&server::role_name(), is_superuser()));
        };
        let names: Vec<_> = self
            .tables("")?
            .iter()
            .map(|name| quote_literal(name))
            .collect();
        let row = activity::unchanged(|| {
            Remote::connect(target)?.first_row(&format!(
                "SELECT CURRENT_USER::pg_catalog.text,
                        (SELECT r.rolsuper FROM pg_catalog.pg_roles r
                          WHERE r.rolname OPERATOR(pg_catalog.=) CURRENT_USER)::pg_catalog.text,
                        (SELECT pg_catalog.string_agg(t.name, ', ')
                           FROM pg_catalog.unnest(ARRAY[{}]::pg_catalog.text[]) t (name)
                          WHERE pg_catalog.has_table_privilege(pg_catalog.to_regclass(t.name)::pg_catalog.oid,
                                    'INSERT, UPDATE, DELETE, TRUNCATE')
                             OR pg_catalog.has_any_column_privilege(pg_catalog.to_regclass(t.name)::pg_catalog.oid,
                                    'INSERT, UPDATE'))",
                names.join(", ")
            ))
        })?;
        let [role, superuser, tables] = row.as_slice() else {
            return Err(Error::Limit("cannot read the rights on the target".into()));
        };
        let role = role.as_deref().unwrap_or_default();
        match (superuser.as_deref(), tables) {
            (Some("true"), _) => Err(refused(role, is_superuser())),
            (_, Some(tables)) => Err(refused(
                role,
                format!("may write to tables that are not copies: {tables}"),
            )),
            (_, None) => Ok(()),
        }
    }

    /// The option `settings` with those that clients have to have.
    pub fn settings(&self, given: Option<&Value>, clone_schema: Option<&str>) -> Result<Value> {
        let mut settings = match given {
            Some(Value::Object(given)) => given.clone(),
            Some(other) => return Ok(other.clone()),
            None => Map::new(),
        };
        let path = search_path(self.captured, clone_schema)?;
        let mut needed = vec![("search_path", path)];
        if clone_schema.is_none() && !self.allow_writes {
            needed.push(("default_transaction_read_only", "on".into()));
        }
        for (name, value) in needed {
            if let Some(other) = settings.insert(name.into(), value.clone().into())
                && other != Value::String(value.clone())
            {
                return Err(Error::OptionConflict {
                    message: format!(
                        "a run of workload \"{}\" has its own \"{name}\"",
                        self.workload
                    ),
                    hint: format!("Leave it out of option \"settings\"; it is {value}."),
                });
            }
        }
        Ok(Value::Object(settings))
    }

    /// The rate at which it was executed while it was captured, times a factor.
    pub fn rate(&self, factor: f64) -> Result<f64> {
        match self.captured.rate {
            Some(rate) if rate > 0.0 => Ok(rate * factor),
            _ => Err(Error::OptionConflict {
                message: format!("the rate of workload \"{}\" is not known", self.workload),
                hint: "Give \"rate\" instead of \"load_factor\".".into(),
            }),
        }
    }
}
