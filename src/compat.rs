//! Everything that differs between the supported versions of PostgreSQL, and the few declarations
//! that the bindings lack.

use pgrx::pg_sys;

/// Lets a worker connect as a role without the LOGIN attribute, where the server can do that.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub const BYPASS_ROLE_LOGIN_CHECK: u32 = 0;
/// Lets a worker connect as a role without the LOGIN attribute, where the server can do that.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub const BYPASS_ROLE_LOGIN_CHECK: u32 = pg_sys::BGWORKER_BYPASS_ROLELOGINCHECK;

/// Runs a portal and throws away up to so many of its rows. A portal that keeps its rows, such as
/// that of `CALL`, has been run to its end whatever their number, and has the others still.
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

/// A memory context of the default size that lives as long as the process.
pub fn new_memory_context(name: &'static std::ffi::CStr) -> pg_sys::MemoryContext {
    // SAFETY: the top context is always there.
    unsafe {
        pg_sys::AllocSetContextCreateInternal(
            pg_sys::TopMemoryContext,
            name.as_ptr(),
            pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
            pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
        )
    }
}

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
    visit: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut std::ffi::c_void) -> bool,
    context: *mut std::ffi::c_void,
) -> bool {
    unsafe extern "C-unwind" {
        #[cfg_attr(not(feature = "pg15"), link_name = "expression_tree_walker_impl")]
        fn expression_tree_walker(
            node: *mut pg_sys::Node,
            visit: unsafe extern "C-unwind" fn(*mut pg_sys::Node, *mut std::ffi::c_void) -> bool,
            context: *mut std::ffi::c_void,
        ) -> bool;
    }
    // SAFETY: the caller's promise.
    unsafe { pg_sys::ffi::pg_guard_ffi_boundary(|| expression_tree_walker(node, visit, context)) }
}

/// Number of one of the server's timeouts.
pub type TimeoutId = std::ffi::c_uint;
/// The timeout of `statement_timeout`; the same number in all supported versions.
pub const STATEMENT_TIMEOUT: TimeoutId = 3;

/// What every transaction of an SPI client calls, without the stack guard that the server's binding
/// has for each single call and that takes longer than many of them. An error goes to the innermost
/// guard, so that there must be one around the calls, and between it and them nothing that has to
/// be dropped.
pub mod unguarded {
    use pgrx::pg_sys::{
        BackendState, CachedPlan, CachedPlanSource, Datum, DestReceiver, FmgrInfo, MemoryContext,
        Oid, ParamListInfo, PlannedStmt, QueryDesc, QueryEnvironment, ResourceOwner,
        SPIExecuteOptions, SPIPlanPtr, ScanDirection, Snapshot, TimestampTz,
    };
    use std::ffi::{c_char, c_int};

    unsafe extern "C-unwind" {
        pub fn SetCurrentStatementStartTimestamp();
        pub fn GetCurrentStatementStartTimestamp() -> TimestampTz;
        pub fn pgstat_report_activity(state: BackendState::Type, text: *const c_char);
        pub fn StartTransactionCommand();
        pub fn CommitTransactionCommand();
        pub fn CommandCounterIncrement();
        pub fn IsAbortedTransactionBlockState() -> bool;
        pub fn IsTransactionOrTransactionBlock() -> bool;
        pub fn IsTransactionBlock() -> bool;
        pub fn SPI_connect() -> c_int;
        pub fn SPI_finish() -> c_int;
        pub fn SPI_execute_plan_extended(
            plan: SPIPlanPtr,
            options: *const SPIExecuteOptions,
        ) -> c_int;
        pub fn GetCachedPlan(
            source: *mut CachedPlanSource,
            parameters: ParamListInfo,
            owner: ResourceOwner,
            environment: *mut QueryEnvironment,
        ) -> *mut CachedPlan;
        pub fn ReleaseCachedPlan(plan: *mut CachedPlan, owner: ResourceOwner);
        pub fn CreateQueryDesc(
            statement: *mut PlannedStmt,
            text: *const c_char,
            snapshot: Snapshot,
            crosscheck: Snapshot,
            receiver: *mut DestReceiver,
            parameters: ParamListInfo,
            environment: *mut QueryEnvironment,
            instruments: c_int,
        ) -> *mut QueryDesc;
        pub fn FreeQueryDesc(execution: *mut QueryDesc);
        pub fn ExecutorStart(execution: *mut QueryDesc, flags: c_int);
        pub fn ExecutorFinish(execution: *mut QueryDesc);
        pub fn ExecutorEnd(execution: *mut QueryDesc);
        pub fn MemoryContextReset(context: MemoryContext);
        pub fn GetTransactionSnapshot() -> Snapshot;
        pub fn GetActiveSnapshot() -> Snapshot;
        pub fn PushActiveSnapshot(snapshot: Snapshot);
        pub fn PopActiveSnapshot();
        pub fn InputFunctionCall(
            function: *mut FmgrInfo,
            text: *mut c_char,
            io_param: Oid,
            modifier: i32,
        ) -> Datum;
    }

    unsafe extern "C-unwind" {
        #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
        fn ExecutorRun(
            execution: *mut QueryDesc,
            direction: ScanDirection::Type,
            rows: u64,
            once: bool,
        );
        #[cfg(feature = "pg18")]
        fn ExecutorRun(execution: *mut QueryDesc, direction: ScanDirection::Type, rows: u64);
    }

    /// Has the executor deliver all rows.
    ///
    /// # Safety
    /// Within a guard; the execution has been started, and has not run.
    #[inline]
    pub unsafe fn run_to_end(execution: *mut QueryDesc) {
        // SAFETY: the caller's promise. No rows means no limit.
        unsafe {
            ExecutorRun(
                execution,
                ScanDirection::ForwardScanDirection,
                0,
                #[cfg(any(feature = "pg15", feature = "pg16", feature = "pg17"))]
                true,
            );
        }
    }
}

/// The timeout of `lock_timeout`; the same number in all supported versions.
const LOCK_TIMEOUT: TimeoutId = 2;

/// Whether one of the timeouts that cancel a statement has come, and the statement has not ended
/// yet. May be called in a signal handler.
pub fn statement_has_timed_out() -> bool {
    unsafe extern "C-unwind" {
        /// Whether a timeout has come. Raises no error.
        fn get_timeout_indicator(id: TimeoutId, reset: bool) -> bool;
    }
    // SAFETY: reads a flag of this process.
    [LOCK_TIMEOUT, STATEMENT_TIMEOUT]
        .into_iter()
        .any(|id| unsafe { get_timeout_indicator(id, false) })
}

unsafe extern "C-unwind" {
    /// Arms one of the server's timeouts, in milliseconds. Raises no error.
    pub fn enable_timeout_after(id: TimeoutId, delay_ms: std::ffi::c_int);
    /// Disarms one of the server's timeouts. Raises no error.
    pub fn disable_timeout(id: TimeoutId, keep_indicator: bool);
    /// Whether one of the server's timeouts is armed. Raises no error.
    pub fn get_timeout_active(id: TimeoutId) -> bool;
    /// The hash by which rows are given to partitions, of values and the functions that hash them.
    /// Raises no error unless these functions do. The server's own binding would save the stack at
    /// each call, which takes longer than the hash.
    pub fn compute_partition_hash_value(
        columns: std::ffi::c_int,
        functions: *mut pg_sys::FmgrInfo,
        collations: *const pg_sys::Oid,
        values: *const pg_sys::Datum,
        nulls: *const bool,
    ) -> u64;
}

/// Whether it is worth asking whether the postmaster is alive, for loops that never wait: the
/// system's signal has told so, or this process has never asked.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
#[inline]
pub fn postmaster_may_be_dead() -> bool {
    unsafe extern "C-unwind" {
        static postmaster_possibly_dead: std::ffi::c_int;
    }
    // SAFETY: a flag that a signal handler of the server sets.
    unsafe { (&raw const postmaster_possibly_dead).read_volatile() != 0 }
}

/// Whether it is worth asking whether the postmaster is alive. Where no signal tells, asking takes
/// a system call: it is done once in so many calls.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
pub fn postmaster_may_be_dead() -> bool {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static CALLS: AtomicU32 = AtomicU32::new(0);
    CALLS.fetch_add(1, Relaxed).is_multiple_of(1024)
}

/// Whether the postmaster lives. Takes a system call; if it does, it
/// [may be dead](postmaster_may_be_dead) only when a signal says so.
pub fn postmaster_is_alive() -> bool {
    unsafe extern "C-unwind" {
        /// Raises no error but FATAL.
        fn PostmasterIsAliveInternal() -> bool;
    }
    // SAFETY: reads a pipe of the postmaster's.
    unsafe { PostmasterIsAliveInternal() }
}

/// What this process has used of blocks and WAL since it began.
pub fn usage() -> selfbench_stats::Usage {
    // SAFETY: counters of this process alone, which is not within a change of them.
    let (buffers, wal) = unsafe { (pg_sys::pgBufferUsage, pg_sys::pgWalUsage) };
    let (read, write) = read_and_write_time(&buffers);
    selfbench_stats::Usage {
        blocks_hit: buffers.shared_blks_hit as u64,
        blocks_read: buffers.shared_blks_read as u64,
        blocks_dirtied: buffers.shared_blks_dirtied as u64,
        blocks_written: buffers.shared_blks_written as u64,
        blocks_evicted: blocks_evicted(),
        read_ns: nanoseconds(read),
        write_ns: nanoseconds(write),
        wal_records: wal.wal_records as u64,
        wal_fpi: wal.wal_fpi as u64,
        wal_bytes: wal.wal_bytes,
        ..selfbench_stats::Usage::default()
    }
}

/// Earlier servers count the evictions of all processes of a kind together, or not at all.
#[cfg(not(feature = "pg18"))]
fn blocks_evicted() -> Option<u64> {
    None
}

/// Relations' blocks that this process has evicted from shared buffers since it began.
#[cfg(feature = "pg18")]
fn blocks_evicted() -> Option<u64> {
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

/// The part of [`usage`] that is looked at after each transaction.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blocks {
    /// Blocks found in shared buffers.
    pub hit: u64,
    /// Blocks read into them.
    pub read: u64,
    /// Nanoseconds that this took; 0 unless `track_io_timing` is on.
    pub read_ns: u64,
    /// Bytes of WAL.
    pub wal_bytes: u64,
}

/// What this process has used since it began.
#[inline]
pub fn blocks() -> Blocks {
    // SAFETY: as in `usage`.
    let (buffers, wal) = unsafe { (pg_sys::pgBufferUsage, pg_sys::pgWalUsage) };
    Blocks {
        hit: buffers.shared_blks_hit as u64,
        read: buffers.shared_blks_read as u64,
        read_ns: nanoseconds(read_and_write_time(&buffers).0),
        wal_bytes: wal.wal_bytes,
    }
}

/// How long it took to read and to write blocks of shared buffers.
fn read_and_write_time(buffers: &pg_sys::BufferUsage) -> (pg_sys::instr_time, pg_sys::instr_time) {
    #[cfg(any(feature = "pg15", feature = "pg16"))]
    return (buffers.blk_read_time, buffers.blk_write_time);
    #[cfg(any(feature = "pg17", feature = "pg18"))]
    return (buffers.shared_blk_read_time, buffers.shared_blk_write_time);
}

#[cfg(feature = "pg15")]
#[inline]
fn nanoseconds(time: pg_sys::instr_time) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Ticks of the server's clock are nanoseconds.
#[cfg(not(feature = "pg15"))]
#[inline]
fn nanoseconds(time: pg_sys::instr_time) -> u64 {
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

/// Waits up to `timeout_ms` until a socket is readable, or writable, or this process's latch is
/// set; whether the socket is ready. Ends the process if the postmaster has died.
pub fn wait_for_socket(socket: i32, writable: bool, timeout_ms: i64) -> bool {
    let want = if writable {
        pg_sys::WL_SOCKET_WRITEABLE
    } else {
        pg_sys::WL_SOCKET_READABLE
    };
    let events = want | pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | pg_sys::WL_EXIT_ON_PM_DEATH;
    // SAFETY: waits on this process's own latch and on a descriptor that is open.
    unsafe {
        let got = pg_sys::WaitLatchOrSocket(
            pg_sys::MyLatch,
            events as i32,
            socket,
            timeout_ms as _,
            pg_sys::PG_WAIT_EXTENSION,
        );
        if got as u32 & pg_sys::WL_LATCH_SET != 0 {
            pg_sys::ResetLatch(pg_sys::MyLatch);
        }
        got as u32 & want != 0
    }
}

/// A descriptor that becomes readable when the clock has come to a reading, for waits that are more
/// precise than milliseconds. Only Linux has it.
pub struct Alarm {
    #[cfg(target_os = "linux")]
    timer: rustix::fd::OwnedFd,
    set_ns: u64,
}

#[cfg(target_os = "linux")]
impl Alarm {
    /// An alarm that is not set; `None` if the system gives none.
    pub fn new() -> Option<Alarm> {
        use rustix::time::{TimerfdClockId, TimerfdFlags, timerfd_create};
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags).ok()?;
        Some(Alarm { timer, set_ns: 0 })
    }

    /// Sets it to a reading of our clock, in place of an earlier one.
    pub fn set(&mut self, at_ns: u64) {
        use rustix::time::{Itimerspec, TimerfdTimerFlags, Timespec, timerfd_settime};
        if at_ns == self.set_ns {
            return;
        }
        self.set_ns = at_ns;
        let zero = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let time = Itimerspec {
            it_interval: zero,
            it_value: Timespec {
                tv_sec: (at_ns / 1_000_000_000) as _,
                tv_nsec: (at_ns % 1_000_000_000) as _,
            },
        };
        // If it fails, the wait is as precise as without.
        let _ = timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &time);
    }

    /// The descriptor to wait for.
    pub fn descriptor(&self) -> i32 {
        use std::os::fd::AsRawFd;
        self.timer.as_raw_fd()
    }
}

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// None.
    pub fn new() -> Option<Alarm> {
        None
    }

    /// Does nothing.
    pub fn set(&mut self, at_ns: u64) {
        self.set_ns = at_ns;
    }

    /// None.
    pub fn descriptor(&self) -> i32 {
        -1
    }
}

/// The backend whose files are those of all relations but temporary ones.
const NO_BACKEND: i32 = -1;

/// A file of a relation, in a form that goes through shared memory.
#[derive(Clone, Copy, Debug, serde::Serialize, serde::Deserialize)]
pub struct FileId {
    tablespace: u32,
    database: u32,
    number: u32,
}

#[cfg(feature = "pg15")]
type Locator = pg_sys::RelFileNode;
#[cfg(not(feature = "pg15"))]
type Locator = pg_sys::RelFileLocator;

impl FileId {
    fn locator(self) -> Locator {
        #[cfg(feature = "pg15")]
        return Locator {
            spcNode: self.tablespace.into(),
            dbNode: self.database.into(),
            relNode: self.number.into(),
        };
        #[cfg(not(feature = "pg15"))]
        return Locator {
            spcOid: self.tablespace.into(),
            dbOid: self.database.into(),
            relNumber: self.number.into(),
        };
    }
}

/// The file of an open relation.
pub fn file_of(relation: &pg_sys::RelationData) -> FileId {
    #[cfg(feature = "pg15")]
    return FileId {
        tablespace: relation.rd_node.spcNode.to_u32(),
        database: relation.rd_node.dbNode.to_u32(),
        number: relation.rd_node.relNode.to_u32(),
    };
    #[cfg(not(feature = "pg15"))]
    return FileId {
        tablespace: relation.rd_locator.spcOid.to_u32(),
        database: relation.rd_locator.dbOid.to_u32(),
        number: relation.rd_locator.relNumber.to_u32(),
    };
}

/// Opens the file of a relation that is not temporary. What it returns is good until the server
/// next looks at what other processes have invalidated.
///
/// # Safety
/// In a transaction.
pub unsafe fn smgr_open(file: FileId) -> pg_sys::SMgrRelation {
    // SAFETY: the caller's promise.
    unsafe { pg_sys::smgropen(file.locator(), NO_BACKEND) }
}

/// Writes a page behind the end of a file; what is between becomes zeros.
///
/// # Safety
/// `page` is a page, and nobody else extends the file.
pub unsafe fn smgr_extend(
    smgr: pg_sys::SMgrRelation,
    fork: pg_sys::ForkNumber::Type,
    block: u32,
    page: pg_sys::Page,
    skip_sync: bool,
) {
    // SAFETY: the caller's promise.
    unsafe { pg_sys::smgrextend(smgr, fork, block, page.cast(), skip_sync) };
}

/// Bytes of one system call that writes pages. More would spare little; less, and the time that the
/// kernel takes for each call shows. The kernel's cache gets pages of that size, and larger ones
/// are slow where a virtual machine gives memory that it does not use back to its host.
const WRITE_BYTES: usize = 32 * 1024;

/// Writes consecutive pages that are within a file's end, several by one system call. Unless
/// `skip_sync`, the checkpointer is told to sync what is written when it has been written.
///
/// # Safety
/// They are pages, one behind the other in memory; nobody else writes to these blocks. In a
/// transaction.
pub unsafe fn smgr_write(
    file: FileId,
    fork: pg_sys::ForkNumber::Type,
    first: u32,
    mut pages: &[pg_sys::Page],
    skip_sync: bool,
) {
    let mut block = first;
    while !pages.is_empty() {
        let room = pg_sys::RELSEG_SIZE - block % pg_sys::RELSEG_SIZE;
        let (here, rest) = pages.split_at(pages.len().min(room as usize));
        // SAFETY: the caller's promise; all of `here` belongs to one file of a gigabyte.
        unsafe { write_within_segment(file, fork, block, here, skip_sync) };
        block += here.len() as u32;
        pages = rest;
    }
}

/// [`smgr_write`] for pages of the same file of a gigabyte.
///
/// # Safety
/// As there.
#[cfg(any(feature = "pg17", feature = "pg18"))]
unsafe fn write_within_segment(
    file: FileId,
    fork: pg_sys::ForkNumber::Type,
    first: u32,
    pages: &[pg_sys::Page],
    skip_sync: bool,
) {
    let buffers: Vec<*const std::ffi::c_void> =
        pages.iter().map(|page| page.cast_const().cast()).collect();
    let mut block = first;
    let mut left = buffers.len();
    for some in buffers.chunks(WRITE_BYTES.div_ceil(pg_sys::BLCKSZ as usize)) {
        let count = some.len() as u32;
        left -= some.len();
        let skip_sync = skip_sync || left > 0;
        // SAFETY: the caller's promise; the buffers are only read.
        unsafe {
            let smgr = smgr_open(file);
            let some = some.as_ptr().cast_mut();
            pg_sys::smgrwritev(smgr, fork, block, some, count, skip_sync);
        }
        block += count;
    }
}

/// [`smgr_write`] for pages of the same file of a gigabyte. These versions of the server write one
/// page by a system call, which takes twice the time of larger ones.
///
/// # Safety
/// As there.
#[cfg(any(feature = "pg15", feature = "pg16"))]
unsafe fn write_within_segment(
    file: FileId,
    fork: pg_sys::ForkNumber::Type,
    first: u32,
    pages: &[pg_sys::Page],
    skip_sync: bool,
) {
    // SAFETY: the caller's promise. The server's own function writes what the system calls did not,
    // and raises the error if it cannot. It also writes the last page again where the checkpointer
    // is to be told: it alone can do that.
    unsafe {
        let done = match write_at_once(file, fork, first, pages) {
            false => 0,
            true if skip_sync => pages.len(),
            true => pages.len() - 1,
        };
        let smgr = smgr_open(file);
        for (block, page) in (first..).zip(pages).skip(done) {
            pg_sys::smgrwrite(smgr, fork, block, page.cast(), skip_sync);
        }
    }
}

/// Writes pages of one file of a gigabyte; whether it could.
///
/// # Safety
/// As for [`smgr_write`].
#[cfg(any(feature = "pg15", feature = "pg16"))]
unsafe fn write_at_once(
    file: FileId,
    fork: pg_sys::ForkNumber::Type,
    first: u32,
    pages: &[pg_sys::Page],
) -> bool {
    let (segment, block) = (first / pg_sys::RELSEG_SIZE, first % pg_sys::RELSEG_SIZE);
    // SAFETY: the path is a text of the server's, freed here. The descriptor is open until it is
    // closed here or, after an error, with the transaction. So many bytes are there to be read.
    unsafe {
        let path = pg_sys::GetRelationPath(
            file.database.into(),
            file.tablespace.into(),
            file.number.into(),
            NO_BACKEND,
            fork,
        );
        let mut name = std::ffi::CStr::from_ptr(path).to_bytes().to_vec();
        pg_sys::pfree(path.cast());
        if segment > 0 {
            name.extend_from_slice(format!(".{segment}").as_bytes());
        }
        name.push(0);
        let descriptor = pg_sys::OpenTransientFile(name.as_ptr().cast(), libc::O_RDWR);
        if descriptor < 0 {
            return false;
        }
        let all = pages.len() * pg_sys::BLCKSZ as usize;
        let bytes = std::slice::from_raw_parts(pages[0].cast::<u8>(), all);
        let mut offset = i64::from(block) * i64::from(pg_sys::BLCKSZ);
        let complete = bytes.chunks(WRITE_BYTES).all(|some| {
            let at = offset as libc::off_t;
            offset += some.len() as i64;
            libc::pwrite(descriptor, some.as_ptr().cast(), some.len(), at) == some.len() as isize
        });
        pg_sys::CloseTransientFile(descriptor);
        complete
    }
}

/// Writes consecutive pages to WAL, in one record if there are at most 32, and gives them its
/// position. `standard` pages have nothing between their line pointers and their items.
///
/// # Safety
/// They are pages, and nobody else changes them.
pub unsafe fn log_pages(
    file: FileId,
    fork: pg_sys::ForkNumber::Type,
    first: u32,
    pages: &mut [pg_sys::Page],
    standard: bool,
) {
    let mut blocks: Vec<u32> = (first..).take(pages.len()).collect();
    // SAFETY: the caller's promise; as many blocks as pages.
    unsafe {
        pg_sys::log_newpages(
            &mut file.locator(),
            fork,
            pages.len() as i32,
            blocks.as_mut_ptr(),
            pages.as_mut_ptr(),
            standard,
        );
    }
}

/// While it lives, checkpoints whose redo position lies behind WAL that this process has written
/// since wait. Must be made in a transaction.
pub struct Checkpoints(());

impl Checkpoints {
    /// Keeps them from going on.
    pub fn delay() -> Checkpoints {
        // SAFETY: this process's own entry; others only read these flags. They need no lock, since
        // writing WAL takes one.
        unsafe { (*pg_sys::MyProc).delayChkptFlags |= pg_sys::DELAY_CHKPT_START as i32 };
        Checkpoints(())
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        // SAFETY: as above.
        unsafe { (*pg_sys::MyProc).delayChkptFlags &= !(pg_sys::DELAY_CHKPT_START as i32) };
    }
}

/// Something that a process waited for.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Its latch was set; it has been reset.
    Latch,
    /// One of the sockets is ready.
    Socket {
        index: usize,
        readable: bool,
        writable: bool,
    },
}

/// A set of sockets and this process's latch to wait for. A socket leaves the set by being closed.
///
/// Ends the process if the postmaster dies while it waits.
pub struct EventSet {
    set: *mut pg_sys::WaitEventSet,
    occurred: Vec<pg_sys::WaitEvent>,
    count: usize,
}

impl EventSet {
    /// A set with room for that many sockets and an alarm, for the life of the process.
    pub fn new(sockets: usize) -> EventSet {
        let room = sockets as i32 + 3;
        // SAFETY: the set lives in the top context.
        unsafe {
            #[cfg(any(feature = "pg15", feature = "pg16"))]
            let set = pg_sys::CreateWaitEventSet(pg_sys::TopMemoryContext, room);
            #[cfg(any(feature = "pg17", feature = "pg18"))]
            let set = pg_sys::CreateWaitEventSet(std::ptr::null_mut(), room);
            pg_sys::AddWaitEventToSet(
                set,
                pg_sys::WL_LATCH_SET,
                pg_sys::PGINVALID_SOCKET,
                pg_sys::MyLatch,
                std::ptr::null_mut(),
            );
            pg_sys::AddWaitEventToSet(
                set,
                pg_sys::WL_EXIT_ON_PM_DEATH,
                pg_sys::PGINVALID_SOCKET,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            );
            let occurred = vec![std::mem::zeroed(); room as usize];
            EventSet {
                set,
                occurred,
                count: 0,
            }
        }
    }

    /// Adds a socket, waited for to become readable; returns its position.
    pub fn add_socket(&mut self, socket: i32, index: usize) -> i32 {
        // SAFETY: the set has room for it, see `new`; the index travels as the user's pointer and
        // is never followed.
        unsafe {
            pg_sys::AddWaitEventToSet(
                self.set,
                pg_sys::WL_SOCKET_READABLE,
                socket,
                std::ptr::null_mut(),
                std::ptr::without_provenance_mut(index),
            )
        }
    }

    /// Whether to wait for a socket to become writable as well.
    pub fn want_write(&mut self, position: i32, write: bool) {
        let extra = if write {
            pg_sys::WL_SOCKET_WRITEABLE
        } else {
            0
        };
        // SAFETY: a position that `add_socket` returned.
        unsafe {
            pg_sys::ModifyWaitEvent(
                self.set,
                position,
                pg_sys::WL_SOCKET_READABLE | extra,
                std::ptr::null_mut(),
            );
        }
    }

    /// Waits up to `timeout_ms`, without limit if it is negative, and gives what happened.
    pub fn wait(&mut self, timeout_ms: i64) -> impl Iterator<Item = Event> + '_ {
        // SAFETY: the buffer has the length given; the latch is this process's own.
        unsafe {
            let n = pg_sys::WaitEventSetWait(
                self.set,
                timeout_ms as _,
                self.occurred.as_mut_ptr(),
                self.occurred.len() as i32,
                pg_sys::PG_WAIT_EXTENSION,
            );
            self.count = n.max(0) as usize;
            if self.occurred[..self.count]
                .iter()
                .any(|e| e.events & pg_sys::WL_LATCH_SET != 0)
            {
                pg_sys::ResetLatch(pg_sys::MyLatch);
            }
        }
        self.occurred[..self.count].iter().map(|event| {
            if event.events & pg_sys::WL_LATCH_SET != 0 {
                Event::Latch
            } else {
                Event::Socket {
                    index: event.user_data.addr(),
                    readable: event.events & pg_sys::WL_SOCKET_READABLE != 0,
                    writable: event.events & pg_sys::WL_SOCKET_WRITEABLE != 0,
                }
            }
        })
    }
}

impl Drop for EventSet {
    fn drop(&mut self) {
        // SAFETY: freed once. Its sockets must still be open, or have been removed by the system.
        unsafe { pg_sys::FreeWaitEventSet(self.set) };
    }
}
