//! Call stacks of a process: from registers and stack memory to folded lines.
//!
//! A sampled process lists its [`Module`]s and builds a [`Walker`] from them. Its signal handler
//! walks the stack and forms a [`Sample`]: this part allocates nothing, takes no lock and does not
//! panic. Another process reads modules and samples as records, and a [`Folder`] counts equal
//! stacks; it reads the names of functions from the files, see [`Symbols`].
//!
//! No PostgreSQL here, and no signals: `backend/profiler` of the extension has those.

#![deny(unsafe_code)]

mod folder;
mod module;
mod record;
mod symbols;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod walker;

pub use folder::{Folder, Stack};
pub use module::{Module, Segment};
pub use record::{End, MAX_FRAMES, Sample, module_record};
pub use symbols::Symbols;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub use walker::{Registers, Walker};
