//! libpq behind a safe interface: one non-blocking connection per value.
//!
//! This module does not depend on benchmarks and never waits: it returns which socket event to wait
//! for, and the caller waits. Nothing here raises a PostgreSQL error, because libpq's callbacks
//! must not.

#[allow(unsafe_code)]
pub mod cancel;
#[allow(unsafe_code)]
mod connection;
#[allow(unsafe_code)]
pub mod conninfo;
#[allow(unsafe_code)]
mod notices;
#[allow(unsafe_code)]
mod result;
#[allow(unsafe_code)]
mod text;

pub use cancel::Cancel;
pub use connection::{Connecting, Connection, Lost, TransactionStatus, no_more_connections};
pub use conninfo::ConnectWith;
pub use notices::pass_notices_to;
pub use result::{PqResult, Status};
