//! Stand-in for the sampler on systems without one.

use crate::shared::Header;
use crate::shared::stack_area::StackArea;

/// Whether processes can be sampled.
pub const IS_SUPPORTED: bool = false;
/// No period.
pub const PERIOD_NS: u64 = 0;

pub(super) fn start(_: StackArea<'static>, _: &'static Header) -> Result<(), String> {
    Err("stacks cannot be sampled on this platform".into())
}

/// Does nothing.
pub fn stop() {}

/// Calls `body`.
pub fn without_sampling<T>(body: impl FnOnce() -> T) -> T {
    body()
}

/// No vDSO.
pub fn vdso() -> Option<&'static [u8]> {
    None
}
