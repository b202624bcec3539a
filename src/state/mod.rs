//! This process as the server knows it: its transaction, settings, role and database. Safe functions
//! over the server's own.

pub mod catalog;
pub mod lock;
pub mod session;
pub mod text;
pub mod transaction;
