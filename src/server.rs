//! Facts about this server and session that options and workers need.

use crate::compat;
use crate::error::{Error, Result};
use crate::query;
use pgrx::datum::Interval;
use pgrx::{IntoDatum, pg_sys};
use std::ffi::CStr;
use std::path::Path;

/// A seed from the clock, pgbench's default.
pub fn clock_seed() -> u64 {
    crate::clock::now_ns() / 1000
}

/// A seed from the strong random source of the server.
pub fn strong_seed() -> u64 {
    let mut seed = 0u64;
    // SAFETY: fills exactly those eight bytes.
    let filled = unsafe { pg_sys::pg_strong_random((&raw mut seed).cast(), size_of::<u64>()) };
    if filled { seed } else { clock_seed() }
}

/// The interval as SQL prints it.
pub fn interval_text(interval: &Interval) -> String {
    let Some(datum) = (*interval).into_datum() else {
        return String::new();
    };
    // SAFETY: interval_out takes an interval and returns a text that ends in a zero byte.
    unsafe {
        let text = pg_sys::OidOutputFunctionCall(pg_sys::Oid::from(pg_sys::F_INTERVAL_OUT), datum);
        CStr::from_ptr(text).to_string_lossy().into_owned()
    }
}

/// Whether the server is a standby or still recovers.
pub fn in_recovery() -> bool {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Fails unless the server, the session and its transaction allow writing.
pub fn require_writable(what: &str) -> Result<()> {
    // SAFETY: plain variables of this session.
    let (transaction, default) = unsafe { (pg_sys::XactReadOnly, pg_sys::DefaultXactReadOnly) };
    let (why, hint) = if in_recovery() {
        (
            "on a standby",
            "Run on the primary; a run that only reads works here, too.",
        )
    } else if transaction {
        (
            "in a read-only transaction",
            "Use a transaction that may write.",
        )
    } else if default {
        (
            "while \"default_transaction_read_only\" is on",
            "Set it to off for this session.",
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

/// Name of the current database.
pub fn database_name() -> String {
    // SAFETY: in a transaction; null only if the database has just been dropped.
    unsafe { c_text(pg_sys::get_database_name(pg_sys::MyDatabaseId)) }
}

/// Whether texts of the current database are UTF-8, or bytes that the server does not interpret.
pub fn stores_unicode() -> bool {
    // SAFETY: reads a variable that the start of the session has set.
    let encoding = unsafe { pg_sys::GetDatabaseEncoding() };
    encoding == pg_sys::pg_enc::PG_UTF8 as i32 || encoding == pg_sys::pg_enc::PG_SQL_ASCII as i32
}

/// Oid of the current role.
pub fn role() -> pg_sys::Oid {
    // SAFETY: a backend that runs SQL has one.
    unsafe { pg_sys::GetUserId() }
}

/// Name of the current role.
pub fn role_name() -> String {
    // SAFETY: in a transaction; errors if the role has just been dropped.
    unsafe { c_text(pg_sys::GetUserNameFromId(pg_sys::GetUserId(), false)) }
}

/// Now in UTC, as text that timestamptz accepts under all settings.
pub fn wall_clock() -> String {
    let (mut time, mut fraction) = (pg_sys::pg_tm::default(), 0);
    // SAFETY: reads the clock; without a place for the time zone, the parts are those of UTC. The
    // clock is within the range of time stamps.
    unsafe {
        pg_sys::timestamp2tm(
            pg_sys::GetCurrentTimestamp(),
            std::ptr::null_mut(),
            &mut time,
            &mut fraction,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        );
    }
    format!(
        "{:04}-{:02}-{:02} {:02}:{:02}:{:02}.{fraction:06}+00",
        time.tm_year, time.tm_mon, time.tm_mday, time.tm_hour, time.tm_min, time.tm_sec
    )
}

/// Microseconds from 1970 to 2000, the epoch of the server's timestamps.
pub const UNIX_TO_SERVER_US: i64 = 10_957 * 86_400 * 1_000_000;

/// Now, in microseconds since 1970.
pub fn epoch_us() -> i64 {
    // SAFETY: reads the clock.
    let server_us = unsafe { pg_sys::GetCurrentTimestamp() };
    server_us + UNIX_TO_SERVER_US
}

/// Full version text of the server, as `server_version` shows it.
pub fn version() -> String {
    // SAFETY: a setting that always exists.
    unsafe { c_text(pg_sys::GetConfigOption(c"server_version".as_ptr(), false, false).cast_mut()) }
}

/// Fails unless background workers can connect as the current role.
pub fn require_login_role() -> Result<()> {
    if crate::compat::BYPASS_ROLE_LOGIN_CHECK != 0 {
        return Ok(());
    }
    let can = query::one::<bool>(
        "SELECT rolcanlogin FROM pg_catalog.pg_roles
          WHERE rolname OPERATOR(pg_catalog.=) CURRENT_USER",
        &[],
    )?;
    match can {
        Some(true) => Ok(()),
        _ => Err(Error::RoleCannotLogin { role: role_name() }),
    }
}

/// libpq's parameters for a connection to this server and database as the current role, through the
/// first Unix-domain socket directory or, if there is none, the loopback interface.
pub fn loopback_connection() -> Vec<(String, String)> {
    // SAFETY: plain settings.
    let (directories, port) = unsafe {
        (
            c_text(pg_sys::Unix_socket_directories),
            pg_sys::PostPortNumber,
        )
    };
    let first = directories
        .split(',')
        .next()
        .unwrap_or_default()
        .trim()
        .trim_matches('"');
    let host = if first.is_empty() { "localhost" } else { first };
    vec![
        ("host".into(), host.into()),
        ("port".into(), port.to_string()),
        ("dbname".into(), database_name()),
        ("user".into(), role_name()),
        ("application_name".into(), "pg_selfbench".into()),
        ("client_encoding".into(), "UTF8".into()),
    ]
}

/// Connections that clients have to this server.
pub fn used_connections() -> Result<i64> {
    let used = query::one::<i64>(
        "SELECT pg_catalog.count(*) FROM pg_catalog.pg_stat_activity
          WHERE backend_type OPERATOR(pg_catalog.=) 'client backend'",
        &[],
    )?;
    Ok(used.unwrap_or(0))
}

/// Fails if the server's own limit leaves too few connections for `needed` more.
pub fn require_connections(needed: usize) -> Result<()> {
    let used = used_connections()?;
    // SAFETY: plain settings.
    let (limit, reserved, superuser) = unsafe {
        (
            pg_sys::MaxConnections,
            crate::compat::reserved_connections(),
            pg_sys::superuser(),
        )
    };
    let usable = i64::from(limit) - if superuser { 0 } else { i64::from(reserved) };
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
    // SAFETY: a plain setting.
    let limit = unsafe { pg_sys::max_worker_processes };
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
    // SAFETY: a plain setting; reads a copy of the array, with as many entries as it says.
    unsafe {
        let used = (1..=pg_sys::pgstat_fetch_stat_numbackends())
            .filter_map(|index| compat::process_status(index).as_ref())
            .filter(|process| {
                process.backendStatus.st_backendType == pg_sys::BackendType::B_BG_WORKER
            })
            .count();
        usize::try_from(pg_sys::max_worker_processes)
            .unwrap_or(0)
            .saturating_sub(used)
    }
}

/// # Safety
/// `text` must be null or end in a zero byte.
unsafe fn c_text(text: *mut std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// Version of the server as a number, such as 150018.
pub fn version_num() -> i32 {
    // SAFETY: a setting that always exists.
    unsafe {
        c_text(pg_sys::GetConfigOption(c"server_version_num".as_ptr(), false, false).cast_mut())
    }
    .parse()
    .unwrap_or(0)
}

/// Number of CPUs that this process may use.
pub fn processors() -> Option<i32> {
    let processors = std::thread::available_parallelism().ok()?;
    i32::try_from(processors.get()).ok()
}

/// Bytes of a block of the server's files and buffers.
pub const BLOCK_BYTES: i32 = pg_sys::BLCKSZ as i32;

/// Whether this session, and those that inherit its settings, measure the time of reading and
/// writing blocks.
pub fn tracks_io_timing() -> bool {
    // SAFETY: a plain setting.
    unsafe { pg_sys::track_io_timing }
}

/// Whether I/O workers of the server perform the read-ahead of other processes, so that the
/// operating system does not count these reads for them: PostgreSQL 18 and newer, depending on
/// `io_method`.
pub fn reads_ahead_by_workers() -> bool {
    // SAFETY: null if there is no such setting.
    let method =
        unsafe { c_text(pg_sys::GetConfigOption(c"io_method".as_ptr(), true, false).cast_mut()) };
    method == "worker"
}

/// Bytes of the server's shared buffers.
pub fn shared_buffers_bytes() -> i64 {
    // SAFETY: a plain setting.
    i64::from(unsafe { pg_sys::NBuffers }) * i64::from(BLOCK_BYTES)
}

/// Bytes of memory that the server may use: the memory of the machine, or the lowest limit of the
/// control groups of this process. `None` if the operating system does not provide it.
pub fn memory_bytes() -> Option<i64> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kilobytes: i64 = total.trim().strip_suffix(" kB")?.parse().ok()?;
    let machine = kilobytes.saturating_mul(1024);
    Some(group_limits().fold(machine, i64::min))
}

/// The limits of memory of this process's control groups (version 2), from the innermost outwards.
fn group_limits() -> impl Iterator<Item = i64> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let own = own.map(|path| Path::new("/sys/fs/cgroup").join(path));
    std::iter::successors(own, |group| group.parent().map(Path::to_owned)).filter_map(|group| {
        let limit = std::fs::read_to_string(group.join("memory.max")).ok()?;
        limit.trim().parse().ok()
    })
}
