//! pg_selfbench: benchmarks that run inside a PostgreSQL server.

pgrx::pg_module_magic!();
