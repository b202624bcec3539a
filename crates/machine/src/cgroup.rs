//! Limits of the control groups of this process, of version 1 and 2.

use crate::Facts;
use crate::files::{Files, text};
use crate::mount::{Mount, mounts};
use std::path::{Path, PathBuf};

/// Limits of memory from this one on, in bytes, mean none: version 1 shows the largest multiple of the
/// page size below 2^63 then.
const UNLIMITED: u64 = 1 << 62;

/// Adds the version of the control groups, and their limits.
pub(crate) fn add(files: &impl Files, facts: &mut Facts) {
    let groups = text(files, "/proc/self/cgroup").unwrap_or_default();
    // Beside controllers of version 1, a mount of version 2 has no limits.
    let lowest = directories(files, "cpu").map(|(version, _)| version).min();
    let version = if lowest == Some(2) { "2" } else { "1" };
    facts.add("cgroup_version", (!groups.is_empty()).then_some(version));
    facts.add("cgroup_cpu_limit", cpu_limit(files));
    facts.add("cgroup_memory_limit_bytes", memory_limit_bytes(files));
}

/// The lowest limit of CPUs, as a number such as 1.5, of the control groups of this process; `None`
/// without limit.
pub fn cpu_limit(files: &impl Files) -> Option<f64> {
    directories(files, "cpu")
        .filter_map(|(version, group)| {
            let number = |name: &str| files.text(&group.join(name))?.parse::<f64>().ok();
            let (quota, period) = if version == 2 {
                let limit = files.text(&group.join("cpu.max"))?;
                let (quota, period) = limit.split_once(' ')?;
                // Without limit, the quota is "max" here and -1 in version 1.
                (quota.parse().ok()?, period.parse().ok()?)
            } else {
                (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
            };
            (quota > 0.0 && period > 0.0).then_some(quota / period)
        })
        .min_by(f64::total_cmp)
}

/// The lowest limit of memory, in bytes, of the control groups of this process; `None` without limit.
pub fn memory_limit_bytes(files: &impl Files) -> Option<u64> {
    directories(files, "memory")
        .filter_map(|(version, group)| {
            let name = if version == 2 {
                "memory.max"
            } else {
                "memory.limit_in_bytes"
            };
            // Without limit, it is "max" in version 2.
            files.text(&group.join(name))?.parse().ok()
        })
        .filter(|limit| *limit < UNLIMITED)
        .min()
}

/// Directories in which a controller's limits on this process are: of its control group and of all
/// groups around that, as far as they are mounted. With the version of each, 1 or 2.
fn directories(files: &impl Files, controller: &str) -> impl Iterator<Item = (i32, PathBuf)> {
    let groups = text(files, "/proc/self/cgroup").unwrap_or_default();
    let mounts = mounts(files);
    let mut found = Vec::new();
    for group in groups.lines() {
        let mut parts = group.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let mut names = controllers.split(',');
        let (version, mount) = if controllers.is_empty() {
            (2, mounts.iter().find(|mount| mount.kind == "cgroup2"))
        } else if names.any(|name| name == controller) {
            (1, mounts.iter().find(|mount| controls(mount, controller)))
        } else {
            continue;
        };
        let Some(mount) = mount else { continue };
        // The mount may show only a part of the hierarchy. If the group is outside of it, as in a
        // container, the mount's root is used.
        let inside = Path::new(path).strip_prefix(&mount.root);
        let inside = inside.unwrap_or(Path::new("")).to_owned();
        let inner = mount.point.join(inside);
        found.extend(
            inner
                .ancestors()
                .take_while(|directory| directory.starts_with(&mount.point))
                .map(|directory| (version, directory.to_owned())),
        );
    }
    found.into_iter()
}

/// Whether a mount is the hierarchy of a controller in version 1.
fn controls(mount: &Mount, controller: &str) -> bool {
    mount.kind == "cgroup" && mount.options.split(',').any(|option| option == controller)
}
