//! Everything that differs between the supported versions of PostgreSQL, and the few declarations
//! that the bindings lack.

use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::pg_sys::panic::pgrx_extern_c_guard;
use std::sync::OnceLock;

/// Lets a worker connect as a role without the LOGIN attribute, where the server can do that.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub const BYPASS_ROLE_LOGIN_CHECK: u32 = 0;
/// Lets a worker connect as a role without the LOGIN attribute, where the server can do that.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub const BYPASS_ROLE_LOGIN_CHECK: u32 = pg_sys::BGWORKER_BYPASS_ROLELOGINCHECK;

/// The number of a wait event: extensions have no names for theirs.
#[cfg(any(feature = "pg15", feature = "pg16"))]
pub fn wait_event(_name: &std::ffi::CStr) -> u32 {
    pg_sys::PG_WAIT_EXTENSION
}

/// The number of a wait event of that name; that of all extensions if the server has no room for
/// another name. Not to be called with a lightweight lock held.
#[cfg(any(feature = "pg17", feature = "pg18"))]
pub fn wait_event(name: &std::ffi::CStr) -> u32 {
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

unsafe extern "C-unwind" {
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

/// How long it took to read and to write blocks of shared buffers.
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

/// The entry of a process in the array that the activity views read; `None` if it has none.
///
/// # Safety
/// `proc` must point into the server's array of processes, and this process must have an entry.
pub unsafe fn status_of(proc: *const pg_sys::PGPROC) -> Option<*const pg_sys::PgBackendStatus> {
    // SAFETY: the caller's promise. The array itself is not visible to extensions: its entries are
    // found by the distance from this process's.
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
        is_one.then(|| pg_sys::MyBEEntry.offset(its - mine).cast_const())
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

/// The backend whose files are those of all relations but temporary ones.
const NO_BACKEND: i32 = -1;

/// A file of a relation, in a form that goes through shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
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
/// page per system call; larger ones reduce the duration of `bench.initialize(scale => 50)` by a
/// fifth.
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

/// Whether pages of B-trees are known to be as this server builds them: where they have been compared.
pub const KNOWS_KEYS: bool =
    cfg!(any(feature = "pg15", feature = "pg18")) && cfg!(target_endian = "little");

/// Enters the size of a table or index into the catalog, as `CREATE INDEX` does.
///
/// # Safety
/// In a transaction that has locked the open relation.
pub unsafe fn tell_size(relation: pg_sys::Relation, pages: u32, rows: u64, is_table: bool) {
    let (mut visible, mut frozen) = (0, 0);
    // SAFETY: the caller's promise.
    unsafe {
        if is_table {
            pg_sys::visibilitymap_count(relation, &mut visible, &mut frozen);
        }
        pg_sys::vac_update_relstats(
            relation,
            pages,
            rows as f64,
            visible,
            #[cfg(feature = "pg18")]
            frozen,
            is_table,
            pg_sys::InvalidTransactionId,
            pg_sys::InvalidTransactionId,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            true,
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

/// What to do instead of running an execution with a limit of rows, 0 for none; the function runs it
/// with any limit.
pub type InsteadOfRun = unsafe fn(*mut pg_sys::QueryDesc, u64, &dyn Fn(u64));

/// That, and the hook of another library.
static RUN: OnceLock<(InsteadOfRun, pg_sys::ExecutorRun_hook_type)> = OnceLock::new();

/// From now on, this process does that instead of running executions.
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
            // SAFETY: a variable of this process, which has one thread.
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
