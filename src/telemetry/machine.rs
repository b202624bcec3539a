//! The counters of this server's machine: CPUs, devices, pressure. What the operating system does not
//! have is unknown.

use super::notes::Notes;
use procfs::{CpuPressure, Current, CurrentSI, IoPressure, KernelStats, MemoryPressure};
use selfbench_model::ServerCounts;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Bytes of a sector, the unit of the kernel's counters; the device may have another one.
const SECTOR_BYTES: u64 = 512;

/// Readable counters of the machine.
pub struct Machine {
    cpu: bool,
    pressure: bool,
    /// The devices that hold the data directory, WAL and tablespaces: major and minor numbers.
    devices: Vec<(i32, i32)>,
}

impl Machine {
    /// Finds out what can be read. Processes of the server run in the data directory.
    pub fn new(notes: &mut Notes) -> Machine {
        let mut machine = Machine {
            cpu: true,
            pressure: true,
            devices: devices_of(Path::new(".")),
        };
        let mut counts = ServerCounts::default();
        machine.read(&mut counts);
        if counts.cpu_user_ms.is_none() {
            machine.cpu = false;
            notes.missing("CPU time of the machine", "/proc/stat cannot be read");
        }
        if counts.psi_cpu_some_ms.is_none() {
            machine.pressure = false;
            notes.missing("pressure", "the kernel has no /proc/pressure");
        }
        if counts.device_reads.is_none() {
            machine.devices.clear();
            notes.missing(
                "device reads and writes",
                "/proc/diskstats does not have the device of the data directory",
            );
        }
        machine
    }

    /// Reads the totals.
    pub fn read(&self, counts: &mut ServerCounts) {
        if self.cpu {
            read_cpu(counts);
        }
        if !self.devices.is_empty() {
            self.read_devices(counts);
        }
        if self.pressure {
            read_pressure(counts);
        }
    }

    fn read_devices(&self, counts: &mut ServerCounts) {
        let Ok(all) = procfs::diskstats() else { return };
        let ours = all
            .iter()
            .filter(|device| self.devices.contains(&(device.major, device.minor)));
        let mut found = false;
        let [mut reads, mut sectors_read, mut writes, mut sectors_written] = [0; 4];
        for device in ours {
            found = true;
            reads += device.reads;
            sectors_read += device.sectors_read;
            writes += device.writes;
            sectors_written += device.sectors_written;
        }
        if found {
            counts.device_reads = Some(reads as i64);
            counts.device_read_bytes = Some((sectors_read * SECTOR_BYTES) as i64);
            counts.device_writes = Some(writes as i64);
            counts.device_write_bytes = Some((sectors_written * SECTOR_BYTES) as i64);
        }
    }
}

/// The devices of a data directory, of its WAL and its tablespaces, each once.
fn devices_of(data: &Path) -> Vec<(i32, i32)> {
    let tablespaces = std::fs::read_dir(data.join("pg_tblspc"))
        .into_iter()
        .flatten();
    let tablespaces = tablespaces.flatten().map(|entry| entry.path());
    let mut devices: Vec<_> = [data.to_owned(), data.join("pg_wal")]
        .into_iter()
        .chain(tablespaces)
        .filter_map(|path| {
            let device = std::fs::metadata(path).ok()?.dev();
            let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
            Some((i32::try_from(major).ok()?, i32::try_from(minor).ok()?))
        })
        .collect();
    devices.sort_unstable();
    devices.dedup();
    devices
}

fn read_cpu(counts: &mut ServerCounts) {
    let Ok(stat) = KernelStats::current() else {
        return;
    };
    let cpu = stat.total;
    let ms = |ms: u64| Some(ms as i64);
    let interrupts = cpu.irq_ms().unwrap_or(0) + cpu.softirq_ms().unwrap_or(0);
    counts.cpu_user_ms = ms(cpu.user_ms() + cpu.nice_ms());
    counts.cpu_system_ms = ms(cpu.system_ms() + interrupts);
    counts.cpu_idle_ms = ms(cpu.idle_ms());
    counts.cpu_iowait_ms = cpu.iowait_ms().and_then(ms);
    counts.cpu_steal_ms = cpu.steal_ms().and_then(ms);
}

fn read_pressure(counts: &mut ServerCounts) {
    let ms = |us: u64| Some((us / 1000) as i64);
    if let Ok(cpu) = CpuPressure::current() {
        counts.psi_cpu_some_ms = ms(cpu.some.total);
    }
    if let Ok(io) = IoPressure::current() {
        counts.psi_io_some_ms = ms(io.some.total);
        counts.psi_io_full_ms = ms(io.full.total);
    }
    if let Ok(memory) = MemoryPressure::current() {
        counts.psi_memory_some_ms = ms(memory.some.total);
        counts.psi_memory_full_ms = ms(memory.full.total);
    }
}
