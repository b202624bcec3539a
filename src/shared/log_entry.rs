//! An entry of the log of transactions, as it travels from a client worker to the coordinator.

use selfbench_client::{Ending, Failure, LogEntry};
use selfbench_model::TransactionOutcome;

const OUTCOMES: [TransactionOutcome; 5] = [
    TransactionOutcome::Success,
    TransactionOutcome::Serialization,
    TransactionOutcome::Deadlock,
    TransactionOutcome::Other,
    TransactionOutcome::Skipped,
];

/// Code of an outcome in the ring.
fn code(outcome: TransactionOutcome) -> u8 {
    outcome as u8
}

/// Flag of an entry's first byte: no lag and no retry, nor numbers for them.
const PLAIN: u8 = 0x80;

/// One logged transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RingEntry {
    /// Number of the client.
    pub client: u32,
    /// Index of the script.
    pub script: u16,
    /// Outcome.
    pub outcome: TransactionOutcome,
    /// The client's count of transactions, this one included.
    pub count: u64,
    /// Clock reading at its end.
    pub at_ns: u64,
    /// Its latency; 0 unless it was successful.
    pub latency_ns: u64,
    /// Time from its scheduled start to its beginning; 0 unless it was successful and scheduled.
    pub lag_ns: u64,
    /// Tries beyond the first.
    pub retries: u32,
}

impl RingEntry {
    /// Size of the longest entry in the log's ring: some 16 bytes are usual.
    pub const MAX_BYTES: usize = 1 + 5 + 3 + 4 * 10 + 5;

    /// The entry that a client hands over.
    pub fn of(entry: &LogEntry) -> RingEntry {
        let (outcome, latency_ns, lag_ns, retries) = match entry.ending {
            Ending::Success(t) => (
                TransactionOutcome::Success,
                t.latency_ns,
                t.lag_ns.unwrap_or(0),
                t.retries,
            ),
            Ending::Failure { failure, retries } => {
                let outcome = match failure {
                    Failure::Serialization => TransactionOutcome::Serialization,
                    Failure::Deadlock => TransactionOutcome::Deadlock,
                    Failure::Other => TransactionOutcome::Other,
                };
                (outcome, 0, 0, retries)
            }
            Ending::Skipped => (TransactionOutcome::Skipped, 0, 0, 0),
        };
        RingEntry {
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

    /// Its bytes in the ring, and how many they are: a head, then numbers of as many bytes as each
    /// of them needs. The denser the log, the less often it is stored while clients are measured.
    #[inline]
    pub fn to_bytes(self) -> ([u8; RingEntry::MAX_BYTES], usize) {
        let mut bytes = [0; RingEntry::MAX_BYTES];
        let mut length = 1;
        let mut put = |mut number: u64| {
            while number >= 0x80 {
                bytes[length] = number as u8 | 0x80;
                number >>= 7;
                length += 1;
            }
            bytes[length] = number as u8;
            length += 1;
        };
        put(self.client.into());
        put(self.script.into());
        put(self.count);
        put(self.at_ns);
        put(self.latency_ns);
        let is_plain = self.lag_ns == 0 && self.retries == 0;
        if !is_plain {
            put(self.lag_ns);
            put(self.retries.into());
        }
        bytes[0] = code(self.outcome) | if is_plain { PLAIN } else { 0 };
        (bytes, length)
    }

    /// Takes the first entry from bytes that consist of whole entries; `None` if there is no more.
    pub fn take(bytes: &mut &[u8]) -> Option<RingEntry> {
        fn number(bytes: &mut &[u8]) -> Option<u64> {
            let mut number = 0;
            for shift in (0..u64::BITS).step_by(7) {
                let byte = *bytes.split_off_first()?;
                number |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    break;
                }
            }
            Some(number)
        }
        let head = *bytes.split_off_first()?;
        let mut entry = RingEntry {
            outcome: OUTCOMES
                .into_iter()
                .find(|outcome| code(*outcome) == head & !PLAIN)?,
            client: number(bytes)? as u32,
            script: number(bytes)? as u16,
            count: number(bytes)?,
            at_ns: number(bytes)?,
            latency_ns: number(bytes)?,
            lag_ns: 0,
            retries: 0,
        };
        if head & PLAIN == 0 {
            entry.lag_ns = number(bytes)?;
            entry.retries = number(bytes)? as u32;
        }
        Some(entry)
    }
}
