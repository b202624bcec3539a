//! Counting equal stacks of all sampled processes, and writing them as folded lines.
//!
//! A folded stack has the names of its frames from the root to the leaf, separated by semicolons,
//! as flame graph programs read it. A function of another file than the server's program has the name of
//! the file in brackets behind it, but for those of this extension. Names in brackets are not functions: `[static in FILE]` is a
//! function whose name the file does not have, `[unknown in FILE]` one of a file that cannot be
//! read, `[unknown]` code or callers in no file, `[truncated]` frames for which there was no room.

use crate::record::{ADDRESS_MASK, End, Record, frame_words, take_record};
use crate::symbols::{Symbols, printable};
use std::collections::HashMap;
use std::hash::Hash;
use std::path::Path;

/// Number of different stacks of addresses kept before their functions are looked up. Functions
/// have many addresses, so that far fewer stacks remain.
const MAX_RAW: usize = 20_000;
/// Number of different stacks of functions counted one by one.
const MAX_FOLDED: usize = 100_000;
/// The number of a file that is not known.
const NO_FILE: u16 = u16::MAX;
/// Part of the names of the extension's files.
const OWN: &str = "selfbench";
/// The vDSO, which the kernel maps and no file has.
const VDSO: &str = "linux-vdso.so.1";

/// A folded stack and how often it was seen, in processes of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stack<K> {
    /// The kind of process.
    pub kind: K,
    /// The folded stack.
    pub stack: String,
    /// Number of times that the timer has expired there.
    pub samples: u64,
}

/// Counts the stacks of several processes, each of a kind `K`.
pub struct Folder<K> {
    /// By process: the numbers of its modules' files.
    processes: HashMap<usize, Vec<u16>>,
    files: Vec<Code>,
    vdso: Option<&'static [u8]>,
    /// Stacks of addresses, leaf first: the number of the file and the address in it.
    raw: HashMap<(K, End, Box<[u64]>), u64>,
    /// Names that have been looked up, by file and address.
    known: HashMap<u64, u32>,
    names: Names,
    /// Stacks of names, root first.
    folded: HashMap<(K, Box<[u32]>), u64>,
}

/// A file of code.
struct Code {
    path: String,
    build_id: Vec<u8>,
    /// Its functions if it could be read, once that was tried.
    symbols: Option<Option<Symbols>>,
}

/// Each name once.
#[derive(Default)]
struct Names {
    numbers: HashMap<String, u32>,
    texts: Vec<String>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        let next = self.texts.len() as u32;
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.texts.push(name.clone());
            next
        })
    }
}

impl<K: Copy + Eq + Hash + Ord> Folder<K> {
    /// Without stacks. `vdso` is what the kernel has mapped as such into this process; it is the
    /// same in all of them.
    pub fn new(vdso: Option<&'static [u8]>) -> Folder<K> {
        Folder {
            processes: HashMap::new(),
            files: Vec::new(),
            vdso,
            raw: HashMap::new(),
            known: HashMap::new(),
            names: Names::default(),
            folded: HashMap::new(),
        }
    }

    /// Takes the next records of a process, whose number and kind these are. Samples before the
    /// time `from_ns` do not count. Returns how many did, and how many of these are incomplete.
    pub fn take(&mut self, process: usize, kind: K, records: &[u8], from_ns: u64) -> (u64, u64) {
        let mut rest = records;
        let (mut samples, mut incomplete) = (0, 0);
        while let Some(record) = take_record(&mut rest) {
            match record {
                Record::Module { path, build_id } => {
                    let file = self.file(path, build_id);
                    self.processes.entry(process).or_default().push(file);
                }
                Record::Sample {
                    end,
                    weight,
                    at_ns,
                    frames: words,
                } if at_ns >= from_ns => {
                    let modules = self.processes.get(&process).map_or(&[][..], Vec::as_slice);
                    let stack = frame_words(words).map(|word| {
                        let file = modules.get((word >> 48) as usize).unwrap_or(&NO_FILE);
                        u64::from(*file) << 48 | word & ADDRESS_MASK
                    });
                    let weight = u64::from(weight);
                    *self.raw.entry((kind, end, stack.collect())).or_default() += weight;
                    samples += weight;
                    incomplete += if end == End::Root { 0 } else { weight };
                }
                Record::Sample { .. } => {}
            }
        }
        if self.raw.len() > MAX_RAW {
            self.fold();
        }
        (samples, incomplete)
    }

    /// The folded stacks, by kind, the most frequent ones first.
    pub fn finish(mut self) -> Vec<Stack<K>> {
        self.fold();
        let texts = &self.names.texts;
        let text = |names: &[u32]| {
            let names = names.iter().map(|number| texts[*number as usize].as_str());
            names.collect::<Vec<_>>().join(";")
        };
        let folded = self.folded.iter();
        let mut stacks: Vec<_> = folded
            .map(|((kind, names), samples)| Stack {
                kind: *kind,
                stack: text(names),
                samples: *samples,
            })
            .collect();
        stacks.sort_by(|a, b| (a.kind, b.samples, &a.stack).cmp(&(b.kind, a.samples, &b.stack)));
        stacks
    }

    /// The number of a file.
    fn file(&mut self, path: &str, build_id: &[u8]) -> u16 {
        let found = self
            .files
            .iter()
            .position(|file| file.path == path && file.build_id == build_id);
        let number = found.unwrap_or(self.files.len());
        if found.is_none() && number < usize::from(NO_FILE) {
            self.files.push(Code {
                path: path.to_owned(),
                build_id: build_id.to_owned(),
                symbols: None,
            });
        }
        u16::try_from(number).unwrap_or(NO_FILE)
    }

    /// Turns stacks of addresses into stacks of names.
    fn fold(&mut self) {
        for ((kind, end, addresses), samples) in std::mem::take(&mut self.raw) {
            let mut names = Vec::with_capacity(addresses.len() + 1);
            match end {
                End::Root => {}
                End::Full => names.push(self.names.number("[truncated]".into())),
                End::Unknown => names.push(self.names.number("[unknown]".into())),
            }
            for address in addresses.iter().rev() {
                names.push(self.name(*address));
            }
            let mut key = (kind, names.into_boxed_slice());
            if self.folded.len() >= MAX_FOLDED && !self.folded.contains_key(&key) {
                key.1 = Box::new([self.names.number("[other stacks]".into())]);
            }
            *self.folded.entry(key).or_default() += samples;
        }
    }

    /// The number of the name of the function at an address in a file.
    fn name(&mut self, address: u64) -> u32 {
        if let Some(name) = self.known.get(&address) {
            return *name;
        }
        let name = match self.files.get_mut((address >> 48) as usize) {
            Some(file) => file.name(address & ADDRESS_MASK, self.vdso),
            None => "[unknown]".into(),
        };
        let number = self.names.number(name);
        // Bounded, as it is only there to save time.
        if self.known.len() >= MAX_FOLDED {
            self.known.clear();
        }
        self.known.insert(address, number);
        number
    }
}

impl Code {
    fn name(&mut self, address: u64, vdso: Option<&'static [u8]>) -> String {
        let symbols = self
            .symbols
            .get_or_insert_with(|| match self.path.as_str() {
                VDSO => Symbols::of_bytes(vdso?),
                path => Symbols::read(Path::new(path), &self.build_id),
            });
        let file = Path::new(&self.path).file_name().unwrap_or_default();
        let file = file.to_string_lossy();
        let is_library = file.contains(".so") && !file.contains(OWN);
        let file = || printable(&file);
        match symbols {
            Some(symbols) => match symbols.name(address) {
                Some(name) if is_library => format!("{name} [{}]", file()),
                Some(name) => name,
                None => format!("[static in {}]", file()),
            },
            None => format!("[unknown in {}]", file()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::module::Module;
    use crate::record::{Sample, module_record};

    fn record_of(path: &str) -> Vec<u8> {
        module_record(&Module {
            path: path.into(),
            build_id: Vec::new(),
            bias: 0,
            code: 0..1,
            unwinding: None,
        })
    }

    fn sample(frames: &[(u16, u64)], end: End, weight: u32, at_ns: u64) -> Vec<u8> {
        let mut sample = Sample::default();
        for (module, address) in frames {
            sample.push(*module, *address);
        }
        sample.finish(end, weight, at_ns).to_vec()
    }

    #[test]
    fn equal_stacks_of_several_processes_are_one() {
        let mut folder = Folder::new(None);
        let mut first = record_of("/a");
        first.extend(record_of("/b"));
        first.extend(sample(&[(0, 1), (1, 2)], End::Root, 1, 10));
        first.extend(sample(&[(0, 1), (1, 2)], End::Root, 1, 4));
        // Another process may have its modules in another order.
        let mut second = record_of("/b");
        second.extend(record_of("/a"));
        second.extend(sample(&[(1, 7), (0, 9)], End::Root, 2, 10));
        second.extend(sample(&[(1, 7)], End::Full, 1, 10));
        second.extend(sample(&[], End::Unknown, 1, 10));
        second.extend(sample(&[(5, 7)], End::Root, 1, 10));
        assert_eq!(folder.take(0, 'x', &first, 5), (1, 0));
        assert_eq!(folder.take(1, 'x', &second, 5), (5, 2));
        assert_eq!(folder.take(2, 'y', &first, 0), (2, 0));
        let stacks = folder.finish();
        let lines: Vec<_> = stacks
            .iter()
            .map(|s| format!("{} {} {}", s.kind, s.stack, s.samples))
            .collect();
        assert_eq!(
            lines,
            [
                "x [unknown in b];[unknown in a] 3",
                "x [unknown] 2",
                "x [truncated];[unknown in a] 1",
                "y [unknown in b];[unknown in a] 2",
            ]
        );
    }

    #[test]
    fn memory_is_bounded() {
        let mut folder = Folder::new(None);
        folder.take(0, 0, &record_of("/a"), 0);
        for address in 0..3 * MAX_RAW as u64 {
            folder.take(0, 0, &sample(&[(0, address)], End::Root, 1, 0), 0);
            assert!(folder.raw.len() <= MAX_RAW);
        }
        let stacks = folder.finish();
        assert_eq!(stacks.len(), 1);
        assert_eq!(stacks[0].samples, 3 * MAX_RAW as u64);
    }
}
