//! The pages of a B-tree on one column of whole numbers, unique and not null, as `CREATE INDEX`
//! builds it: which block has what, and its bytes.
//!
//! The server adds sorted entries to a leaf until less than a tenth of it is free; the entry that
//! was added last becomes the first one of the next leaf and, without its place in the table, the
//! high key of the full one. That is then entered into its parent, which fills and goes on in the
//! same way, to 70 percent. Pages are numbered as they are begun. So all of this follows from the
//! number of entries: a page can be written without any other one, and several processes can write
//! parts of a file at once. `nbtree/README` of PostgreSQL's source describes the format.
//!
//! Everything here is arithmetic: no server, no input or output.

mod page;

use page::Page;

/// Bytes of an entry in a leaf, which are those of a key in upper pages.
const ENTRY: usize = 16;
/// Bytes of the first key of an upper page, which stands for minus infinity.
const MINUS_INFINITY: usize = 8;

/// A B-tree with a number of entries.
///
/// Row `n` of the table, counted from 0, has the entry `n`, and the table's pages have equal numbers
/// of rows, but for the last one.
#[derive(Clone, Debug)]
pub struct Tree {
    key_bytes: usize,
    rows_per_page: u64,
    rows: u64,
    /// Entries of a leaf that is not the last.
    leaf: u64,
    /// Pages below an upper page that is not the last of its level.
    fanout: u64,
    /// Pages of each level, leaves first, the root last.
    levels: Vec<u64>,
}

/// Position of a page in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreePage {
    /// Its block in the file.
    pub block: u32,
    /// Its level; leaves have 0.
    pub level: usize,
    /// Its number within the level, from 0.
    pub index: u64,
}

impl Tree {
    /// One of which the number of rows is not known yet, with `rows_per_page` rows on a page of the
    /// table; keys have 4 or 8 bytes. Where its pages stand, and all pages but the last ones of each
    /// level, are those of the tree that it will be.
    pub fn endless(page_bytes: usize, key_bytes: usize, rows_per_page: usize) -> Tree {
        let tree = Tree {
            key_bytes,
            rows_per_page: rows_per_page as u64,
            rows: 0,
            leaf: kept(page_bytes, page_bytes * 10 / 100, ENTRY),
            fanout: kept(page_bytes, page_bytes * 30 / 100, MINUS_INFINITY),
            levels: Vec::new(),
        };
        tree.with_rows(i64::MAX as u64)
    }

    /// Sets the number of rows, at least one.
    pub fn with_rows(self, rows: u64) -> Tree {
        let mut top = pages(rows, self.leaf);
        let mut levels = vec![top];
        while top > 1 {
            top = pages(top, self.fanout);
            levels.push(top);
        }
        Tree {
            rows,
            levels,
            ..self
        }
    }

    /// Number of leaves.
    pub fn leaves(&self) -> u64 {
        self.levels[0]
    }

    /// Entries of each leaf; the last one may have fewer, or one more.
    pub fn rows_per_leaf(&self) -> u64 {
        self.leaf
    }

    /// Blocks of the file, the server's metapage among them.
    pub fn blocks(&self) -> u32 {
        let last = self.group(self.leaves() - 1).last();
        last.map_or(1, |place| place.block + 1)
    }

    /// Block and level of the root.
    pub fn root(&self) -> (u32, u32) {
        let level = self.levels.len() - 1;
        (self.block(level, 0), level as u32)
    }

    /// A leaf and the upper pages between it and the next one, which are begun when the leaf is.
    /// Behind the last leaf come those that are begun when the tree is closed.
    pub fn group(&self, leaf: u64) -> impl Iterator<Item = TreePage> + '_ {
        let between = self.rise(leaf);
        let is_last = leaf + 1 == self.leaves();
        let at_end = self.levels.iter().enumerate().skip(1);
        let at_end =
            at_end.filter(move |(level, pages)| is_last && self.begun(*level, leaf) < **pages);
        std::iter::once((0, leaf))
            .chain((1..=between).map(move |level| (level, self.begun(level, leaf) - 1)))
            .chain(at_end.map(|(level, pages)| (level, pages - 1)))
            .zip(self.leaf_block(leaf)..)
            .map(|((level, index), block)| TreePage {
                block,
                level,
                index,
            })
    }

    /// Writes a page. `key` tells the key of a row; for an upper page it is asked for first rows of
    /// leaves only.
    pub fn write(&self, place: TreePage, key: impl Fn(u64) -> i64, page: &mut [u8]) {
        let TreePage { level, index, .. } = place;
        let is_last = index + 1 == self.levels[level];
        let is_root = level + 1 == self.levels.len();
        let mut page = Page::new(page, self.key_bytes, !is_last);
        if level == 0 {
            let first = index * self.leaf;
            let end = if is_last {
                self.rows
            } else {
                first + self.leaf
            };
            for row in first..end {
                let (block, number) = self.place_of_row(row);
                page.entry(block, number, key(row));
            }
            if !is_last {
                page.high_key(self.place_of_row(end).0, key(end));
            }
        } else {
            let first = index * self.fanout;
            let below = self.levels[level - 1];
            let end = if is_last { below } else { first + self.fanout };
            // Leaves of each page of the level below.
            let leaves = self.fanout.pow(level as u32 - 1);
            let key = |child| key(child * leaves * self.leaf);
            page.minus_infinity(self.block(level - 1, first));
            for child in first + 1..end {
                page.child(self.block(level - 1, child), key(child));
            }
            if !is_last {
                page.high_key(self.block(level - 1, end), key(end));
            }
        }
        let previous = index.checked_sub(1).map(|index| self.block(level, index));
        let next = (!is_last).then(|| self.block(level, index + 1));
        page.finish(previous, next, level as u32, is_root);
    }

    /// Block of the table that has a row, and its number there, from 1.
    fn place_of_row(&self, row: u64) -> (u32, u16) {
        let (block, number) = (row / self.rows_per_page, row % self.rows_per_page);
        (block as u32, number as u16 + 1)
    }

    /// Block of a page.
    fn block(&self, level: usize, index: u64) -> u32 {
        if level == 0 {
            return self.leaf_block(index);
        }
        // As the how manieth entry of its level, and then of those below, the one came that made
        // the server begin the page: that of the leaf before.
        let mut entry = if index == 0 {
            1
        } else {
            index * self.fanout + 2
        };
        for _ in 1..level {
            entry = entry * self.fanout + 2;
        }
        let last = self.leaves() - 1;
        if entry <= last {
            return self.leaf_block(entry) + level as u32;
        }
        let lower = (1..level).filter(|lower| self.begun(*lower, last) < self.levels[*lower]);
        self.leaf_block(last) + self.rise(last) as u32 + 1 + lower.count() as u32
    }

    /// Block of a leaf: behind the metapage, all leaves before it, and all upper pages that have
    /// been begun before it.
    fn leaf_block(&self, leaf: u64) -> u32 {
        (1 + leaf + self.uppers(leaf.saturating_sub(1))) as u32
    }

    /// Number of upper pages that have been begun when that many leaves are full.
    fn uppers(&self, leaves: u64) -> u64 {
        let (mut entries, mut sum) = (leaves, 0);
        while entries > 0 {
            let begun = pages(entries, self.fanout);
            sum += begun;
            entries = begun - 1;
        }
        sum
    }

    /// Number of pages of an upper level that have been begun when that many leaves are full.
    fn begun(&self, level: usize, leaves: u64) -> u64 {
        (0..level).fold(leaves + 1, |begun, _| match begun {
            0 | 1 => 0,
            _ => pages(begun - 1, self.fanout),
        })
    }

    /// Number of levels that get a page with a leaf.
    fn rise(&self, leaf: u64) -> usize {
        (self.uppers(leaf) - self.uppers(leaf.saturating_sub(1))) as usize
    }
}

/// Entries that a page keeps when it is full, that is, when less than `reserve` bytes are free and
/// one more entry comes: all but the last. The first one has `first` bytes.
fn kept(page_bytes: usize, reserve: usize, first: usize) -> u64 {
    let mut kept = 1;
    while page::free(page_bytes, first + kept * ENTRY, kept + 1) >= reserve {
        kept += 1;
    }
    kept as u64
}

/// Pages of a level with that many entries, at least one. A page is begun when the last one has an
/// entry more than it keeps, and yet another one comes.
fn pages(entries: u64, kept: u64) -> u64 {
    (entries - 1).div_ceil(kept).max(1)
}
