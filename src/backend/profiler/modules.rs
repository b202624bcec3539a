//! The modules of this process: the program, its libraries and the vDSO.

use selfbench_stacks::{Module, Segment};
use std::ffi::{CStr, CString, c_int, c_void};

/// The name of the vDSO.
const VDSO: &str = "linux-vdso.so.1";

/// Lists the modules. They stay mapped until this process exits.
///
/// Must not be called in a signal handler.
pub fn list() -> Vec<Module> {
    let mut modules = Vec::new();
    each(&mut |info, path| {
        let (segments, frames, notes) = parts(info);
        modules.extend(Module::new(path, info.dlpi_addr, &segments, frames, &notes));
    });
    for module in &modules {
        pin(&module.path);
    }
    modules
}

/// Number of modules that this process has loaded so far.
pub fn loaded() -> u64 {
    let mut loaded = 0;
    each(&mut |info, _| loaded = info.dlpi_adds);
    loaded
}

/// Bytes of the vDSO that the kernel has mapped.
pub fn vdso() -> Option<&'static [u8]> {
    let mut found = None;
    each(&mut |info, path| {
        if path == VDSO {
            let (segments, ..) = parts(info);
            found = segments.first().map(|segment| whole_pages(segment.bytes));
        }
    });
    found
}

/// A mapped segment to the end of its last page, where the vDSO has its section headers.
fn whole_pages(segment: &'static [u8]) -> &'static [u8] {
    // SAFETY: the kernel maps whole pages; nothing writes to them.
    unsafe {
        let page = usize::try_from(libc::sysconf(libc::_SC_PAGESIZE)).unwrap_or(1);
        let length = segment.len().next_multiple_of(page.max(1));
        std::slice::from_raw_parts(segment.as_ptr(), length)
    }
}

/// Calls `body` with each module and the path of its file.
fn each(body: &mut dyn FnMut(&libc::dl_phdr_info, String)) {
    type Body<'b> = &'b mut dyn FnMut(&libc::dl_phdr_info, String);

    unsafe extern "C" fn call(info: *mut libc::dl_phdr_info, _: usize, body: *mut c_void) -> c_int {
        // SAFETY: the loader passes a module of this process, whose name ends in a zero byte, and
        // `body` is the reference below.
        unsafe {
            let (info, body) = (&*info, &mut *body.cast::<Body>());
            let name = match info.dlpi_name.is_null() {
                true => c"",
                false => CStr::from_ptr(info.dlpi_name),
            };
            let mut path = name.to_string_lossy().into_owned();
            if path.is_empty() {
                let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
                path = program.to_string_lossy().into_owned();
            }
            body(info, path);
        }
        0
    }

    let mut body: Body = body;
    // SAFETY: the callback gets the reference that it expects, and does not keep it.
    unsafe { libc::dl_iterate_phdr(Some(call), (&raw mut body).cast()) };
}

/// The segments of a module that nothing writes to, the range of its header of frames, and its
/// notes with their alignments.
#[allow(clippy::type_complexity)]
fn parts(
    info: &libc::dl_phdr_info,
) -> (
    Vec<Segment>,
    Option<std::ops::Range<u64>>,
    Vec<(std::ops::Range<u64>, usize)>,
) {
    let (mut segments, mut frames, mut notes) = (Vec::new(), None, Vec::new());
    // SAFETY: the loader keeps this array as long as the module is mapped.
    let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
    for header in headers {
        let range = header.p_vaddr..header.p_vaddr.saturating_add(header.p_memsz);
        let (readable, writable) = (
            header.p_flags & libc::PF_R != 0,
            header.p_flags & libc::PF_W != 0,
        );
        match header.p_type {
            libc::PT_LOAD if readable && !writable => {
                let begin = info.dlpi_addr.wrapping_add(header.p_vaddr) as *const u8;
                // SAFETY: the loader has mapped the segment readable, nothing writes to it, and it
                // stays mapped: modules in use are never unmapped, others are pinned by `list`.
                let bytes = unsafe { std::slice::from_raw_parts(begin, header.p_filesz as usize) };
                segments.push(Segment {
                    address: header.p_vaddr,
                    bytes,
                    executable: header.p_flags & libc::PF_X != 0,
                });
            }
            libc::PT_GNU_EH_FRAME => frames = Some(range),
            libc::PT_NOTE => notes.push((range, header.p_align as usize)),
            _ => {}
        }
    }
    (segments, frames, notes)
}

/// Keeps a library from being unmapped: the handler reads its tables.
fn pin(path: &str) {
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    if let Ok(path) = CString::new(path) {
        // SAFETY: loads nothing and runs no code of the library, which is loaded already. The
        // program and the vDSO have no such name: for them, nothing happens.
        unsafe { libc::dlopen(path.as_ptr(), flags) };
    }
}
