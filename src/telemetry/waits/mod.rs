//! Waits of the sessions that serve the clients, sampled at random times, and the blockers of those
//! that wait for locks.
//!
//! Sessions of this server are read from its shared memory, those of a target from its activity view,
//! see `target`. `samples` counts them, `names` has the names of waits, `blockers` finds out who holds a
//! lock, `stalls` that clients complete nothing and why. The times come from a random generator of their own, so that a script's random numbers are the
//! same with and without samples.

mod blockers;
mod names;
mod samples;
mod stalls;
mod target;

use super::notes::Notes;
use super::period::Period;
use super::target::TargetConnection;
use crate::backend::peer::Peer;
use crate::clock;
use crate::database::Database;
use crate::error::Result;
use crate::run::RunSpec;
use crate::shared::{Segment, reading};
use crate::state::session;
use blockers::Blockers;
use samples::{Samples, Seen};
use selfbench_model::{RunBlocker, RunStall, RunWait};
use selfbench_script::Rng;
use selfbench_stats::sampling::SampleTimes;
use stalls::StallWatch;
use target::TargetSessions;

/// Rows of an interval.
#[derive(Default)]
pub struct Rows {
    pub waits: Vec<RunWait>,
    pub blockers: Vec<RunBlocker>,
    pub stalls: Vec<RunStall>,
}

/// Name of [`Sampler`] in notes.
const WAITS: &str = "what sessions wait for";
/// Name of [`Blockers`] in notes.
const BLOCKERS: &str = "what blocks sessions";

/// The observer of waits and blockers.
pub struct Waits {
    random: Rng,
    /// Samples per second.
    rate: f64,
    /// `None` until the first interval begins.
    times: Option<SampleTimes>,
    /// `None` if it is not wanted or has failed.
    sampler: Option<Sampler>,
    /// `None` if they are not wanted or finding them has failed.
    blockers: Option<Blockers>,
    /// `None` until the first interval begins, or if it is not wanted.
    stalls: Option<StallWatch>,
}

/// The sessions and what they were seen to wait for.
struct Sampler {
    source: Source,
    samples: Samples,
}

/// Sessions of the clients, where they are.
enum Source {
    /// On this server, by client; `None` if the client has none or it has not been found.
    Here(Vec<Option<Peer>>),
    /// On a target.
    There(TargetSessions),
}

impl Waits {
    /// Prepares the samples of a run, whose database is this server's or the target's.
    pub fn new(segment: &Segment, spec: &RunSpec, database: &Database) -> Waits {
        let wanted = spec.run.observe && spec.run.wait_sample_rate > 0.0;
        Waits {
            random: Rng::from_seed(session::random().unwrap_or_default()),
            rate: match database {
                Database::Here => spec.run.wait_sample_rate,
                Database::There(_) => spec.run.wait_sample_rate.min(target::MAX_RATE),
            },
            times: None,
            sampler: wanted.then(|| Sampler::new(segment.layout().clients, database)),
            blockers: wanted.then(Blockers::new),
            stalls: None,
        }
    }

    /// Begins to sample at the clock reading `measure_ns`, with the first interval.
    pub fn begin(&mut self, segment: &Segment, spec: &RunSpec, measure_ns: u64) {
        if spec.run.observe {
            self.stalls = Some(StallWatch::new(segment, spec, measure_ns));
        }
        if self.sampler.is_some() {
            let unit = self.random.unit();
            self.times = Some(SampleTimes::new(measure_ns, self.rate, unit));
        }
    }

    /// The clock reading at which the next sample or look at stalls is due; `u64::MAX` if none is.
    pub fn due_ns(&self) -> u64 {
        let stalls = self.stalls.as_ref().map(StallWatch::due_ns);
        stalls.unwrap_or(u64::MAX).min(self.sample_due_ns())
    }

    fn sample_due_ns(&self) -> u64 {
        match (&self.sampler, &self.times) {
            (Some(_), Some(times)) => times.due_ns(),
            _ => u64::MAX,
        }
    }

    /// Takes what a target has answered and, if it is due, the next sample, for which a target is only
    /// asked.
    pub fn tick(
        &mut self,
        segment: &Segment,
        mut target: Option<&mut TargetConnection>,
        notes: &mut Notes,
        now_ns: u64,
    ) {
        if let Some(target) = &mut target {
            self.fetch(segment, target, notes);
        }
        if now_ns < self.due_ns() {
            return;
        }
        // All clients have ended, so their sessions wait for nothing that belongs to the run.
        let has_ended = reading::ended_ns(segment).is_some();
        if now_ns >= self.sample_due_ns() {
            if let Some(times) = &mut self.times {
                times.next(now_ns, self.random.unit());
            }
            match &mut target {
                _ if has_ended => {}
                None => self.sample_here(segment, notes, now_ns),
                Some(target) => self.ask(segment, target, notes, now_ns),
            }
        }
        if let Some(stalls) = &mut self.stalls {
            let samples = self.sampler.as_ref().map(|sampler| &sampler.samples);
            let silent_ns = target.map_or(0, |target| target.silent_ns(now_ns));
            stalls.look(segment, samples, self.blockers.as_mut(), silent_ns, now_ns);
        }
    }

    /// Rows of an interval that ends now.
    pub fn end_interval(
        &mut self,
        segment: &Segment,
        target: Option<&mut TargetConnection>,
        notes: &mut Notes,
        period: Period,
    ) -> Rows {
        if let Some(target) = target {
            self.fetch(segment, target, notes);
        }
        let samples = self.sampler.as_mut().map(|sampler| &mut sampler.samples);
        let blockers = self.blockers.as_mut();
        Rows {
            waits: samples.map_or_else(Vec::new, |samples| samples.end_interval(segment, period)),
            blockers: blockers.map_or_else(Vec::new, |blockers| blockers.end_interval(period)),
            stalls: self
                .stalls
                .as_mut()
                .map_or_else(Vec::new, StallWatch::take_rows),
        }
    }

    /// Notes if a target has not shown any session during the whole run; the stalls that have not been
    /// returned.
    pub fn conclude(self, segment: &Segment, notes: &mut Notes) -> Vec<RunStall> {
        let samples = self.sampler.as_ref().map(|sampler| &sampler.samples);
        let stalls = self
            .stalls
            .map(|stalls| stalls.conclude(segment, samples, notes, clock::now_ns()));
        if let Some(sampler) = self.sampler
            && let Source::There(sessions) = sampler.source
        {
            sessions.conclude(notes);
        }
        stalls.unwrap_or_default()
    }

    fn is_urgent(&self) -> bool {
        self.stalls.as_ref().is_some_and(StallWatch::is_urgent)
    }

    fn sample_here(&mut self, segment: &Segment, notes: &mut Notes, now_ns: u64) {
        let is_urgent = self.is_urgent();
        notes.guard(&mut self.sampler, WAITS, |sampler| {
            sampler.sample_here(segment)
        });
        if let Some(sampler) = &self.sampler {
            let blocked = sampler.samples.blocked();
            notes.guard(&mut self.blockers, BLOCKERS, |blockers| {
                blockers.look_if_due(segment, blocked, is_urgent, now_ns)
            });
        }
    }

    /// Asks a target for its sessions or, if some waited for locks in the last sample and it is time to,
    /// for what blocks them: the connection takes one query at a time.
    fn ask(
        &mut self,
        segment: &Segment,
        target: &mut TargetConnection,
        notes: &mut Notes,
        now_ns: u64,
    ) {
        let is_urgent = self.is_urgent();
        let Some(sampler) = &self.sampler else {
            return;
        };
        let blocked = sampler.samples.blocked();
        let asked = notes.guard(&mut self.blockers, BLOCKERS, |blockers| {
            blockers.ask_if_due(target, blocked, is_urgent, now_ns)
        });
        if asked != Some(true) {
            notes.guard(&mut self.sampler, WAITS, |sampler| {
                match &mut sampler.source {
                    Source::There(sessions) => sessions.ask(target, segment),
                    Source::Here(_) => Ok(()),
                }
            });
        }
    }

    /// Takes the answers of a target that have arrived.
    pub fn fetch(&mut self, segment: &Segment, target: &mut TargetConnection, notes: &mut Notes) {
        let hides = notes.guard(&mut self.sampler, WAITS, |sampler| {
            match &mut sampler.source {
                Source::There(sessions) => sessions.fetch(target, &mut sampler.samples),
                Source::Here(_) => Ok(false),
            }
        });
        if hides == Some(true) {
            notes.missing(target::WHAT, target::HIDDEN);
        }
        notes.guard(&mut self.blockers, BLOCKERS, |blockers| {
            blockers.fetch(segment, target)
        });
    }
}

impl Sampler {
    fn new(clients: usize, database: &Database) -> Sampler {
        Sampler {
            source: match database {
                Database::Here => Source::Here((0..clients).map(|_| None).collect()),
                Database::There(remote) => Source::There(TargetSessions::new(remote)),
            },
            samples: Samples::new(clients),
        }
    }

    /// Samples the sessions of this server. Only those that are new are searched for in the server's
    /// array of processes.
    fn sample_here(&mut self, segment: &Segment) -> Result<()> {
        let Source::Here(sessions) = &mut self.source else {
            return Ok(());
        };
        self.samples.begin_round();
        for (client, session) in sessions.iter_mut().enumerate() {
            let (slot, _) = segment.client(client);
            let pid = slot.backend_pid();
            if pid == 0 {
                continue;
            }
            if session.as_ref().is_none_or(|session| session.pid() != pid) {
                *session = Peer::find(pid);
            }
            let (mut execution, mut position) = (slot.execution(), slot.position());
            let mut activity = session.as_ref().and_then(Peer::activity);
            // Meanwhile, the client may have gone on to another command, which waits for something else.
            if slot.execution() != execution {
                (execution, position) = (slot.execution(), slot.position());
                activity = session.as_ref().and_then(Peer::activity);
            }
            match activity {
                Some(activity) => {
                    let seen = Seen {
                        wait: self.samples.names.of_number(activity.wait)?,
                        position,
                        query_id: activity.query_id,
                    };
                    self.samples.count(pid, seen, execution);
                }
                None => *session = None,
            }
        }
        Ok(())
    }
}
