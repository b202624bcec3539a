//! The coordinator of a run: it prepares the server, starts the clients, measures, and stores the result.
//!
//! | file | content |
//! |---|---|
//! | `process` | process: checks, vacuums and starts clients |
//! | `statements` | process for setup and teardown, and its start |
//! | `tables` | existence and size of the tables |
//! | `checkpoint` | checkpoint before the run |
//! | `client_process` | start, wait for and end of the clients' processes |
//! | `conduct` | start barrier, intervals, end, result |
//! | `warm_up` | end of a warm-up when the run is steady |
//! | `harvest` | reading of the clients' counters |
//! | `collector` | rows made of these |
//! | `logbook` | log of transactions |
//! | `verify` | conditions of the workload after the run |

mod checkpoint;
mod client_process;
mod collector;
mod conduct;
mod harvest;
pub mod logbook;
mod process;
pub mod statements;
pub mod tables;
mod verify;
mod warm_up;
