//! The search for the highest rate at which a percentile of the latency stays under a limit.
//!
//! A probe is a run with a rate. It passes if the share of its transactions that are over the limit,
//! skipped ones included, is at most `1 - percentile`. The search doubles or halves the rate until it
//! has a rate that passes and one that fails, and then bisects between them on a logarithmic scale.
//!
//! Servers are noisy. So a rate does not fail before two probes of it agree: a probe with a stall
//! would lead the search astray. Both rates are repeated when they are found; if one then turns out to
//! be wrong, the search goes on from there.

/// Transactions of a probe that are over the limit if its share is just `1 - percentile`.
const OVER_LIMIT: f64 = 100.0;
/// Number of probes of a rate that must agree before it is an edge.
const AGREEING: usize = 2;
/// Number of probes of a rate after which the majority decides.
const MAX_AT_EDGE: usize = 5;

/// Search to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// Share of the transactions that must be under the limit, such as 0.99.
    pub percentile: f64,
    /// Rate of the first probe.
    pub start: f64,
    /// The lowest rate to try.
    pub lowest: f64,
    /// The highest rate to try; it may be infinite.
    pub highest: f64,
    /// The search ends if the rates at the edge differ by at most this fraction.
    pub precision: f64,
    /// Number of probes at most.
    pub max_probes: usize,
    /// A probe takes at least that time.
    pub min_seconds: f64,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            percentile: 0.99,
            start: 100.0,
            lowest: 0.1,
            highest: f64::INFINITY,
            precision: 0.05,
            max_probes: 40,
            min_seconds: 5.0,
        }
    }
}

/// Result of a run with a rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe {
    /// The rate that it was asked for.
    pub rate: f64,
    /// Number of transactions, skipped ones included.
    pub transactions: u64,
    /// Share of them that were over the limit or skipped.
    pub over: f64,
    /// Whether its figures were steady.
    pub steady: bool,
    /// Whether all clients were busy, so that they, and not the server, kept it from the rate.
    pub client_bound: bool,
}

/// Next step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Make a probe.
    Probe {
        /// Its rate.
        rate: f64,
        /// Number of transactions that it has at least.
        transactions: u64,
        /// Time that it takes at that rate.
        seconds: f64,
    },
    /// The search has ended.
    Done(Answer),
}

/// Why a search has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Both sides of the edge are known to the precision.
    Found,
    /// Above the edge, all clients were busy: more clients may reach a higher rate.
    ClientBound,
    /// The lowest rate is over the limit.
    NeverMet,
    /// The highest rate is under the limit.
    NeverBroken,
    /// The number of probes was not sufficient.
    OutOfProbes,
}

/// The capacity that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The highest rate that passes; `None` if there is none.
    pub rate: Option<f64>,
    /// The highest rate up to that all of whose probes passed.
    pub low: Option<f64>,
    /// The lowest rate above it all of whose probes failed; `None` if there is none.
    pub high: Option<f64>,
    /// Why the search ended.
    pub ended: Ended,
    /// Number of probes.
    pub probes: usize,
}

/// Probes of one rate.
#[derive(Clone, Copy, Debug)]
struct Tried {
    rate: f64,
    passed: usize,
    failed: usize,
    /// Neither: under the limit, but not steady or too short.
    doubtful: usize,
    client_bound: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Passes,
    Fails,
    Unknown,
}

impl Tried {
    /// A rate at which two probes do not become steady is too high.
    fn failures(&self) -> usize {
        self.failed + self.doubtful / 2
    }

    fn outcome(&self) -> Outcome {
        match self.passed.cmp(&self.failures()) {
            std::cmp::Ordering::Greater => Outcome::Passes,
            std::cmp::Ordering::Less => Outcome::Fails,
            std::cmp::Ordering::Equal => Outcome::Unknown,
        }
    }

    /// Whether a failure at the end of the search is one more than chance would make it.
    fn is_refuted(&self) -> bool {
        self.failures() >= self.passed + 2 && self.failures() > AGREEING
            || self.passed + self.failures() >= MAX_AT_EDGE
    }

    fn is_certain(&self) -> bool {
        self.passed.max(self.failures()) >= AGREEING && self.outcome() != Outcome::Unknown
    }
}

/// Number of transactions that a probe has at least: a percentile needs 100 beyond it.
pub fn transactions(percentile: f64) -> u64 {
    // 1 - 0.99 is slightly more than 0.01.
    (OVER_LIMIT / (1.0 - percentile) - 1e-6).ceil() as u64
}

/// A search that is going on: [`next`](Self::next) says what to do, [`add`](Self::add) takes what came
/// of it.
#[derive(Clone, Debug)]
pub struct Search {
    plan: Plan,
    /// Probes by rising rate.
    tried: Vec<Tried>,
    probes: usize,
}

impl Search {
    /// A search without probes. `None` if the plan is not one: the percentile is between 0 and 1,
    /// precision, rates and seconds are above 0 and finite (but for the highest rate), `start` is
    /// between the lowest and the highest.
    pub fn new(plan: Plan) -> Option<Self> {
        let positive = |value: f64| value > 0.0 && value.is_finite();
        let valid = positive(plan.percentile)
            && plan.percentile < 1.0
            && [plan.start, plan.lowest, plan.precision, plan.min_seconds].map(positive)
                == [true; 4]
            && plan.lowest <= plan.start
            && plan.start <= plan.highest
            && plan.max_probes > 0;
        valid.then(|| Self {
            plan,
            tried: Vec::new(),
            probes: 0,
        })
    }

    /// Share of the transactions that may be over the limit.
    pub fn allowed(&self) -> f64 {
        1.0 - self.plan.percentile
    }

    /// Whether a rate is under the limit in which that share of the transactions was over it.
    pub fn is_under(&self, over: f64) -> bool {
        over <= self.allowed() + 1e-12
    }

    /// Number of transactions that a probe has at least.
    fn transactions(&self) -> u64 {
        transactions(self.plan.percentile)
    }

    /// Largest number of further probes.
    pub fn probes_left(&self) -> usize {
        self.plan.max_probes.saturating_sub(self.probes)
    }

    /// Adds the result of a probe.
    pub fn add(&mut self, probe: &Probe) {
        self.probes += 1;
        let at = self.tried.partition_point(|tried| tried.rate < probe.rate);
        if self
            .tried
            .get(at)
            .is_none_or(|tried| tried.rate != probe.rate)
        {
            let tried = Tried {
                rate: probe.rate,
                passed: 0,
                failed: 0,
                doubtful: 0,
                client_bound: 0,
            };
            self.tried.insert(at, tried);
        }
        let under = self.is_under(probe.over);
        // A probe may be shorter than planned by some transactions.
        let long = probe.transactions as f64 >= 0.9 * self.transactions() as f64;
        let tried = &mut self.tried[at];
        match (under, probe.steady && long) {
            (true, true) => tried.passed += 1,
            (true, false) => tried.doubtful += 1,
            (false, _) => tried.failed += 1,
        }
        tried.client_bound += usize::from(probe.client_bound && !under);
    }

    /// The next probe, or the answer.
    pub fn next(&self) -> Step {
        let Plan {
            start,
            lowest,
            highest,
            precision,
            ..
        } = self.plan;
        let (passing, failing) = self.edge();
        if self.probes_left() == 0 {
            return self.done(Ended::OutOfProbes);
        }
        let rate = match (self.undecided(passing, failing), passing, failing) {
            (Some(open), _, _) => open.rate,
            (None, _, Some(high)) if !high.is_certain() => high.rate,
            (None, None, None) => start,
            (None, Some(low), None) if low.rate < highest => f64::min(2.0 * low.rate, highest),
            (None, Some(low), None) if low.is_certain() => return self.done(Ended::NeverBroken),
            (None, Some(low), None) => low.rate,
            (None, None, Some(high)) if high.rate > lowest => f64::max(high.rate / 2.0, lowest),
            (None, None, Some(_)) => return self.done(Ended::NeverMet),
            (None, Some(low), Some(high)) if high.rate > low.rate * (1.0 + precision) => {
                low.rate * (high.rate / low.rate).sqrt()
            }
            (None, Some(low), Some(_)) if !low.is_certain() => low.rate,
            (None, Some(_), Some(high)) if !high.is_refuted() => high.rate,
            (None, Some(_), Some(_)) => return self.done(Ended::Found),
        };
        let transactions = self.transactions();
        Step::Probe {
            rate,
            transactions,
            seconds: (transactions as f64 / rate).max(self.plan.min_seconds),
        }
    }

    /// The answer from the probes so far, as if there were no more.
    pub fn answer(&self) -> Answer {
        match self.next() {
            Step::Done(answer) => answer,
            Step::Probe { .. } => self.answer_with(Ended::OutOfProbes),
        }
    }

    /// The lowest rate that fails, and the highest one below that passes.
    fn edge(&self) -> (Option<&Tried>, Option<&Tried>) {
        let fails = |tried: &Tried| tried.outcome() == Outcome::Fails;
        let at = self.tried.iter().position(fails);
        let below = &self.tried[..at.unwrap_or(self.tried.len())];
        let passes = |tried: &&Tried| tried.outcome() == Outcome::Passes;
        (
            below.iter().rev().find(passes),
            at.map(|at| &self.tried[at]),
        )
    }

    /// A rate between those of the edge whose probes contradict each other.
    fn undecided(&self, passing: Option<&Tried>, failing: Option<&Tried>) -> Option<&Tried> {
        let above = passing.map_or(0.0, |tried| tried.rate);
        let below = failing.map_or(f64::INFINITY, |tried| tried.rate);
        self.tried.iter().find(|tried| {
            tried.rate > above && tried.rate < below && tried.outcome() == Outcome::Unknown
        })
    }

    fn done(&self, ended: Ended) -> Step {
        Step::Done(self.answer_with(ended))
    }

    fn answer_with(&self, ended: Ended) -> Answer {
        let (passing, failing) = self.edge();
        let rate = passing.map(|tried| tried.rate);
        let sure_pass = |tried: &&Tried| {
            Some(tried.rate) <= rate && tried.passed > 0 && tried.failed + tried.doubtful == 0
        };
        let sure_fail = |tried: &&Tried| {
            Some(tried.rate) > rate && tried.outcome() == Outcome::Fails && tried.passed == 0
        };
        // Busy clients fail for their own reasons.
        let clients = failing.is_some_and(|tried| 2 * tried.client_bound > tried.failed);
        Answer {
            rate,
            low: self
                .tried
                .iter()
                .rev()
                .find(sure_pass)
                .map(|tried| tried.rate),
            high: self.tried.iter().find(sure_fail).map(|tried| tried.rate),
            ended: match ended {
                Ended::Found | Ended::NeverMet if clients => Ended::ClientBound,
                ended => ended,
            },
            probes: self.probes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    /// A server with one processor and exponential service times: M/M/1, whose latency exceeds `t` with
    /// a probability of `exp(-(mu - rate) t)`.
    struct Server {
        /// Transactions per second.
        mu: f64,
        limit_s: f64,
        /// Variation of the speed from probe to probe.
        noise: f64,
        /// The share of probes in which it stalls.
        stalls: f64,
        random: Random,
    }

    impl Server {
        fn capacity(&self, percentile: f64) -> f64 {
            self.mu + (1.0 - percentile).ln() / self.limit_s
        }

        fn probe(&mut self, rate: f64, transactions: u64) -> Probe {
            let mu = self.mu * (self.noise * self.random.normal()).exp();
            let mut over = f64::min((-(mu - rate) * self.limit_s).exp(), 1.0);
            if self.random.unit() < self.stalls {
                over = f64::min(over + 0.05, 1.0);
            }
            // A binomial number, about.
            let deviation = (over * (1.0 - over) / transactions as f64).sqrt();
            Probe {
                rate,
                transactions,
                over: (over + deviation * self.random.normal()).clamp(0.0, 1.0),
                steady: rate < mu,
                client_bound: false,
            }
        }
    }

    fn search(plan: Plan, mut probe: impl FnMut(f64, u64) -> Probe) -> Answer {
        let mut search = Search::new(plan).unwrap();
        loop {
            match search.next() {
                Step::Probe {
                    rate,
                    transactions,
                    seconds,
                } => {
                    assert!(rate >= plan.lowest && rate <= plan.highest);
                    assert!(seconds * rate >= transactions as f64 - 1e-6);
                    search.add(&probe(rate, transactions));
                }
                Step::Done(answer) => return answer,
            }
        }
    }

    #[test]
    fn capacity_is_found_to_the_precision() {
        for (start, mu, percentile) in [
            (100.0, 5000.0, 0.99),
            (80_000.0, 5000.0, 0.99),
            (5000.0, 5000.0, 0.95),
            (3.0, 2_000_000.0, 0.999),
        ] {
            let mut server = Server {
                mu,
                limit_s: 0.01,
                noise: 0.0,
                stalls: 0.0,
                random: Random::new(1),
            };
            let plan = Plan {
                start,
                percentile,
                ..Plan::default()
            };
            let answer = search(plan, |rate, n| server.probe(rate, n));
            let truth = server.capacity(percentile);
            let (rate, high) = (answer.rate.unwrap(), answer.high.unwrap());
            assert_eq!(answer.ended, Ended::Found);
            assert!(
                rate < truth * 1.02 && high > truth * 0.98,
                "{answer:?}, {truth}"
            );
            assert!(
                high <= rate * 1.0501 && answer.low == Some(rate),
                "{answer:?}"
            );
            assert!(answer.probes <= 32, "{answer:?}");
        }
    }

    #[test]
    fn noise_and_stalls_do_not_lead_astray() {
        let (mut near, mut inside, mut probes) = (0, 0, 0);
        for seed in 0..200 {
            let mut server = Server {
                mu: 5000.0,
                limit_s: 0.01,
                noise: 0.02,
                stalls: 0.1,
                random: Random::new(seed),
            };
            let answer = search(Plan::default(), |rate, n| server.probe(rate, n));
            let truth = server.capacity(0.99);
            let rate = answer.rate.unwrap();
            near += usize::from((rate / truth - 1.0).abs() < 0.1);
            let (low, high) = (
                answer.low.unwrap_or(0.0),
                answer.high.unwrap_or(f64::INFINITY),
            );
            inside += usize::from(low <= truth * 1.03 && high >= truth * 0.97);
            probes += answer.probes;
        }
        assert!(near >= 190 && inside >= 190, "{near} {inside} {probes}");
        assert!(probes <= 200 * 22, "{probes}");
    }

    #[test]
    fn a_limit_may_never_be_met_or_broken() {
        let never = |over: f64| {
            move |rate: f64, transactions: u64| Probe {
                rate,
                transactions,
                over,
                steady: true,
                client_bound: false,
            }
        };
        let plan = Plan {
            highest: 1000.0,
            lowest: 7.0,
            ..Plan::default()
        };
        let answer = search(plan, never(0.5));
        assert_eq!((answer.rate, answer.ended), (None, Ended::NeverMet));
        assert_eq!((answer.low, answer.high), (None, Some(7.0)));
        let answer = search(plan, never(0.0));
        assert_eq!(
            (answer.rate, answer.ended),
            (Some(1000.0), Ended::NeverBroken)
        );
        assert_eq!((answer.low, answer.high), (Some(1000.0), None));
        let endless = search(Plan::default(), never(0.0));
        assert_eq!((endless.ended, endless.probes), (Ended::OutOfProbes, 40));
    }

    #[test]
    fn busy_clients_are_not_a_busy_server() {
        let answer = search(Plan::default(), |rate, transactions| Probe {
            rate,
            transactions,
            over: if rate > 900.0 { 0.3 } else { 0.0 },
            steady: true,
            client_bound: rate > 900.0,
        });
        assert_eq!(answer.ended, Ended::ClientBound);
        let rate = answer.rate.unwrap();
        assert!(rate > 850.0 && rate <= 900.0, "{answer:?}");
    }

    #[test]
    fn a_rate_that_does_not_become_steady_is_too_high() {
        let answer = search(Plan::default(), |rate, transactions| Probe {
            rate,
            transactions: if rate > 2000.0 {
                transactions / 2
            } else {
                transactions
            },
            over: 0.0,
            steady: rate < 700.0,
            client_bound: false,
        });
        assert_eq!(answer.ended, Ended::Found);
        let rate = answer.rate.unwrap();
        assert!(rate > 660.0 && rate < 700.0, "{answer:?}");
    }

    #[test]
    fn a_probe_has_a_hundred_transactions_beyond_the_percentile() {
        for (percentile, transactions, seconds) in [
            (0.99, 10_000, 100.0),
            (0.5, 200, 5.0),
            (0.999, 100_000, 1000.0),
        ] {
            let search = Search::new(Plan {
                percentile,
                ..Plan::default()
            });
            let Step::Probe {
                transactions: n,
                seconds: s,
                rate,
            } = search.unwrap().next()
            else {
                panic!("no probe");
            };
            assert_eq!((n, s, rate), (transactions, seconds, 100.0));
        }
    }

    #[test]
    fn nonsense_ends_within_the_probes() {
        let mut random = Random::new(8);
        for _ in 0..500 {
            let answer = search(Plan::default(), |rate, transactions| Probe {
                rate,
                transactions: transactions * random.below(2) as u64,
                over: if random.below(5) == 0 {
                    f64::NAN
                } else {
                    0.02 * random.unit()
                },
                steady: random.below(2) == 0,
                client_bound: random.below(2) == 0,
            });
            assert!(answer.probes <= 40);
        }
        for plan in [
            Plan {
                percentile: 1.0,
                ..Plan::default()
            },
            Plan {
                percentile: f64::NAN,
                ..Plan::default()
            },
            Plan {
                start: 0.0,
                ..Plan::default()
            },
            Plan {
                highest: 50.0,
                ..Plan::default()
            },
            Plan {
                precision: 0.0,
                ..Plan::default()
            },
            Plan {
                max_probes: 0,
                ..Plan::default()
            },
        ] {
            assert!(Search::new(plan).is_none(), "{plan:?}");
        }
    }
}
