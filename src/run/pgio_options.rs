//! The options of `bench.run_pgio`, and what follows from them: the specification of the run.

use super::options::{MAX_CLIENTS, RunOptions};
use super::pgio::{MAX_TABLES, MISSING_HERE, PgioSpec, Scan};
use super::spec::{RunSpec, Vacuum};
use super::value_sets::ReadSets;
use crate::check::{in_range, invalid};
use crate::error::{Error, Result};
use crate::options::options;
use crate::query;

/// Most sessions of a table.
const MAX_THREADS: i32 = 10_000;
/// Most keys that a loop goes through.
const MAX_WORK_UNIT: i32 = 1_000_000_000;

selfbench_catalog::pgio_options!(options! {
    /// The options of `bench.run_pgio`.
    pub struct PgioOptions, ..run: RunOptions
});

impl PgioOptions {
    /// Checks everything that can be checked without the workers, and gives the specification.
    pub fn check(&self) -> Result<RunSpec> {
        let tables = match (self.tables, &self.run.target) {
            (Some(tables), _) => in_range("tables", tables, 1, MAX_TABLES)?,
            (None, None) => count_tables()?,
            (None, Some(_)) => {
                return Err(Error::OptionConflict {
                    message: "option \"target\" needs the number of tables".into(),
                    hint: "Give it as tables => ... with it.".into(),
                });
            }
        };
        let threads = self.threads_per_table;
        let threads = in_range(
            "threads_per_table",
            threads,
            1,
            MAX_THREADS.min(MAX_CLIENTS / tables),
        )?;
        let unit = |option, value| in_range(option, value, 0, MAX_WORK_UNIT);
        let commit_every = self.commit_every;
        let working_set_pct = self.working_set_pct;
        if !(working_set_pct > 0.0 && working_set_pct <= 100.0) {
            return Err(invalid(
                "working_set_pct",
                working_set_pct.to_string(),
                "A number above 0 and at most 100.",
            ));
        }
        let pgio = PgioSpec {
            tables: tables as usize,
            threads_per_table: threads as usize,
            update_pct: in_range("update_pct", self.update_pct, 0, 100)?,
            work_unit: unit("work_unit", self.work_unit)?,
            update_work_unit: unit("update_work_unit", self.update_work_unit)?,
            commit_every: in_range("commit_every", commit_every, 1, i32::MAX)? as u32,
            working_set_pct,
            scan: self.scan,
        };
        let run = RunOptions {
            clients: tables * threads,
            // pgio has tables of its own.
            vacuum: Vacuum::None,
            ..self.run.clone()
        };
        let mut spec = run.specify(pgio.scripts(1), None, &mut ReadSets::default())?;
        // Settings of the caller's session come last and take precedence.
        let mut settings = pgio.scan.settings();
        settings.append(&mut spec.settings);
        spec.settings = settings;
        spec.pgio = Some(pgio);
        Ok(spec)
    }
}

/// The number of tables `pgio1`, `pgio2`, ... that there are without a gap.
fn count_tables() -> Result<i32> {
    let found = query::first_value::<i32>(
        // One look at the catalogs for each table that there is, and one more.
        "WITH RECURSIVE found (n) AS (
             SELECT 0
             UNION ALL
             SELECT n OPERATOR(pg_catalog.+) 1 FROM found
              WHERE n OPERATOR(pg_catalog.<) $1
                AND pg_catalog.to_regclass(pg_catalog.concat('pgio', n OPERATOR(pg_catalog.+) 1))
                    IS NOT NULL)
         SELECT pg_catalog.max(n) FROM found",
        &[MAX_TABLES.into()],
    )?;
    match found.unwrap_or(0) {
        0 => Err(Error::TableMissing {
            table: PgioSpec::table(1),
            hint: MISSING_HERE.into(),
        }),
        tables => Ok(tables),
    }
}
