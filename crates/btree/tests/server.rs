//! Trees against a simulation of how the server builds them, entry by entry.

use selfbench_btree::{Tree, TreePage};
use std::collections::BTreeMap;

/// An item: a block, a number there, whether it is a pivot, and a key.
type Item = (u32, u16, bool, Option<i64>);

/// Contents of a page.
#[derive(Debug, Default, PartialEq)]
struct Contents {
    level: u32,
    leaf: bool,
    root: bool,
    previous: u32,
    next: u32,
    high_key: Option<Item>,
    items: Vec<Item>,
}

/// The pages that the server would write.
struct Server {
    page_bytes: usize,
    blocks: u32,
    /// The page of each level that is being filled, its block, and its lowest key.
    open: Vec<(Contents, u32, Item)>,
    written: BTreeMap<u32, Contents>,
}

impl Server {
    fn begin(&mut self, level: usize) -> (Contents, u32) {
        let page = Contents {
            level: level as u32,
            leaf: level == 0,
            ..Contents::default()
        };
        self.blocks += 1;
        (page, self.blocks - 1)
    }

    fn add(&mut self, level: usize, item: Item) {
        if level == self.open.len() {
            let (page, block) = self.begin(level);
            self.open.push((page, block, (0, 0, true, None)));
        }
        let items = &self.open[level].0.items;
        let bytes: usize = items
            .iter()
            .map(|i| if i.3.is_some() { 16 } else { 8 })
            .sum();
        // Less the special area and the header; line pointers: one for a high key, one to come.
        let free = self.page_bytes - 16 - 24 - bytes - 4 * (items.len() + 2);
        let reserve = self.page_bytes * if level == 0 { 10 } else { 30 } / 100;
        if items.len() > 1 && free < reserve {
            let (mut page, block) = self.begin(level);
            let (old, old_block, _) = &mut self.open[level];
            let mut last = old.items.pop().unwrap();
            page.items.push(if level == 0 {
                last
            } else {
                (last.0, 0, true, None)
            });
            if level == 0 {
                last = (last.0, 1, true, last.3);
            }
            old.high_key = Some(last);
            old.next = block;
            page.previous = *old_block;
            let (old, old_block, low) =
                std::mem::replace(&mut self.open[level], (page, block, last));
            if level + 1 == self.open.len() {
                let (page, block) = self.begin(level + 1);
                self.open.push((page, block, (0, 0, true, None)));
            }
            self.add(level + 1, (old_block, low.1, true, low.3));
            self.written.insert(old_block, old);
        }
        self.open[level].0.items.push(item);
    }

    fn build(page_bytes: usize, keys: &[i64], rows_per_page: u64) -> Server {
        let mut server = Server {
            page_bytes,
            blocks: 1,
            open: Vec::new(),
            written: BTreeMap::new(),
        };
        for (row, key) in (0..).zip(keys) {
            let (block, number) = (row / rows_per_page, row % rows_per_page);
            server.add(0, (block as u32, number as u16 + 1, false, Some(*key)));
        }
        let mut level = 0;
        while level < server.open.len() {
            let (mut page, block, low) = std::mem::replace(
                &mut server.open[level],
                (Contents::default(), 0, (0, 0, true, None)),
            );
            if level + 1 == server.open.len() {
                page.root = true;
            } else {
                server.add(level + 1, (block, low.1, true, low.3));
            }
            server.written.insert(block, page);
            level += 1;
        }
        server
    }
}

fn number(page: &[u8], at: usize) -> u16 {
    u16::from_ne_bytes([page[at], page[at + 1]])
}

fn block(page: &[u8], at: usize) -> u32 {
    u32::from(number(page, at)) << 16 | u32::from(number(page, at + 2))
}

fn word(page: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(page[at..at + 4].try_into().unwrap())
}

/// Reads a page.
fn read(page: &[u8], key_bytes: usize) -> Contents {
    let special = page.len() - 16;
    assert_eq!(number(page, 16) as usize, special);
    assert_eq!(number(page, 18) as usize, page.len() | 4);
    let (lower, upper) = (number(page, 12) as usize, number(page, 14) as usize);
    let mut items: Vec<Item> = (24..lower)
        .step_by(4)
        .map(|at| {
            let pointer = word(page, at);
            let (at, size) = ((pointer & 0x7FFF) as usize, pointer >> 17);
            assert!(pointer >> 15 & 3 == 1 && at >= upper && at < special);
            let info = number(page, at + 6);
            assert_eq!(u32::from(info & 0x1FFF), size);
            let key = (size == 16).then(|| match key_bytes {
                8 => i64::from_ne_bytes(page[at + 8..at + 16].try_into().unwrap()),
                _ => i32::from_ne_bytes(page[at + 8..at + 12].try_into().unwrap()).into(),
            });
            (
                block(page, at),
                number(page, at + 4),
                info & 0x2000 != 0,
                key,
            )
        })
        .collect();
    let flags = number(page, special + 12);
    let next = word(page, special + 4);
    Contents {
        level: word(page, special + 8),
        leaf: flags & 1 != 0,
        root: flags & 2 != 0,
        previous: word(page, special),
        next,
        high_key: (next != 0).then(|| items.remove(0)),
        items,
    }
}

#[test]
fn pages_are_those_that_the_server_writes() {
    let mut state = 1u64;
    let mut random = |below: u64| {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) % below
    };
    for page_bytes in [256, 512] {
        for rows in (1..500).chain([500; 30]) {
            let rows = if rows == 500 {
                500 + random(20_000)
            } else {
                rows
            };
            let key_bytes = if random(2) == 0 { 4 } else { 8 };
            let rows_per_page = 1 + random(61);
            let mut key = 0;
            let keys: Vec<i64> = (0..rows)
                .map(|_| {
                    key += 1 + random(3) as i64;
                    key
                })
                .collect();
            let server = Server::build(page_bytes, &keys, rows_per_page);

            let endless = Tree::endless(page_bytes, key_bytes, rows_per_page as usize);
            let tree = endless.clone().with_rows(rows);
            let mut page = vec![1; page_bytes];
            let mut expected = 1;
            for leaf in 0..tree.leaves() {
                for place in tree.group(leaf) {
                    assert_eq!(place.block, expected, "{rows} rows");
                    expected += 1;
                    tree.write(place, |row| keys[row as usize], &mut page);
                    assert_eq!(
                        read(&page, key_bytes),
                        server.written[&place.block],
                        "{rows} rows, {place:?}"
                    );
                    if place.level == 0 && leaf + 1 < tree.leaves() {
                        let whole = page.clone();
                        assert_eq!(endless.group(leaf).next(), Some(place));
                        endless.write(place, |row| keys[row as usize], &mut page);
                        assert_eq!(page, whole);
                    }
                }
            }
            assert_eq!((expected, tree.blocks()), (server.blocks, server.blocks));
            let (root, level) = tree.root();
            assert!(server.written[&root].root && server.written[&root].level == level);
        }
    }
}

/// Blocks of a table with as many rows as any scale with keys of four bytes has, without the pages.
#[test]
fn blocks_of_a_large_tree() {
    let rows = 20_000 * 100_000;
    let tree = Tree::endless(8192, 4, 61).with_rows(rows);
    assert_eq!(tree.rows_per_leaf(), 366);
    assert_eq!(tree.leaves(), (rows - 1).div_ceil(366));
    // Number of entries of the page of each level that is being filled, and its number.
    let mut open: Vec<(u64, u64)> = Vec::new();
    let mut block = 1;
    let mut begun = |level: usize, index: u64| {
        block += 1;
        TreePage {
            block: block - 1,
            level,
            index,
        }
    };
    for leaf in 0..tree.leaves() {
        let mut places = vec![begun(0, leaf)];
        // The leaf before is entered, and so are the upper pages that are full then.
        for level in 0.. {
            if leaf == 0 {
                break;
            }
            if level == open.len() {
                open.push((1, 0));
                places.push(begun(level + 1, 0));
                break;
            }
            let (entries, index) = &mut open[level];
            *entries += 1;
            if *entries <= 285 {
                break;
            }
            (*entries, *index) = (2, *index + 1);
            places.push(begun(level + 1, *index));
        }
        if leaf + 1 < tree.leaves() {
            assert!(tree.group(leaf).eq(places.iter().copied()), "leaf {leaf}");
        }
    }
    assert_eq!(tree.root().1, 3);
}
