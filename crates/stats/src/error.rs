//! Errors of stored histograms.

use thiserror::Error;

/// Why a histogram could not be encoded, decoded or merged.
///
/// The messages follow PostgreSQL's style: lower case, no full stop.
#[derive(Clone, Debug, Eq, Error, PartialEq)]
pub enum StatsError {
    /// The bytes do not begin like a compressed histogram in the second HdrHistogram format.
    #[error("not a compressed HdrHistogram of version 2")]
    Format,
    /// The length that the header states is not the length of what follows it.
    #[error("histogram length is {actual} bytes, its header says {stated}")]
    Length {
        /// Bytes that the header announces.
        stated: u64,
        /// Bytes that there are.
        actual: u64,
    },
    /// A histogram of other bounds or another precision than this crate's.
    #[error(
        "histogram has bounds {lowest_ns} ns to {highest_ns} ns and {digits} digits, \
         expected {} ns to {} ns and {} digits",
        crate::buckets::LOWEST_NS,
        crate::buckets::HIGHEST_NS,
        crate::buckets::SIGNIFICANT_DIGITS
    )]
    Bounds {
        /// Lowest discernible value of the histogram, in nanoseconds.
        lowest_ns: u64,
        /// Highest trackable value of the histogram, in nanoseconds.
        highest_ns: u64,
        /// Significant decimal digits of the histogram.
        digits: u32,
    },
    /// The compressed part is damaged, or holds more than a histogram can.
    #[error("compressed histogram data is corrupted")]
    Compression,
    /// The counts are damaged: cut off, negative or more than there are buckets.
    #[error("histogram counts are corrupted")]
    Counts,
    /// More samples than can be counted exactly, see
    /// [`MAX_COUNT`](crate::buckets::MAX_COUNT).
    #[error("histogram has more than {} samples", crate::buckets::MAX_COUNT)]
    TooManySamples,
    /// The encoder failed; the text is its own.
    #[error("could not encode histogram: {0}")]
    Encoding(String),
}
