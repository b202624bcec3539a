//! Facts about this session and its server, as safe functions.

use super::transaction::InTransaction;
use crate::compat;
use crate::text::{c_text, encoding};
use pgrx::datum::Interval;
use pgrx::pg_sys::{GucAction, GucContext};
use pgrx::{IntoDatum, PgLogLevel, pg_sys};
use scopeguard::defer;
use std::convert::Infallible;
use std::ffi::{CStr, CString};

/// The value of a setting as the server stores it, numbers without a unit; `None` if there is no
/// such setting.
pub fn setting(name: &CStr) -> Option<String> {
    // SAFETY: null, or a text that ends in a zero byte and is copied before anything can change it.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| c_text(value))
    }
}

/// The value of a setting as SHOW prints it; empty if there is no such setting.
///
/// Raises an error if the current role may not see it.
pub fn shown(_: InTransaction, name: &str) -> String {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: in a transaction; null, or a text that ends in a zero byte.
    unsafe {
        let value = pg_sys::GetConfigOptionByName(name.as_ptr(), std::ptr::null_mut(), true);
        c_text(value)
    }
}

/// The name of a setting as the server writes it; as it is given if there is no such setting.
///
/// Raises an error if the current role may not see it.
pub fn setting_name(_: InTransaction, name: &str) -> String {
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: in a transaction; the name is set if there is a value, and lives as long as the
    // setting.
    unsafe {
        let mut found = std::ptr::null();
        let value = pg_sys::GetConfigOptionByName(text.as_ptr(), &mut found, true);
        match value.is_null() || found.is_null() {
            true => name.to_owned(),
            false => c_text(found),
        }
    }
}

/// The value of a setting that is an integer; 0 if there is no such setting.
pub fn integer_setting(name: &CStr) -> i32 {
    setting(name)
        .and_then(|value| value.parse().ok())
        .unwrap_or(0)
}

/// Lets nothing be written until the end of the current subtransaction.
pub fn read_only_subtransaction() {
    set(
        c"transaction_read_only",
        c"on",
        GucContext::PGC_USERSET,
        GucAction::GUC_ACTION_LOCAL,
        PgLogLevel::ERROR as i32,
    );
}

/// Sets a setting of this session, with the rights that the context stands for, until what the action
/// says; what keeps it from being set is reported at this level.
pub fn set(
    name: &CStr,
    value: &CStr,
    context: GucContext::Type,
    action: GucAction::Type,
    level: i32,
) {
    let (name, value) = (name.as_ptr(), value.as_ptr());
    let source = pg_sys::GucSource::PGC_S_SESSION;
    // SAFETY: both texts end in a zero byte, and are copied.
    unsafe {
        pg_sys::set_config_option(name, value, context, source, action, true, level, false);
    }
}

/// Whether a setting can have a value.
pub fn is_valid(name: &CStr, value: &CStr) -> bool {
    let (name, value) = (name.as_ptr(), value.as_ptr());
    let (context, action) = (GucContext::PGC_SUSET, GucAction::GUC_ACTION_SET);
    // A source that needs no role: a worker has none before it connects.
    let (source, level) = (pg_sys::GucSource::PGC_S_FILE, PgLogLevel::DEBUG5 as i32);
    // SAFETY: both texts end in a zero byte; nothing is changed.
    0 != unsafe {
        pg_sys::set_config_option(name, value, context, source, action, false, level, false)
    }
}

/// The value of a setting as text, also of one that no library has defined yet; `None` if it has none.
pub fn text_of(name: &CStr) -> Option<CString> {
    // SAFETY: null or a text that ends in a zero byte, which is copied.
    unsafe {
        let value = pg_sys::GetConfigOption(name.as_ptr(), true, false);
        (!value.is_null()).then(|| CStr::from_ptr(value).to_owned())
    }
}

/// Lets no other settings have names that begin with a prefix and a dot.
pub fn reserve_settings(prefix: &CStr) {
    // SAFETY: the text ends in a zero byte, and is copied.
    unsafe { pg_sys::MarkGUCPrefixReserved(prefix.as_ptr()) };
}

/// Whether a setting is on.
pub fn is_on(name: &CStr) -> bool {
    setting(name).as_deref() == Some("on")
}

/// Connections that the server keeps from ordinary roles.
pub fn reserved_connections() -> i32 {
    // SAFETY: in a process of the server, as everything here.
    unsafe { compat::reserved_connections() }
}

/// Number of background workers that run, those of other roles included.
pub fn background_workers() -> usize {
    // SAFETY: reads a copy of the array of processes, with as many entries as it says.
    unsafe {
        (1..=pg_sys::pgstat_fetch_stat_numbackends())
            .filter_map(|index| compat::process_status(index).as_ref())
            .filter(|process| {
                process.backendStatus.st_backendType == pg_sys::BackendType::B_BG_WORKER
            })
            .count()
    }
}

/// Whether the server is a standby or still recovers.
pub fn in_recovery() -> bool {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::RecoveryInProgress() }
}

/// Position in WAL where recovery would start after the checkpoint that has begun last.
pub fn redo_position() -> i64 {
    // SAFETY: reads shared memory.
    unsafe { pg_sys::GetRedoRecPtr() as i64 }
}

/// Whether the session's transaction may only read.
pub fn is_read_only() -> bool {
    // SAFETY: a plain variable of this session.
    unsafe { pg_sys::XactReadOnly }
}

/// Oid of the current database; none before the process has connected to one.
pub fn database() -> pg_sys::Oid {
    // SAFETY: a plain variable of this process.
    unsafe { pg_sys::MyDatabaseId }
}

/// Name of the current database; empty if it has just been dropped, or outside of a transaction.
pub fn database_name() -> String {
    if InTransaction::current().is_err() {
        return String::new();
    }
    // SAFETY: in a transaction; null or a text that ends in a zero byte.
    unsafe { c_text(pg_sys::get_database_name(database())) }
}

/// A text of the current database, or what it would have to be: texts are UTF-8 here. Texts of a database
/// without an encoding may be anything, and texts of a database with another encoding are not converted
/// and have to be ASCII.
pub fn readable(text: &[u8]) -> Result<&str, &'static str> {
    use pg_sys::pg_enc::{PG_SQL_ASCII, PG_UTF8};
    let needed = match encoding() as u32 {
        PG_UTF8 | PG_SQL_ASCII => "UTF-8",
        _ if text.is_ascii() => "UTF-8",
        _ => return Err("ASCII"),
    };
    std::str::from_utf8(text).map_err(|_| needed)
}

/// Learns what other processes have changed in the catalogs, as the server does when a transaction
/// begins and when it takes a lock on a table.
pub fn accept_changes(_: InTransaction) {
    // SAFETY: in a transaction.
    unsafe { pg_sys::AcceptInvalidationMessages() };
}

/// Oid of the current role.
pub fn role() -> pg_sys::Oid {
    // SAFETY: a process that runs SQL has one.
    unsafe { pg_sys::GetUserId() }
}

/// Oid of the session user, who has connected or was made it by a superuser.
pub fn session_role() -> pg_sys::Oid {
    // SAFETY: as above.
    unsafe { pg_sys::GetSessionUserId() }
}

/// Name of the current role; empty outside of a transaction. Raises an error if the role has just
/// been dropped.
pub fn role_name() -> String {
    if InTransaction::current().is_err() {
        return String::new();
    }
    // SAFETY: in a transaction; a text that ends in a zero byte.
    unsafe { c_text(pg_sys::GetUserNameFromId(role(), false)) }
}

/// Whether the current role is a superuser; no outside of a transaction.
pub fn is_superuser() -> bool {
    // SAFETY: in a transaction.
    InTransaction::current().is_ok() && unsafe { pg_sys::superuser() }
}

/// Runs `body` with the rights of a role, to which row-level security of its own tables does not apply,
/// even if it is forced. If `body` raises an error, the abort of the transaction restores the identity.
pub fn with_role<T>(_: InTransaction, role: pg_sys::Oid, body: impl FnOnce() -> T) -> T {
    let own = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_NOFORCE_RLS;
    with_identity(role, own, body)
}

/// Runs `body` with the rights of a role in a security-restricted operation, as the server refreshes a
/// materialized view: functions that it calls cannot become another role, and leave neither settings nor
/// temporary objects in the session. If `body` raises an error, the abort of the transaction restores
/// identity and settings.
pub fn restricted<T>(_: InTransaction, role: pg_sys::Oid, body: impl FnOnce() -> T) -> T {
    let own = pg_sys::SECURITY_LOCAL_USERID_CHANGE | pg_sys::SECURITY_RESTRICTED_OPERATION;
    with_identity(role, own, || {
        let level = enter_settings(&[]);
        let result = body();
        leave_settings(level, false);
        result
    })
}

fn with_identity<T>(role: pg_sys::Oid, added: u32, body: impl FnOnce() -> T) -> T {
    let (user, context) = identity();
    // An error may be caught within the transaction.
    defer!(become_identity(user, context));
    become_identity(role, context | added as i32);
    body()
}

/// Role and security context.
fn identity() -> (pg_sys::Oid, i32) {
    let (mut user, mut context) = (pg_sys::InvalidOid, 0);
    // SAFETY: in a transaction.
    unsafe { pg_sys::GetUserIdAndSecContext(&mut user, &mut context) };
    (user, context)
}

fn become_identity(user: pg_sys::Oid, context: i32) {
    // SAFETY: in a transaction; its abort restores what was before.
    unsafe { pg_sys::SetUserIdAndSecContext(user, context) };
}

/// Runs `body` with other values of settings; the current role needs no rights for them. If `body`
/// raises an error, the abort of the transaction restores them.
pub fn with_settings<T, E>(
    _: InTransaction,
    settings: &[(&CStr, &CStr)],
    body: impl FnOnce() -> Result<T, E>,
) -> Result<T, E> {
    let level = enter_settings(settings);
    let result = body();
    leave_settings(level, result.is_ok());
    result
}

/// Begins a nesting level of settings with these values, and returns it.
fn enter_settings(settings: &[(&CStr, &CStr)]) -> i32 {
    // SAFETY: the level is left in the same transaction, or cleaned up by its abort.
    let level = unsafe { pg_sys::NewGUCNestLevel() };
    for (name, value) in settings {
        let (superuser, save) = (GucContext::PGC_SUSET, GucAction::GUC_ACTION_SAVE);
        set(name, value, superuser, save, PgLogLevel::ERROR as i32);
    }
    level
}

/// Ends a nesting level of settings: what they were before is restored. Values of SET in it are kept if
/// `keeps_set`.
fn leave_settings(level: i32, keeps_set: bool) {
    // SAFETY: the level was begun in the same transaction.
    unsafe { pg_sys::AtEOXact_GUC(keeps_set, level) };
}

/// Eight bytes of the server's strong random source; `None` if it fails.
pub fn random() -> Option<u64> {
    let mut random = 0u64;
    // SAFETY: fills exactly those eight bytes.
    let filled = unsafe { pg_sys::pg_strong_random((&raw mut random).cast(), size_of::<u64>()) };
    filled.then_some(random)
}

/// The interval as SQL prints it by default; stored options must not depend on the session's settings.
/// Empty outside of a transaction.
pub fn interval_text(interval: &Interval) -> String {
    let (Some(datum), Ok(transaction)) = ((*interval).into_datum(), InTransaction::current())
    else {
        return String::new();
    };
    let printed = with_settings(transaction, &[(c"intervalstyle", c"postgres")], || {
        // SAFETY: interval_out takes an interval and returns a text that ends in a zero byte.
        Ok::<_, Infallible>(unsafe {
            c_text(pg_sys::OidOutputFunctionCall(
                pg_sys::Oid::from(pg_sys::F_INTERVAL_OUT),
                datum,
            ))
        })
    });
    printed.unwrap_or_default()
}

/// Now, in microseconds since 2000, as the server's time stamps.
pub fn timestamp_us() -> i64 {
    // SAFETY: reads the clock.
    unsafe { pg_sys::GetCurrentTimestamp() }
}

/// Now in UTC, as text that timestamptz reads with any settings.
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
