//! The two ways in which a client's statements reach the server, behind one trait.
//!
//! The trait itself belongs to the client state machine ([`selfbench_client::Session`]): the
//! machine submits a statement and polls for its outcome. `spi` has the outcome at once, `libpq`
//! when the server has answered. `usage` is what the server process of a session has used.

mod column;
pub mod libpq;
pub mod spi;
pub mod usage;

pub use libpq::LibpqSession;
pub use spi::{SpiSession, Timed, watch_commands};
