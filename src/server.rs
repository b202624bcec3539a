//! Facts about this server and session that options and workers need.

use crate::error::{Error, Result};
use crate::query;
use crate::state::session;
pub use crate::state::session::{
    database_name, in_recovery, interval_text, redo_position, role, role_name, wall_clock,
};
use crate::text::encoding;
use pgrx::pg_sys;
use std::ffi::CString;

/// A seed from the clock, pgbench's default.
pub fn clock_seed() -> u64 {
    crate::clock::now_ns() / 1000
}

/// A seed from the strong random source of the server.
pub fn strong_seed() -> u64 {
    session::random().unwrap_or_else(clock_seed)
}

/// Fails unless the server, the session and its transaction allow writing, and so does the session of
/// a worker with its settings.
pub fn require_writable(what: &str) -> Result<()> {
    require_writable_transaction(what)?;
    match session::is_on(c"default_transaction_read_only") {
        false => Ok(()),
        true => Err(Error::ReadOnly {
            what: what.into(),
            why: "while \"default_transaction_read_only\" is on",
            hint: "Set it to off for this session.".into(),
        }),
    }
}

/// Fails unless the server and the caller's transaction allow writing.
pub fn require_writable_transaction(what: &str) -> Result<()> {
    let (why, hint) = if in_recovery() {
        (
            "on a standby",
            "Do this on the primary; a run that only reads works here, too.",
        )
    } else if session::is_read_only() {
        (
            "in a read-only transaction",
            "Use a transaction that may write.",
        )
    } else {
        return Ok(());
    };
    Err(Error::ReadOnly {
        what: what.into(),
        why,
        hint: hint.into(),
    })
}

/// A text as an SQL literal of a statement that readers copy into a session of this database.
pub fn literal_to_copy(text: &str) -> String {
    selfbench_markup::literal(text, encoding() == pg_sys::pg_enc::PG_UTF8 as i32)
}

/// Microseconds from 1970 to 2000, the epoch of the server's timestamps.
pub const UNIX_TO_SERVER_US: i64 = 10_957 * 86_400 * 1_000_000;

/// Now, in microseconds since 1970.
pub fn epoch_us() -> i64 {
    session::timestamp_us() + UNIX_TO_SERVER_US
}

/// Full version text of the server, as `server_version` shows it.
pub fn version() -> String {
    session::setting(c"server_version").unwrap_or_default()
}

/// Fails unless background workers can connect as the current role.
pub fn require_login_role() -> Result<()> {
    if crate::compat::BYPASS_ROLE_LOGIN_CHECK != 0 {
        return Ok(());
    }
    let can = query::first_value::<bool>(
        "SELECT rolcanlogin FROM pg_catalog.pg_roles
          WHERE rolname OPERATOR(pg_catalog.=) CURRENT_USER",
        &[],
    )?;
    match can {
        Some(true) => Ok(()),
        _ => Err(Error::RoleCannotLogin { role: role_name() }),
    }
}

/// Connections that clients have to this server.
pub fn used_connections() -> Result<i64> {
    let used = query::first_value::<i64>(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
          WHERE backend_type OPERATOR(pg_catalog.=) 'client backend'",
        &[],
    )?;
    Ok(used.unwrap_or(0))
}

/// Fails if the server's own limit leaves too few connections for `needed` more.
pub fn require_connections(needed: usize) -> Result<()> {
    let used = used_connections()?;
    let limit = session::integer_setting(c"max_connections");
    let reserved = session::reserved_connections();
    let usable = i64::from(limit)
        - if session::is_superuser() {
            0
        } else {
            i64::from(reserved)
        };
    let free = (usable - used).max(0) as usize;
    if free < needed {
        return Err(Error::Connections {
            needed,
            free,
            limit,
            reserved,
        });
    }
    Ok(())
}

/// Fails if the server cannot run `needed` background workers at a time, even without any others.
/// Registering them shows whether enough slots are free.
pub fn require_worker_slots(needed: usize) -> Result<()> {
    let limit = session::integer_setting(c"max_worker_processes");
    if needed as i64 <= i64::from(limit) {
        return Ok(());
    }
    Err(Error::WorkerSlots {
        needed,
        free: free_worker_slots(),
        limit,
        connections: None,
    })
}

/// The number of free background worker slots.
///
/// Read from the server's array of processes: `pg_stat_activity` hides the kind of other roles'
/// processes.
pub fn free_worker_slots() -> usize {
    usize::try_from(session::integer_setting(c"max_worker_processes"))
        .unwrap_or(0)
        .saturating_sub(session::background_workers())
}

/// Files that a process of the server may open.
pub fn files_per_process() -> usize {
    usize::try_from(session::integer_setting(c"max_files_per_process")).unwrap_or(0)
}

/// Version of the server as a number, such as 150018.
pub fn version_num() -> i32 {
    session::integer_setting(c"server_version_num")
}

/// Number of CPUs that this process may use.
pub fn processors() -> Option<usize> {
    std::thread::available_parallelism().ok().map(usize::from)
}

/// Whether the session has a limit of its own for waiting for locks.
pub fn limits_lock_waits() -> bool {
    session::integer_setting(c"lock_timeout") != 0
}

/// Whether the server shuts down, as the postmaster notes in the eighth line of its file in the data
/// directory, where its processes work.
pub fn shuts_down() -> bool {
    let file = std::fs::read_to_string("postmaster.pid").unwrap_or_default();
    file.lines().nth(7).map(str::trim) == Some("stopping")
}

/// Bytes of a block of the server's files and buffers.
pub const BLOCK_BYTES: i32 = pg_sys::BLCKSZ as i32;

/// Whether this session, and those that inherit its settings, measure the time of reading and
/// writing blocks.
pub fn tracks_io_timing() -> bool {
    session::is_on(c"track_io_timing")
}

/// Whether I/O workers of the server perform the read-ahead of other processes, so that the
/// operating system does not count these reads for them: PostgreSQL 18 and newer, depending on
/// `io_method`.
pub fn reads_ahead_by_workers() -> bool {
    session::setting(c"io_method").as_deref() == Some("worker")
}

/// Bytes of the server's shared buffers.
pub fn shared_buffers_bytes() -> i64 {
    i64::from(session::integer_setting(c"shared_buffers")) * i64::from(BLOCK_BYTES)
}

/// Bytes of memory that the server may use: the memory of the machine, or the lowest limit of the
/// control groups of this process. `None` if the operating system does not provide it.
pub fn memory_bytes() -> Option<i64> {
    i64::try_from(selfbench_machine::memory_bytes(&selfbench_machine::System)?).ok()
}

/// The data directory of the server.
pub fn data_directory() -> String {
    session::setting(c"data_directory").unwrap_or_default()
}

/// The value of a setting as the server stores it, if the current role may see it.
pub fn shown_setting(name: &str) -> Option<String> {
    // The only ones among those that are asked for which the server hides.
    if name.ends_with("preload_libraries") && !session::is_superuser() {
        return None;
    }
    session::setting(&CString::new(name).ok()?)
}
