//! Facts about the machine that a server runs on, from Linux's `/proc` and `/sys`.
//!
//! All files are read through [`Files`], so that tests can describe machines other than their own. A
//! file that is missing or looks different than expected leaves out its facts: on another operating
//! system there are none.
//!
//! Names of facts that have a unit end with it: `memory_bytes`.

mod cgroup;
mod cpu;
mod files;
mod memory;
mod mount;
mod system;

pub use cgroup::{cpu_limit, memory_limit_bytes};
pub use files::{Files, System};
pub use memory::memory_bytes;
pub use mount::storage;

/// One fact: its name and its value.
pub type Fact = (String, String);

/// Facts about the machine, the kernel, and the limits of this process.
pub fn facts(files: &impl Files) -> Vec<Fact> {
    let mut facts = Facts::default();
    system::add(files, &mut facts);
    cpu::add(files, &mut facts);
    memory::add(files, &mut facts);
    cgroup::add(files, &mut facts);
    facts.0
}

/// Facts, of which unknown ones are left out.
#[derive(Default)]
struct Facts(Vec<Fact>);

impl Facts {
    fn add(&mut self, name: impl Into<String>, value: Option<impl ToString>) {
        let value = value.map(|value| value.to_string());
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            self.0.push((name.into(), value));
        }
    }
}
