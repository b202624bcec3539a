//! A file of code as a process has it mapped: the program, a library, or the vDSO.

use gimli::{BaseAddresses, EhFrameHdr, EndianSlice, NativeEndian, Pointer};
use object::Endianness;
use object::elf::{FileHeader64, NT_GNU_BUILD_ID};
use object::read::elf::NoteIterator;
use std::ops::Range;

/// A part of a module that nothing writes to.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// Its address as the file states it.
    pub address: u64,
    /// Mapped bytes.
    pub bytes: &'static [u8],
    /// Whether it has code.
    pub executable: bool,
}

impl Segment {
    /// The bytes from an address to the end of the segment; `None` if it does not have the address.
    fn from(&self, address: u64) -> Option<&'static [u8]> {
        let offset = usize::try_from(address.checked_sub(self.address)?).ok()?;
        self.bytes.get(offset..).filter(|bytes| !bytes.is_empty())
    }
}

/// A module of a process. Addresses within it are those that its file states, unless they are named
/// absolute.
#[derive(Clone, Debug)]
pub struct Module {
    /// Path of the file.
    pub path: String,
    /// The build id of what is mapped; empty if it has none.
    pub build_id: Vec<u8>,
    /// Offset from an address to the absolute one.
    pub bias: u64,
    /// The addresses of its code.
    pub code: Range<u64>,
    /// Unwinding information, if it has any.
    pub(crate) unwinding: Option<Unwinding>,
}

/// The tables for unwinding.
#[derive(Clone, Debug)]
pub(crate) struct Unwinding {
    pub(crate) header: Segment,
    pub(crate) frames: Segment,
}

impl Module {
    /// A module with these segments, of which one has the table of frames' header at `header`, and
    /// others notes. `None` if it has no code.
    pub fn new(
        path: String,
        bias: u64,
        segments: &[Segment],
        header: Option<Range<u64>>,
        notes: &[(Range<u64>, usize)],
    ) -> Option<Module> {
        let ends = |segment: &Segment| segment.address + segment.bytes.len() as u64;
        let code = || segments.iter().filter(|segment| segment.executable);
        let code = code().map(|s| s.address).min()?..code().map(ends).max()?;
        let bytes = |range: &Range<u64>| {
            let rest = segments.iter().find_map(|s| s.from(range.start))?;
            let length = usize::try_from(range.end.checked_sub(range.start)?).ok()?;
            rest.get(..length)
        };
        let build_id = notes
            .iter()
            .find_map(|(range, align)| build_id(bytes(range)?, *align))
            .unwrap_or_default();
        let unwinding = header.and_then(|range| {
            let header = Segment {
                address: range.start,
                bytes: bytes(&range)?,
                executable: false,
            };
            let address = frames_address(&header)?;
            let frames = Segment {
                address,
                bytes: segments.iter().find_map(|s| s.from(address))?,
                executable: false,
            };
            Some(Unwinding { header, frames })
        });
        Some(Module {
            path,
            build_id,
            bias,
            code,
            unwinding,
        })
    }

    /// The absolute addresses of its code.
    pub fn absolute(&self) -> Range<u64> {
        self.code.start.wrapping_add(self.bias)..self.code.end.wrapping_add(self.bias)
    }
}

/// The build id among these notes.
fn build_id(notes: &'static [u8], align: usize) -> Option<Vec<u8>> {
    let endian = Endianness::default();
    let mut notes =
        NoteIterator::<FileHeader64<Endianness>>::new(endian, align as u64, notes).ok()?;
    while let Ok(Some(note)) = notes.next() {
        if note.n_type(endian) == NT_GNU_BUILD_ID && note.name() == b"GNU" {
            return Some(note.desc().to_vec());
        }
    }
    None
}

/// Address of the frames that a header describes.
fn frames_address(header: &Segment) -> Option<u64> {
    let bases = BaseAddresses::default().set_eh_frame_hdr(header.address);
    let parsed = EhFrameHdr::<EndianSlice<NativeEndian>>::new(header.bytes, NativeEndian)
        .parse(&bases, 8)
        .ok()?;
    // Without the table there is nothing to search in.
    parsed.table()?;
    match parsed.eh_frame_ptr() {
        Pointer::Direct(address) => Some(address),
        Pointer::Indirect(_) => None,
    }
}
