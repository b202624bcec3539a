//! Facts found on machines that the tests describe.

use selfbench_machine::{Fact, Files, cpu_limit, facts, memory_bytes, memory_limit_bytes, storage};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A machine: its files, and what its symbolic links point to.
#[derive(Default)]
struct Machine {
    files: BTreeMap<PathBuf, String>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Machine {
    fn with(mut self, path: &str, text: &str) -> Machine {
        self.files.insert(path.into(), text.into());
        self
    }

    fn linked(mut self, path: &str, to: &str) -> Machine {
        self.links.insert(path.into(), to.into());
        self
    }
}

impl Files for Machine {
    fn text(&self, path: &Path) -> Option<String> {
        self.files.get(path).map(|text| text.trim().to_owned())
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        if let Some(to) = self.links.get(path) {
            return Some(to.clone());
        }
        let exists = self.files.keys().any(|file| file.starts_with(path));
        exists.then(|| path.to_owned())
    }
}

#[track_caller]
fn assert_facts(found: &[Fact], expected: &[(&str, &str)]) {
    for (name, value) in expected {
        let found = found.iter().find(|(found, _)| found == name);
        assert_eq!(
            found.map(|(_, value)| value.as_str()),
            Some(*value),
            "{name}"
        );
    }
}

fn names(facts: &[Fact]) -> Vec<&str> {
    facts.iter().map(|(name, _)| name.as_str()).collect()
}

/// Two sockets of two cores with two threads each.
fn two_sockets() -> String {
    (0..8)
        .map(|cpu| {
            format!(
                "processor\t: {cpu}\nmodel name\t: Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz\n\
                 cache size\t: 22528 KB\nphysical id\t: {}\ncore id\t\t: {}\n\
                 flags\t\t: fpu vme sse2\n\n",
                cpu / 4,
                cpu / 2 % 2,
            )
        })
        .collect()
}

#[test]
fn a_server_of_one_owner() {
    let machine = Machine::default()
        .with("/proc/cpuinfo", &two_sockets())
        .with("/proc/sys/kernel/osrelease", "6.1.0-18-amd64\n")
        .with("/proc/sys/kernel/arch", "x86_64\n")
        .with(
            "/etc/os-release",
            "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n",
        )
        .with("/sys/class/dmi/id/sys_vendor", "Dell Inc.\n")
        .with("/sys/class/dmi/id/product_name", "PowerEdge R640\n")
        .with(
            "/sys/devices/system/clocksource/clocksource0/current_clocksource",
            "tsc\n",
        )
        .with("/sys/devices/system/cpu/smt/active", "1\n")
        .with(
            "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor",
            "powersave\n",
        )
        .with(
            "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
            "3700000\n",
        )
        .with("/sys/devices/system/node/online", "0-1\n")
        .with(
            "/proc/meminfo",
            "MemTotal:       65806524 kB\nMemFree:         1 kB\nSwapTotal:       0 kB\n\
             HugePages_Total:    4096\nHugepagesize:       2048 kB\n",
        )
        .with(
            "/sys/kernel/mm/transparent_hugepage/enabled",
            "always [madvise] never\n",
        )
        .with("/proc/sys/vm/dirty_ratio", "20\n");
    assert_facts(
        &facts(&machine),
        &[
            ("kernel", "6.1.0-18-amd64"),
            ("architecture", "x86_64"),
            ("operating_system", "Debian GNU/Linux 12 (bookworm)"),
            ("hardware", "Dell Inc. PowerEdge R640"),
            ("virtualization", "none"),
            ("clock_source", "tsc"),
            ("cpu_model", "Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz"),
            ("cpus", "8"),
            ("cpu_cores", "4"),
            ("cpu_sockets", "2"),
            ("cpu_multithreading", "on"),
            ("cpu_governor", "powersave"),
            ("cpu_max_mhz", "3700"),
            ("numa_nodes", "2"),
            ("memory_bytes", "67385880576"),
            ("swap_bytes", "0"),
            ("huge_pages", "4096"),
            ("huge_page_bytes", "2097152"),
            ("transparent_huge_pages", "madvise"),
            ("vm.dirty_ratio", "20"),
        ],
    );
}

#[test]
fn guests() {
    let guest = |vendor: &str| {
        let machine = Machine::default()
            .with(
                "/proc/cpuinfo",
                "processor: 0\nflags : fpu hypervisor sse\n",
            )
            .with("/sys/class/dmi/id/sys_vendor", vendor);
        let found = facts(&machine);
        let found = found.into_iter().find(|(name, _)| name == "virtualization");
        found.map(|(_, value)| value).unwrap_or_default()
    };
    assert_eq!(guest("Amazon EC2"), "kvm");
    assert_eq!(guest("VMware, Inc."), "vmware");
    assert_eq!(guest("Microsoft Corporation"), "hyper-v");
    assert_eq!(guest("somebody"), "yes");
    let xen = Machine::default().with("/sys/hypervisor/type", "xen\n");
    assert_facts(&facts(&xen), &[("virtualization", "xen")]);
}

#[test]
fn arm_has_numbers_instead_of_names() {
    let machine = Machine::default().with(
        "/proc/cpuinfo",
        "processor\t: 0\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n\n\
         processor\t: 1\nBogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0c\n",
    );
    let found = facts(&machine);
    assert_facts(
        &found,
        &[("cpu_model", "implementer 0x41, part 0xd0c"), ("cpus", "2")],
    );
    for unknown in ["cpu_cores", "cpu_sockets", "virtualization", "memory_bytes"] {
        assert!(!names(&found).contains(&unknown), "{unknown}");
    }
}

#[test]
fn a_machine_without_proc_has_no_facts() {
    assert_eq!(names(&facts(&Machine::default())), ["architecture"]);
    assert_eq!(memory_bytes(&Machine::default()), None);
    assert_eq!(storage(&Machine::default(), "data", Path::new("/data")), []);
}

const CGROUP2: &str = "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";

#[test]
fn limits_of_a_container_of_version_2() {
    let machine = Machine::default()
        .with("/proc/meminfo", "MemTotal: 1048576 kB\n")
        .with("/proc/self/mountinfo", CGROUP2)
        .with("/proc/self/cgroup", "0::/system.slice/postgresql.service\n")
        .with(
            "/sys/fs/cgroup/system.slice/postgresql.service/cpu.max",
            "max 100000\n",
        )
        .with(
            "/sys/fs/cgroup/system.slice/postgresql.service/memory.max",
            "max\n",
        )
        .with("/sys/fs/cgroup/system.slice/cpu.max", "150000 100000\n")
        .with("/sys/fs/cgroup/system.slice/memory.max", "536870912\n");
    assert_eq!(cpu_limit(&machine), Some(1.5));
    assert_eq!(memory_limit_bytes(&machine), Some(536_870_912));
    assert_eq!(memory_bytes(&machine), Some(536_870_912));
    assert_facts(
        &facts(&machine),
        &[
            ("cgroup_version", "2"),
            ("cgroup_cpu_limit", "1.5"),
            ("cgroup_memory_limit_bytes", "536870912"),
        ],
    );
}

#[test]
fn limits_of_a_container_of_version_1() {
    let machine = Machine::default()
        .with("/proc/meminfo", "MemTotal: 1048576 kB\n")
        .with(
            "/proc/self/mountinfo",
            "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n\
             35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
        )
        .with(
            "/proc/self/cgroup",
            "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n",
        )
        .with("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n")
        .with("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n")
        .with(
            "/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes",
            "268435456\n",
        )
        .with(
            "/sys/fs/cgroup/memory/memory.limit_in_bytes",
            "9223372036854771712\n",
        );
    assert_eq!(cpu_limit(&machine), Some(0.5));
    assert_eq!(memory_limit_bytes(&machine), Some(268_435_456));
    assert_facts(&facts(&machine), &[("cgroup_version", "1")]);
}

#[test]
fn controllers_of_version_1_beside_a_mount_of_version_2() {
    let machine = Machine::default()
        .with(
            "/proc/self/mountinfo",
            "31 30 0:28 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n\
             32 30 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
        )
        .with(
            "/proc/self/cgroup",
            "2:cpu,cpuacct:/system.slice\n1:name=systemd:/system.slice\n0::/system.slice\n",
        )
        .with("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "50000\n")
        .with("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    assert_facts(
        &facts(&machine),
        &[("cgroup_version", "1"), ("cgroup_cpu_limit", "0.5")],
    );
}

#[test]
fn no_limits() {
    let machine = Machine::default()
        .with("/proc/meminfo", "MemTotal: 1048576 kB\n")
        .with("/proc/self/mountinfo", CGROUP2)
        .with("/proc/self/cgroup", "0::/user.slice\n")
        .with("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n")
        .with("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    assert_eq!(cpu_limit(&machine), None);
    assert_eq!(memory_limit_bytes(&machine), None);
    assert_eq!(memory_bytes(&machine), Some(1 << 30));
    assert!(!names(&facts(&machine)).contains(&"cgroup_cpu_limit"));
    // Version 1 writes -1.
    let old = Machine::default()
        .with(
            "/proc/self/mountinfo",
            "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        )
        .with("/proc/self/cgroup", "1:cpu:/\n")
        .with("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .with("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_eq!(cpu_limit(&old), None);
}

#[test]
fn the_storage_of_a_directory() {
    let disk = "/sys/devices/pci0000:00/nvme0n1";
    let machine = Machine::default()
        .with(
            "/proc/self/mountinfo",
            "27 1 259:1 / / rw,relatime - ext4 /dev/nvme0n1p1 rw,errors=remount-ro\n\
             28 27 0:21 / /proc rw - proc proc rw\n\
             29 27 254:3 / /srv/my\\040data rw,noatime - xfs /dev/mapper/vg-pg rw,attr2,noquota\n\
             30 27 0:50 / /mnt/nfs rw - nfs4 server.example:/export rw,vers=4.2,addr=192.0.2.1\n",
        )
        .linked("/var/lib/pg", "/srv/my data/pg")
        .linked("/sys/dev/block/254:3", "/sys/devices/virtual/block/dm-3")
        .with("/sys/devices/virtual/block/dm-3/size", "2097152\n")
        .with("/sys/devices/virtual/block/dm-3/queue/rotational", "1\n")
        .with("/sys/devices/virtual/block/dm-3/queue/scheduler", "none\n")
        .linked("/sys/dev/block/259:1", &format!("{disk}/nvme0n1p1"))
        .with(&format!("{disk}/nvme0n1p1/partition"), "1\n")
        .with(&format!("{disk}/nvme0n1p1/size"), "1000\n")
        .with(
            &format!("{disk}/device/model"),
            "Samsung SSD 990 PRO 1TB    \n",
        )
        .with(&format!("{disk}/queue/rotational"), "0\n")
        .with(
            &format!("{disk}/queue/scheduler"),
            "[none] mq-deadline kyber\n",
        )
        .with(&format!("{disk}/queue/write_cache"), "write back\n")
        .linked("/mnt/nfs/wal", "/mnt/nfs/wal")
        .linked("/elsewhere", "/elsewhere");
    let of = |directory: &str| storage(&machine, "data", Path::new(directory));

    assert_eq!(
        of("/var/lib/pg"),
        [
            ("data_file_system", "xfs"),
            ("data_mount_options", "noatime,attr2,noquota"),
            ("data_device", "/dev/mapper/vg-pg"),
            ("data_device_bytes", "1073741824"),
            ("data_device_rotational", "yes"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert_facts(
        &of("/elsewhere"),
        &[
            ("data_file_system", "ext4"),
            ("data_device", "/dev/nvme0n1p1"),
            ("data_device_bytes", "512000"),
            ("data_device_model", "Samsung SSD 990 PRO 1TB"),
            ("data_device_rotational", "no"),
            ("data_device_scheduler", "none"),
            ("data_device_write_cache", "write back"),
        ],
    );
    let remote = of("/mnt/nfs/wal");
    assert_eq!(
        remote,
        [
            ("data_file_system", "nfs4"),
            ("data_mount_options", "vers=4.2")
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
    );
    assert!(of("/missing").is_empty());
}

#[test]
fn this_machine_has_facts() {
    // Only that it does not fail: not every system has them.
    let files = selfbench_machine::System;
    assert!(!facts(&files).is_empty());
    storage(&files, "data", &std::env::temp_dir());
}
