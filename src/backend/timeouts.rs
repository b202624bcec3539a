//! The server's timeouts of statements.

/// Number of one of the server's timeouts.
pub type TimeoutId = std::ffi::c_uint;
/// The timeout of `statement_timeout`; the same number in all supported versions.
pub const STATEMENT_TIMEOUT: TimeoutId = 3;
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
}
