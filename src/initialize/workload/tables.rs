//! The tables of a workload: existing ones, the statements of each step, and the table `bench_workload`.

use super::spec::{WORKLOADS, WorkloadSpec};
use crate::database::Database;
use crate::error::{Error, Result, problem};
use crate::initialize::options::no_schema;
use crate::initialize::tables::{OldTable, announce_drop, not_a_table, quote_identifier};
use crate::query::quote_literal;
use crate::run::workload::{FirstRow, other_columns};
use pgrx::spi::Spi;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Fate of a table that a load has created.
pub const REPLACED: &str = "another one has replaced it during the load";

/// Relations, types and routines with certain names in the schema where tables are created.
const NAMED: &str = include_str!("named.sql");

/// A relation: its name, kind, OID, qualified name, approximate number of rows and columns, whether it
/// belongs to the current role, and whether it has triggers, rules or policies.
type Named = (
    String,
    String,
    u32,
    String,
    Option<i64>,
    Vec<String>,
    bool,
    bool,
);

/// A function or procedure.
#[derive(Deserialize)]
struct Routine {
    /// Its name with types of arguments, as SQL finds it.
    qualified: String,
    /// The same without the schema.
    name: String,
    /// Whether it depends on the relations that were looked for, such as by a row type or by its parsed body.
    is_dependent: bool,
}

/// What loads have created, by their families: names of tables, and those of routines without the schema.
type Loads = BTreeMap<String, Vec<String>>;

/// The schema of the tables, the first one of `search_path`, and what an initialization replaces in it.
pub struct Schema {
    /// Its name, quoted for SQL.
    name: String,
    /// Existing tables of the workload.
    pub old: Vec<OldTable>,
    /// Existing routines of the workload.
    routines: Vec<Routine>,
    /// Loads that `bench_workload` has; `None` if there is no such table.
    loads: Option<Loads>,
    /// OIDs of the tables that the load has created, and of `bench_workload`, by their names with schema.
    created: BTreeMap<String, u32>,
}

impl Schema {
    /// Makes the first schema of `search_path` the only one, for the rest of this session, and finds what
    /// is in it.
    ///
    /// # Errors
    /// If something has the name of a table or routine that must not be replaced.
    pub fn enter(database: &mut Database, spec: &WorkloadSpec) -> Result<Schema> {
        let row = database.first_row("SELECT pg_catalog.current_schema()::pg_catalog.text")?;
        let name = row.into_iter().next().flatten().ok_or_else(no_schema)?;
        let name = quote_identifier(&name);
        database.execute_alone(&format!("SET search_path = {name}, pg_temp"))?;
        // The names of routines with their types are compared with those of the load that has created them.
        database.execute_alone("SET quote_all_identifiers = off")?;
        if let Some(tablespace) = &spec.tablespace {
            let tablespace = quote_identifier(tablespace);
            database.execute_alone(&format!("SET default_tablespace = {tablespace}"))?;
        }
        let mut schema = Schema {
            name,
            old: Vec::new(),
            routines: Vec::new(),
            loads: None,
            created: BTreeMap::new(),
        };
        schema.find(database, spec)?;
        Ok(schema)
    }

    fn find(&mut self, database: &mut Database, spec: &WorkloadSpec) -> Result<()> {
        let mut names = spec.tables.clone();
        names.push(WORKLOADS.into());
        let first_row: &mut FirstRow<'_> = &mut |sql| database.first_row(sql);
        let (relations, types, routines) = named(first_row, &names, &spec.routines)?;
        if let Some(relation) = types.into_iter().next() {
            let why = "it is a type".into();
            return Err(Error::NameTaken { relation, why });
        }
        if let Some(row) = relations.iter().find(|row| row.0 == WORKLOADS) {
            require_own(row)?;
            let mut loads = Loads::new();
            database.transaction(|database| {
                loads = self.lock_row(database)?;
                Ok(())
            })?;
            self.loads = Some(loads);
        }
        let replaces = |name: &str| spec.force || self.is_created(spec, name);
        let others = format!(
            "{WORKLOADS} does not say that a load of workload \"{0}\" has created it \
             (bench.initialize('{0}', force => true) replaces it)",
            spec.family
        );
        let mut old = Vec::new();
        for (relation, kind, oid, name, rows, ..) in relations {
            if relation == WORKLOADS {
                continue;
            }
            let why = match kind.as_str() {
                "r" | "p" if replaces(&relation) => {
                    old.push(OldTable { name, oid, rows });
                    continue;
                }
                "r" | "p" => others,
                kind => not_a_table(kind).into(),
            };
            return Err(Error::NameTaken { relation, why });
        }
        let mut names = routines.iter().map(|routine| &routine.name);
        if let Some(name) = names.find(|name| !replaces(name)) {
            let relation = name.clone();
            let why = others;
            return Err(Error::NameTaken { relation, why });
        }
        self.old = old;
        self.routines = routines;
        Ok(())
    }

    /// Whether a load of the workload has created the table or routine, as `bench_workload` says.
    fn is_created(&self, spec: &WorkloadSpec, name: &str) -> bool {
        let created = self
            .loads
            .iter()
            .filter_map(|loads| loads.get(&spec.family));
        created.flatten().any(|created| created == name)
    }

    /// The notices about tables that will be dropped, and about routines that will be although no load has created
    /// them.
    pub fn announce_drop(&self, spec: &WorkloadSpec) -> Vec<String> {
        let routines = self.routines.iter().map(|routine| routine.name.as_str());
        let foreign: Vec<_> = routines
            .filter(|name| !self.is_created(spec, name))
            .collect();
        let routines = (!foreign.is_empty()).then(|| {
            format!(
                "functions and procedures to be dropped: {}",
                foreign.join(", ")
            )
        });
        announce_drop(&self.old)
            .into_iter()
            .chain(routines)
            .collect()
    }

    /// The name of a table with its schema, quoted for SQL.
    pub fn table(&self, table: &str) -> String {
        format!("{}.{}", self.name, quote_identifier(table))
    }

    /// Statements that drop what is replaced: routines that depend on tables, tables, and the other routines,
    /// on which triggers, defaults or indexes of the tables may depend. Each drops all of its kind at once, as
    /// these may depend on each other. What others have made to depend on them stays, and is an error.
    pub fn drop(&self) -> Vec<String> {
        let tables: Vec<_> = self.old.iter().map(|old| old.name.as_str()).collect();
        let routines = |depend: bool| -> Vec<_> {
            let routines = self
                .routines
                .iter()
                .filter(|routine| routine.is_dependent == depend);
            routines.map(|routine| routine.qualified.as_str()).collect()
        };
        let statements = [
            ("ROUTINE", routines(true)),
            ("TABLE", tables),
            ("ROUTINE", routines(false)),
        ];
        let statements = statements.iter().filter(|(_, names)| !names.is_empty());
        statements
            .map(|(kind, names)| format!("DROP {kind} {}", names.join(", ")))
            .collect()
    }

    /// Statements that create the tables and routines, and `bench_workload` if it is not there.
    pub fn create(&self, spec: &WorkloadSpec) -> Vec<String> {
        let mut statements = spec.schema.clone();
        if spec.unlogged {
            // The last ones first: a table that a logged one references cannot be unlogged.
            let names = spec.tables.iter().rev().map(|table| self.table(table));
            statements.extend(names.map(|table| format!("ALTER TABLE {table} SET UNLOGGED")));
        }
        statements.push(format!(
            "CREATE TABLE IF NOT EXISTS {} (family text PRIMARY KEY, scale bigint NOT NULL, \
             variables jsonb NOT NULL, seed bigint NOT NULL, constants jsonb NOT NULL, \
             started_at timestamptz NOT NULL, loaded_at timestamptz, created jsonb NOT NULL)",
            self.table(WORKLOADS)
        ));
        statements
    }

    /// Makes the row of an initialization that has begun, and remembers the tables that it has created in the
    /// transaction of `database`.
    pub fn begin(&mut self, database: &mut Database, spec: &WorkloadSpec) -> Result<()> {
        let first_row: &mut FirstRow<'_> = &mut |sql| database.row(sql);
        let (relations, _, routines) = named(first_row, &spec.tables, &spec.routines)?;
        let routines = routines.into_iter().map(|routine| routine.name);
        let created: Vec<_> = relations
            .into_iter()
            .map(|row| row.0)
            .chain(routines)
            .collect();
        let workloads = self.table(WORKLOADS);
        let json = |values: Value| quote_literal(&values.to_string());
        database.execute(&format!(
            "DELETE FROM {workloads} {}",
            of_family(&spec.family)
        ))?;
        database.execute(&format!(
            "INSERT INTO {workloads} (family, scale, variables, seed, constants, started_at, created) VALUES \
             ({}, {}, {}, {}, {}, pg_catalog.clock_timestamp(), {})",
            quote_literal(&spec.family),
            spec.scale,
            json(json!(spec.variables)),
            spec.seed as i64,
            json(json!(spec.constants)),
            json(json!(created))
        ))?;
        // What it has taken from loads of others by force is no longer theirs.
        database.execute(&format!(
            "UPDATE {workloads} SET created = created OPERATOR(pg_catalog.-) {}::pg_catalog.text[]
              WHERE pg_catalog.jsonb_typeof(created) OPERATOR(pg_catalog.=) 'array' AND NOT ({})",
            array(&created),
            is_family(&spec.family)
        ))?;
        let tables = spec.tables.iter().map(String::as_str).chain([WORKLOADS]);
        self.created = self.oids(tables, &mut |sql| database.row(sql))?;
        Ok(())
    }

    /// The statement that locks a table, as the statements that change its rows do. The name then stays that of
    /// the table until the end of the transaction: what is checked behind it is what these statements change.
    /// Otherwise, another role could replace the table in between, and have its triggers executed by this one.
    pub fn lock(&self, table: &str) -> String {
        format!("LOCK TABLE {} IN ROW EXCLUSIVE MODE", self.table(table))
    }

    fn lock_table(&self, database: &mut Database, table: &str) -> Result<()> {
        let lock = self.lock(table);
        match database {
            // As a statement of a function: LOCK TABLE at top level needs a transaction block.
            Database::Here => Ok(Spi::run(&lock)?),
            Database::There(remote) => remote.execute(&lock),
        }
    }

    /// Locks tables that the load has created, in a transaction.
    ///
    /// # Errors
    /// If another table has replaced one of them.
    pub fn lock_created(&self, database: &mut Database, tables: &[String]) -> Result<()> {
        for table in tables {
            self.lock_table(database, table)?;
        }
        let tables = tables.iter().map(String::as_str);
        self.require_created(tables, &mut |sql| database.row(sql))
    }

    /// Locks `bench_workload` and returns its loads, in a transaction.
    ///
    /// # Errors
    /// If it is not the table of this role.
    pub fn lock_row(&self, database: &mut Database) -> Result<Loads> {
        self.lock_table(database, WORKLOADS)?;
        let first_row: &mut FirstRow<'_> = &mut |sql| database.row(sql);
        let (relations, ..) = named(first_row, &[WORKLOADS.into()], &[])?;
        relations.first().map_or(Ok(()), require_own)?;
        let row = first_row(&format!(
            "SELECT pg_catalog.json_object_agg(w.family, w.created)::pg_catalog.text FROM {}.{WORKLOADS} w",
            self.name
        ))?;
        let loads: BTreeMap<String, Value> = parsed(row.into_iter().next().flatten())?;
        // What is no list of texts lists nothing.
        let list = |created| serde_json::from_value(created).unwrap_or_default();
        let loads = loads.into_iter();
        Ok(loads
            .map(|(family, created)| (family, list(created)))
            .collect())
    }

    /// The statement after which `bench_workload` does not have the family, or is gone with the last one.
    pub fn forget(&self, spec: &WorkloadSpec) -> Option<String> {
        let table = self.table(WORKLOADS);
        let loads = self.loads.as_ref()?;
        match loads.keys().all(|family| *family == spec.family) {
            true => Some(format!("DROP TABLE {table}")),
            false => Some(format!("DELETE FROM {table} {}", of_family(&spec.family))),
        }
    }

    /// Fails unless `bench_workload` still is the table of this role with the row of the load, and locks it, in a
    /// transaction.
    pub fn require_row(&self, database: &mut Database, spec: &WorkloadSpec) -> Result<()> {
        match self.lock_row(database)?.contains_key(&spec.family) {
            true => Ok(()),
            false => Err(Error::NotUsable {
                relation: WORKLOADS.into(),
                why: "the row of the load has been deleted".into(),
            }),
        }
    }

    /// Fails if another table has replaced one that the load has created. After a statement on it, or
    /// [`lock`](Self::lock), in the same transaction, this tells which one is used.
    pub fn require_created<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t str> + Clone,
        first_row: &mut FirstRow<'_>,
    ) -> Result<()> {
        let found = self.oids(tables.clone(), first_row)?;
        for table in tables {
            let name = self.table(table);
            if !found.contains_key(&name) || found.get(&name) != self.created.get(&name) {
                return Err(Error::NotUsable {
                    relation: table.into(),
                    why: REPLACED.into(),
                });
            }
        }
        Ok(())
    }

    fn oids<'t>(
        &self,
        tables: impl IntoIterator<Item = &'t str>,
        first_row: &mut FirstRow<'_>,
    ) -> Result<BTreeMap<String, u32>> {
        let names: Vec<_> = tables.into_iter().map(|table| self.table(table)).collect();
        let row = first_row(&format!(
            "SELECT pg_catalog.json_object_agg(t.name, c.oid::pg_catalog.int8)::pg_catalog.text
               FROM pg_catalog.unnest({}::pg_catalog.text[]) t (name)
               JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) pg_catalog.to_regclass(t.name)",
            array(&names)
        ))?;
        parsed(row.into_iter().next().flatten())
    }

    /// The statement that changes the row, and leaves it as it is.
    pub fn touch(&self, spec: &WorkloadSpec) -> String {
        format!(
            "UPDATE {} SET started_at = started_at {}",
            self.table(WORKLOADS),
            of_family(&spec.family)
        )
    }

    /// The statement that completes the row.
    pub fn complete(&self, spec: &WorkloadSpec) -> String {
        format!(
            "UPDATE {} SET loaded_at = pg_catalog.clock_timestamp() {}",
            self.table(WORKLOADS),
            of_family(&spec.family)
        )
    }

    /// Vacuums and analyzes a table.
    pub fn vacuum(&self, table: &str) -> String {
        format!("VACUUM ANALYZE {}", self.table(table))
    }
}

/// Relations, names of types, and routines in the first schema of `search_path` that have certain names.
fn named(
    first_row: &mut FirstRow<'_>,
    tables: &[String],
    routines: &[String],
) -> Result<(Vec<Named>, Vec<String>, Vec<Routine>)> {
    let sql = NAMED
        .replace("{tables}", &array(tables))
        .replace("{routines}", &array(routines));
    let mut found = first_row(&sql)?.into_iter().map(Option::unwrap_or_default);
    let mut next = || found.next();
    Ok((parsed(next())?, parsed(next())?, parsed(next())?))
}

/// A list or object that is JSON; empty without one.
pub fn parsed<T: DeserializeOwned + Default>(json: Option<String>) -> Result<T> {
    let Some(json) = json else {
        return Ok(T::default());
    };
    serde_json::from_str(&json)
        .map_err(|error| Error::Limit(format!("cannot read a catalog: {}", problem(&error))))
}

fn of_family(family: &str) -> String {
    format!("WHERE {}", is_family(family))
}

fn is_family(family: &str) -> String {
    format!(
        "{WORKLOADS}.family OPERATOR(pg_catalog.=) {}",
        quote_literal(family)
    )
}

/// Fails unless a relation is the table `bench_workload` of this role. Another role's could execute
/// anything as this one.
fn require_own((relation, kind, _, _, _, columns, is_own, is_hooked): &Named) -> Result<()> {
    let why = if kind != "r" {
        not_a_table(kind).to_owned()
    } else if let Some(why) = other_columns(columns) {
        why
    } else if !is_own {
        "it belongs to another role".into()
    } else if *is_hooked {
        "it has triggers, rules or row-level security".into()
    } else {
        return Ok(());
    };
    Err(Error::NameTaken {
        relation: relation.clone(),
        why,
    })
}

/// Texts as a literal of an array.
fn array(texts: &[String]) -> String {
    let quoted: Vec<_> = texts
        .iter()
        .map(|text| format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")))
        .collect();
    quote_literal(&format!("{{{}}}", quoted.join(",")))
}
