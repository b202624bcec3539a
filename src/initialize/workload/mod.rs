//! Tables of workloads, whose statements and rows are texts of `selfbench_workload`.
//!
//! | file | content |
//! |---|---|
//! | `options` | options of `bench.initialize` for a workload, checked |
//! | `spec` | specification for the loader |
//! | `tables` | existing tables, the statements of each step, and `bench_workload` |
//! | `parts` | the parts of the rows |
//! | `insert` | inserting the rows of a query |
//! | `lines` | the rows of a query for COPY to a target |

#[allow(unsafe_code)]
mod insert;
mod lines;
pub mod options;
pub mod parts;
pub mod spec;
pub mod tables;
