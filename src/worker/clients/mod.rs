//! Client workers: they execute the transactions of a run.
//!
//! | file | content |
//! |---|---|
//! | `client` | parts of both kinds |
//! | `spi_client` | process with one client that executes statements itself |
//! | `timing` | sampled times of its transactions |
//! | `libpq_client` | process with many clients over connections |
//! | `event_loop` | loop over these connections |
//! | `stragglers` | end of statements that outlast a stopped run |
//! | `rounds` | sampled times of answers in this loop |
//! | `shell` | `\shell` and `\setshell` |
//! | `notices` | server messages for the caller |
//! | `sampled` | sampling of stacks |

mod client;
mod event_loop;
pub mod libpq_client;
mod notices;
mod rounds;
pub mod sampled;
pub mod shell;
pub mod spi_client;
pub mod stragglers;
mod timing;
