//! The bytes of a page.

use crate::{ENTRY, MINUS_INFINITY};

/// Bytes of a page's header.
const HEADER: usize = 24;
/// Bytes of a line pointer.
const POINTER: usize = 4;
/// Bytes of the area at the end with the page's neighbors.
const SPECIAL: usize = 16;
/// Version of the layout of all pages.
const LAYOUT_VERSION: u16 = 4;
/// The state of a line pointer with an item.
const NORMAL: u32 = 1;

/// Of an item's size: the place is a number of attributes and a block of the tree.
const IS_PIVOT: u16 = 0x2000;
/// The page is a leaf.
const IS_LEAF: u16 = 1;
/// The page is the root.
const IS_ROOT: u16 = 2;

/// Bytes that are free in a page with that many bytes of items, as the server counts: with room for a
/// high key's pointer and for that of one more item.
pub fn free(page_bytes: usize, items: usize, count: usize) -> usize {
    page_bytes.saturating_sub(SPECIAL + items + HEADER + (count + 2) * POINTER)
}

/// A page under construction.
pub struct Page<'p> {
    bytes: &'p mut [u8],
    key_bytes: usize,
    /// Whether it will have a high key, which has the first line pointer.
    has_high_key: bool,
    /// Line pointers so far, that of the high key among them from the beginning.
    pointers: usize,
    /// Offset of the first item.
    upper: usize,
}

impl<'p> Page<'p> {
    /// An empty one.
    pub fn new(bytes: &'p mut [u8], key_bytes: usize, has_high_key: bool) -> Page<'p> {
        bytes.fill(0);
        let upper = bytes.len() - SPECIAL;
        Page {
            bytes,
            key_bytes,
            has_high_key,
            pointers: usize::from(has_high_key),
            upper,
        }
    }

    /// An entry of a leaf, with the place of its row.
    pub fn entry(&mut self, block: u32, number: u16, key: i64) {
        self.item(self.pointers, block, number, 0, Some(key));
        self.pointers += 1;
    }

    /// A page below, and the lowest key in it.
    pub fn child(&mut self, block: u32, key: i64) {
        self.item(self.pointers, block, 1, IS_PIVOT, Some(key));
        self.pointers += 1;
    }

    /// The first page below.
    pub fn minus_infinity(&mut self, block: u32) {
        self.item(self.pointers, block, 0, IS_PIVOT, None);
        self.pointers += 1;
    }

    /// The first key of the next page. It was an item of this one, and keeps its block.
    pub fn high_key(&mut self, block: u32, key: i64) {
        self.item(0, block, 1, IS_PIVOT, Some(key));
    }

    /// Adds what belongs to the page as a whole.
    pub fn finish(self, previous: Option<u32>, next: Option<u32>, level: u32, is_root: bool) {
        let end = self.bytes.len();
        let lower = HEADER + self.pointers * POINTER;
        if !self.has_high_key {
            // The server has moved the pointers from where a high key would be, and left the last
            // one behind.
            self.bytes.copy_within(lower - POINTER..lower, lower);
        }
        let special = end - SPECIAL;
        let version = end as u16 | LAYOUT_VERSION;
        for (at, value) in [
            (12, lower as u16),
            (14, self.upper as u16),
            (16, special as u16),
            (18, version),
        ] {
            self.bytes[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        let leaf = if level == 0 { IS_LEAF } else { 0 };
        let flags = leaf | if is_root { IS_ROOT } else { 0 };
        let neighbors = [previous.unwrap_or(0), next.unwrap_or(0), level];
        for (at, value) in (special..).step_by(4).zip(neighbors) {
            self.bytes[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        self.bytes[special + 12..special + 14].copy_from_slice(&flags.to_ne_bytes());
    }

    /// An item in front of the others, and its line pointer: a block and a number there, flags with
    /// its size, and a key. The bit fields of a line pointer are those of little-endian machines.
    fn item(&mut self, pointer: usize, block: u32, number: u16, flags: u16, key: Option<i64>) {
        let size = if key.is_some() { ENTRY } else { MINUS_INFINITY };
        self.upper -= size;
        let place = [
            (block >> 16) as u16,
            block as u16,
            number,
            size as u16 | flags,
        ];
        let item = &mut self.bytes[self.upper..self.upper + size];
        let (fields, _) = item.as_chunks_mut::<2>();
        for (bytes, value) in fields.iter_mut().zip(place) {
            *bytes = value.to_ne_bytes();
        }
        match key {
            Some(key) if self.key_bytes == 8 => item[8..16].copy_from_slice(&key.to_ne_bytes()),
            Some(key) => item[8..12].copy_from_slice(&(key as i32).to_ne_bytes()),
            None => {}
        }
        let value = self.upper as u32 | NORMAL << 15 | (size as u32) << 17;
        let at = HEADER + pointer * POINTER;
        self.bytes[at..at + POINTER].copy_from_slice(&value.to_ne_bytes());
    }
}
