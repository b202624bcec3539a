//! The relations that a run's clients of mode spi use, as their plans say.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// More are not kept: pgbench has four.
const MAX_RELATIONS: usize = 128;

/// A set of relations, by Oid. Clients add to it when they have made a plan; it only grows.
pub struct Relations([AtomicU32; MAX_RELATIONS]);

impl Relations {
    /// Adds a relation, if there is room.
    pub fn add(&self, oid: u32) {
        for place in &self.0 {
            match place.compare_exchange(0, oid, Relaxed, Relaxed) {
                Ok(_) => return,
                Err(there) if there == oid => return,
                Err(_) => {}
            }
        }
    }

    /// All that were added.
    pub fn all(&self) -> Vec<u32> {
        let oids = self.0.iter().map(|place| place.load(Relaxed));
        oids.take_while(|oid| *oid != 0).collect()
    }
}
