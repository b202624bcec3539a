//! Stalls: stretches in which clients complete a tenth of the transactions that are usual, or fewer.
//!
//! The counters of all clients are looked at some twenty times a second. What is usual is the rate of the
//! last seconds, in a mean whose weights decay; a stretch that may be a stall is no part of it. All clients
//! together have a watch, and each one of several has its own: some may stall while the others continue.

use crate::units::NS_PER_S;

/// Transactions that must have been expected in a stall.
const EXPECTED: f64 = 10.0;
/// A stall has at most this fraction of them.
const SHARE: f64 = 0.1;
/// Time in which the weights of a mean decay, in seconds.
const DECAY_S: f64 = 10.0;
/// Time that tells what is usual, in seconds.
const KNOWN_S: f64 = 0.3;
/// Shorter stretches, in seconds, are the scheduling of processes: of all clients, and of single ones,
/// which wait for the others.
const LEAST_S: [f64; 2] = [0.2, 0.5];
/// A stretch is that many times as long as a transaction usually takes, or longer, so that it is no slow one.
const TIMES: [f64; 2] = [3.0, 10.0];

/// State of a client at a moment.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Transactions that it has completed, failed ones included.
    pub completed: u64,
    /// Whether it has not ended.
    pub is_active: bool,
    /// Whether it is within a transaction and does not sleep on purpose.
    pub is_busy: bool,
    /// Time that its transaction usually takes, in seconds.
    pub usual_s: f64,
}

/// A stretch in which clients were stalled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stall {
    /// Clock reading at which it began: within a look, by the transactions that this lacked.
    pub begin_ns: u64,
    /// Clock reading at which it ended.
    pub end_ns: u64,
    /// Clients that were stalled.
    pub clients: usize,
    /// Transactions that these completed meanwhile.
    pub completed: f64,
    /// Transactions that they usually complete in that time: of some clients, each while it was stalled.
    pub expected: f64,
}

impl Stall {
    /// Both together, of different clients.
    fn and(self, other: Stall) -> Stall {
        Stall {
            begin_ns: self.begin_ns.min(other.begin_ns),
            end_ns: self.end_ns.max(other.end_ns),
            clients: self.clients + other.clients,
            completed: self.completed + other.completed,
            expected: self.expected + other.expected,
        }
    }
}

/// Looks at a counter that usually grows.
#[derive(Clone, Debug, Default)]
struct Watch {
    /// Decaying sums of transactions and seconds.
    sums: (f64, f64),
    /// Transactions that have been seen.
    seen: f64,
    /// The stretch that may be a stall, with the number of transactions and those expected.
    slow: Option<Stall>,
    is_stalled: bool,
    /// Time that the last look lacked transactions for: a stall that follows began within it.
    lacked_ns: u64,
}

/// Data of one look.
struct Look {
    from_ns: u64,
    to_ns: u64,
    completed: f64,
    is_busy: bool,
    /// Fraction of those that are watched that have not ended.
    share: f64,
    /// Length of a stall.
    least_s: f64,
    /// Whether a stall may begin.
    may_begin: bool,
}

impl Watch {
    /// The usual rate, if it is known.
    fn usual(&self) -> Option<f64> {
        let (completed, seconds) = self.sums;
        (seconds >= KNOWN_S && self.seen >= EXPECTED).then(|| completed / seconds)
    }

    /// Counts what is not slow.
    fn count(&mut self, completed: f64, seconds: f64) {
        let decay = (-seconds / DECAY_S).exp();
        self.sums = (
            self.sums.0 * decay + completed,
            self.sums.1 * decay + seconds,
        );
        self.seen += completed;
    }

    /// Looks; the stall that has ended, if one has.
    fn look(&mut self, look: &Look) -> Option<Stall> {
        let seconds = look.to_ns.saturating_sub(look.from_ns) as f64 / NS_PER_S;
        let usual = self.usual();
        let expected = usual.unwrap_or(0.0) * look.share * seconds;
        let is_slow = look.is_busy && look.completed <= SHARE * expected;
        let lacks = match expected > 0.0 {
            true => (1.0 - look.completed / expected).clamp(0.0, 1.0),
            false => 0.0,
        };
        let lacks_ns = (lacks * seconds * NS_PER_S) as u64;
        let may = look.may_begin || self.is_stalled;
        if is_slow && may {
            let slow = self.slow.get_or_insert(Stall {
                begin_ns: look.from_ns - self.lacked_ns,
                clients: 1,
                ..Stall::default()
            });
            slow.end_ns = look.to_ns;
            slow.completed += look.completed;
            slow.expected += expected;
            self.is_stalled |= is_stall(slow, look.least_s);
            return None;
        }
        let slow = self.slow.take();
        let was_stalled = std::mem::take(&mut self.is_stalled);
        self.lacked_ns = if was_stalled { 0 } else { lacks_ns };
        if was_stalled {
            self.count(look.completed, seconds);
            return slow.map(|slow| Stall {
                end_ns: slow.end_ns + lacks_ns,
                ..slow
            });
        }
        let Some(mut slow) = slow else {
            self.count(look.completed, seconds);
            return None;
        };
        // Before the first transactions, nothing is known to be usual: this look tells a little.
        let length_s = slow.end_ns.saturating_sub(slow.begin_ns) as f64 / NS_PER_S;
        if usual.is_none() && slow.completed == 0.0 && look.completed > 0.0 {
            slow.expected = look.completed / seconds.max(1e-9) * length_s;
            if look.completed >= EXPECTED && is_stall(&slow, look.least_s) {
                self.count(look.completed, seconds);
                return Some(slow);
            }
        }
        self.count(look.completed + slow.completed, seconds + length_s);
        None
    }
}

fn is_stall(slow: &Stall, least_s: f64) -> bool {
    slow.expected >= EXPECTED
        && slow.completed <= SHARE * slow.expected
        && slow.end_ns.saturating_sub(slow.begin_ns) as f64 >= least_s * NS_PER_S
}

/// Finds the stalls of a run.
#[derive(Debug)]
pub struct Stalls {
    looked_ns: u64,
    /// Transactions of each client at the last look.
    before: Vec<u64>,
    all: Watch,
    each: Vec<Watch>,
    /// The stall of some clients that goes on: what is stalled now, and what of it has ended.
    now: Option<Stall>,
    over: Option<Stall>,
    /// Most clients that it had at a time.
    most: usize,
}

impl Stalls {
    /// Begins at the clock reading `now_ns` to look at clients that have completed nothing.
    pub fn new(clients: usize, now_ns: u64) -> Stalls {
        // A single client is all of them.
        let each = if clients > 1 { clients } else { 0 };
        Stalls {
            looked_ns: now_ns,
            before: vec![0; clients],
            all: Watch::default(),
            each: vec![Watch::default(); each],
            now: None,
            over: None,
            most: 0,
        }
    }

    /// The clock reading of the last look.
    pub fn looked_ns(&self) -> u64 {
        self.looked_ns
    }

    /// Whether all clients are slow, which may become a stall.
    pub fn all_are_slow(&self) -> bool {
        self.all.slow.is_some()
    }

    /// Whether all clients are stalled.
    pub fn all_are_stalled(&self) -> bool {
        self.all.is_stalled
    }

    /// Whether some clients are stalled, also if all are.
    pub fn some_are_stalled(&self) -> bool {
        self.now.is_some()
    }

    /// Whether a client is stalled by itself.
    pub fn is_stalled(&self, client: usize) -> bool {
        self.each.get(client).is_some_and(|watch| watch.is_stalled)
    }

    /// Looks at the clients. `may_begin` is whether a stall may begin: a run that ends has none. Returns the
    /// stall of all clients and that of some that have ended.
    pub fn look(&mut self, clients: &[Seen], now_ns: u64, may_begin: bool) -> [Option<Stall>; 2] {
        let (from_ns, to_ns) = (self.looked_ns, now_ns);
        self.looked_ns = now_ns;
        let busy = || clients.iter().filter(|client| client.is_busy);
        let active = clients.iter().filter(|client| client.is_active).count();
        let mut completed = 0.0;
        let mut ended: Option<Stall> = None;
        self.now = None;
        for (i, (client, before)) in clients.iter().zip(&mut self.before).enumerate() {
            let done = client.completed.saturating_sub(*before) as f64;
            *before = client.completed;
            completed += done;
            let Some(watch) = self.each.get_mut(i) else {
                continue;
            };
            let one = watch.look(&Look {
                from_ns,
                to_ns,
                completed: done,
                is_busy: client.is_busy && client.is_active,
                share: 1.0,
                least_s: LEAST_S[1].max(TIMES[1] * client.usual_s),
                may_begin,
            });
            let add = |sum: &mut Option<Stall>, one: Stall| {
                *sum = Some(sum.map_or(one, |sum| sum.and(one)));
            };
            if let Some(slow) = watch.slow.filter(|_| watch.is_stalled) {
                add(&mut self.now, slow);
            }
            if let Some(one) = one {
                add(&mut ended, one);
            }
        }
        let usual_s = busy().map(|client| client.usual_s).fold(0.0, f64::max);
        let all = self.all.look(&Look {
            from_ns,
            to_ns,
            completed,
            is_busy: busy().next().is_some(),
            share: active as f64 / clients.len().max(1) as f64,
            least_s: LEAST_S[0].max(TIMES[0] * usual_s),
            may_begin,
        });
        let all = all.map(|stall| Stall {
            clients: active.max(1),
            ..stall
        });
        [all, self.some(ended)]
    }

    /// The stall of some clients, from the first one's begin to the last one's end, if it has ended.
    fn some(&mut self, ended: Option<Stall>) -> Option<Stall> {
        let clients = |stall: Option<Stall>| stall.map_or(0, |stall| stall.clients);
        self.most = self.most.max(clients(self.now)).max(clients(ended));
        self.over = [self.over, ended].into_iter().flatten().reduce(Stall::and);
        match self.now {
            Some(_) => None,
            None => self.take_some(),
        }
    }

    /// All of the stall of some clients.
    fn take_some(&mut self) -> Option<Stall> {
        let clients = std::mem::take(&mut self.most);
        let parts = [self.over.take(), self.now.take()].into_iter().flatten();
        parts
            .reduce(Stall::and)
            .map(|stall| Stall { clients, ..stall })
    }

    /// Ends what goes on, at the clock reading `now_ns`.
    pub fn end(&mut self, now_ns: u64) -> [Option<Stall>; 2] {
        let until = |stall: Stall| Stall {
            end_ns: now_ns.max(stall.begin_ns),
            ..stall
        };
        let all = self.all.slow.take().filter(|_| self.all.is_stalled);
        let clients = self.before.len();
        [
            all.map(|stall| until(Stall { clients, ..stall })),
            self.take_some().map(until),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOK_NS: u64 = 50_000_000;

    /// The stalls of a run whose clients complete so many transactions at each look; `None` are idle.
    fn stalls(
        clients: usize,
        looks: usize,
        done: impl Fn(usize, usize) -> Option<u64>,
    ) -> Vec<Stall> {
        let mut found = Vec::new();
        let mut watched = Stalls::new(clients, 0);
        let mut seen = vec![Seen::default(); clients];
        for look in 0..looks {
            for (client, seen) in seen.iter_mut().enumerate() {
                let done = done(look, client);
                seen.completed += done.unwrap_or(0);
                seen.is_active = true;
                seen.is_busy = done.is_some();
                seen.usual_s = 0.001;
            }
            let now_ns = (look as u64 + 1) * LOOK_NS;
            found.extend(watched.look(&seen, now_ns, true).into_iter().flatten());
        }
        found.extend(watched.end(looks as u64 * LOOK_NS).into_iter().flatten());
        found
    }

    fn seconds(stall: &Stall) -> (f64, f64) {
        let s = |ns: u64| ns as f64 / NS_PER_S;
        (s(stall.begin_ns), s(stall.end_ns))
    }

    #[test]
    fn a_steady_run_has_no_stall() {
        assert_eq!(
            stalls(4, 400, |look, client| Some((look + client) as u64 % 7)),
            []
        );
        // One of four transactions a second.
        assert_eq!(
            stalls(1, 4000, |look, _| Some(u64::from(look % 5 == 0))),
            []
        );
    }

    #[test]
    fn all_clients_stall() {
        let found = stalls(3, 200, |look, _| {
            Some(if (100..160).contains(&look) { 0 } else { 50 })
        });
        let all = found.iter().max_by_key(|stall| stall.clients).unwrap();
        assert_eq!(seconds(all), (5.0, 8.0));
        assert_eq!((all.clients, all.completed), (3, 0.0));
        assert!((all.expected - 9000.0).abs() < 1.0, "{all:?}");
    }

    #[test]
    fn a_stall_begins_and_ends_within_looks() {
        // 80 % of the look before it, and a quarter of the one behind it.
        let done = |look: usize| match look {
            99 => 80,
            100..160 => 0,
            160 => 25,
            _ => 100,
        };
        let found = stalls(1, 200, |look, _| Some(done(look)));
        let (begin_s, end_s) = seconds(&found[0]);
        assert!(
            (begin_s - 4.99).abs() < 1e-3 && (end_s - 8.0375).abs() < 1e-3,
            "{found:?}"
        );
    }

    #[test]
    fn a_trickle_is_a_stall_and_half_is_none() {
        let at = |slow: u64| {
            stalls(1, 200, move |look, _| {
                Some(if look >= 100 { slow } else { 100 })
            })
        };
        assert_eq!(at(10).len(), 1);
        assert_eq!(seconds(&at(10)[0]), (5.0, 10.0));
        assert_eq!(at(50), []);
    }

    #[test]
    fn some_clients_stall() {
        let found = stalls(4, 300, |look, client| {
            Some(if (100..200).contains(&look) && client < 2 {
                0
            } else {
                50
            })
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].clients, seconds(&found[0])), (2, (5.0, 10.0)));
    }

    #[test]
    fn each_client_counts_while_it_is_stalled() {
        // One after the other, which overlap for a second.
        let found = stalls(4, 400, |look, client| {
            let is_stalled = match client {
                0 => (100..200).contains(&look),
                1 => (180..280).contains(&look),
                _ => false,
            };
            Some(if is_stalled { 0 } else { 50 })
        });
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].clients, seconds(&found[0])), (2, (5.0, 14.0)));
        // 1000 a second, each for five seconds.
        assert!((found[0].expected - 10_000.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn a_stall_may_be_first_and_last() {
        let found = stalls(1, 100, |look, _| Some(if look < 40 { 0 } else { 50 }));
        assert_eq!(seconds(&found[0]), (0.0, 2.0));
        let found = stalls(1, 100, |look, _| Some(if look < 60 { 50 } else { 0 }));
        assert_eq!(seconds(&found[0]), (3.0, 5.0));
    }

    #[test]
    fn idle_clients_do_not_stall() {
        assert_eq!(stalls(2, 200, |look, _| (look < 100).then_some(50)), []);
        // Transactions that take long compared to the rate of all are not stalled.
        let mut watched = Stalls::new(1, 0);
        for look in 1..400 {
            let seen = Seen {
                completed: 500 * (look / 20),
                is_active: true,
                is_busy: true,
                usual_s: 1.0,
            };
            assert_eq!(watched.look(&[seen], look * LOOK_NS, true), [None, None]);
        }
    }

    #[test]
    fn a_run_that_ends_does_not_begin_to_stall() {
        let mut watched = Stalls::new(2, 0);
        for look in 1..200 {
            let seen = Seen {
                completed: 50 * look.min(100),
                is_active: true,
                is_busy: true,
                usual_s: 0.001,
            };
            let found = watched.look(&[seen, seen], look * LOOK_NS, look <= 100);
            assert_eq!(found, [None, None]);
        }
        assert_eq!(watched.end(200 * LOOK_NS), [None, None]);
    }
}
