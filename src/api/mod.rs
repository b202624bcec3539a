//! SQL-callable functions: unpack the arguments, call, return. Declared by hand in `src/sql`.

mod budget;
mod capture;
mod charts;
mod dashboard;
mod generated;
mod initialize;
mod last;
mod launch;
mod live;
mod pgbench;
mod pgio;
mod progress;
mod random;
mod report;
mod require;
mod result;
mod run;
mod sampled;
mod scripts;
mod sets;
mod teardown;
mod travel;
mod trend;
mod wait;
mod warnings;
mod workloads;
