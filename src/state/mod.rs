//! This process as the server knows it: its transaction, settings, role and database. Safe functions
//! over the server's own.

#[allow(unsafe_code)]
pub mod catalog;
#[allow(unsafe_code)]
pub mod lock;
#[allow(unsafe_code)]
pub mod session;
#[allow(unsafe_code)]
pub mod transaction;
