//! Records of a sampled process: its modules and its samples, as bytes.
//!
//! A record consists of words of eight bytes. The highest byte of the first word is its kind. The
//! numbers of modules count from 0 within a process, in the order of their records.

use crate::module::Module;

/// The largest number of frames of a sample. Plans and functions that call each other nest deeply;
/// frames of the root are those that are missing then.
pub const MAX_FRAMES: usize = 200;

const WORD: usize = 8;
/// Words before the frames of a sample.
const HEAD: usize = 2;
const SAMPLE: u64 = 1;
const MODULE: u64 = 2;
/// The longest path of a module in a record.
const MAX_PATH: usize = 4095;

/// End of the frames of a sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// With the root: the stack is complete.
    Root = 0,
    /// No room for more frames.
    Full = 1,
    /// The caller is unknown: code that is in no module, such as code that was compiled during
    /// execution, or without unwind tables.
    Unknown = 2,
}

/// A sample while it is formed. It has room for all its frames from the beginning.
pub struct Sample {
    bytes: [u8; (HEAD + MAX_FRAMES) * WORD],
    frames: usize,
}

impl Default for Sample {
    fn default() -> Sample {
        Sample {
            bytes: [0; (HEAD + MAX_FRAMES) * WORD],
            frames: 0,
        }
    }
}

impl Sample {
    /// Adds the caller of the frame before: the number of its module, and the address in it.
    /// `false` if there is no room.
    #[inline]
    pub fn push(&mut self, module: u16, address: u64) -> bool {
        if self.frames >= MAX_FRAMES {
            return false;
        }
        self.put(HEAD + self.frames, frame(module, address));
        self.frames += 1;
        true
    }

    /// Removes all frames.
    #[inline]
    pub fn clear(&mut self) {
        self.frames = 0;
    }

    /// The number of frames so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Its record. `weight` is the number of times that the timer expired, `at_ns` the time.
    #[inline]
    pub fn finish(&mut self, end: End, weight: u32, at_ns: u64) -> &[u8] {
        let head = SAMPLE << 56 | (end as u64) << 48 | (self.frames as u64) << 32;
        self.put(0, head | u64::from(weight));
        self.put(1, at_ns);
        self.bytes
            .get(..(HEAD + self.frames) * WORD)
            .unwrap_or_default()
    }

    #[inline]
    fn put(&mut self, word: usize, value: u64) {
        if let Some(place) = self.bytes.get_mut(word * WORD..(word + 1) * WORD) {
            place.copy_from_slice(&value.to_ne_bytes());
        }
    }
}

/// A frame as a word.
fn frame(module: u16, address: u64) -> u64 {
    u64::from(module) << 48 | address & ADDRESS
}

/// The part of a frame's word that is the address.
pub(crate) const ADDRESS: u64 = (1 << 48) - 1;

/// The record of a module.
pub fn module_record(module: &Module) -> Vec<u8> {
    let path = module.path.as_bytes();
    let path = path.get(..MAX_PATH).unwrap_or(path);
    let build_id = module.build_id.get(..255).unwrap_or(&module.build_id);
    let head = MODULE << 56 | (build_id.len() as u64) << 16 | path.len() as u64;
    let mut bytes = head.to_ne_bytes().to_vec();
    bytes.extend_from_slice(path);
    bytes.extend_from_slice(build_id);
    bytes.resize(bytes.len().next_multiple_of(WORD), 0);
    bytes
}

/// A record.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Record<'b> {
    Module {
        path: &'b str,
        build_id: &'b [u8],
    },
    Sample {
        end: End,
        weight: u32,
        at_ns: u64,
        /// Words, of which the upper 16 bits are the number of the module; the leaf comes first.
        frames: &'b [u8],
    },
}

/// The frames of a sample.
pub(crate) fn frames(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u64> + '_ {
    bytes
        .as_chunks::<WORD>()
        .0
        .iter()
        .map(|w| u64::from_ne_bytes(*w))
}

/// Takes the first record of these bytes; `None` at their end, and if they are not records.
pub(crate) fn next<'b>(bytes: &mut &'b [u8]) -> Option<Record<'b>> {
    let mut take = |length: usize| {
        let (taken, rest) = bytes.split_at_checked(length)?;
        *bytes = rest;
        Some(taken)
    };
    let mut word = || Some(u64::from_ne_bytes(take(WORD)?.try_into().ok()?));
    let head = word()?;
    match head >> 56 {
        SAMPLE => {
            let at_ns = word()?;
            Some(Record::Sample {
                end: match head >> 48 & 0xff {
                    0 => End::Root,
                    1 => End::Full,
                    _ => End::Unknown,
                },
                weight: head as u32,
                at_ns,
                frames: take((head >> 32 & 0xffff) as usize * WORD)?,
            })
        }
        MODULE => {
            let (path, build_id) = ((head & 0xffff) as usize, (head >> 16 & 0xff) as usize);
            let text = take((path + build_id).next_multiple_of(WORD))?;
            Some(Record::Module {
                path: std::str::from_utf8(&text[..path]).unwrap_or_default(),
                build_id: &text[path..path + build_id],
            })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        let module = Module {
            path: "/usr/lib/libx.so".into(),
            build_id: vec![1, 2, 3],
            bias: 0x7000,
            code: 0..16,
            unwinding: None,
        };
        let mut bytes = module_record(&module);
        let mut sample = Sample::default();
        assert!(sample.push(0, 0x1234));
        assert!(sample.push(3, 0xffff_0000_1234));
        bytes.extend_from_slice(sample.finish(End::Unknown, 2, 77));
        let mut rest = bytes.as_slice();
        assert_eq!(
            next(&mut rest),
            Some(Record::Module {
                path: "/usr/lib/libx.so",
                build_id: &[1, 2, 3]
            })
        );
        let Some(Record::Sample {
            end,
            weight,
            at_ns,
            frames: words,
        }) = next(&mut rest)
        else {
            panic!("a sample")
        };
        assert_eq!((end, weight, at_ns), (End::Unknown, 2, 77));
        let words: Vec<u64> = frames(words).collect();
        assert_eq!(words, [0x1234, 3 << 48 | 0xffff_0000_1234]);
        assert_eq!(next(&mut rest), None);
    }

    #[test]
    fn a_full_sample_takes_no_more_frames() {
        let mut sample = Sample::default();
        for _ in 0..MAX_FRAMES {
            assert!(sample.push(1, 2));
        }
        assert!(!sample.push(1, 2));
        assert_eq!(sample.finish(End::Full, 1, 0).len(), (2 + MAX_FRAMES) * 8);
    }

    #[test]
    fn parts_of_records_are_none() {
        let mut sample = Sample::default();
        sample.push(1, 2);
        let bytes = sample.finish(End::Root, 1, 0).to_vec();
        for length in 0..bytes.len() {
            assert_eq!(next(&mut &bytes[..length]), None);
        }
        assert_eq!(next(&mut [0xff; 64].as_slice()), None);
    }
}
