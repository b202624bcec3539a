//! The relations that a run's clients of mode spi use, as their plans say.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// More are not kept: pgbench has four.
const MAX_RELATIONS: usize = 512;

/// A set of relations, by Oid. Clients add to it when they have made a plan; it only grows.
pub struct Relations([AtomicU32; MAX_RELATIONS]);

impl Relations {
    /// Adds a relation, if there is room.
    pub fn add(&self, oid: u32) {
        for place in &self.0 {
            let there = match place.load(Relaxed) {
                0 => place.compare_exchange(0, oid, Relaxed, Relaxed).err(),
                there => Some(there),
            };
            if there.is_none_or(|there| there == oid) {
                return;
            }
        }
    }

    /// Whether there may be more.
    pub fn is_full(&self) -> bool {
        self.0.iter().all(|place| place.load(Relaxed) != 0)
    }

    /// All that were added.
    pub fn all(&self) -> Vec<u32> {
        let oids = self.0.iter().map(|place| place.load(Relaxed));
        oids.take_while(|oid| *oid != 0).collect()
    }
}
