//! CPU time and time on the run queue of the processes of a run, as the kernel counts them.
//!
//! The source is `/proc/PID/schedstat`: nanoseconds, of the process's first thread, which is the
//! whole process for all processes of a server. Where the kernel does not count the run queue, it is
//! `/proc/PID/stat`: ticks, usually of 10 ms, and the run queue is unknown. The kernel brings the CPU
//! time of a running process up to date when it is interrupted by its timer, so a reading may be a
//! tick of the kernel old (1 to 10 ms): a difference of two readings of a process is wrong by at most
//! that, however long the time between them.
//!
//! The coordinator reads all processes where the measured time begins and at the end of each
//! interval. Files stay open as far as the server allows it (about a third of
//! `max_files_per_process`), so that a reading is a single system call. When a client ends, its
//! process ends too: the client's worker leaves a last reading in shared memory, see
//! [`read`]. If a process is killed, the coordinator's last reading counts.

use crate::clock;
use crate::descriptors::KeptFile;
use crate::run::{Mode, RunSpec};
use crate::shared::Segment;
use rustix::param::clock_ticks_per_second;
use selfbench_stats::ProcessTimes;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// The times of a process since it began; `None` if it is gone, or if the system has no `/proc`.
pub fn read(pid: i32) -> Option<ProcessTimes> {
    [Source::Schedstat, Source::Stat]
        .into_iter()
        .find_map(|source| {
            let file = File::open(source.path(pid)).ok()?;
            source.read(&file)
        })
}

/// The times of this process. Its CPU time is up to date, unlike that in the file.
pub fn read_own() -> Option<ProcessTimes> {
    let times = read(std::process::id() as i32)?;
    Some(ProcessTimes {
        cpu_ns: times.cpu_ns.max(clock::cpu_ns()),
        ..times
    })
}

/// The time that this process has spent on the run queue, for frequent readings.
#[derive(Default)]
pub struct OwnRunQueue(Option<KeptFile>);

impl OwnRunQueue {
    /// Opens the file.
    pub fn open() -> OwnRunQueue {
        let pid = std::process::id() as i32;
        OwnRunQueue(KeptFile::open(&Source::Schedstat.path(pid)))
    }

    /// Nanoseconds since the process began; 0 if the kernel does not count them.
    pub fn ns(&self) -> u64 {
        let times = self
            .0
            .as_ref()
            .and_then(|kept| Source::Schedstat.read(kept.file()));
        times.and_then(|times| times.run_queue_ns).unwrap_or(0)
    }
}

/// A file of a process that has its times.
#[derive(Clone, Copy)]
enum Source {
    Schedstat,
    Stat,
}

impl Source {
    fn path(self, pid: i32) -> PathBuf {
        let name = match self {
            Source::Schedstat => "schedstat",
            Source::Stat => "stat",
        };
        format!("/proc/{pid}/{name}").into()
    }

    fn read(self, file: &File) -> Option<ProcessTimes> {
        // The times stand in the first 300 bytes: a program's name has at most 64.
        let mut bytes = [0; 512];
        let length = file.read_at(&mut bytes, 0).ok()?;
        let text = String::from_utf8_lossy(&bytes[..length]);
        match self {
            Source::Schedstat => ProcessTimes::from_schedstat(&text),
            Source::Stat => {
                ProcessTimes::from_stat(&text, 1_000_000_000 / clock_ticks_per_second().max(1))
            }
        }
    }
}

/// One process.
struct Process {
    pid: i32,
    /// Its file, if that is kept open.
    kept: Option<(Source, KeptFile)>,
    /// Its times where the measured time begins.
    begin: Option<ProcessTimes>,
    /// Its times as last read.
    last: Option<ProcessTimes>,
}

impl Process {
    fn open(pid: i32) -> Process {
        let kept = [Source::Schedstat, Source::Stat]
            .into_iter()
            .find_map(|source| {
                let kept = KeptFile::open(&source.path(pid))?;
                source.read(kept.file()).is_some().then_some((source, kept))
            });
        Process {
            pid,
            kept,
            begin: None,
            last: None,
        }
    }

    fn read(&self) -> Option<ProcessTimes> {
        match &self.kept {
            Some((source, kept)) => source.read(kept.file()),
            None => read(self.pid),
        }
    }

    fn begin(&mut self) {
        self.begin = self.read();
        self.last = self.begin;
    }

    /// Reads it again. `ended` is its last reading, if it has left one.
    fn update(&mut self, ended: Option<ProcessTimes>) {
        if ended.is_some() {
            self.kept = None;
        }
        // The last reading of a process that is gone remains.
        if let Some(now) = ended.or_else(|| self.read()) {
            self.last = Some(now);
        }
    }

    /// Times used in the measured time.
    fn used(&self) -> Option<ProcessTimes> {
        Some(self.last?.minus(&self.begin?))
    }
}

/// Times that processes have used since the measured time began. `None` if there are no such
/// processes, or if nothing is known of them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// The processes that execute the clients' statements: the clients of mode spi, the sessions of
    /// mode libpq. Unknown if they run on another server, or if each transaction has its own.
    pub sessions: Option<ProcessTimes>,
    /// The client workers of mode libpq.
    pub workers: Option<ProcessTimes>,
    /// The coordinator.
    pub coordinator: Option<ProcessTimes>,
}

/// The processes of a run.
pub struct Processes {
    /// Sessions whose processes are known, with their clients.
    sessions: Vec<(usize, Process)>,
    /// Client workers.
    workers: Vec<Process>,
    coordinator: Process,
}

impl Processes {
    /// Finds the processes of a run whose clients wait at the start barrier, and reads them.
    pub fn open(segment: &Segment, spec: &RunSpec) -> Processes {
        let coordinator = Process::open(std::process::id() as i32);
        let layout = segment.layout();
        let workers = match spec.run.mode {
            Mode::Spi => Vec::new(),
            Mode::Libpq => (0..layout.workers)
                .map(|worker| Process::open(segment.worker(worker).process.pid()))
                .collect(),
        };
        let serves_us = spec.target.is_none() && !spec.run.reconnect;
        let sessions = (0..layout.clients)
            .filter(|_| serves_us || spec.run.mode == Mode::Spi)
            .map(|client| (client, segment.client(client).0.backend_pid()))
            .filter(|(_, pid)| *pid != 0)
            .map(|(client, pid)| (client, Process::open(pid)))
            .collect();
        let mut processes = Processes {
            sessions,
            workers,
            coordinator,
        };
        processes.begin();
        processes
    }

    /// Reads where the measured time begins, if that is later than [`open`](Self::open).
    pub fn begin(&mut self) {
        let sessions = self.sessions.iter_mut().map(|(_, process)| process);
        sessions.chain(&mut self.workers).for_each(Process::begin);
        self.coordinator.begin();
    }

    /// Reads all of them.
    pub fn update(&mut self, segment: &Segment) {
        for (client, process) in &mut self.sessions {
            process.update(segment.client(*client).0.times_at_end());
        }
        for (worker, process) in self.workers.iter_mut().enumerate() {
            process.update(segment.worker(worker).account.times_at_end());
        }
        self.coordinator.update(None);
    }

    /// Times of each group from the begin of the measured time until the last reading.
    pub fn used(&self) -> Used {
        Used {
            sessions: sum(self.sessions.iter().map(|(_, process)| process)),
            workers: sum(&self.workers),
            coordinator: self.coordinator.used(),
        }
    }
}

/// Sum of the times of these processes; `None` if that of one is not known.
fn sum<'p>(processes: impl IntoIterator<Item = &'p Process>) -> Option<ProcessTimes> {
    let used = processes.into_iter().map(Process::used);
    used.reduce(|sum, next| {
        let mut sum = sum?;
        sum.merge(&next?);
        Some(sum)
    })
    .flatten()
}
