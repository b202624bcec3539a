//! The functions of a file: their names, by addresses.
//!
//! A function is known by its start and its size. An address that is in none of them belongs to a
//! function whose name is not in the file: a static function of a stripped file. It is never given
//! the name of the function before it.

use object::elf::{STT_FUNC, STT_GNU_IFUNC, Sym64};
use object::read::elf::{ElfFile64, Sym};
use object::{Endianness, Object, ObjectSection, ReadCache, ReadRef};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Directory of debug files, below two hexadecimal digits of the build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";
/// Number of functions before an address that are looked at: a function may be within another one.
const NESTED: usize = 16;
/// The longest name.
const MAX_NAME: usize = 200;

/// The functions of one file.
#[derive(Debug, Default)]
pub struct Symbols {
    /// Functions in the order of their starts.
    functions: Vec<Function>,
    /// Texts that contain the names.
    texts: [Vec<u8>; 2],
}

/// A function.
#[derive(Debug)]
struct Function {
    start: u64,
    size: u32,
    /// Index of the text with its name, and offset in it.
    text: u8,
    name: u32,
}

impl Symbols {
    /// The functions of a file with this build id, and those of its debug file if that is installed.
    /// `None` if the file cannot be read, or is another one now.
    pub fn read(path: &Path, build_id: &[u8]) -> Option<Symbols> {
        Symbols::read_beside(Path::new(DEBUG_FILES), path, build_id)
    }

    /// Reads the functions of a file with debug files in another directory.
    fn read_beside(debug_files: &Path, path: &Path, build_id: &[u8]) -> Option<Symbols> {
        let mut symbols = Symbols::default();
        symbols.add(&ReadCache::new(File::open(path).ok()?), build_id, 0)?;
        if let Some(path) = debug_file(debug_files, build_id)
            && let Ok(file) = File::open(path)
        {
            symbols.add(&ReadCache::new(file), build_id, 1);
        }
        Some(symbols.sorted())
    }

    /// The functions of a file in memory.
    pub fn of_bytes(bytes: &[u8]) -> Option<Symbols> {
        let mut symbols = Symbols::default();
        symbols.add(bytes, &[], 0)?;
        Some(symbols.sorted())
    }

    fn add<'f, R: ReadRef<'f>>(&mut self, file: R, build_id: &[u8], text: usize) -> Option<()> {
        let file = ElfFile64::<Endianness, R>::parse(file).ok()?;
        let found = file.build_id().ok().flatten().unwrap_or_default();
        if !build_id.is_empty() && found != build_id {
            return None;
        }
        let section = |name| file.section_by_name(name)?.data().ok();
        // A file that is not stripped has all functions in the first, which a stripped one lacks.
        for (table, names) in [(".symtab", ".strtab"), (".dynsym", ".dynstr")] {
            let (Some(table), Some(names)) = (section(table), section(names)) else {
                continue;
            };
            let endian = file.endian();
            let Ok(table) = object::pod::slice_from_all_bytes::<Sym64<Endianness>>(table) else {
                continue;
            };
            let functions = table.iter().filter(|symbol| {
                matches!(symbol.st_type(), STT_FUNC | STT_GNU_IFUNC)
                    && symbol.st_size(endian) > 0
                    && !Sym::is_undefined(*symbol, endian)
            });
            let before = self.functions.len();
            self.functions.extend(functions.map(|symbol| Function {
                start: symbol.st_value(endian),
                size: u32::try_from(symbol.st_size(endian)).unwrap_or(u32::MAX),
                text: text as u8,
                name: symbol.st_name(endian),
            }));
            if self.functions.len() > before {
                self.texts[text] = names.to_vec();
                break;
            }
        }
        Some(())
    }

    /// Sorts by start, the best name of each function last.
    fn sorted(mut self) -> Symbols {
        let texts = &self.texts;
        // The last one is found first: of several names, the plainest.
        self.functions.sort_by(|a, b| {
            let plain = |f: &Function| {
                let name = name(texts, f);
                let underscores = name.iter().take_while(|byte| **byte == b'_').count();
                (underscores, name.len(), name)
            };
            (a.start, plain(b)).cmp(&(b.start, plain(a)))
        });
        self
    }

    /// The name of the function with that address, as it is printed in a stack.
    pub fn name(&self, address: u64) -> Option<String> {
        let after = self.functions.partition_point(|f| f.start <= address);
        let before = self.functions.get(after.saturating_sub(NESTED)..after)?;
        let function = before
            .iter()
            .rev()
            .find(|f| address - f.start < u64::from(f.size))?;
        Some(printable(&demangled(&String::from_utf8_lossy(name(
            &self.texts,
            function,
        )))))
    }
}

fn name<'t>(texts: &'t [Vec<u8>; 2], function: &Function) -> &'t [u8] {
    let text = texts
        .get(usize::from(function.text))
        .and_then(|text| text.get(function.name as usize..))
        .unwrap_or_default();
    let length = text.iter().position(|byte| *byte == 0).unwrap_or(0);
    &text[..length]
}

/// Path of the debug file with a build id, below the directory of all of them.
fn debug_file(debug_files: &Path, build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id.split_first()?;
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let (first, rest): (String, String) = (hex(std::slice::from_ref(first)), hex(rest));
    Some(debug_files.join(first).join(format!("{rest}.debug")))
}

/// A name as it is in the source; that of another language than Rust or C as it is in the file.
fn demangled(name: &str) -> String {
    // Behind an @ there is a version of the symbol.
    let name = name.split('@').next().unwrap_or_default();
    match rustc_demangle::try_demangle(name) {
        Ok(name) => format!("{name:#}"),
        Err(_) => name.to_owned(),
    }
}

/// A name without what separates frames, and not too long.
pub(crate) fn printable(name: &str) -> String {
    let plain = |c: char| match c {
        ';' => ',',
        c if c.is_control() => '?',
        c => c,
    };
    name.chars().take(MAX_NAME).map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbols(functions: &[(u64, u32, &str)]) -> Symbols {
        let mut text = Vec::new();
        let functions = functions.iter().map(|(start, size, name)| {
            let at = text.len() as u32;
            text.extend_from_slice(name.as_bytes());
            text.push(0);
            Function {
                start: *start,
                size: *size,
                text: 0,
                name: at,
            }
        });
        let functions = functions.collect();
        Symbols {
            functions,
            texts: [text, Vec::new()],
        }
        .sorted()
    }

    #[test]
    fn functions_end_where_their_size_ends() {
        let symbols = symbols(&[(0x200, 0x10, "second"), (0x100, 0x20, "first")]);
        let name = |address| symbols.name(address);
        assert_eq!(name(0xff), None);
        assert_eq!(name(0x100).as_deref(), Some("first"));
        assert_eq!(name(0x11f).as_deref(), Some("first"));
        assert_eq!(name(0x120), None, "a static function after the first one");
        assert_eq!(name(0x20f).as_deref(), Some("second"));
        assert_eq!(name(0x210), None);
    }

    #[test]
    fn the_plainest_of_several_names_is_used() {
        let symbols = symbols(&[(1, 9, "__write"), (1, 9, "write"), (1, 9, "__GI___write")]);
        assert_eq!(symbols.name(5).as_deref(), Some("write"));
    }

    #[test]
    fn a_function_may_be_within_another() {
        let symbols = symbols(&[(0x100, 0x100, "outer"), (0x140, 8, "inner")]);
        assert_eq!(symbols.name(0x141).as_deref(), Some("inner"));
        assert_eq!(symbols.name(0x150).as_deref(), Some("outer"));
    }

    #[test]
    fn names_are_demangled_and_fit_into_a_stack() {
        assert_eq!(
            demangled("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE"),
            "core::fmt::Write::write_fmt"
        );
        assert_eq!(demangled("memcpy@@GLIBC_2.14"), "memcpy");
        assert_eq!(printable("<[T; 4]>::x\n"), "<[T, 4]>::x?");
    }

    #[test]
    fn another_build_is_not_read() {
        let path = std::env::current_exe().unwrap();
        assert!(Symbols::read(&path, &[]).is_some());
        assert!(Symbols::read(&path, &[1, 2, 3]).is_none());
        assert!(Symbols::read(Path::new("/dev/null"), &[]).is_none());
        assert!(Symbols::read(Path::new("/nonexistent"), &[]).is_none());
    }

    #[test]
    fn debug_files_are_found_by_build_id() {
        let installed = Path::new(DEBUG_FILES);
        let path = debug_file(installed, &[0xab, 0xcd, 0x01]).unwrap();
        assert_eq!(path, Path::new("/usr/lib/debug/.build-id/ab/cd01.debug"));
        assert_eq!(debug_file(installed, &[]), None);
    }

    #[test]
    fn a_stripped_file_has_the_names_of_its_debug_file() {
        let whole = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let file = ElfFile64::<Endianness>::parse(&*whole).unwrap();
        let build_id = file.build_id().unwrap().expect("linkers write build ids");
        // A stripped file has no table of symbols; here, it is one of another name.
        let mut stripped = whole.clone();
        for table in [b"\0.symtab\0", b"\0.dynsym\0"] {
            for at in 0..stripped.len() - table.len() {
                if stripped[at..].starts_with(table) {
                    stripped[at + 2] = b'-';
                }
            }
        }
        let directory = std::env::temp_dir().join(format!("symbols.{}", std::process::id()));
        let path = directory.join("stripped");
        let debug = debug_file(&directory, build_id).unwrap();
        std::fs::create_dir_all(debug.parent().unwrap()).unwrap();
        std::fs::write(&path, &stripped).unwrap();
        let read = || Symbols::read_beside(&directory, &path, build_id).unwrap();
        let alone = read();
        std::fs::write(&debug, &whole).unwrap();
        let beside = read();
        // One of another build is not its own.
        let mut other = whole.clone();
        let found = whole.windows(build_id.len()).position(|id| id == build_id);
        other[found.unwrap()] ^= 1;
        std::fs::write(&debug, &other).unwrap();
        let beside_other = read();
        std::fs::remove_dir_all(&directory).unwrap();

        let all = Symbols::of_bytes(&whole).unwrap();
        let address = all.functions[all.functions.len() / 2].start;
        assert!(all.name(address).is_some());
        assert_eq!(alone.name(address), None);
        assert_eq!(beside.name(address), all.name(address));
        assert_eq!(beside_other.name(address), None);
    }
}
