//! The identity of a process of a task: the calling role, in its database.

use super::fatal;
use crate::compat;
use crate::state::session;
use pgrx::pg_sys::{GucAction, GucContext};
use pgrx::{PgLogLevel, pg_sys};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The session user of the task that this process belongs to; 0 in a session of a client. A worker's own one is the
/// role that it has connected as.
static SESSION_ROLE: AtomicU32 = AtomicU32::new(0);

/// Identity under which a task's workers connect.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct Identity {
    /// Oid of the database.
    pub database: u32,
    /// Oid of the calling role.
    pub role: u32,
    /// Oid of the session user of the caller. In a process of a task, it is that of the task's caller, so that a run
    /// within a run has the same limits.
    pub session_role: u32,
}

impl Identity {
    /// The identity of the calling session.
    pub fn current() -> Identity {
        let session_role = match SESSION_ROLE.load(Relaxed) {
            0 => session::session_role().to_u32(),
            of_task => of_task,
        };
        Identity {
            database: session::database().to_u32(),
            role: session::role().to_u32(),
            session_role,
        }
    }

    /// Makes this process, which has connected, one of the task.
    pub fn assume(self) {
        SESSION_ROLE.store(self.session_role, Relaxed);
    }
}

/// Connects this worker to the database as the calling role, once.
pub fn connect(identity: Identity) {
    // SAFETY: a process without a database that executes our code is a worker that has not connected,
    // and is not in a transaction.
    unsafe {
        assert!(
            session::database() == pg_sys::InvalidOid,
            "this process has connected"
        );
        pg_sys::BackgroundWorkerInitializeConnectionByOid(
            pg_sys::Oid::from(identity.database),
            pg_sys::Oid::from(identity.role),
            compat::BYPASS_ROLE_LOGIN_CHECK,
        );
    }
    let (user, set, error) = (
        GucContext::PGC_USERSET,
        GucAction::GUC_ACTION_SET,
        PgLogLevel::ERROR as i32,
    );
    session::set(c"application_name", c"pg_selfbench", user, set, error);
    identity.assume();
    fatal::has_connected();
}
