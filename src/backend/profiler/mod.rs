//! Samples the stacks of this process by its own CPU time.
//!
//! A timer that counts the CPU time of the main thread sends SIGPROF, and the handler walks the
//! stack that it interrupted. The timer is one of `timer_create`, not `setitimer(ITIMER_PROF)`: it
//! signals the thread whose stack is known and no other one, it says how often it expired, and
//! children inherit neither of them. A process that waits is not interrupted, since waiting takes no
//! CPU time.
//!
//! `modules` lists what is mapped, `sampler` has the timer and its handler. The list is made before
//! the timer starts, and made again at the end of a transaction in which a sample had code of no
//! module, such as that of a library that was loaded since.
//!
//! Stopping ends the timer and leaves the handler, since the default action of a signal that is
//! still on its way would end the process, and with it the server.

use crate::shared::Segment;

#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[allow(unsafe_code)]
mod modules;
#[cfg(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
))]
#[allow(unsafe_code)]
mod sampler;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
mod unsupported;
#[cfg(not(all(
    target_os = "linux",
    any(target_arch = "x86_64", target_arch = "aarch64")
)))]
use unsupported as sampler;

pub use sampler::{IS_SUPPORTED, PERIOD_NS, stop, vdso, without_sampling};

/// Starts to sample this process, which is that number of the run's sampled processes. A failure is
/// left in its area; without an area nothing happens.
pub fn start(segment: &'static Segment, process: usize) {
    if let Some(area) = segment.stack_area(process) {
        match sampler::start(area, segment.header()) {
            Ok(()) => area.begin(),
            Err(reason) => area.fail(&reason),
        }
    }
}
