//! Waiting for the latch of a process, and the flags that its signals set.

use crate::clock;
use crate::compat;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Wait event of a process of ours, as `pg_stat_activity` shows it: by name where extensions can
/// name their wait events (17 and newer), and as `Extension` elsewhere.
#[derive(Clone, Copy, Debug)]
pub enum WaitEvent {
    /// The end of the run or of the initialization that it has started.
    Task,
    /// The start or the end of processes that it has started, or commits of the other processes of a load.
    Workers,
    /// The start barrier of a run.
    StartBarrier,
    /// The end of an interval of a run.
    Interval,
    /// The time at which its client continues.
    Schedule,
    /// Answers to its clients.
    Answers,
    /// A connection other than its clients'.
    Connection,
    /// A shell command.
    Shell,
    /// Room for the log of transactions.
    LogRoom,
    /// The end of the window of a capture.
    Window,
}

impl WaitEvent {
    const COUNT: usize = WaitEvent::Window as usize + 1;

    /// The name that the server shows.
    fn name(self) -> &'static CStr {
        match self {
            WaitEvent::Task => c"SelfbenchTask",
            WaitEvent::Workers => c"SelfbenchWorkers",
            WaitEvent::StartBarrier => c"SelfbenchStartBarrier",
            WaitEvent::Interval => c"SelfbenchInterval",
            WaitEvent::Schedule => c"SelfbenchSchedule",
            WaitEvent::Answers => c"SelfbenchAnswers",
            WaitEvent::Connection => c"SelfbenchConnection",
            WaitEvent::Shell => c"SelfbenchShell",
            WaitEvent::LogRoom => c"SelfbenchLogRoom",
            WaitEvent::Window => c"SelfbenchWindow",
        }
    }

    /// The number that the server's functions take. A process asks the server for it once, and not
    /// while it exits, when nothing may raise an error.
    pub fn number(self) -> u32 {
        static NUMBERS: [AtomicU32; WaitEvent::COUNT] =
            [const { AtomicU32::new(0) }; WaitEvent::COUNT];
        let known = &NUMBERS[self as usize];
        match known.load(Relaxed) {
            0 if is_exiting() => pg_sys::PG_WAIT_EXTENSION,
            0 => {
                let number = compat::wait_event(self.name());
                known.store(number, Relaxed);
                number
            }
            number => number,
        }
    }
}

/// Longer waits end early; the server counts them in 32 bits.
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The shortest time that the server can wait for.
const TICK_NS: u64 = 1_000_000;

/// Waits until this process's latch is set or the clock has reached `until_ns`, more precisely than
/// [`wait`] can; may return early.
pub fn wait_until(until_ns: u64, event: WaitEvent) {
    let left = until_ns.saturating_sub(clock::now_ns());
    if left >= TICK_NS {
        wait(Duration::from_nanos(left - left % TICK_NS), event);
    } else if left > 0 {
        // Too short to delay the reaction to a latch that is set meanwhile.
        std::thread::sleep(Duration::from_nanos(left));
    }
}

/// Waits until this process's latch is set or `timeout` has passed, and clears the latch.
///
/// Ends the process if the postmaster has died, unless the process is already exiting. Does not
/// process interrupts; the caller does.
pub fn wait(timeout: Duration, event: WaitEvent) {
    // A process may be woken often; rounding up keeps it from spinning at the end.
    let ms = timeout.min(LONGEST_WAIT).as_micros().div_ceil(1000) as i64;
    let death = match is_exiting() {
        true => pg_sys::WL_POSTMASTER_DEATH,
        false => pg_sys::WL_EXIT_ON_PM_DEATH,
    };
    let events = pg_sys::WL_LATCH_SET | pg_sys::WL_TIMEOUT | death;
    // SAFETY: waits on this process's own latch.
    unsafe {
        pg_sys::WaitLatch(pg_sys::MyLatch, events as i32, ms as _, event.number());
        pg_sys::ResetLatch(pg_sys::MyLatch);
    }
}

/// Makes the next wait of this process end at once.
pub fn wake_myself() {
    // SAFETY: sets this process's own latch.
    unsafe { pg_sys::SetLatch(pg_sys::MyLatch) };
}

/// Whether this backend's query was canceled or the backend is to end.
pub fn interrupted() -> bool {
    // SAFETY: a signal flag, read as CHECK_FOR_INTERRUPTS reads it.
    must_end() || unsafe { (&raw const pg_sys::QueryCancelPending).read_volatile() != 0 }
}

/// Discards a cancel request at the start of a statement, because it meant an earlier one.
#[inline]
pub fn forget_cancel() {
    // SAFETY: a flag of this process, which executes no statement.
    unsafe { (&raw mut pg_sys::QueryCancelPending).write_volatile(0) };
}

/// Whether this process must exit.
pub fn must_end() -> bool {
    // SAFETY: flags, read as CHECK_FOR_INTERRUPTS reads them.
    unsafe {
        (&raw const pg_sys::ProcDiePending).read_volatile() != 0
            || (&raw const pg_sys::ClientConnectionLost).read_volatile() != 0
    }
}

/// Period of a waiting session's checks whether its client is still connected.
const CLIENT_CHECK_NS: u64 = 1_000_000_000;

/// Requests this session to end if its client has closed the connection, as far as the system can
/// tell: what the server does itself only if `client_connection_check_interval` is set. To be called
/// before each wait.
pub fn end_without_client() {
    static CHECKED_NS: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C-unwind" {
        fn pq_check_connection() -> bool;
    }
    let now = clock::now_ns();
    if now - CHECKED_NS.load(Relaxed) < CLIENT_CHECK_NS {
        return;
    }
    CHECKED_NS.store(now, Relaxed);
    // SAFETY: variables of this process. A process with a client has the set of events that the
    // function waits for; it may raise an error.
    unsafe {
        if !pg_sys::MyProcPort.is_null()
            && pg_sys::whereToSendOutput == pg_sys::CommandDest::DestRemote
            && pg_sys::WaitEventSetCanReportClosed()
            && !pg_guard_ffi_boundary(|| pq_check_connection())
        {
            (&raw mut pg_sys::ClientConnectionLost).write_volatile(1);
            (&raw mut pg_sys::InterruptPending).write_volatile(1);
        }
    }
}

/// Whether this process is about to exit: its exit callbacks run.
pub fn is_exiting() -> bool {
    // SAFETY: a plain variable of this process.
    unsafe { pg_sys::proc_exit_inprogress }
}

/// Ends this process if the postmaster has died, for loops that never wait: otherwise the process
/// would block a restart of the server.
#[inline]
pub fn exit_with_postmaster() {
    // A process that never waits does not notice the postmaster's death without this check.
    if postmaster_may_be_dead() && !postmaster_is_alive() {
        wait(Duration::ZERO, WaitEvent::Workers);
    }
}

/// Whether it is worth asking whether the postmaster is alive, for loops that never wait: the
/// system's signal has told so, or this process has never asked.
#[cfg(any(target_os = "linux", target_os = "freebsd"))]
#[inline]
fn postmaster_may_be_dead() -> bool {
    unsafe extern "C-unwind" {
        static postmaster_possibly_dead: std::ffi::c_int;
    }
    // SAFETY: a flag that a signal handler of the server sets.
    unsafe { (&raw const postmaster_possibly_dead).read_volatile() != 0 }
}

/// Whether it is worth asking whether the postmaster is alive. Where no signal tells, asking takes
/// a system call, and is done in a few calls only.
#[cfg(not(any(target_os = "linux", target_os = "freebsd")))]
fn postmaster_may_be_dead() -> bool {
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
