//! An entry of the log of transactions, as it travels from a client worker to the coordinator.

use selfbench_client::{Ending, Failure, LogEntry};
use selfbench_report::log::Outcome;

const OUTCOMES: [Outcome; 5] = [
    Outcome::Success,
    Outcome::Serialization,
    Outcome::Deadlock,
    Outcome::Other,
    Outcome::Skipped,
];

/// Which of the outcomes it is, in the ring.
fn code(outcome: Outcome) -> u16 {
    outcome as u16
}

/// One logged transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Number of the client.
    pub client: u32,
    /// Index of the script.
    pub script: u16,
    /// How it ended.
    pub outcome: Outcome,
    /// The client's count of transactions, this one included.
    pub count: u64,
    /// Clock reading at its end.
    pub at_ns: u64,
    /// Its latency; 0 unless it was successful.
    pub latency_ns: u64,
    /// From its scheduled start to its beginning; 0 unless it was successful and scheduled.
    pub lag_ns: u64,
    /// Tries beyond the first.
    pub retries: u32,
}

impl Entry {
    /// Size of an entry in the log's ring.
    pub const BYTES: usize = 44;

    /// The entry that a client hands over.
    pub fn of(entry: &LogEntry) -> Entry {
        let (outcome, latency_ns, lag_ns, retries) = match entry.ending {
            Ending::Success(t) => (
                Outcome::Success,
                t.latency_ns,
                t.lag_ns.unwrap_or(0),
                t.retries,
            ),
            Ending::Failure { failure, retries } => {
                let outcome = match failure {
                    Failure::Serialization => Outcome::Serialization,
                    Failure::Deadlock => Outcome::Deadlock,
                    Failure::Other => Outcome::Other,
                };
                (outcome, 0, 0, retries)
            }
            Ending::Skipped => (Outcome::Skipped, 0, 0, 0),
        };
        Entry {
            client: entry.client as u32,
            script: entry.script as u16,
            outcome,
            count: entry.count,
            at_ns: entry.at_ns,
            latency_ns,
            lag_ns,
            retries,
        }
    }

    /// Its bytes in the ring.
    pub fn to_bytes(self) -> [u8; Entry::BYTES] {
        let mut bytes = [0; Entry::BYTES];
        bytes[0..4].copy_from_slice(&self.client.to_ne_bytes());
        bytes[4..6].copy_from_slice(&self.script.to_ne_bytes());
        bytes[6..8].copy_from_slice(&code(self.outcome).to_ne_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_ne_bytes());
        bytes[16..24].copy_from_slice(&self.at_ns.to_ne_bytes());
        bytes[24..32].copy_from_slice(&self.latency_ns.to_ne_bytes());
        bytes[32..40].copy_from_slice(&self.lag_ns.to_ne_bytes());
        bytes[40..44].copy_from_slice(&self.retries.to_ne_bytes());
        bytes
    }

    /// The entry with these bytes.
    pub fn from_bytes(bytes: &[u8; Entry::BYTES]) -> Entry {
        fn part<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
            std::array::from_fn(|i| bytes[at + i])
        }
        Entry {
            client: u32::from_ne_bytes(part(bytes, 0)),
            script: u16::from_ne_bytes(part(bytes, 4)),
            outcome: OUTCOMES
                .into_iter()
                .find(|outcome| code(*outcome) == u16::from_ne_bytes(part(bytes, 6)))
                .unwrap_or(Outcome::Other),
            count: u64::from_ne_bytes(part(bytes, 8)),
            at_ns: u64::from_ne_bytes(part(bytes, 16)),
            latency_ns: u64::from_ne_bytes(part(bytes, 24)),
            lag_ns: u64::from_ne_bytes(part(bytes, 32)),
            retries: u32::from_ne_bytes(part(bytes, 40)),
        }
    }
}
