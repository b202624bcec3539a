//! The time budget of a transaction: how its mean latency divides into what its client waited for.
//!
//! Most readings are totals of processes over the measured time. The budget assigns them to the
//! latency as follows:
//!
//! * All transactions took [`Readings::busy_ns`], counted from their begin. A total X is X / busy of
//!   the mean time from begin to end of a successful transaction: those that failed or did not end
//!   are assumed to spend their time on the same things.
//! * Nothing counts twice: CPU time, time on the run queue and waiting exclude each other, as the
//!   kernel counts them. In mode spi, all of them together are the client's time. In mode libpq, the
//!   session and the client worker take turns, but for moments in which one still runs after it has
//!   sent a message to the other. The other runs at the same time, or is on the run queue of the same
//!   CPU. If all that is known exceeds the latency, the latter is taken from the time on the run queue,
//!   at most as much as the CPU time of the one that sent.
//! * Parts are subtracted from the latency one after the other, those that are known best first. No
//!   part gets more than what the ones before it have left, and what remains in the end is the last
//!   part. So no part is negative, and they add up to the mean latency.

use crate::{ProcessTimes, TurnParts};

/// A reading that is not known, and why.
pub type Reading<T> = Result<T, &'static str>;

/// Readings of a run.
#[derive(Clone, Debug)]
pub struct Readings {
    /// Mode spi: clients execute their statements themselves.
    pub in_server: bool,
    /// Mean latency of the successful transactions, in microseconds.
    pub latency_us: f64,
    /// Mean schedule lag, a part of it; `None` without a rate.
    pub lag_us: Option<f64>,
    /// Mean time in `\sleep`, a part of it, too.
    pub sleep_us: f64,
    /// Mean time in `\shell` and `\setshell`, another part, without the client's own CPU time.
    pub shell_us: f64,
    /// Time from begin to end of all transactions, in nanoseconds; those that failed or did not end
    /// included.
    pub busy_ns: f64,
    /// The fraction of it that these took.
    pub unsuccessful: f64,
    /// Time of all clients from the start of the measurement to their ends.
    pub clients_ns: f64,
    /// Whether client workers have several clients each.
    pub shares_workers: bool,
    /// Usage of the processes that execute the statements.
    pub sessions: Reading<ProcessTimes>,
    /// Usage of the client workers, in mode libpq.
    pub workers: Reading<ProcessTimes>,
    /// Times measured by clients.
    pub timed: TurnParts,
    /// Waits of sessions.
    pub waits: Reading<Waits>,
}

/// Samples of what sessions wait for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Waits {
    /// Number of samples of a session, waiting or not.
    pub samples: u64,
    /// Number of samples with a wait for each class of events, waits for the client excluded, and
    /// how often it had been seen in the same wait of the same execution the time before.
    pub classes: Vec<(String, u64, u64)>,
}

/// A part of the mean latency.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPart {
    /// Name.
    pub component: String,
    /// Microseconds of a transaction; `None` if it is unknown.
    pub us: Option<f64>,
    /// Share of the mean latency.
    pub share: Option<f64>,
    /// Source of the figure, or the reason why it is unknown.
    pub measured: String,
}

/// Classes of waits of which a long command may have many short ones: two samples may show two of them.
const SHORT: [&str; 2] = ["IO", "LWLock"];
/// Number of standard deviations that samples may be off by chance.
const DEVIATIONS: f64 = 3.0;
/// Transactions that failed or did not end are worth a word above this fraction of the time.
const CONSIDERABLE: f64 = 0.1;
/// Reductions below this fraction of the latency are not worth a word.
const NEGLIGIBLE: f64 = 0.01;

const BY_KERNEL: &str = "counted by the kernel";
const BY_CLIENTS: &str = "timed in each transaction";
const NOT_COUNTED: &str = "the kernel does not count it";
const MIXED: &str = "schedule lag and \\sleep have part of it, for waking up";

/// The parts of the mean latency, in the order in which a transaction meets them.
pub fn budget(readings: &Readings) -> Vec<LatencyPart> {
    let mut ledger = Ledger::new(readings);
    if let Some(lag_us) = readings.lag_us {
        ledger.add(0, "schedule lag", lag_us, BY_CLIENTS.into());
    }
    if readings.sleep_us > 0.0 {
        ledger.add(1, "\\sleep", readings.sleep_us, BY_CLIENTS.into());
    }
    if readings.shell_us > 0.0 {
        ledger.add(1, "\\shell", readings.shell_us, BY_CLIENTS.into());
    }
    if readings.in_server {
        spi(&mut ledger, readings);
    } else {
        libpq(&mut ledger, readings);
    }
    ledger.close()
}

/// A run of which no part is known.
pub fn unknown(reason: &str) -> Vec<LatencyPart> {
    let part = |component: &str| LatencyPart {
        component: component.into(),
        us: None,
        share: None,
        measured: format!("unknown: {reason}"),
    };
    vec![part("latency")]
}

fn spi(ledger: &mut Ledger, readings: &Readings) {
    spi_cpu(ledger, readings);
    let run_queue = in_transactions(ledger, readings, run_queue_of(&readings.sessions));
    match run_queue {
        Ok(us) => ledger.add(7, "run queue", us, BY_KERNEL.into()),
        Err(reason) => ledger.unknown(7, "run queue", reason),
    }
    let blocked_us = ledger.left;
    match &readings.waits {
        Ok(waits) => {
            let sampled = Sampled::new(ledger, readings, waits);
            // Time that is not CPU time, run queue or `\sleep` is waiting.
            let scale = match (&readings.sessions, run_queue) {
                (Err(_), _) | (_, Err(MIXED)) => UNSCALED,
                _ => sampled.scale_to(blocked_us),
            };
            sampled.add_all(ledger, 8, "wait: ", scale);
        }
        Err(reason) => ledger.unknown(8, "waits", reason),
    }
    ledger.rest("other", "off the CPU without a wait event, by difference");
}

/// Whether processes of clients wait between their commands, other than for answers.
fn rests(readings: &Readings) -> bool {
    readings.lag_us.is_some() || readings.sleep_us > 0.0 || readings.shell_us > 0.0
}

/// Microseconds per transaction of a process's run queue, unless much of it may be from waking up between the
/// transactions of a schedule, which is schedule lag, or after `\sleep`, which is part of that.
fn in_transactions(ledger: &Ledger, readings: &Readings, run_queue: Reading<u64>) -> Reading<f64> {
    let us = ledger.per_transaction(run_queue?);
    match rests(readings) && us > NEGLIGIBLE * ledger.latency_us {
        true => Err(MIXED),
        false => Ok(us),
    }
}

/// The CPU time of clients of mode spi, in its parts as far as they are known.
fn spi_cpu(ledger: &mut Ledger, readings: &Readings) {
    let timed = &readings.timed;
    let kernel_us = readings
        .sessions
        .as_ref()
        .map(|times| ledger.per_transaction(times.cpu_ns));
    let timed_us = match timed.turns {
        0 => Err("no transaction was timed"),
        turns => Ok(timed.cpu_ns() as f64 / turns as f64 / 1e3),
    };
    // Between the transactions of a schedule and while it sleeps, a process uses CPU time, too.
    let rests = rests(readings);
    let total_us = match (kernel_us, timed_us) {
        (Ok(kernel_us), Ok(timed_us)) if rests => Ok(timed_us.min(kernel_us)),
        (kernel_us, timed_us) => kernel_us.or(timed_us),
    };
    let all = [
        (2, "parse and plan", timed.plan_ns),
        (3, "executor", timed.executor_ns),
        (4, "commit", timed.commit_ns),
        (5, "session", timed.session_ns),
        (6, "harness", timed.harness_ns),
    ];
    match total_us {
        Err(_) => ledger.unknown(2, "CPU", "neither the kernel nor the clients counted it"),
        Ok(total_us) if timed.cpu_ns() == 0 => {
            let measured = format!("{BY_KERNEL}; parts unknown: no transaction was timed");
            ledger.add(2, "CPU", total_us, measured);
        }
        Ok(total_us) => {
            let of = match kernel_us {
                Ok(_) if !rests => format!(", as shares of the CPU time {BY_KERNEL}"),
                _ => String::new(),
            };
            let measured = format!("CPU time, timed in {} transactions{of}", timed.turns);
            // If there is less, all parts have to share it.
            let room_us = total_us.min(ledger.left);
            for (rank, component, ns) in all {
                let share = ns as f64 / timed.cpu_ns() as f64;
                let us = total_us * share;
                ledger.add_into(room_us * share, rank, component, us, measured.clone());
            }
        }
    }
}

fn libpq(ledger: &mut Ledger, readings: &Readings) {
    let cpu = [
        (2, "server: CPU", &readings.sessions),
        (5, "client worker: CPU", &readings.workers),
    ];
    for (rank, component, times) in cpu {
        match times {
            Ok(times) => {
                let us = ledger.per_transaction(times.cpu_ns);
                ledger.add(rank, component, us, BY_KERNEL.into());
            }
            Err(reason) => ledger.unknown(rank, component, reason),
        }
    }
    let timed = &readings.timed;
    let per_turn = |ns: u64| match timed.turns {
        0 => Err("no round of a client worker was timed"),
        turns => Ok(ns as f64 / turns as f64 / 1e3),
    };
    let by_rounds = format!("timed for {} transactions", timed.turns);
    let us_of = |ns: u64| ledger.per_transaction(ns);
    let of_sessions = run_queue_of(&readings.sessions).map(us_of);
    let of_workers = match run_queue_of(&readings.workers) {
        // While the worker waits for a CPU, so do all of its clients whose answers have come.
        Ok(_) if readings.shares_workers => per_turn(timed.run_queue_ns),
        of_workers => in_transactions(ledger, readings, of_workers),
    };
    let sampled = readings.waits.as_ref();
    let sampled = sampled.map(|waits| Sampled::new(ledger, readings, waits));
    let cpu_us = |times: &Reading<ProcessTimes>| times.map_or(0.0, |times| us_of(times.cpu_ns));
    // The client worker wakes up the session, and the session wakes up the client worker.
    let run_queues = [
        (of_sessions, cpu_us(&readings.workers)),
        (of_workers, cpu_us(&readings.sessions)),
    ];
    let counted = run_queues.map(|(us, _)| us.unwrap_or(0.0));
    let overlaps = run_queues.map(|(us, of_waker_us)| us.unwrap_or(0.0).min(of_waker_us));
    let waited_us = sampled.as_ref().map_or(0.0, Sampled::total_us);
    let excess_us = counted.iter().sum::<f64>() + waited_us - ledger.left;
    let overlapping = match overlaps.iter().sum::<f64>() {
        0.0 => 0.0,
        overlaps_us => (excess_us / overlaps_us).clamp(0.0, 1.0),
    };
    let by_workers = match readings.shares_workers {
        true => &by_rounds,
        false => BY_KERNEL,
    };
    let parts = [
        (3, "server: run queue", BY_KERNEL),
        (6, "client worker: run queue", by_workers),
    ];
    for (i, (rank, component, measured)) in parts.into_iter().enumerate() {
        match run_queues[i].0 {
            Ok(us) => {
                let overlap_us = overlaps[i] * overlapping;
                let mut measured = measured.to_owned();
                if overlap_us > NEGLIGIBLE * ledger.latency_us {
                    measured +=
                        &format!(", less {overlap_us:.3} us in which the other side still ran");
                }
                ledger.add(rank, component, us - overlap_us, measured);
            }
            Err(reason) => ledger.unknown(rank, component, reason),
        }
    }
    match sampled {
        Ok(sampled) => {
            // A session still shows its wait while it is on the run queue after it.
            let scale = sampled.scale_below(ledger.left);
            sampled.add_all(ledger, 4, "server: wait ", scale);
        }
        Err(reason) => ledger.unknown(4, "server: waits", reason),
    }
    if readings.shares_workers {
        match readings.workers.and_then(|_| per_turn(timed.others_ns)) {
            Ok(us) => ledger.add(7, "client worker: other clients", us, by_rounds),
            Err(reason) => ledger.unknown(7, "client worker: other clients", reason),
        }
    }
    ledger.rest("wake-ups and socket", "by difference");
}

/// Time on the run queue, in nanoseconds.
fn run_queue_of(times: &Reading<ProcessTimes>) -> Reading<u64> {
    (*times)?.run_queue_ns.ok_or(NOT_COUNTED)
}

/// The factors by which samples are multiplied: those of waits that lasted, and others.
#[derive(Clone, Copy, PartialEq)]
struct Scale {
    lasting: f64,
    short: f64,
}

const UNSCALED: Scale = Scale {
    lasting: 1.0,
    short: 1.0,
};

/// Samples of waits as times.
struct Sampled<'w> {
    waits: &'w Waits,
    /// Microseconds of a transaction that a sample stands for.
    each_us: f64,
}

impl<'w> Sampled<'w> {
    fn new(ledger: &Ledger, readings: &Readings, waits: &'w Waits) -> Sampled<'w> {
        let each_us = match waits.samples {
            0 => 0.0,
            samples => ledger.scale(readings.clients_ns / samples as f64),
        };
        Sampled { waits, each_us }
    }

    /// Microseconds of a transaction for all samples.
    fn total_us(&self) -> f64 {
        self.waiting() as f64 * self.each_us
    }

    fn waiting(&self) -> u64 {
        self.waits
            .classes
            .iter()
            .map(|(_, samples, _)| samples)
            .sum()
    }

    /// Samples of waits that lasted: at its end alone may such a wait be followed by the run queue.
    fn lasting(&self) -> u64 {
        self.waits.classes.iter().map(lasting).sum()
    }

    /// The factors by which the samples have to be multiplied so that they are the time during which
    /// the kernel saw the process wait; 1 if they fall short of it by more than chance: then there
    /// are waits that are no wait events. They may exceed it at any time: a process that reports to
    /// wait for a read runs while the kernel copies the block.
    fn scale_to(&self, blocked_us: f64) -> Scale {
        let (all, waiting) = (self.waits.samples as f64, self.waiting() as f64);
        let sampled_us = waiting * self.each_us;
        if sampled_us <= 0.0 || sampled_us > blocked_us {
            return self.scale_below(blocked_us);
        }
        let chance = (waiting * (1.0 - waiting / all).max(0.0)).sqrt() * self.each_us;
        if sampled_us < blocked_us - DEVIATIONS * chance {
            return UNSCALED;
        }
        let factor = blocked_us / sampled_us;
        Scale {
            lasting: factor,
            short: factor,
        }
    }

    /// The factors by which the samples have to be multiplied so that they do not exceed this. Short waits
    /// go first.
    fn scale_below(&self, left_us: f64) -> Scale {
        let sampled_us = self.total_us();
        let lasting_us = self.lasting() as f64 * self.each_us;
        if sampled_us <= left_us {
            UNSCALED
        } else if lasting_us < left_us {
            Scale {
                lasting: 1.0,
                short: (left_us - lasting_us) / (sampled_us - lasting_us),
            }
        } else {
            Scale {
                lasting: left_us / lasting_us,
                short: 0.0,
            }
        }
    }

    fn add_all(&self, ledger: &mut Ledger, rank: u8, prefix: &str, scale: Scale) {
        let scaled = match scale == UNSCALED {
            true => "",
            false => ", scaled to the time that is neither CPU time nor run queue",
        };
        for class in &self.waits.classes {
            let (name, samples, _) = class;
            let lasting = lasting(class);
            let measured = format!("sampled {samples} of {} times{scaled}", self.waits.samples);
            let scaled = lasting as f64 * scale.lasting + (samples - lasting) as f64 * scale.short;
            let us = scaled * self.each_us;
            ledger.add(rank, &format!("{prefix}{name}"), us, measured);
        }
    }
}

/// Samples of a class that belong to waits that lasted.
fn lasting((class, samples, lasting): &(String, u64, u64)) -> u64 {
    match SHORT.contains(&class.as_str()) {
        true => 0,
        false => *lasting.min(samples),
    }
}

/// The mean latency, and what has been taken from it.
struct Ledger {
    latency_us: f64,
    /// Microseconds from begin to end of a transaction, per nanosecond of all of them.
    us_per_busy_ns: f64,
    left: f64,
    unknown: bool,
    unsuccessful: f64,
    parts: Vec<(u8, LatencyPart)>,
}

impl Ledger {
    fn new(readings: &Readings) -> Ledger {
        let latency_us = readings.latency_us.max(0.0);
        let service_us = (latency_us - readings.lag_us.unwrap_or(0.0)).max(0.0);
        let us_per_busy_ns = match readings.busy_ns > 0.0 {
            true => service_us / readings.busy_ns,
            false => 0.0,
        };
        Ledger {
            latency_us,
            us_per_busy_ns,
            left: latency_us,
            unknown: false,
            unsuccessful: readings.unsuccessful,
            parts: Vec::new(),
        }
    }

    /// Microseconds of a transaction of a total in nanoseconds.
    fn per_transaction(&self, ns: u64) -> f64 {
        self.scale(ns as f64)
    }

    fn scale(&self, ns: f64) -> f64 {
        ns * self.us_per_busy_ns
    }

    fn add(&mut self, rank: u8, component: &str, us: f64, measured: String) {
        self.add_into(self.left, rank, component, us, measured);
    }

    /// Adds a part that may take so much.
    fn add_into(&mut self, room: f64, rank: u8, component: &str, us: f64, mut measured: String) {
        let granted = us.min(room).min(self.left).max(0.0);
        if us - granted > NEGLIGIBLE * self.latency_us {
            measured += &format!(", {us:.3} us, more than the other parts leave");
        }
        self.left -= granted;
        self.push(rank, component, Some(granted), measured);
    }

    fn unknown(&mut self, rank: u8, component: &str, reason: &str) {
        self.unknown = true;
        self.push(rank, component, None, format!("unknown: {reason}"));
    }

    /// The rest is the last part.
    fn rest(&mut self, component: &str, measured: &str) {
        let mut measured = measured.to_owned();
        if self.unknown {
            measured += ", with all that is unknown";
        }
        if self.unsuccessful > CONSIDERABLE {
            measured += &format!(
                "; transactions that failed or did not end, {:.0} % of the time, count as if they had the same \
                 parts",
                self.unsuccessful * 100.0
            );
        }
        self.push(u8::MAX, component, Some(self.left), measured);
    }

    fn push(&mut self, rank: u8, component: &str, us: Option<f64>, measured: String) {
        let share = us.filter(|_| self.latency_us > 0.0);
        self.parts.push((
            rank,
            LatencyPart {
                component: component.into(),
                us,
                share: share.map(|us| us / self.latency_us),
                measured,
            },
        ));
    }

    fn close(mut self) -> Vec<LatencyPart> {
        self.parts.sort_by_key(|(rank, _)| *rank);
        self.parts.into_iter().map(|(_, part)| part).collect()
    }
}
