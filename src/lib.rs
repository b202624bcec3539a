//! pg_selfbench: benchmarks that run inside a PostgreSQL server.
//!
//! Everything that needs no server lives in `crates`. Start reading at `worker/mod.rs`.
//!
//! A file uses its own folder and the layers below, never one above, and no two files import each
//! other, not even by way of others. A test, `crates/layers`, reads the order here, top to bottom:
//!
//! | layer | content |
//! |---|---|
//! | `api` | SQL functions: unpack, validate, call, return |
//! | `worker` | processes: who starts whom, how each enters and leaves |
//! | `telemetry` | observations of a run's coordinator beside the clients |
//! | `initialize` | tables and their filling |
//! | `results` | rows of results |
//! | `capture` | workloads made from what the server has executed |
//! | `session` | the two ways in which a client's statements reach a server |
//! | `run` | runs: options, specification |
//! | `database` | this server or a target, for everything that is not measured |
//! | `options` | lists of options: structs, defaults, reading them from calls and documents |
//! | `backend` | behavior of our processes as server processes |
//! | `shared` | the memory of a task |
//! | `copy` | filling a table by the server's COPY |
//! | `check` | checks of single values that functions are given |
//! | `server` | facts about this server and session |
//! | `security` | privileges, and the role with which something is done |
//! | `query` | reading queries of our own |
//! | `private` | private state of the server |
//! | `state` | this process's transaction, settings and identity, behind safe functions |
//! | `pq` | libpq behind a safe interface |
//! | `descriptors` | file descriptors beside those of the server's own files |
//! | `latch` | waits of a process: its latch and the flags of signals |
//! | `compat` | differences between versions of the server |
//! | `error` | every error that a user can meet |
//! | `clock` | the one clock of a run |
//! | `text` | copies of the server's and libpq's texts, and texts for the server |

#![allow(missing_docs)]
// Unsafe code stays in the modules that allow it, behind safe functions.
#![deny(unsafe_code)]

#[cfg(not(all(target_endian = "little", target_pointer_width = "64")))]
compile_error!("pg_selfbench needs a 64-bit machine with little-endian byte order");

mod api;
mod backend;
mod capture;
mod check;
mod clock;
#[allow(unsafe_code)]
mod compat;
#[allow(unsafe_code)]
mod copy;
mod database;
#[allow(unsafe_code)]
mod descriptors;
mod error;
mod initialize;
#[allow(unsafe_code)]
mod latch;
mod options;
mod pq;
#[allow(unsafe_code)]
mod private;
mod query;
mod results;
mod run;
mod security;
mod server;
mod session;
mod shared;
mod state;
mod telemetry;
#[allow(unsafe_code)]
mod text;
mod worker;

pgrx::pg_module_magic!();

/// Called by the server when it loads the library.
#[pgrx::pg_guard]
#[allow(unsafe_code)] // for set_var
pub extern "C-unwind" fn _PG_init() {
    // Errors pass through Rust panics. Even if the server's environment enables backtraces, they
    // must not reach clients and logs, and capturing one takes longer than most transactions. Set
    // this variable to 1 for debugging.
    if std::env::var_os("RUST_LIB_BACKTRACE").is_none() {
        // SAFETY: no other thread exists that could read the environment meanwhile.
        unsafe { std::env::set_var("RUST_LIB_BACKTRACE", "0") };
    }
    backend::limits::define();
}
