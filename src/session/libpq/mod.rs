//! Statements over a libpq connection: sent where they are submitted, answered later.
//!
//! Never waits: the event loop of the worker calls [`LibpqSession::readable`] when the socket has
//! something, and [`LibpqSession::writable`] when it takes something, if
//! [`LibpqSession::wants_write`] says that this is waited for.

mod parameters;
mod results;
mod session;

pub use session::LibpqSession;
