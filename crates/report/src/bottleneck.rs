//! Bottleneck of a run: CPUs, clients, or something that its sessions wait for.

use selfbench_model::{Strain, Waited};

/// Busy share of CPUs at which they are used up.
const CPU_BUSY: f64 = 0.9;
/// Busy share of clients at which they are used up. Their last transactions and the pauses between
/// two take the rest.
const CLIENTS_BUSY: f64 = 0.9;
/// A run that waits longer for CPUs lacks them, even if the machine has others, as in a container.
const RUN_QUEUE: f64 = 0.25;
/// A wait event that is seen in more of the samples is what holds the transactions up, or several of
/// them for what other clients hold.
const WAITED: f64 = 0.3;
/// Transactions that start late by more of their latency would be faster with more clients, if clients
/// are busy enough that this is not only how precisely they wake up.
const LAG: f64 = 0.5;
const LAG_BUSY: f64 = 0.4;
/// The name of the bottleneck that more clients would widen.
const CLIENTS: &str = "clients";
/// The name where nothing was in short supply.
const NONE: &str = "none";

/// Bottleneck of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// `CPU`, `clients`, a wait event such as `Lock:transactionid`, or `none` if nothing was in
    /// short supply.
    pub name: String,
    /// Meaning, as a part of a sentence.
    pub meaning: String,
    /// The figures that say so.
    pub evidence: String,
}

impl Bottleneck {
    /// Whether something was in short supply.
    pub fn is_known(&self) -> bool {
        self.name != NONE
    }

    /// Whether more clients would get more done.
    pub fn is_clients(&self) -> bool {
        self.name == CLIENTS
    }
}

/// Bottleneck of a run; `None` if it was not observed.
///
/// All clients of a run are busy when its rate is too high for any reason: they are the
/// reason if CPUs are left and if the sessions do not wait for each other, so that more clients
/// would get more done.
pub fn bottleneck(strain: &Strain) -> Option<Bottleneck> {
    let busy = strain.clients_busy?;
    let events = events(strain);
    let (clients, cpu) = (share(busy), strain.cpu_busy.map(share));
    let named = |name: &str, meaning: String| Bottleneck {
        name: name.into(),
        meaning,
        evidence: evidence(strain, &events),
    };
    let at_least = |value: Option<f64>, least: f64| value.is_some_and(|value| value >= least);
    if at_least(strain.cpu_busy, CPU_BUSY) {
        let used = cpu.unwrap_or_default();
        return Some(named("CPU", format!("the CPUs are {used} busy")));
    }
    if at_least(strain.run_queue, RUN_QUEUE) {
        let queue = strain.run_queue.map(share).unwrap_or_default();
        return Some(named(
            "CPU",
            format!("transactions wait for a CPU for {queue} of their time"),
        ));
    }
    let contentions = || events.iter().filter(|(wait, _)| contention(wait));
    let contended: f64 = contentions().map(|(_, share)| share).sum();
    let all_busy = busy >= CLIENTS_BUSY || (busy >= LAG_BUSY && at_least(strain.lag, LAG));
    if all_busy && contended < WAITED {
        return Some(named(
            CLIENTS,
            format!("the clients are {clients} busy: with more clients, the rate may be higher"),
        ));
    }
    if let Some((wait, share_of)) = events.first()
        && *share_of >= WAITED
    {
        return Some(named(
            &event(wait),
            format!(
                "{} of the samples wait for {}",
                share(*share_of),
                event(wait)
            ),
        ));
    }
    if let Some((wait, share_of)) = contentions().next()
        && contended >= WAITED
    {
        return Some(named(
            &event(wait),
            format!(
                "{} of the samples wait for what other clients hold, {} for {}",
                share(contended),
                share(*share_of),
                event(wait)
            ),
        ));
    }
    Some(named(
        NONE,
        "nothing is in short supply on average, only single transactions are slow".into(),
    ))
}

/// Waits for what other clients hold: more clients would only wait longer.
fn contention(wait: &Waited) -> bool {
    matches!(
        wait.class.as_str(),
        "Lock" | "LWLock" | "BufferPin" | "Buffer"
    )
}

/// Waits of sessions, with the share of all samples, the most frequent first.
fn events(strain: &Strain) -> Vec<(&Waited, f64)> {
    let all: i64 = strain.waits.iter().map(|wait| wait.samples).sum();
    let waits = strain.waits.iter().filter(|wait| wait.event.is_some());
    let mut events: Vec<_> = waits
        .map(|wait| (wait, wait.samples as f64 / all as f64))
        .collect();
    events.sort_by(|(a, _), (b, _)| {
        b.samples
            .cmp(&a.samples)
            .then_with(|| (&a.class, &a.event).cmp(&(&b.class, &b.event)))
    });
    events
}

fn event(wait: &Waited) -> String {
    match &wait.event {
        Some(event) => format!("{}:{event}", wait.class),
        None => wait.class.clone(),
    }
}

/// All that is known, as a list.
fn evidence(strain: &Strain, events: &[(&Waited, f64)]) -> String {
    const NAMED: usize = 3;
    let known = |what: &str, value: Option<f64>| Some(format!("{what} {}", share(value?)));
    let of_latency = |figure: String| format!("{figure} of the latency");
    let figures = [
        known("clients busy", strain.clients_busy),
        known("CPUs busy", strain.cpu_busy),
        known("run queue", strain.run_queue).map(of_latency),
        known("late start", strain.lag).map(of_latency),
    ];
    let waits = events
        .iter()
        .take(NAMED)
        .filter(|(_, share)| *share >= 0.01)
        .map(|(wait, share_of)| format!("{} {}", event(wait), share(*share_of)));
    let all: Vec<String> = figures.into_iter().flatten().chain(waits).collect();
    all.join(", ")
}

fn share(value: f64) -> String {
    format!("{:.0} %", 100.0 * value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strain(clients: f64, cpu: f64, run_queue: f64, waits: &[(&str, &str, i64)]) -> Strain {
        Strain {
            clients_busy: Some(clients),
            cpu_busy: Some(cpu),
            run_queue: Some(run_queue),
            lag: Some(0.2),
            waits: waits
                .iter()
                .map(|(class, event, samples)| Waited {
                    class: (*class).into(),
                    event: (!event.is_empty()).then(|| (*event).into()),
                    samples: *samples,
                })
                .collect(),
        }
    }

    fn name(strain: &Strain) -> String {
        bottleneck(strain).unwrap().name
    }

    #[test]
    fn clients_are_the_bottleneck_while_there_is_something_left_for_more_of_them() {
        let computing = [("not waiting", "", 95), ("LWLock", "WALWrite", 5)];
        assert_eq!(name(&strain(0.99, 0.55, 0.01, &computing)), "clients");
        let syncing = [("not waiting", "", 30), ("IO", "WALSync", 70)];
        assert_eq!(name(&strain(0.99, 0.20, 0.01, &syncing)), "clients");
        let told = bottleneck(&strain(0.99, 0.20, 0.01, &syncing)).unwrap();
        assert_eq!(
            told.evidence,
            "clients busy 99 %, CPUs busy 20 %, run queue 1 % of the latency, late start 20 % of the \
             latency, IO:WALSync 70 %"
        );
    }

    #[test]
    fn transactions_that_start_late_lack_clients_if_these_are_busy() {
        let waiting = Strain {
            lag: Some(0.6),
            ..strain(0.55, 0.4, 0.0, &[("not waiting", "", 100)])
        };
        assert_eq!(name(&waiting), "clients");
        let imprecise = Strain {
            lag: Some(0.6),
            ..strain(0.05, 0.1, 0.0, &[("not waiting", "", 100)])
        };
        assert_eq!(name(&imprecise), "none");
        // Transactions of some microseconds, before which a client has to wake up.
        let short = Strain {
            lag: Some(0.99),
            ..strain(0.29, 0.2, 0.0, &[("not waiting", "", 100)])
        };
        assert_eq!(
            bottleneck(&short).unwrap().evidence,
            "clients busy 29 %, CPUs busy 20 %, run queue 0 % of the latency, late start 99 % of the \
             latency"
        );
    }

    #[test]
    fn cpus_and_locks_are_not_mended_by_more_clients() {
        let computing = [("not waiting", "", 100)];
        assert_eq!(name(&strain(1.0, 0.97, 0.3, &computing)), "CPU");
        assert_eq!(name(&strain(1.0, 0.30, 0.5, &computing)), "CPU");
        let locked = [
            ("not waiting", "", 30),
            ("Lock", "transactionid", 40),
            ("Lock", "tuple", 30),
        ];
        assert_eq!(name(&strain(1.0, 0.3, 0.0, &locked)), "Lock:transactionid");
        let several = [
            ("not waiting", "", 35),
            ("IO", "WALSync", 25),
            ("LWLock", "WALWrite", 18),
            ("Lock", "transactionid", 22),
        ];
        let found = bottleneck(&strain(1.0, 0.3, 0.0, &several)).unwrap();
        assert_eq!(found.name, "Lock:transactionid");
        assert_eq!(
            found.meaning,
            "40 % of the samples wait for what other clients hold, 22 % for Lock:transactionid"
        );
        let few = [
            ("not waiting", "", 71),
            ("LWLock", "WALWrite", 14),
            ("Lock", "tuple", 15),
        ];
        assert_eq!(name(&strain(1.0, 0.3, 0.0, &few)), "clients");
        assert_eq!(name(&strain(0.6, 0.3, 0.0, &few)), "none");
        let read = [("not waiting", "", 50), ("IO", "DataFileRead", 50)];
        assert_eq!(name(&strain(0.6, 0.3, 0.0, &read)), "IO:DataFileRead");
    }

    #[test]
    fn nothing_is_said_of_what_was_not_observed() {
        assert_eq!(bottleneck(&Strain::default()), None);
        let only_clients = Strain {
            clients_busy: Some(0.95),
            ..Strain::default()
        };
        assert_eq!(name(&only_clients), "clients");
        assert_eq!(
            bottleneck(&only_clients).unwrap().evidence,
            "clients busy 95 %"
        );
    }
}
