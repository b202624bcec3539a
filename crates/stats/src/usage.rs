//! Usage of the server by a session.

use crate::units::NS_PER_MS;
use crate::words::words;
use serde::{Deserialize, Serialize};

words! {
    /// The resources that a session has used since it began, as its server process counts them.
    /// Blocks are the server's, times are in nanoseconds. `None` means that the system or this
    /// version of the server does not provide the figure.
    ///
    /// Serialized, it has the columns of `bench.session_usage`, with times in milliseconds.
    #[derive(Eq, Serialize, Deserialize)]
    pub struct Usage {
        /// Blocks found in the server's shared buffers.
        pub blocks_hit: u64,
        /// Blocks read into shared buffers, from the operating system.
        pub blocks_read: u64,
        /// Blocks that became dirty.
        pub blocks_dirtied: u64,
        /// Blocks that the session wrote: evicted ones, and those that extended a table.
        pub blocks_written: u64,
        /// Blocks that the session evicted from shared buffers, written or not; NULL before PostgreSQL 18.
        pub blocks_evicted: Option<u64>,
        /// Time of reading blocks; 0 unless the server measures it.
        #[serde(rename = "read_ms", with = "milliseconds")]
        pub read_ns: u64,
        /// Time of writing blocks; 0 unless the server measures it.
        #[serde(rename = "write_ms", with = "milliseconds")]
        pub write_ns: u64,
        /// Records of WAL.
        pub wal_records: u64,
        /// Full-page images among the records of WAL.
        pub wal_fpi: u64,
        /// Bytes of WAL.
        pub wal_bytes: u64,
        /// Bytes read from a block device, not from the operating system's cache.
        pub device_read_bytes: Option<u64>,
        /// Bytes passed to the operating system for writing.
        pub device_write_bytes: Option<u64>,
    }
}

/// Nanoseconds, serialized as milliseconds.
mod milliseconds {
    use super::NS_PER_MS;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub fn serialize<S: Serializer>(ns: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(*ns as f64 / NS_PER_MS)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        f64::deserialize(deserializer).map(|ms| (ms * NS_PER_MS).round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(factor: u64) -> Usage {
        Usage::from_words(std::array::from_fn(|i| factor * (i as u64 + 1)))
    }

    #[test]
    fn what_is_known_on_both_sides_is_added_and_taken_away() {
        let mut sum = usage(2);
        sum.merge(&usage(3));
        assert_eq!(sum, usage(5));
        assert_eq!(sum.minus(&usage(3)), usage(2));
        let unknown = Usage {
            blocks_evicted: None,
            ..usage(1)
        };
        let less = sum.minus(&unknown);
        assert_eq!((less.blocks_evicted, less.blocks_hit), (None, 4));
        sum.merge(&unknown);
        assert_eq!((sum.blocks_evicted, sum.blocks_hit), (None, 6));
        assert_eq!(Usage::from_words(sum.to_words()), sum);
    }
}
