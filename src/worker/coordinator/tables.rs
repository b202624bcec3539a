//! The tables that the scripts of a run use: whether they exist, and how large they are.

use crate::error::{Error, Result};
use crate::run::workload::FirstRow;
use crate::run::{PgioSpec, RunSpec, ScriptSpec, pgio};

/// Data on the tables of a run.
#[derive(Default)]
pub struct RunTables {
    /// Scale of pgbench's tables, or number of keys of each of pgio's.
    pub scale: i64,
    /// Partitioning of `pgbench_accounts`: `range` or `hash`; `None` if it is not partitioned.
    pub partition_method: Option<String>,
    /// Number of its partitions.
    pub partitions: Option<i32>,
}

/// Checks that the tables that the scripts need exist, where `first_row` looks, and determines their scale.
pub fn look_up(spec: &RunSpec, first_row: &mut FirstRow<'_>) -> Result<RunTables> {
    if let Some(pgio) = &spec.pgio {
        return Ok(RunTables {
            scale: pgio_keys(spec, pgio, first_row)?,
            ..RunTables::default()
        });
    }
    if !spec.uses_pgbench_tables() {
        return Ok(RunTables {
            // For stored scripts, the user specifies the scale.
            scale: spec
                .scale
                .or_else(|| spec.variable("scale")?.parse().ok())
                .unwrap_or(1),
            ..RunTables::default()
        });
    }
    require_pgbench_tables(spec, first_row)?;
    let scale = pgbench_scale(spec, first_row)?;
    let (partition_method, partitions) = partitioning(first_row)?;
    Ok(RunTables {
        scale,
        partition_method,
        partitions,
    })
}

/// Fails unless the pgbench tables that the built-in scripts use exist.
fn require_pgbench_tables(spec: &RunSpec, first_row: &mut FirstRow<'_>) -> Result<()> {
    let writes = |script: &ScriptSpec| script.builtin && script.writes && script.weight > 0;
    let needed: &[&str] = if spec.scripts.iter().any(writes) {
        &[
            "pgbench_accounts",
            "pgbench_branches",
            "pgbench_tellers",
            "pgbench_history",
        ]
    } else {
        &["pgbench_accounts", "pgbench_branches"]
    };
    for table in needed {
        if !exists(first_row, table)? {
            return Err(Error::TableMissing {
                table: (*table).into(),
                hint: match spec.target {
                    None => {
                        "Create pgbench's tables with SELECT * FROM bench.initialize(), or set \
                         search_path so that they are found."
                    }
                    Some(_) => {
                        "Create pgbench's tables in the target with SELECT * FROM \
                         bench.initialize(target => ...), or connect to where they are found."
                    }
                }
                .into(),
            });
        }
    }
    Ok(())
}

/// The scale of pgbench's tables: the number of branches, as in pgbench.
fn pgbench_scale(spec: &RunSpec, first_row: &mut FirstRow<'_>) -> Result<i64> {
    let branches = "SELECT pg_catalog.count(*)::pg_catalog.text FROM pgbench_branches";
    let scale = match number(first_row, branches) {
        Err(Error::Server(report)) if report.sqlstate == "42501" => {
            return Err(Error::Denied {
                what: "table pgbench_branches".into(),
                hint: "The scale is the number of its rows, and built-in scripts need privileges on \
                       pgbench's tables: grant SELECT on all four, and INSERT and UPDATE unless \
                       the script is select-only; TRUNCATE on pgbench_history lets the run empty it."
                    .into(),
            });
        }
        scale => scale?,
    };
    match scale {
        Some(scale) if scale > 0 => Ok(scale),
        _ => Err(Error::TableEmpty {
            table: "pgbench_branches".into(),
            hint: match spec.target {
                None => "Fill pgbench's tables with SELECT * FROM bench.initialize().",
                Some(_) => {
                    "Fill pgbench's tables in the target with SELECT * FROM \
                     bench.initialize(target => ...)."
                }
            }
            .into(),
        }),
    }
}

/// The partition method of `pgbench_accounts` and the number of its partitions; `None` unless it is
/// partitioned by range or hash.
fn partitioning(first_row: &mut FirstRow<'_>) -> Result<(Option<String>, Option<i32>)> {
    let row = first_row(
        "SELECT CASE p.partstrat WHEN 'r' THEN 'range' WHEN 'h' THEN 'hash' END,
                (SELECT pg_catalog.count(*)::pg_catalog.text FROM pg_catalog.pg_inherits i
                  WHERE i.inhparent OPERATOR(pg_catalog.=) p.partrelid)
           FROM pg_catalog.pg_partitioned_table p
          WHERE p.partrelid OPERATOR(pg_catalog.=) 'pgbench_accounts'::pg_catalog.regclass",
    )?;
    let [Some(method), Some(partitions)] = row.as_slice() else {
        return Ok((None, None));
    };
    Ok((Some(method.clone()), partitions.parse().ok()))
}

/// The number of keys of each of pgio's tables; the smallest one's if they differ.
fn pgio_keys(spec: &RunSpec, pgio: &PgioSpec, first_row: &mut FirstRow<'_>) -> Result<i64> {
    let mut keys = i64::MAX;
    for table in (1..=pgio.tables).map(PgioSpec::table) {
        if !exists(first_row, &table)? {
            return Err(Error::TableMissing {
                table,
                hint: match spec.target {
                    None => pgio::MISSING_HERE,
                    Some(_) => pgio::MISSING_THERE,
                }
                .into(),
            });
        }
        let last = format!("SELECT pg_catalog.max(mykey)::pg_catalog.text FROM {table}");
        match number(first_row, &last)? {
            Some(last) if last > 0 => keys = keys.min(last),
            _ => {
                return Err(Error::TableEmpty {
                    table,
                    hint: "Fill pgio's tables with SELECT * FROM bench.initialize_pgio().".into(),
                });
            }
        }
    }
    pgio.require_keys(keys)?;
    Ok(keys)
}

/// Whether `search_path` finds a table of that name.
fn exists(first_row: &mut FirstRow<'_>, table: &str) -> Result<bool> {
    let oid = format!("SELECT pg_catalog.to_regclass('{table}')::pg_catalog.text");
    Ok(value(first_row, &oid)?.is_some())
}

/// The number that a query returns as text, if any.
fn number(first_row: &mut FirstRow<'_>, sql: &str) -> Result<Option<i64>> {
    Ok(value(first_row, sql)?.and_then(|text| text.parse().ok()))
}

/// The first column of the first row of a query; `None` if there is no row or it is NULL.
fn value(first_row: &mut FirstRow<'_>, sql: &str) -> Result<Option<String>> {
    Ok(first_row(sql)?.into_iter().next().flatten())
}
