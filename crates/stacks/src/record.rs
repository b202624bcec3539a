//! Records of a sampled process, as bytes: its modules and its samples.
//!
//! A record consists of words of 64 bits in native byte order. From the highest bit:
//!
//! * of a sample: kind (8 bits), end (8), number of frames (16), weight (32); the time (64); for each
//!   frame, the leaf first, the number of its module (16) and the address in it (48).
//! * of a module: kind (8 bits), unused (32), length of the build id (8) and of the path (16); then the
//!   bytes of the path and of the build id, and zeros up to a whole word.
//!
//! Modules are numbered from 0 within a process, in the order of their records.

use crate::module::Module;

/// Maximum number of frames of a sample. Plans and functions that call each other nest deeply; of a
/// deeper stack, the frames next to the root are missing.
pub const MAX_FRAMES: usize = 200;

const WORD: usize = 8;
/// Words before the frames of a sample.
const HEAD: usize = 2;
const SAMPLE: u64 = 1;
const MODULE: u64 = 2;
/// Maximum length of a module's path in a record, in bytes: Linux's limit.
const MAX_PATH: usize = 4095;
/// Maximum length of a build id in a record, in bytes.
const MAX_BUILD_ID: usize = 255;
/// Mask of the address in the word of a frame.
pub(crate) const ADDRESS_MASK: u64 = (1 << 48) - 1;

/// Reason why a sample has no more frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The last frame is the root: the stack is complete.
    Root = 0,
    /// There was no room for more.
    Full = 1,
    /// The next caller could not be found: there is code in no module, such as that of JIT
    /// compilation, or without unwind tables.
    Unknown = 2,
}

/// A sample while its stack is walked. It has room for all frames from the beginning, because a
/// signal handler must not allocate.
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
    /// Adds a frame, the caller of the one added before: the number of its module and the address in
    /// it. Returns `false` if there is no room.
    #[inline]
    pub fn push(&mut self, module: u16, address: u64) -> bool {
        if self.frames >= MAX_FRAMES {
            return false;
        }
        let frame = u64::from(module) << 48 | address & ADDRESS_MASK;
        self.put(HEAD + self.frames, frame);
        self.frames += 1;
        true
    }

    /// Removes all frames.
    #[inline]
    pub fn clear(&mut self) {
        self.frames = 0;
    }

    /// Number of frames so far.
    pub fn frames(&self) -> usize {
        self.frames
    }

    /// Record of the sample. `weight` is the number of timer expirations that it stands for, `at_ns`
    /// the clock reading.
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

/// Record of a module. A path or build id that is too long is cut.
pub fn module_record(module: &Module) -> Vec<u8> {
    let path = module.path.as_bytes();
    let path = path.get(..MAX_PATH).unwrap_or(path);
    let build_id = module
        .build_id
        .get(..MAX_BUILD_ID)
        .unwrap_or(&module.build_id);
    let head = MODULE << 56 | (build_id.len() as u64) << 16 | path.len() as u64;
    let mut bytes = head.to_ne_bytes().to_vec();
    bytes.extend_from_slice(path);
    bytes.extend_from_slice(build_id);
    bytes.resize(bytes.len().next_multiple_of(WORD), 0);
    bytes
}

/// A record that has been read.
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
        /// The frames, for [`frame_words`].
        frames: &'b [u8],
    },
}

/// Words of a sample's frames, the leaf first: the number of the module in the upper 16 bits, the
/// address in the others.
pub(crate) fn frame_words(bytes: &[u8]) -> impl DoubleEndedIterator<Item = u64> + '_ {
    bytes
        .as_chunks::<WORD>()
        .0
        .iter()
        .map(|w| u64::from_ne_bytes(*w))
}

/// Takes the first record of these bytes; `None` at their end, and if they do not begin with a whole
/// record.
pub(crate) fn take_record<'b>(bytes: &mut &'b [u8]) -> Option<Record<'b>> {
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
            take_record(&mut rest),
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
        }) = take_record(&mut rest)
        else {
            panic!("a sample")
        };
        assert_eq!((end, weight, at_ns), (End::Unknown, 2, 77));
        let words: Vec<u64> = frame_words(words).collect();
        assert_eq!(words, [0x1234, 3 << 48 | 0xffff_0000_1234]);
        assert_eq!(take_record(&mut rest), None);
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
            assert_eq!(take_record(&mut &bytes[..length]), None);
        }
        assert_eq!(take_record(&mut [0xff; 64].as_slice()), None);
    }
}
