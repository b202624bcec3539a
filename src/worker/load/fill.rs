//! Filling tables, on this server or a target: by finished pages where possible, otherwise by COPY.

use super::page_worker;
use crate::clock;
use crate::compat;
use crate::database::Database;
use crate::error::Result;
use crate::initialize::pages::{AddedKeys, Plan};
use crate::initialize::pgio::Schema;
use crate::initialize::rows::{self, Rows, Table};
use crate::initialize::workload::parts::{Parts, with_settings};
use crate::initialize::workload::tables::Schema as WorkloadSchema;
use crate::initialize::{InitializeSpec, PgioLoadSpec, WorkloadSpec};
use crate::query::{self, quote_literal};
use crate::shared::Header;
use pgrx::pg_sys;
use std::sync::atomic::Ordering::Relaxed;

/// First server version for which pgbench also copies with FREEZE.
const FREEZES: i32 = 140_000;

/// Fills accounts within a transaction that has emptied them: by finished pages where that is
/// possible, and then with their primary keys, if there is a statement that adds them. `header`
/// counts the rows.
pub fn accounts(
    database: &mut Database,
    spec: &InitializeSpec,
    accounts: String,
    add_keys: Option<&str>,
    header: &'static Header,
) -> Result<AddedKeys> {
    let mut keyed = AddedKeys::default();
    if let Database::Here = database {
        let processes = page_worker::processes(spec.workers);
        let plan = |has_keys| Plan::of_accounts(spec, &accounts, processes, has_keys);
        let mut found = plan(false)?;
        let may_add_keys = found.as_ref().is_some_and(|plan| plan.may_add_keys);
        if let (Some(statement), true, true) = (add_keys, may_add_keys, compat::KNOWS_KEYS) {
            let begun = clock::now_ns();
            database.execute(statement)?;
            // An event trigger may have done anything.
            found = plan(true)?;
            keyed.added = true;
            keyed.spent_ns = clock::now_ns() - begun;
        }
        if let Some(plan) = found {
            page_worker::fill(&plan, processes, header, &mut keyed)?;
            return Ok(keyed);
        }
    }
    let done = &header.rows_done;
    copy(
        database,
        Rows::of_pgbench(accounts, Table::Accounts, spec.scale, done),
    )?;
    Ok(keyed)
}

/// Fills pgio's tables within a transaction that has created them: by finished pages where that
/// is possible. `header` counts the rows.
pub fn pgio(
    database: &mut Database,
    spec: &PgioLoadSpec,
    schema: &Schema,
    header: &'static Header,
) -> Result<()> {
    if let Database::Here = database {
        let oid = |number| {
            let table = schema.table(number);
            let sql = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid";
            query::first_value::<pg_sys::Oid>(sql, &[table.into()])
        };
        let tables: Vec<_> = (1..=spec.tables).map(oid).collect::<Result<_>>()?;
        let tables: Vec<_> = tables.into_iter().flatten().collect();
        let processes = page_worker::processes(spec.workers);
        if let Some(plan) = Plan::of_pgio(spec, &tables, processes) {
            return page_worker::fill(&plan, processes, header, &mut AddedKeys::default());
        }
    }
    (1..=spec.tables).try_for_each(|number| {
        let (table, keys) = (schema.table(number), spec.keys(number));
        copy(database, Rows::of_pgio(table, keys, &header.rows_done))
    })
}

/// Fills the tables of a workload, in many transactions. `header` counts the rows.
pub fn workload(
    database: &mut Database,
    spec: &WorkloadSpec,
    schema: &WorkloadSchema,
    header: &'static Header,
) -> Result<()> {
    let mut parts = Parts::of(spec, schema);
    with_settings(|| {
        parts.check_columns(database)?;
        match database {
            Database::Here => {
                parts.find_references()?;
                page_worker::insert(parts, page_worker::processes(spec.workers), header)
            }
            Database::There(remote) => parts.copy(remote, schema, &mut |rows| {
                header.rows_done.fetch_add(rows, Relaxed);
                Ok(())
            }),
        }
    })
}

/// Fills a table within a transaction that has created or emptied it.
pub fn copy(database: &mut Database, mut rows: Rows) -> Result<()> {
    let remote = match database {
        Database::Here => return rows::copy(rows),
        Database::There(remote) => remote,
    };
    let table = rows.table().to_owned();
    // COPY with FREEZE does not support partitioned tables.
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
