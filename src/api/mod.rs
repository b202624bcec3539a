//! SQL-callable functions: unpack the arguments, call, return. Declared by hand in `src/sql`.

mod compare;
mod initialize;
mod pgbench;
mod result;
mod run;
mod scripts;
