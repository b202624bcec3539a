//! libpq behind a safe interface: one non-blocking connection per value.
//!
//! Knows nothing of benchmarks and nothing of waiting: it says what the socket is waited for, the
//! caller waits. Nothing here raises a PostgreSQL error; libpq's callbacks must not.

pub mod cancel;
mod connection;
pub mod conninfo;
mod notices;
mod result;
mod text;

pub use cancel::Cancel;
pub use connection::{Connecting, Connection, Lost, TransactionStatus, no_more_connections};
pub use conninfo::ConnectWith;
pub use notices::pass_notices_to;
pub use result::{PqResult, Status};
