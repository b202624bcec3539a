//! Units of time.

/// Nanoseconds in a millisecond.
pub(crate) const NS_PER_MS: f64 = 1e6;

/// Nanoseconds in a second.
pub(crate) const NS_PER_S: f64 = 1e9;
