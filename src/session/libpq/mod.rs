//! Statements over a libpq connection: sent where they are submitted, answered later.
//!
//! Never waits: the event loop of the worker calls [`LibpqSession::readable`] when the socket has
//! something to read, and [`LibpqSession::writable`] when it accepts data, if
//! [`LibpqSession::wants_write`] asked for that.
//!
//! `session` is the interface to the client and to the event loop; `link` is its connection,
//! `answer` the server's answer, `parameters` the values that are sent with a statement.

mod answer;
mod link;
mod parameters;
mod session;

pub use session::LibpqSession;
