//! Stalls while they happen: compares the clients' counters with what was usual, and keeps what stalled
//! sessions wait for and who holds it. The clients do nothing for it.

use super::blockers::{Blockers, Holder};
use super::names::WaitNo;
use super::samples::Samples;
use crate::run::RunSpec;
use crate::shared::{ClientState, Header, Segment, Stop, reading};
use crate::telemetry::notes::Notes;
use selfbench_model::RunStall;
use selfbench_report::counted;
use selfbench_script::Action;
use selfbench_stats::stalls::{Seen, Stall, Stalls};
use selfbench_stats::{Tally, sampling::Counts};
use std::sync::atomic::Ordering::Relaxed;

/// Looks come with samples of waits, where these are frequent enough, and else alone.
const LEAST_NS: u64 = 20_000_000;
const MOST_NS: u64 = 100_000_000;
/// A target that has not answered for so long does not answer.
const SILENT_NS: u64 = 300_000_000;
/// Maximum number of rows of a run.
const MAX_ROWS: i32 = 1000;
/// Maximum number of waits that are told apart in a stall.
const MAX_WAITS: usize = 50;
/// Class of the wait for a target that does not answer.
const NO_ANSWER: &str = "no answer";

/// Cause of a stall, as far as it is known while the stall goes on.
struct Cause {
    waits: Counts<Option<WaitNo>>,
    holder: Option<Holder>,
}

impl Cause {
    fn new() -> Cause {
        Cause {
            waits: Counts::new(MAX_WAITS),
            holder: None,
        }
    }

    /// Begins with the next stall.
    fn clear(&mut self) {
        self.waits.drain().for_each(drop);
        self.holder = None;
    }

    /// Another session explains more than a client of the run.
    fn is_held_by(&mut self, holder: &Holder) {
        if self.holder.as_ref().is_none_or(Holder::is_own_client) {
            self.holder = Some(holder.clone());
        }
    }
}

/// Watches the clients of a run.
pub struct StallWatch {
    stalls: Stalls,
    /// Causes of the stall of all clients, and of that of some.
    causes: [Cause; 2],
    /// For each script and command whether it sleeps on purpose.
    sleeps: Vec<Vec<bool>>,
    clients: Vec<Seen>,
    /// The tallies of a client, and of all by script.
    tallies: Vec<Tally>,
    sums: Vec<Tally>,
    rows: Vec<RunStall>,
    /// Begins and ends of the stalls of all clients so far, in seconds.
    of_all: Vec<(f64, f64)>,
    stored: i32,
    /// Stalls that there is no room for.
    others: u32,
}

impl StallWatch {
    /// Watches from the clock reading `measure_ns` on.
    pub fn new(segment: &Segment, spec: &RunSpec, measure_ns: u64) -> StallWatch {
        let layout = segment.layout();
        let sleeps = |action: &Action| {
            matches!(
                action,
                Action::Sleep(_) | Action::Shell(_) | Action::SetShell(_)
            )
        };
        let scripts = spec.workload().map(|workload| workload.scripts);
        StallWatch {
            stalls: Stalls::new(layout.clients, measure_ns),
            causes: [Cause::new(), Cause::new()],
            // They have been parsed before.
            sleeps: scripts
                .unwrap_or_default()
                .iter()
                .map(|script| script.commands.iter().map(|c| sleeps(&c.action)).collect())
                .collect(),
            clients: vec![Seen::default(); layout.clients],
            tallies: vec![Tally::default(); layout.scripts],
            sums: vec![Tally::default(); layout.scripts],
            rows: Vec::new(),
            of_all: Vec::new(),
            stored: 0,
            others: 0,
        }
    }

    /// The clock reading at which to look, if no samples are taken before.
    pub fn due_ns(&self) -> u64 {
        self.stalls.looked_ns() + MOST_NS
    }

    /// Whether clients are stalled, or may be: then blockers are looked for more often.
    pub fn is_urgent(&self) -> bool {
        self.stalls.all_are_slow() || self.stalls.some_are_stalled()
    }

    /// Looks, unless it is too early. `silent_ns` is how long a target has not answered.
    pub fn look(
        &mut self,
        segment: &Segment,
        samples: Option<&Samples>,
        blockers: Option<&mut Blockers>,
        silent_ns: u64,
        now_ns: u64,
    ) {
        if now_ns < self.stalls.looked_ns() + LEAST_NS {
            return;
        }
        self.read_clients(segment);
        let header = segment.header();
        let may_begin = header.stop() == Stop::No && now_ns < header.deadline_ns.load(Relaxed);
        let ended = self.stalls.look(&self.clients, now_ns, may_begin);
        self.add(segment, samples, ended);
        let holder = blockers.and_then(Blockers::take_holder);
        let goes_on = [self.stalls.all_are_slow(), self.stalls.some_are_stalled()];
        for (i, goes_on) in goes_on.into_iter().enumerate() {
            let cause = &mut self.causes[i];
            if !goes_on {
                cause.clear();
                continue;
            }
            holder.iter().for_each(|holder| cause.is_held_by(holder));
            for (client, seen) in self.clients.iter().enumerate() {
                let is_of_it = match i {
                    0 => seen.is_busy,
                    _ => self.stalls.is_stalled(client),
                };
                if is_of_it {
                    let pid = segment.client(client).0.backend_pid();
                    let wait = samples.and_then(|samples| samples.last_wait(pid));
                    match silent_ns > SILENT_NS {
                        true => cause.waits.add(None, 1),
                        false => wait.is_some_and(|wait| cause.waits.add(Some(wait), 1)),
                    };
                }
            }
        }
    }

    fn read_clients(&mut self, segment: &Segment) {
        let usual_s = |tally: &Tally| {
            let ended = tally.counts.transactions + tally.counts.failed();
            (ended > 0).then(|| tally.busy_ns() / ended as f64 / 1e9)
        };
        let usual: Vec<Option<f64>> = self.sums.iter().map(usual_s).collect();
        // The first execution of a script beside others may take longer than theirs.
        let is_first = usual.iter().all(Option::is_none);
        self.sums.fill(Tally::default());
        for (client, seen) in self.clients.iter_mut().enumerate() {
            reading::read_client(segment, client, &mut self.tallies);
            let (slot, _) = segment.client(client);
            let position = slot.position();
            let is_active = slot.state() == ClientState::Active;
            let sleeps = position.is_none_or(|(script, command)| {
                let commands = self.sleeps.get(script as usize);
                commands.and_then(|c| c.get(command as usize)) == Some(&true)
            });
            let ended = self
                .tallies
                .iter()
                .map(|tally| tally.counts.transactions + tally.counts.failed());
            let usual_s = position.and_then(|(script, _)| *usual.get(script as usize)?);
            *seen = Seen {
                completed: ended.sum(),
                is_active,
                is_busy: is_active && !sleeps && (usual_s.is_some() || is_first),
                usual_s: usual_s.unwrap_or(0.0),
            };
            for (sum, one) in self.sums.iter_mut().zip(&self.tallies) {
                sum.merge(one);
            }
        }
    }

    /// Makes rows of stalls that have ended: of all clients, and of some, unless these were mostly
    /// part of it.
    fn add(&mut self, segment: &Segment, samples: Option<&Samples>, ended: [Option<Stall>; 2]) {
        let header = segment.header();
        for (i, stall) in ended.into_iter().enumerate() {
            let Some(stall) = stall else { continue };
            let mut row = row(header, &stall);
            if i == 1 && self.is_covered(&row) {
                continue;
            }
            if self.stored == MAX_ROWS {
                self.others += 1;
                continue;
            }
            if i == 0 {
                self.of_all.push((row.begin_s, row.begin_s + row.length_s));
            }
            row.stall_no = self.stored;
            self.stored += 1;
            self.causes[i].tell(samples, &mut row);
            self.rows.push(row);
        }
    }

    /// Whether all clients were stalled in most of that time: by a stall that has ended or goes on.
    fn is_covered(&self, row: &RunStall) -> bool {
        let ends_s = row.begin_s + row.length_s;
        let shared =
            |(begin_s, end_s): &(f64, f64)| (end_s.min(ends_s) - begin_s.max(row.begin_s)).max(0.0);
        let shared_s: f64 = self.of_all.iter().map(shared).sum();
        self.stalls.all_are_stalled() || shared_s > 0.5 * row.length_s
    }

    /// The rows of stalls that have ended since the last call.
    pub fn take_rows(&mut self) -> Vec<RunStall> {
        std::mem::take(&mut self.rows)
    }

    /// The last rows, when all clients have ended or the run has.
    pub fn conclude(
        mut self,
        segment: &Segment,
        samples: Option<&Samples>,
        notes: &mut Notes,
        now_ns: u64,
    ) -> Vec<RunStall> {
        let ended = self
            .stalls
            .end(reading::ended_ns(segment).unwrap_or(now_ns));
        self.add(segment, samples, ended);
        if self.others > 0 {
            let others = counted(self.others, "stall");
            notes.add(format!("not in run_stalls: {others} beyond {MAX_ROWS}"));
        }
        self.rows
    }
}

impl Cause {
    /// Tells it in a row.
    fn tell(&mut self, samples: Option<&Samples>, row: &mut RunStall) {
        let most = self.waits.drain().max_by_key(|(_, count)| *count);
        match (most, samples) {
            (Some((Some(wait), _)), Some(samples)) => {
                let (class, event) = samples.names.get(wait);
                row.class = Some(class.into());
                row.event = event.map(str::to_owned);
            }
            (Some((None, _)), _) => row.class = Some(NO_ANSWER.into()),
            _ => {}
        }
        // What blocked a few of many clients is no cause if most waited for something else.
        if row.class.as_deref() == Some("Lock")
            && let Some(holder) = self.holder.take()
        {
            holder.tell(row);
        }
    }
}

fn row(header: &Header, stall: &Stall) -> RunStall {
    let start_ns = header.start_ns.load(Relaxed);
    let seconds = |ns: u64| ns as f64 / 1e9;
    RunStall {
        run_id: header.run_id.load(Relaxed),
        begin_s: seconds(stall.begin_ns.saturating_sub(start_ns)),
        length_s: seconds(stall.end_ns.saturating_sub(stall.begin_ns)),
        clients: stall.clients as i32,
        transactions: stall.completed as i64,
        expected: stall.expected as i64,
        ..RunStall::default()
    }
}
