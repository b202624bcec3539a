//! The stacks of a run with `profile`: reads what the sampled processes write, and counts equal
//! stacks. Functions are looked up here, mostly after the run.

use super::bystanders::Bystanders;
use super::notes::Notes;
use crate::backend::profiler;
use crate::error::Result;
use crate::run::{Mode, RunSpec};
use crate::shared::Segment;
use selfbench_model::{RunProfile, RunStack};
use selfbench_stacks::Folder;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// The time between two readings. What a process can write meanwhile has room.
const EVERY_NS: u64 = 200_000_000;

/// The kinds of sampled processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Process {
    SpiClient,
    Session,
    LibpqClient,
}

impl Process {
    /// Name as in `backend_type` of `pg_stat_activity`, without that of the extension.
    fn name(self) -> &'static str {
        match self {
            Process::SpiClient => "spi client",
            Process::Session => "client backend",
            Process::LibpqClient => "libpq client",
        }
    }
}

/// The stacks of one run so far.
pub struct Stacks<'r> {
    segment: &'r Segment,
    spec: &'r RunSpec,
    folder: Folder<Process>,
    /// Samples of each kind, and the number of them that are incomplete.
    counted: BTreeMap<Process, (u64, u64)>,
    bystanders: Bystanders,
    due_ns: u64,
    buffer: Vec<u8>,
}

impl<'r> Stacks<'r> {
    /// Creates the reader, before the start barrier opens.
    pub fn new(segment: &'r Segment, spec: &'r RunSpec) -> Stacks<'r> {
        Stacks {
            segment,
            spec,
            folder: Folder::new(profiler::vdso()),
            counted: BTreeMap::new(),
            bystanders: Bystanders::default(),
            due_ns: u64::MAX,
            buffer: Vec::new(),
        }
    }

    /// Starts with the measurement, at the clock reading `measure_ns`.
    pub fn begin(&mut self, measure_ns: u64) {
        self.due_ns = measure_ns;
    }

    /// The clock reading at which [`tick`](Self::tick) must be called.
    pub fn due_ns(&self) -> u64 {
        self.due_ns
    }

    /// Reads what has been sampled, if it is time.
    pub fn tick(&mut self, now_ns: u64) -> Result<()> {
        if now_ns < self.due_ns {
            return Ok(());
        }
        self.due_ns = now_ns + EVERY_NS;
        self.read();
        if self.spec.target.is_none() {
            self.bystanders.look(self.segment)?;
        }
        Ok(())
    }

    fn kind(&self, process: usize) -> Process {
        match self.spec.run.mode {
            Mode::Spi => Process::SpiClient,
            Mode::Libpq if process < self.segment.layout().workers => Process::LibpqClient,
            Mode::Libpq => Process::Session,
        }
    }

    fn read(&mut self) {
        let measure_ns = self.segment.header().measure_ns.load(Relaxed);
        for process in 0..self.segment.layout().sampled {
            let Some(area) = self.segment.stack_area(process) else {
                continue;
            };
            self.buffer.clear();
            area.read(&mut self.buffer);
            if self.buffer.is_empty() {
                continue;
            }
            let kind = self.kind(process);
            let (samples, incomplete) = self.folder.take(process, kind, &self.buffer, measure_ns);
            let counted = self.counted.entry(kind).or_default();
            counted.0 += samples;
            counted.1 += incomplete;
        }
    }

    /// The rows of the run, whose processes have ended, and notes of processes that were not sampled.
    pub fn conclude(mut self, notes: &mut Notes) -> (Vec<RunStack>, Vec<RunProfile>) {
        self.read();
        if self.spec.target.is_some() {
            notes.add(
                "the stacks of the target's sessions are not sampled: they are processes of \
                 another server"
                    .into(),
            );
        } else if self.spec.run.reconnect {
            notes.add("the stacks of sessions with one transaction each are not sampled".into());
        }
        let run_id = self.segment.header().run_id.load(Relaxed);
        let mut profiles: BTreeMap<Process, RunProfile> = BTreeMap::new();
        for process in 0..self.segment.layout().sampled {
            let Some(area) = self.segment.stack_area(process) else {
                continue;
            };
            let kind = self.kind(process);
            if let Some(reason) = area.failure() {
                notes.add(format!(
                    "the stacks of a {} are not sampled: {reason}",
                    kind.name()
                ));
            }
            if !area.is_used() {
                continue;
            }
            let (samples, incomplete) = self.counted.get(&kind).copied().unwrap_or_default();
            let profile = profiles.entry(kind).or_insert_with(|| RunProfile {
                run_id,
                process: kind.name().into(),
                sampled: true,
                cpu_ms: Some(cpu_ms(samples)),
                samples: Some(samples as i64),
                incomplete: Some(incomplete as i64),
                lost: Some(0),
                cost_ms: Some(0.0),
                ..RunProfile::default()
            });
            profile.processes += 1;
            // A sample that was lost stands for CPU time, too.
            *profile.cpu_ms.get_or_insert_default() += cpu_ms(area.lost());
            *profile.lost.get_or_insert_default() += area.lost() as i64;
            *profile.cost_ms.get_or_insert_default() += area.cost_ns() as f64 / 1e6;
        }
        let stacks = self.folder.finish().into_iter().map(|stack| RunStack {
            run_id,
            process: stack.kind.name().into(),
            stack: stack.stack,
            samples: stack.samples as i64,
        });
        let bystanders = self.bystanders.into_rows(run_id);
        let profiles = profiles.into_values().chain(bystanders);
        (stacks.collect(), profiles.collect())
    }
}

/// The CPU time that a number of samples stands for.
fn cpu_ms(samples: u64) -> f64 {
    (samples * profiler::PERIOD_NS) as f64 / 1e6
}
