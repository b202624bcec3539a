//! Everything that differs between the supported versions of PostgreSQL.

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use std::ffi::{CStr, CString, c_void};
use std::sync::OnceLock;

/// Lets a worker connect as a role without the LOGIN attribute, where the server can do that.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub const BYPASS_ROLE_LOGIN_CHECK: u32 = 0;
/// Lets a worker connect as a role without the LOGIN attribute, where the server can do that.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub const BYPASS_ROLE_LOGIN_CHECK: u32 = pg_sys::BGWORKER_BYPASS_ROLELOGINCHECK;

/// The privilege to become a role by SET ROLE.
#[cfg(feature = "pg15")]
pub const BECOME_ROLE: &str = "MEMBER";
/// The privilege to become a role by SET ROLE.
#[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
pub const BECOME_ROLE: &str = "SET";

/// The number of a wait event: extensions have no names for theirs.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn wait_event(_name: &CStr) -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}

/// The number of a wait event of that name; that of all extensions if the server has no room for
/// another name. Not to be called with a lightweight lock held.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub fn wait_event(name: &CStr) -> u32 {
    pgrx::PgTryBuilder::new(|| {
        // SAFETY: the name ends in a zero byte, is shorter than NAMEDATALEN, and is copied.
        unsafe { pg_sys::WaitEventExtensionNew(name.as_ptr()) }
    })
    .catch_others(|_| {
        // SAFETY: the error left the lock of the server's names held; this process has no other.
        unsafe { pg_sys::LWLockReleaseAll() };
        pg_sys::PG_WAIT_EXTENSION
    })
    .execute()
}

/// Runs a portal and discards up to that many of its rows. A portal that keeps its rows, such as
/// that of `CALL`, runs to its end in any case, and still has the rows that were not discarded.
///
/// # Safety
/// The portal must have been started.
pub unsafe fn portal_run(portal: pg_sys::Portal, rows: std::ffi::c_long) {
    // SAFETY: the caller's promise; the receiver that discards rows is always there.
    unsafe {
        pg_sys::PortalRun(
            portal,
            rows,
            true,
            #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
            true,
            pg_sys::None_Receiver,
            pg_sys::None_Receiver,
            std::ptr::null_mut(),
        );
    }
}

/// Runs a query to its end, once.
///
/// # Safety
/// The executor must have been started for it.
pub unsafe fn executor_run(query: *mut pg_sys::QueryDesc) {
    // SAFETY: the caller's promise; a count of 0 is no limit.
    unsafe {
        pg_sys::ExecutorRun(
            query,
            pg_sys::ScanDirection::ForwardScanDirection,
            0,
            #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
            true,
        );
    }
}

/// Whether the current transaction has created a relation, or given it a new file.
///
/// # Safety
/// An open relation.
pub unsafe fn has_new_file(relation: pg_sys::Relation) -> bool {
    // SAFETY: the caller's promise.
    let relation = unsafe { &*relation };
    #[cfg(feature = "pg15")]
    let emptied = relation.rd_newRelfilenodeSubid;
    #[cfg(any(feature = "pg16", feature = "pg17", feature = "pg18"))]
    let emptied = relation.rd_newRelfilelocatorSubid;
    let never: pg_sys::SubTransactionId = 0; // InvalidSubTransactionId
    relation.rd_createSubid != never || emptied != never
}

/// Whether this process has a lock in that mode.
///
/// # Safety
/// In a transaction.
pub unsafe fn lock_held_by_me(tag: &pg_sys::LOCKTAG, mode: pg_sys::LOCKMODE) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::LockHeldByMe(
            tag,
            mode,
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            false,
        )
    }
}

/// Releases the replication slot that this process uses, and drops its temporary ones, as the server
/// does after an error.
///
/// # Safety
/// Outside of a transaction, or in one that has failed.
pub unsafe fn release_replication_slots() {
    // SAFETY: the caller's promise.
    unsafe {
        if !pg_sys::MyReplicationSlot.is_null() {
            pg_sys::ReplicationSlotRelease();
        }
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        pg_sys::ReplicationSlotCleanup();
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        pg_sys::ReplicationSlotCleanup(false);
    }
}

/// Whether the statements of a pipeline, from the second on, are in an implicit transaction block.
pub const PIPELINE_IS_BLOCK: bool = cfg!(feature = "pg18");

/// Installs a signal handler.
///
/// # Safety
/// The handler must do only what PostgreSQL allows in one.
pub unsafe fn set_signal_handler(
    signal: rustix::process::Signal,
    handler: unsafe extern "C-unwind" fn(i32),
) {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(not(feature = "pg18"))]
        pg_sys::pqsignal(signal.as_raw(), Some(handler));
        #[cfg(feature = "pg18")]
        pg_sys::pqsignal_be(signal.as_raw(), Some(handler));
    }
}

/// Calls `visit` with each expression right below a node until one returns true; whether one did.
///
/// # Safety
/// `node` must be an expression or a list of them; `visit` must do with `context`.
pub unsafe fn walk_expression(
    node: *mut pg_sys::Node,
    visit: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool,
    context: *mut c_void,
) -> bool {
    unsafe extern "C-unwind" {
        #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_walker_impl")]
        fn expression_tree_walker(
            node: *mut pg_sys::Node,
            visit: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool,
            context: *mut c_void,
        ) -> bool;
    }
    // SAFETY: the caller's promise.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| expression_tree_walker(node, visit, context)) }
}

/// Copies an expression, with what `mutate` makes of each expression right below it.
///
/// # Safety
/// `node` must be an expression; `mutate` must do with `context`.
pub unsafe fn mutate_expression(
    node: *mut pg_sys::Node,
    mutate: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> *mut pg_sys::Node,
    context: *mut c_void,
) -> *mut pg_sys::Node {
    unsafe extern "C-unwind" {
        #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_mutator_impl")]
        fn expression_tree_mutator(
            node: *mut pg_sys::Node,
            mutate: unsafe extern "C-unwind" fn(
                *mut pg_sys::Node,
                *mut c_void,
            ) -> *mut pg_sys::Node,
            context: *mut c_void,
        ) -> *mut pg_sys::Node;
    }
    // SAFETY: the caller's promise.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| expression_tree_mutator(node, mutate, context)) }
}

/// Calls `visit` with each part of a query, apart from the aliases of joins.
///
/// # Safety
/// `query` must have been analyzed; `visit` must do with `context`.
pub unsafe fn walk_query(
    query: *mut pg_sys::Query,
    visit: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool,
    context: *mut c_void,
) {
    unsafe extern "C-unwind" {
        #[cfg_attr(not(feature = "pg15"), link_name = "query_tree_walker_impl")]
        fn query_tree_walker(
            query: *mut pg_sys::Query,
            visit: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut c_void) -> bool,
            context: *mut c_void,
            flags: std::ffi::c_int,
        ) -> bool;
    }
    let flags = pg_sys::QTW_IGNORE_JOINALIASES as std::ffi::c_int;
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| query_tree_walker(query, visit, context, flags));
    }
}

/// The expressions by which a query groups, if that is what an entry of its range table stands for.
#[cfg(not(feature = "pg18"))]
pub fn grouped(_: &pg_sys::RangeTblEntry) -> *mut pg_sys::List {
    std::ptr::null_mut()
}

/// The expressions by which a query groups, if that is what an entry of its range table stands for.
#[cfg(feature = "pg18")]
pub fn grouped(entry: &pg_sys::RangeTblEntry) -> *mut pg_sys::List {
    match entry.rtekind {
        pg_sys::RTEKind::RTE_GROUP => entry.groupexprs,
        _ => std::ptr::null_mut(),
    }
}

/// Earlier servers count the evictions of all processes of a kind together, or not at all.
#[cfg(not(feature = "pg18"))]
pub fn blocks_evicted() -> Option<u64> {
    None
}

/// Relations' blocks that this process has evicted from shared buffers since it began.
#[cfg(feature = "pg18")]
pub fn blocks_evicted() -> Option<u64> {
    /// `PGSTAT_BACKEND_FLUSH_IO`.
    const FLUSH_IO: pg_sys::bits32 = 1;

    unsafe extern "C-unwind" {
        /// Adds this process's pending counters to its shared ones. May raise errors.
        fn pgstat_flush_backend(no_wait: bool, flags: pg_sys::bits32) -> bool;
    }

    // SAFETY: in a process of the server with statistics of its own. What the fetch returns lives
    // until the snapshot of statistics is cleared.
    unsafe {
        pg_sys::ffi::pg_guard_ffi_boundary(|| pgstat_flush_backend(false, FLUSH_IO));
        pg_sys::pgstat_clear_snapshot();
        let statistics = pg_sys::pgstat_fetch_stat_backend(pg_sys::MyProcNumber).as_ref()?;
        let contexts = &statistics.io_stats.counts[pg_sys::IOObject::IOOBJECT_RELATION as usize];
        let evicted = contexts
            .iter()
            .map(|operations| operations[pg_sys::IOOp::IOOP_EVICT as usize] as u64)
            .sum();
        pg_sys::pgstat_clear_snapshot();
        Some(evicted)
    }
}

/// Times that it took to read and to write blocks of shared buffers.
pub fn read_and_write_time(
    buffers: &pg_sys::BufferUsage,
) -> (pg_sys::instr_time, pg_sys::instr_time) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return (buffers.blk_read_time, buffers.blk_write_time);
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    return (buffers.shared_blk_read_time, buffers.shared_blk_write_time);
}

#[cfg(feature = "pg15")]
#[inline]
pub fn nanoseconds(time: pg_sys::instr_time) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ticks of the server's clock are nanoseconds.
#[cfg(not(feature = "pg15"))]
#[inline]
pub fn nanoseconds(time: pg_sys::instr_time) -> u64 {
    time.ticks as u64
}

/// An entry of this process's copy of the array of processes, from 1 on.
///
/// # Safety
/// In a transaction, with an index up to `pgstat_fetch_stat_numbackends`.
pub unsafe fn process_status(index: i32) -> *mut pg_sys::LocalPgBackendStatus {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::pgstat_fetch_stat_local_beentry(index);
        #[cfg(not(feature = "pg15"))]
        return pg_sys::pgstat_get_local_beentry_by_index(index);
    }
}

/// Distance from this process's entry in the array that the activity views read to that of another
/// process; `None` if that one has no entry.
///
/// # Safety
/// `proc` must point into the server's array of processes.
pub unsafe fn entry_distance(proc: *const pg_sys::PGPROC) -> Option<isize> {
    // SAFETY: the caller's promise.
    unsafe {
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let (mine, its) = (
            pg_sys::MyBackendId as isize,
            (&raw const (*proc).backendId).read_volatile() as isize,
        );
        #[cfg(any(feature = "pg15", feature = "pg16"))]
        let is_one = its >= 1 && its <= pg_sys::MaxBackends as isize;
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        let (mine, its) = (
            pg_sys::MyProcNumber as isize,
            proc.offset_from((*pg_sys::ProcGlobal).allProcs),
        );
        #[cfg(any(feature = "pg17", feature = "pg18"))]
        let is_one = its >= 0 && its < pg_sys::MaxBackends as isize;
        is_one.then(|| its - mine)
    }
}

/// Connections that the server keeps from ordinary roles.
///
/// # Safety
/// In a process of the server.
pub unsafe fn reserved_connections() -> i32 {
    // SAFETY: plain settings.
    unsafe {
        #[cfg(feature = "pg15")]
        return pg_sys::ReservedBackends;
        #[cfg(not(feature = "pg15"))]
        return pg_sys::SuperuserReservedConnections + pg_sys::ReservedConnections;
    }
}

#[cfg(feature = "pg15")]
pub type Locator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
pub type Locator = pg_sys::RelFileLocator;

/// The locator of a file, by its tablespace, database and number.
pub fn locator(tablespace: pg_sys::Oid, database: pg_sys::Oid, number: pg_sys::Oid) -> Locator {
    #[cfg(feature = "pg15")]
    return Locator {
        spcNode: tablespace,
        dbNode: database,
        relNode: number,
    };
    #[cfg(not(feature = "pg15"))]
    return Locator {
        spcOid: tablespace,
        dbOid: database,
        relNumber: number,
    };
}

/// The tablespace, the database and the number of the file of an open relation.
pub fn located(relation: &pg_sys::RelationData) -> (pg_sys::Oid, pg_sys::Oid, pg_sys::Oid) {
    #[cfg(feature = "pg15")]
    let locator = relation.rd_node;
    #[cfg(not(feature = "pg15"))]
    let locator = relation.rd_locator;
    #[cfg(feature = "pg15")]
    return (locator.spcNode, locator.dbNode, locator.relNode);
    #[cfg(not(feature = "pg15"))]
    return (locator.spcOid, locator.dbOid, locator.relNumber);
}

/// The path of a file of a relation, for its first gigabyte.
pub fn relation_path(
    tablespace: pg_sys::Oid,
    database: pg_sys::Oid,
    number: pg_sys::Oid,
    backend: i32,
    fork: pg_sys::ForkNumber::Type,
) -> CString {
    // SAFETY: the server makes a text, which ends in a zero byte, of these numbers.
    unsafe {
        let path = pg_sys::GetRelationPath(database, tablespace, number, backend, fork);
        #[cfg(not(feature = "pg18"))]
        let text = CStr::from_ptr(path).to_owned();
        #[cfg(not(feature = "pg18"))]
        pg_sys::pfree(path.cast());
        #[cfg(feature = "pg18")]
        let text = CStr::from_ptr(path.str_.as_ptr()).to_owned();
        text
    }
}

/// Whether [`smgr_write`] makes a system call for each page.
pub const WRITES_SINGLE_PAGES: bool = cfg!(any(feature = "pg15", feature = "pg16"));

/// Writes consecutive pages that are within the same gigabyte of a file.
///
/// # Safety
/// They are pages within the end of the file, to which no other process writes.
pub unsafe fn smgr_write(
    smgr: pg_sys::SMgrRelation,
    fork: pg_sys::ForkNumber::Type,
    first: u32,
    pages: &[pg_sys::Page],
    skip_sync: bool,
) {
    // SAFETY: the caller's promise; the pages are only read.
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    unsafe {
        for (block, page) in (first..).zip(pages) {
            pg_sys::smgrwrite(smgr, fork, block, page.cast(), skip_sync);
        }
    }
    // SAFETY: as above.
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    unsafe {
        let count = pages.len() as u32;
        let buffers = pages.as_ptr().cast::<*const c_void>().cast_mut();
        pg_sys::smgrwritev(smgr, fork, first, buffers, count, skip_sync);
    }
}

/// Whether pages of B-trees are known to be as this server builds them: where they have been compared.
pub const KNOWS_KEYS: bool = cfg!(any(feature = "pg15", feature = "pg17", feature = "pg18"))
    && cfg!(target_endian = "little");

/// Enters the size of a table or index into the catalog; the transaction IDs there remain.
///
/// # Safety
/// In a transaction that has locked the open relation.
pub unsafe fn update_statistics(
    relation: pg_sys::Relation,
    pages: u32,
    rows: u64,
    visible: u32,
    frozen: u32,
    has_indexes: bool,
) {
    #[cfg(not(feature = "pg18"))]
    let _ = frozen;
    // SAFETY: the caller's promise.
    unsafe {
        pg_sys::vac_update_relstats(
            relation,
            pages,
            rows as f64,
            visible,
            #[cfg(feature = "pg18")]
            frozen,
            has_indexes,
            pg_sys::InvalidTransactionId,
            pg_sys::InvalidTransactionId,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            true,
        );
    }
}

/// Has the executor deliver all rows, without a guard of its own: see `backend::unguarded`.
///
/// # Safety
/// Within a guard; the execution has been started, and has not run.
#[inline]
pub unsafe fn run_to_end(execution: *mut pg_sys::QueryDesc) {
    unsafe extern "C-unwind" {
        #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
        fn ExecutorRun(
            execution: *mut pg_sys::QueryDesc,
            direction: pg_sys::ScanDirection::Type,
            rows: u64,
            once: bool,
        );
        #[cfg(feature = "pg18")]
        fn ExecutorRun(
            execution: *mut pg_sys::QueryDesc,
            direction: pg_sys::ScanDirection::Type,
            rows: u64,
        );
    }
    // SAFETY: the caller's promise. No rows means no limit.
    unsafe {
        ExecutorRun(
            execution,
            pg_sys::ScanDirection::ForwardScanDirection,
            0,
            #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
            true,
        );
    }
}

/// Function that is called instead of running an execution with a limit of rows, 0 for none; it
/// runs the execution with any limit.
pub type InsteadOfRun = unsafe fn(*mut pg_sys::QueryDesc, u64, &dyn Fn(u64));

/// The installed function, and the hook of another library.
static RUN: OnceLock<(InsteadOfRun, pg_sys::ExecutorRun_hook_type)> = OnceLock::new();

/// Installs a function that this process calls instead of running executions.
pub fn set_run_hook(instead: InsteadOfRun) {
    macro_rules! set_hook {
        ($($once:ident)?) => {{
            unsafe extern "C-unwind" fn run(
                execution: *mut pg_sys::QueryDesc,
                direction: pg_sys::ScanDirection::Type,
                rows: u64,
                $($once: bool)?
            ) {
                // SAFETY: what the server passes to this hook.
                unsafe {
                    pgrx_extern_c_guard(|| {
                        let Some((instead, next)) = RUN.get() else { return };
                        instead(execution, rows, &|rows| match next {
                            Some(next) => {
                                pg_guard_ffi_boundary(|| next(execution, direction, rows, $($once)?));
                            }
                            None => pg_sys::standard_ExecutorRun(execution, direction, rows, $($once)?),
                        });
                    });
                }
            }
            // SAFETY: a variable that only the main thread uses.
            unsafe {
                if RUN.set((instead, pg_sys::ExecutorRun_hook)).is_ok() {
                    pg_sys::ExecutorRun_hook = Some(run);
                }
            }
        }};
    }
    #[cfg(not(feature = "pg18"))]
    set_hook!(once);
    #[cfg(feature = "pg18")]
    set_hook!();
}

/// The identifier of a query, as views show it.
pub fn query_id(query: &pg_sys::Query) -> i64 {
    #[cfg(not(feature = "pg18"))]
    return query.queryId as i64;
    #[cfg(feature = "pg18")]
    return query.queryId;
}

/// A set of events to wait for, with that room, for the life of the process.
///
/// # Safety
/// In a process of the server.
pub unsafe fn new_wait_event_set(room: i32) -> *mut pg_sys::WaitEventSet {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    // SAFETY: the top context is always there.
    return unsafe { pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, room) };
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    // SAFETY: without an owner, the set belongs to the process.
    return unsafe { pg_sys::CreateWaitEventSet(std::ptr::null_mut(), room) };
}
