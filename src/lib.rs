//! pg_selfbench: benchmarks that run inside a PostgreSQL server.
//!
//! `api` is what SQL calls; `worker` the background processes and `shared` the memory that they
//! share; `run` and `initialize` say what is to be done, `session` and `pq` how statements reach
//! the server, `target` which server that is, `results` what becomes of the figures. Everything
//! that needs no server lives in `crates`. Start reading at `worker/mod.rs`.

#![allow(missing_docs)]

mod api;
mod backend;
mod check;
mod clock;
mod compat;
mod copy;
mod database;
mod error;
mod initialize;
mod latch;
mod pq;
mod query;
mod results;
mod run;
mod security;
mod server;
mod session;
mod shared;
mod worker;

pgrx::pg_module_magic!();

/// Called by the server when it loads the library.
#[pgrx::pg_guard]
pub extern "C-unwind" fn _PG_init() {
    // Errors pass through Rust panics. Even if the server's environment enables backtraces, they
    // must not reach clients and logs, and capturing one takes longer than most transactions. Set
    // this variable to 1 for debugging.
    if std::env::var_os("RUST_LIB_BACKTRACE").is_none() {
        // SAFETY: a process of the server has one thread.
        unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
    }
}

pgrx::extension_sql_file!("sql/schema.sql", name = "schema", bootstrap);
pgrx::extension_sql_file!("sql/tables.sql", name = "tables", requires = ["schema"]);
pgrx::extension_sql_file!("sql/runs.sql", name = "runs", requires = ["tables"]);
pgrx::extension_sql_file!("sql/scripts.sql", name = "scripts", requires = ["runs"]);
pgrx::extension_sql_file!(
    "sql/initialize.sql",
    name = "initialize",
    requires = ["scripts"]
);
pgrx::extension_sql_file!(
    "sql/results.sql",
    name = "results",
    requires = ["initialize"]
);
pgrx::extension_sql_file!("sql/pgbench.sql", name = "pgbench", requires = ["results"]);
pgrx::extension_sql_file!("sql/pgio.sql", name = "pgio", requires = ["pgbench"]);
pgrx::extension_sql_file!(
    "sql/compare.sql",
    name = "compare",
    requires = ["pgio"],
    finalize
);
