//! File descriptors that this process keeps open beside those of the server's own files.

use pgrx::pg_sys;
use std::fs::File;
use std::path::Path;

/// An open file, counted among the descriptors that the server allows a process beside its own.
pub struct KeptFile(File);

impl KeptFile {
    /// Opens a file for reading; `None` if it cannot be opened, or if this process has too many
    /// descriptors.
    pub fn open(path: &Path) -> Option<KeptFile> {
        // SAFETY: raises no error; what was acquired is released by drop, or here.
        unsafe {
            if !pg_sys::AcquireExternalFD() {
                return None;
            }
            let file = File::open(path).ok().map(KeptFile);
            if file.is_none() {
                pg_sys::ReleaseExternalFD();
            }
            file
        }
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for KeptFile {
    fn drop(&mut self) {
        // SAFETY: acquired by `open`; raises no error.
        unsafe { pg_sys::ReleaseExternalFD() };
    }
}
