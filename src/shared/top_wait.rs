//! Most frequent wait in the interval that ended last, for processes that watch a run.

use super::seqlock::{Sequence, SharedWords};

/// Room for a name: class and event of a wait.
const WORDS: usize = 16;
const BYTES: usize = WORDS * size_of::<u64>();

/// The wait of most sessions, beside for their clients.
#[derive(Clone, Debug, PartialEq)]
pub struct TopWait {
    /// Class and event, as in `Lock:transactionid`.
    pub name: String,
    /// Number of sessions that waited for it, on average over the interval.
    pub sessions: f64,
}

/// Its place in the segment; the coordinator alone writes it.
#[repr(C)]
pub struct TopWaitSlot {
    sequence: Sequence,
    sessions: SharedWords<1>,
    /// Ends in zero bytes; none if no session waited.
    name: SharedWords<WORDS>,
}

impl TopWaitSlot {
    /// Replaces it; `None` if no session waited.
    pub fn set(&self, top: Option<TopWait>) {
        let (mut bytes, mut sessions) = ([0; BYTES], 0.0);
        if let Some(top) = top {
            let mut length = top.name.len().min(BYTES);
            while !top.name.is_char_boundary(length) {
                length -= 1;
            }
            bytes[..length].copy_from_slice(&top.name.as_bytes()[..length]);
            sessions = top.sessions;
        }
        let word = |i: usize| {
            let bytes = std::array::from_fn(|j| bytes[i * size_of::<u64>() + j]);
            u64::from_ne_bytes(bytes)
        };
        self.sequence.write(|| {
            self.sessions.store([sessions.to_bits()]);
            self.name.store(std::array::from_fn(word));
        });
    }

    /// Returns the wait; `None` if no session waited, and before the first interval has ended.
    pub fn get(&self) -> Option<TopWait> {
        let (mut sessions, mut words) = ([0], [0; WORDS]);
        self.sequence.read(|| {
            sessions = self.sessions.load();
            words = self.name.load();
        });
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_ne_bytes).collect();
        bytes.truncate(bytes.iter().position(|byte| *byte == 0).unwrap_or(BYTES));
        (!bytes.is_empty()).then(|| TopWait {
            name: String::from_utf8_lossy(&bytes).into_owned(),
            sessions: f64::from_bits(sessions[0]),
        })
    }
}
