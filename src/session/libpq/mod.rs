//! Statements over a libpq connection: sent where they are submitted, answered later.
//!
//! Never waits: the event loop of the worker calls [`LibpqSession::readable`] when the socket has
//! something, and [`LibpqSession::writable`] when it takes something, if
//! [`LibpqSession::wants_write`] says that this is waited for.
//!
//! `session` is what the client sees; `link` its connection and what the event loop knows of it,
//! `answer` what the server has said, `parameters` what is sent with a statement.

mod answer;
mod link;
mod parameters;
mod session;

pub use session::LibpqSession;
