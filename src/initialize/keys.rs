//! Pages of primary keys, batch by batch.

use super::heap::{BATCH, File, Key, Pages, WriteMode};
use crate::clock;
use crate::error::Result;
use pgrx::pg_sys::ForkNumber::MAIN_FORKNUM;
use selfbench_btree::{Tree, TreePage};
use std::ops::Range;

/// Pages of a file, written together while they stand one behind the other.
struct Batch {
    file: File,
    pages: Pages,
    capacity: usize,
    /// Block of the first page.
    first: u32,
    count: usize,
    /// Whether the file ends where the pages stand.
    grows: bool,
}

impl Batch {
    fn new(file: File, capacity: usize, grows: bool) -> Batch {
        let capacity = capacity.clamp(1, BATCH);
        Batch {
            file,
            pages: Pages::new(capacity),
            capacity,
            first: 0,
            count: 0,
            grows,
        }
    }

    /// The page to write for a block.
    fn page(&mut self, block: u32) -> &mut [u8] {
        if self.count == self.capacity || block != self.first + self.count as u32 {
            self.flush();
            self.first = block;
        }
        self.count += 1;
        self.pages.bytes(self.count - 1)
    }

    fn flush(&mut self) {
        let mode = WriteMode {
            grows: self.grows,
            standard: true,
        };
        if self.count > 0 {
            self.file
                .write(MAIN_FORKNUM, self.first, &self.pages, self.count, mode);
        }
        self.count = 0;
    }
}

/// Writes leaves of a key whose row `n` has the key `first + n`, and the upper pages between them,
/// to a file that has its final size. After each batch, `done` gets its number of rows, none.
pub fn fill(
    key: &Key,
    tree: &Tree,
    first: i64,
    leaves: Range<u64>,
    done: &mut dyn FnMut(usize) -> Result<()>,
) -> Result<()> {
    let mut batch = Batch::new(key.file, BATCH, false);
    for leaf in leaves {
        for place in tree.group(leaf) {
            tree.write(place, |row| first + row as i64, batch.page(place.block));
        }
        if leaf % BATCH as u64 == 0 {
            done(0)?;
        }
    }
    batch.flush();
    done(0)
}

/// Fills a key whose rows come one after the other, with any keys in ascending order, and of which
/// the number is not known before.
pub struct KeyFiller {
    /// Without an end until all rows are there.
    tree: Tree,
    batch: Batch,
    /// The keys that are in no leaf yet.
    pending: Vec<i64>,
    /// The lowest key of each full leaf, for the upper pages: 8 bytes for 8192 of the file.
    lowest: Vec<i64>,
    /// Time that full leaves took.
    spent_ns: u64,
}

impl KeyFiller {
    /// Fills the key with batches of `capacity` pages, at most [`BATCH`], of a tree without an end.
    pub fn new(key: &Key, tree: Tree, capacity: usize) -> KeyFiller {
        KeyFiller {
            pending: Vec::with_capacity(tree.rows_per_leaf() as usize + 1),
            tree,
            batch: Batch::new(key.file, capacity, true),
            lowest: Vec::new(),
            spent_ns: 0,
        }
    }

    /// Adds the next row.
    #[inline]
    pub fn push(&mut self, key: i64) {
        // A leaf is full, and not the last, when it has one more than it keeps and another comes.
        if self.pending.len() as u64 > self.tree.rows_per_leaf() {
            let begun = clock::now_ns();
            self.lowest.push(self.pending[0]);
            self.write_leaf();
            self.pending.drain(..self.tree.rows_per_leaf() as usize);
            self.spent_ns += clock::now_ns() - begun;
        }
        self.pending.push(key);
    }

    /// Writes the leaf that has just got its lowest key.
    fn write_leaf(&mut self) {
        let leaf = self.lowest.len() as u64 - 1;
        let first = leaf * self.tree.rows_per_leaf();
        if let Some(place) = self.tree.group(leaf).next() {
            let key = |row| self.pending[(row - first) as usize];
            self.tree.write(place, key, self.batch.page(place.block));
        }
    }

    /// Writes the last leaf and all upper pages. Nanoseconds that all of it took.
    pub fn finish(mut self, done: &mut dyn FnMut(usize) -> Result<()>) -> Result<u64> {
        let begun = clock::now_ns();
        let Some(first) = self.pending.first().copied() else {
            return Ok(0);
        };
        let full = self.lowest.len() as u64;
        self.lowest.push(first);
        let leaf = self.tree.rows_per_leaf();
        self.tree = self.tree.with_rows(full * leaf + self.pending.len() as u64);
        self.write_leaf();
        self.batch.flush();
        self.batch.file.resize(self.tree.blocks());
        self.batch.grows = false;
        for number in 0..self.tree.leaves() {
            let is_upper = |place: &TreePage| place.level > 0;
            for place in self.tree.group(number).filter(is_upper) {
                let key = |row| self.lowest[(row / leaf) as usize];
                self.tree.write(place, key, self.batch.page(place.block));
                done(0)?;
            }
        }
        self.batch.flush();
        Ok(self.spent_ns + clock::now_ns() - begun)
    }
}
