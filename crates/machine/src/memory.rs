//! Memory, and how the kernel deals with it.

use crate::Facts;
use crate::cgroup::memory_limit_bytes;
use crate::files::{Files, chosen, field, text};

pub(crate) fn add(files: &impl Files, facts: &mut Facts) {
    let info = text(files, "/proc/meminfo").unwrap_or_default();
    facts.add("memory_bytes", bytes(&info, "MemTotal"));
    facts.add("swap_bytes", bytes(&info, "SwapTotal"));
    facts.add("huge_page_bytes", bytes(&info, "Hugepagesize"));
    facts.add("huge_pages", field(&info, "HugePages_Total"));
    let transparent = text(files, "/sys/kernel/mm/transparent_hugepage/enabled");
    let transparent = transparent.as_deref().and_then(chosen);
    facts.add("transparent_huge_pages", transparent);
    for name in [
        "dirty_background_bytes",
        "dirty_background_ratio",
        "dirty_bytes",
        "dirty_ratio",
        "overcommit_memory",
        "swappiness",
        "zone_reclaim_mode",
    ] {
        facts.add(
            format!("vm.{name}"),
            text(files, &format!("/proc/sys/vm/{name}")),
        );
    }
}

/// Bytes of memory that this process may use: that of the machine, or the lowest limit of its control
/// groups.
pub fn memory_bytes(files: &impl Files) -> Option<u64> {
    let machine = bytes(&text(files, "/proc/meminfo")?, "MemTotal")?;
    Some(memory_limit_bytes(files).map_or(machine, |limit| limit.min(machine)))
}

/// A size that the file has in kilobytes.
fn bytes(info: &str, name: &str) -> Option<u64> {
    let kilobytes: u64 = field(info, name)?.strip_suffix(" kB")?.parse().ok()?;
    kilobytes.checked_mul(1024)
}
