//! SQL-callable functions: unpack the arguments, call, return. Declared by hand in `src/sql`.

mod arguments;
mod compare;
mod initialize;
mod live;
mod pgbench;
mod pgio;
mod result;
mod run;
mod scripts;
