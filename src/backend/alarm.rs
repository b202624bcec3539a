//! Waits that are more precise than the server's.

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

    /// Unsets it after it has gone off: its descriptor is readable until then.
    pub fn unset(&mut self) {
        self.set_ns = 0;
        let mut expirations = [0; 8];
        let _ = rustix::io::read(&self.timer, &mut expirations);
    }

    /// The descriptor to wait for.
    pub fn descriptor(&self) -> i32 {
        use std::os::fd::AsRawFd;
        self.timer.as_raw_fd()
    }
}

#[cfg(not(target_os = "linux"))]
impl Alarm {
    /// Returns `None`.
    pub fn new() -> Option<Alarm> {
        None
    }

    /// Does nothing.
    pub fn set(&mut self, at_ns: u64) {
        self.set_ns = at_ns;
    }

    /// Does nothing.
    pub fn unset(&mut self) {}

    /// Returns -1.
    pub fn descriptor(&self) -> i32 {
        -1
    }
}
