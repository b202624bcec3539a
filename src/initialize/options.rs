//! The options of `bench.initialize`, checked.

use crate::backend::identity::Identity;
use crate::backend::settings::{self, Settings};
use crate::check::{in_range, invalid};
use crate::database::target;
use crate::error::{Error, Result};
use crate::options::options;
use crate::pq::ConnectWith;
use crate::query;
use crate::server;
use selfbench_model::InitializeStep;
use serde::{Deserialize, Serialize};

/// Accounts per unit of scale.
pub const ACCOUNTS: i64 = 100_000;
/// Tellers per unit of scale.
pub const TELLERS: i64 = 10;
/// Least scale at which account numbers do not fit into an `int`.
pub const BIGINT_SCALE: i64 = 20_000;

/// Most processes that fill accounts; the server has no more slots for workers.
const MAX_WORKERS: i32 = 262_143;

selfbench_catalog::initialize_options!(options! {
    /// The options of `bench.initialize`.
    pub struct InitializeOptions
});

/// Partitioning of accounts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PartitionMethod {
    /// By ranges of the account number.
    Range,
    /// By a hash of the account number.
    Hash,
}

/// Specification for the loader.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InitializeSpec {
    /// Role and database.
    pub identity: Identity,
    /// Scale.
    pub scale: i64,
    /// Letters of the steps, in order.
    pub steps: String,
    /// Fill factor of the tables.
    pub fillfactor: i32,
    /// Number of partitions and how they are made.
    pub partitioning: Option<(i32, PartitionMethod)>,
    /// Whether tables are unlogged.
    pub unlogged: bool,
    /// Tablespace of tables.
    pub tablespace: Option<String>,
    /// Tablespace of indexes.
    pub index_tablespace: Option<String>,
    /// The caller's session settings.
    pub settings: Settings,
    /// Server with the tables, if it is not this one.
    pub target: Option<ConnectWith>,
    /// Processes that fill accounts, the loader among them; by default, the server's settings tell.
    pub workers: Option<i32>,
    /// Whether not to check that there is space for the tables; that of a target is never checked.
    pub force: bool,
    /// Whether tables are dropped wherever `search_path` finds them, as by pgbench.
    pub as_pgbench: bool,
}

impl InitializeOptions {
    /// Checks everything that can be checked before something is dropped.
    /// `as_pgbench` is whether tables are dropped wherever `search_path` finds them, as by pgbench.
    pub fn check(&self, as_pgbench: bool) -> Result<InitializeSpec> {
        let scale = in_range("scale", self.scale, 1, i32::MAX)?;
        let fillfactor = in_range("fillfactor", self.fillfactor, 10, 100)?;
        let partitions = in_range("partitions", self.partitions, 0, i32::MAX)?;
        let method = match self.partition_method.as_deref() {
            None | Some("range") => PartitionMethod::Range,
            Some("hash") => PartitionMethod::Hash,
            Some(other) => {
                return Err(invalid(
                    "partition_method",
                    format!("\"{other}\""),
                    "Valid values are \"range\", \"hash\".",
                ));
            }
        };
        if self.partition_method.is_some() && partitions == 0 {
            return Err(Error::OptionConflict {
                message: "option \"partition_method\" needs \"partitions\" above 0".into(),
                hint: "Give the number of partitions, too.".into(),
            });
        }
        let mut steps = String::new();
        for letter in self.steps.chars().filter(|c| *c != ' ') {
            if InitializeStep::from_letter(letter).is_none() {
                return Err(invalid(
                    "steps",
                    format!("\"{letter}\""),
                    "Valid steps are \"d\", \"t\", \"g\", \"G\", \"v\", \"p\", \"f\".",
                ));
            }
            steps.push(letter);
        }
        if self.foreign_keys && !steps.contains('f') {
            steps.push('f');
        }
        if steps.is_empty() {
            return Err(invalid("steps", "\"\"".into(), "At least one step."));
        }
        let common = CommonOptions {
            what: "pgbench's tables",
            named: "^pgbench_(accounts|branches|history|tellers)$",
            tablespace: self.tablespace.as_deref(),
            index_tablespace: self.index_tablespace.as_deref(),
            target: self.target.as_deref(),
            workers: self.workers,
        };
        let target = common.check(steps.contains('t'))?;
        Ok(InitializeSpec {
            identity: Identity::current(),
            scale: i64::from(scale),
            steps,
            fillfactor,
            partitioning: (partitions > 0).then_some((partitions, method)),
            unlogged: self.unlogged,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            settings: settings::of_session()?,
            target,
            workers: self.workers,
            force: self.force,
            as_pgbench,
        })
    }
}

/// Options that all kinds of tables have: where they are, and which processes fill them.
pub(super) struct CommonOptions<'o> {
    /// The tables.
    pub what: &'static str,
    /// The regular expression of their names.
    pub named: &'o str,
    /// Tablespace of tables.
    pub tablespace: Option<&'o str>,
    /// Tablespace of their indexes.
    pub index_tablespace: Option<&'o str>,
    /// A connection string or the name of a foreign server.
    pub target: Option<&'o str>,
    /// Processes that fill tables.
    pub workers: Option<i32>,
}

impl CommonOptions<'_> {
    /// Checks them and, if the tables are on this server, that it allows writing. Returns the
    /// connection parameters of the target, if there is one.
    pub fn check(&self, creates: bool) -> Result<Option<ConnectWith>> {
        if let Some(workers) = self.workers {
            in_range("workers", workers, 1, MAX_WORKERS)?;
            if self.target.is_some() {
                return Err(Error::OptionConflict {
                    message: "options \"workers\" and \"target\" exclude each other".into(),
                    hint: "A target is filled over one connection; leave one of them out.".into(),
                });
            }
        }
        server::require_login_role()?;
        if let Some(target) = self.target {
            return target::resolve(target).map(Some);
        }
        for (option, tablespace) in [
            ("tablespace", self.tablespace),
            ("index_tablespace", self.index_tablespace),
        ] {
            if let Some(name) = tablespace {
                require_tablespace(option, name)?;
            }
        }
        if creates {
            require_schema()?;
            refuse_temporary(self.named)?;
        }
        server::require_writable(&format!("initialize {}", self.what))?;
        Ok(None)
    }
}

impl InitializeSpec {
    /// Number of rows of accounts.
    pub fn accounts(&self) -> i64 {
        ACCOUNTS * self.scale
    }

    /// Whether it uses tables of the first schema of `search_path`, where it drops or creates them,
    /// and not the tables that `search_path` finds.
    pub fn is_in_first_schema(&self) -> bool {
        !self.as_pgbench && self.steps.contains(['d', 't'])
    }

    /// Number of rows of all tables.
    pub fn rows(&self) -> i64 {
        self.scale + TELLERS * self.scale + self.accounts()
    }
}

fn require_tablespace(option: &'static str, name: &str) -> Result<()> {
    let may = query::first_value::<bool>(
        "SELECT (SELECT pg_catalog.has_tablespace_privilege(t.oid, 'CREATE')
                        OR t.oid OPERATOR(pg_catalog.=)
                           (SELECT d.dattablespace FROM pg_catalog.pg_database d
                             WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
                   FROM pg_catalog.pg_tablespace t
                  WHERE t.spcname::pg_catalog.text OPERATOR(pg_catalog.=) $1)",
        &[name.into()],
    )?;
    match may {
        Some(_) if name == "pg_global" => Err(invalid(
            option,
            format!("\"{name}\""),
            "A tablespace for the tables of a database.",
        )),
        Some(true) => Ok(()),
        Some(false) => Err(Error::Denied {
            what: format!("tablespace \"{name}\""),
            hint: "Ask for the CREATE privilege on it.".into(),
        }),
        None => Err(invalid(
            option,
            format!("\"{name}\""),
            "The name of a tablespace of this server.",
        )),
    }
}

fn require_schema() -> Result<()> {
    let found = query::first_two_values::<String, bool>(
        "SELECT pg_catalog.current_schema()::pg_catalog.text,
                pg_catalog.has_schema_privilege(pg_catalog.current_schema(), 'CREATE')",
        &[],
    )?;
    match found {
        (Some(_), Some(true)) => Ok(()),
        (Some(schema), _) => Err(Error::Denied {
            what: format!("schema \"{schema}\""),
            hint: "Tables are created in the first schema of search_path; set it to one in which \
                   you may create tables."
                .into(),
        }),
        (None, _) => Err(no_schema()),
    }
}

/// Fails if a temporary table of the caller would hide one that is to be created from its queries, but
/// not from the workers.
fn refuse_temporary(named: &str) -> Result<()> {
    let found = query::first_value::<String>(
        "SELECT c.relname::pg_catalog.text
           FROM pg_catalog.pg_class c
           JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
          WHERE n.oid OPERATOR(pg_catalog.=) pg_catalog.pg_my_temp_schema()
            AND c.relname::pg_catalog.text OPERATOR(pg_catalog.~) $1
            AND pg_catalog.array_position(pg_catalog.current_schemas(true), n.nspname)
                OPERATOR(pg_catalog.<)
                pg_catalog.array_position(pg_catalog.current_schemas(true),
                                          pg_catalog.current_schema())
          ORDER BY 1 LIMIT 1",
        &[named.into()],
    )?;
    match found {
        None => Ok(()),
        Some(relation) => Err(Error::NameTaken {
            relation,
            why: "it is a temporary table of this session, which would hide the new table".into(),
        }),
    }
}

/// The error if there is no schema for new tables.
pub(super) fn no_schema() -> Error {
    Error::Denied {
        what: "creating tables".into(),
        hint: "No schema of search_path exists; set it to one in which you may create tables."
            .into(),
    }
}
