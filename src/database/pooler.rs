//! Connection poolers between this server and a target: whether its connections share sessions, as those
//! of a pool in transaction mode do. Such sessions keep for others, or forget, what one connection has
//! set, prepared or locked.

use super::remote::Remote;
use crate::error::{Error, Result};
use crate::pq::ConnectWith;
use std::ffi::CStr;

/// Number of comparisons of two connections: other users of the pool may separate them.
const LOOKS: usize = 5;
/// The name of a statement that tells whether connections share what they prepare.
const PROBE: &CStr = c"selfbench_probe";

/// Whether an error of connecting says that a pooler refuses startup options.
pub fn refuses_options(message: &str) -> bool {
    message.contains("unsupported startup parameter")
}

/// Fails if the connections of a target share sessions; `what` needs one of its own. `hint` says what to do.
pub fn require_own_session(
    remote: &mut Remote,
    target: &ConnectWith,
    what: &str,
    hint: &str,
) -> Result<()> {
    match shared_with(remote, target)? {
        None => Ok(()),
        Some(_) => Err(refused(what, hint)),
    }
}

/// Fails if the connections of a target share the statements that they prepare by the protocol. Poolers
/// can share sessions and keep such statements apart, as PgBouncer does from 1.21 on.
pub fn require_own_statements(remote: &mut Remote, target: &ConnectWith) -> Result<()> {
    let Some(mut other) = shared_with(remote, target)? else {
        return Ok(());
    };
    let prepared = remote.prepare(PROBE, c"SELECT 1");
    let is_shared = prepared.is_err() || other.execute_prepared(PROBE).is_ok();
    if !is_shared && remote.execute_prepared(PROBE).is_ok() {
        return Ok(());
    }
    // An error means that another session has it.
    other.execute("DEALLOCATE selfbench_probe").unwrap_or(());
    Err(refused(
        "protocol \"prepared\"",
        "Use protocol => 'extended' or 'simple', connect to the server itself, or use a pool in session \
         mode.",
    ))
}

fn refused(what: &str, hint: &str) -> Error {
    Error::OptionConflict {
        message: format!(
            "{what} needs sessions of its own, and the target is a connection pooler whose connections \
             share sessions"
        ),
        hint: hint.into(),
    }
}

/// Another connection to the target, if it shares sessions with this one.
fn shared_with(remote: &mut Remote, target: &ConnectWith) -> Result<Option<Remote>> {
    let mut first = session_of(remote)?;
    // A pooler invents the process ID that it tells, or tells that of its first session.
    if first == remote.connection().backend_pid() {
        return Ok(None);
    }
    let mut other = Remote::connect(target)?;
    for _ in 0..LOOKS {
        let of_other = session_of(&mut other)?;
        let again = session_of(remote)?;
        if of_other == again || again != first {
            return Ok(Some(other));
        }
        first = again;
    }
    Ok(None)
}

/// The process that serves a connection's statement.
fn session_of(remote: &mut Remote) -> Result<i32> {
    let row = remote.first_row("SELECT pg_catalog.pg_backend_pid()::pg_catalog.text")?;
    let pid = row.into_iter().next().flatten();
    Ok(pid.and_then(|pid| pid.parse().ok()).unwrap_or(0))
}
