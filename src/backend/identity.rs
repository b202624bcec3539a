//! The identity of a process of a task: the calling role, in its database.

use super::fatal;
use crate::compat;
use pgrx::pg_sys;

/// Identity under which a task's workers connect.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Oid of the database.
    pub database: u32,
    /// Oid of the calling role.
    pub role: u32,
}

impl Identity {
    /// The identity of the calling session.
    pub fn current() -> Identity {
        // SAFETY: a backend that runs SQL has both.
        unsafe {
            Identity {
                database: pg_sys::MyDatabaseId.to_u32(),
                role: pg_sys::GetUserId().to_u32(),
            }
        }
    }
}

/// Connects this worker to the database as the calling role, once.
pub fn connect(identity: Identity) {
    // SAFETY: a process without a database that executes our code is a worker that has not connected,
    // and is not in a transaction.
    unsafe {
        assert!(
            pg_sys::MyDatabaseId == pg_sys::InvalidOid,
            "this process has connected"
        );
        pg_sys::BackgroundWorkerInitializeConnectionByOid(
            pg_sys::Oid::from(identity.database),
            pg_sys::Oid::from(identity.role),
            compat::BYPASS_ROLE_LOGIN_CHECK,
        );
        pg_sys::SetConfigOption(
            c"application_name".as_ptr(),
            c"pg_selfbench".as_ptr(),
            pg_sys::GucContext::PGC_USERSET,
            pg_sys::GucSource::PGC_S_SESSION,
        );
    }
    fatal::has_connected();
}
