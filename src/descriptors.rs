//! File descriptors that this process keeps open beside those of the server's own files.

use pgrx::pg_sys;
use std::fs::File;
use std::path::Path;

/// A descriptor, counted among those that the server allows a process beside its own.
pub struct Descriptor(());

impl Descriptor {
    /// Counts one; `None` if this process has too many.
    pub fn acquire() -> Option<Descriptor> {
        // SAFETY: raises no error; released by drop.
        unsafe { pg_sys::AcquireExternalFD() }.then(|| Descriptor(()))
    }
}

impl Drop for Descriptor {
    fn drop(&mut self) {
        // SAFETY: acquired once; raises no error.
        unsafe { pg_sys::ReleaseExternalFD() };
    }
}

/// An open file, whose descriptor is counted.
pub struct KeptFile(File, #[allow(dead_code)] Descriptor);

impl KeptFile {
    /// Opens a file for reading; `None` if it cannot be opened, or if this process has too many
    /// descriptors.
    pub fn open(path: &Path) -> Option<KeptFile> {
        let descriptor = Descriptor::acquire()?;
        Some(KeptFile(File::open(path).ok()?, descriptor))
    }

    /// The file.
    pub fn file(&self) -> &File {
        &self.0
    }
}
