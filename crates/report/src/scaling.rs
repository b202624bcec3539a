//! Result of a sweep over numbers of clients, in one sentence: where throughput peaks, and from
//! where on more clients mainly wait.

use crate::capacity::significant;
use crate::number::{counted, fixed};
use selfbench_stats::compare::Difference;
use selfbench_stats::usl::{MIN_LEVELS, Usl};

/// Throughput of a number of clients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The number of clients.
    pub clients: f64,
    /// Geometric mean of the transactions per second of its runs.
    pub tps: f64,
    /// Difference from the level with the highest mean, by rounds; `None` if there are too few to tell.
    pub versus_best: Option<Difference>,
}

/// Growth of throughput with the number of clients.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Levels by rising number of clients.
    pub levels: Vec<Level>,
    /// The law that describes them best; `None` if there are too few levels, or a run has 0 transactions.
    pub law: Option<Usl>,
}

impl Scaling {
    /// The number of clients with the highest throughput, and that: as measured, or the peak of a law that
    /// fits, if it is higher.
    pub fn peak(&self) -> Option<(f64, f64)> {
        self.modeled_peak().or(self.measured_peak())
    }

    fn measured_peak(&self) -> Option<(f64, f64)> {
        let levels = self.levels.iter().map(|level| (level.clients, level.tps));
        let higher = |a: (f64, f64), b: (f64, f64)| if b.1 > a.1 { b } else { a };
        levels.reduce(higher)
    }

    /// The peak of a law that fits, with a whole number of clients, if it is higher than all that was
    /// measured, and noise cannot be the reason of it.
    fn modeled_peak(&self) -> Option<(f64, f64)> {
        let law = self.law.as_ref().filter(|law| law.fits)?;
        let peak = law.peak.filter(|_| law.kappa.low > Some(0.0))?;
        let whole = [peak.floor(), peak.ceil()].map(|clients| (clients, law.at(clients)));
        let [low, high] = whole;
        let modeled = if high.1 > low.1 { high } else { low };
        (modeled.1 > self.measured_peak()?.1).then_some(modeled)
    }

    /// The whole number of clients that would reach the highest throughput if none had to wait for another:
    /// from there on, latency grows with the number of clients. Only if the law fits.
    pub fn bend(&self) -> Option<f64> {
        let law = self.law.as_ref().filter(|law| law.fits)?;
        let alone = law.lambda.value;
        // The fit has fewer digits than the number.
        (alone > 0.0).then_some((self.peak()?.1 / alone - 0.005).ceil())
    }

    /// Doubt, from noise, about the highest throughput measured with so many clients.
    fn doubt(&self, best: f64) -> Option<String> {
        let others = || self.levels.iter().filter(|level| level.clients != best);
        others().next()?;
        if others().all(|level| level.versus_best.is_none()) {
            return Some("one run of each shows no noise: repeat at least 3 times".into());
        }
        let alike = |level: &&Level| {
            level.clients == best || level.versus_best == Some(Difference::NotSeen)
        };
        let alike: Vec<String> = self
            .levels
            .iter()
            .filter(alike)
            .map(|level| fixed(level.clients, 0))
            .collect();
        let (last, before) = alike.split_last()?;
        (!before.is_empty()).then(|| {
            format!(
                "no difference can be seen between {} and {last} clients",
                before.join(", ")
            )
        })
    }

    /// The sentence.
    pub fn verdict(&self) -> String {
        let (Some(measured), Some(last)) = (self.measured_peak(), self.levels.last()) else {
            return "no number of clients has a run that counts".into();
        };
        let last_is_best = measured.0 == last.clients && self.levels.len() > 1;
        let doubt = self.doubt(measured.0).map(|doubt| format!("; {doubt}"));
        let text = format!(
            "the highest throughput measured is {} transactions per second with {}{}{}",
            significant(measured.1),
            count(measured.0),
            if last_is_best {
                ", the most that were tried: more may reach more"
            } else {
                ""
            },
            doubt.unwrap_or_default()
        );
        let Some(law) = &self.law else {
            if self.levels.len() >= MIN_LEVELS {
                return format!(
                    "{text}; the Universal Scalability Law is not fitted, because a run has 0 transactions"
                );
            }
            return format!(
                "{text}; whether it is the peak needs at least {MIN_LEVELS} numbers of clients"
            );
        };
        if !law.close {
            return format!(
                "{text}; the Universal Scalability Law does not describe it: with {}, throughput \
                 differs from the law by {:.0} %",
                count(law.worst_at),
                100.0 * law.worst
            );
        }
        if !law.fits {
            return format!(
                "{text}; the Universal Scalability Law does not describe it: it explains {:.0} % of \
                 the variance",
                100.0 * law.r_squared.max(0.0)
            );
        }
        let peak = self.modeled_peak().map(|(clients, tps)| {
            let (clients, tps) = (count(clients), significant(tps));
            format!("it peaks with {clients} at {tps}")
        });
        let bend = self.bend().map(|bend| {
            let bend = fixed(bend, 0);
            format!("latency grows with the number of clients from {bend} on")
        });
        let by_law: Vec<String> = peak.into_iter().chain(bend).collect();
        match by_law.is_empty() {
            true => text,
            false => format!(
                "{text}; by the Universal Scalability Law, {}",
                by_law.join(", and ")
            ),
        }
    }
}

fn count(clients: f64) -> String {
    counted(fixed(clients, 0), "client")
}

#[cfg(test)]
mod tests {
    use super::*;
    use selfbench_stats::usl;

    fn scaling(levels: &[(f64, f64)]) -> Scaling {
        let level = |(clients, tps)| Level {
            clients,
            tps,
            versus_best: Some(Difference::Lower),
        };
        Scaling {
            levels: levels.iter().copied().map(level).collect(),
            law: usl::fit(levels),
        }
    }

    /// Throughput by the law.
    fn law(sigma: f64, kappa: f64, clients: &[f64]) -> Vec<(f64, f64)> {
        let at = |n: f64| 1000.0 * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
        clients.iter().map(|n| (*n, at(*n))).collect()
    }

    #[test]
    fn a_peak_has_its_place_and_height() {
        let found = scaling(&law(0.1, 0.01, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]));
        // The square root of (1 - 0.1) / 0.01.
        let (clients, tps) = found.peak().unwrap();
        assert_eq!(clients, 9.0);
        assert_eq!(
            found.verdict(),
            "the highest throughput measured is 3540 transactions per second with 8 clients; by the \
             Universal Scalability Law, it peaks with 9 clients at 3570, and latency grows with the \
             number of clients from 4 on"
        );
        assert!((tps - 3571.4).abs() < 0.1, "{tps}");
    }

    #[test]
    fn no_peak_is_below_what_was_measured() {
        let mut levels = law(0.1, 0.01, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]);
        levels[3].1 *= 1.03;
        let found = scaling(&levels);
        assert!(found.law.as_ref().unwrap().fits);
        assert_eq!(found.peak(), Some(levels[3]));
        assert_eq!(
            found.verdict(),
            "the highest throughput measured is 3650 transactions per second with 8 clients; by the \
             Universal Scalability Law, latency grows with the number of clients from 4 on"
        );
        // As seen: 229,578 with 4 clients, and a law with a peak of 210,824 with 4.84.
        let seen = scaling(&[
            (1.0, 121_000.0),
            (2.0, 180_000.0),
            (4.0, 229_578.0),
            (8.0, 186_000.0),
        ]);
        assert_eq!(seen.peak(), Some((4.0, 229_578.0)));
    }

    #[test]
    fn no_peak_is_named_where_noise_does_not_permit_it() {
        let mut flat = scaling(&[(1.0, 100.0), (2.0, 203.0), (4.0, 212.0)]);
        flat.levels[1].versus_best = Some(Difference::NotSeen);
        let begin = "the highest throughput measured is 212 transactions per second with 4 clients, the \
                     most that were tried: more may reach more";
        let end = "whether it is the peak needs at least 4 numbers of clients";
        assert_eq!(
            flat.verdict(),
            format!("{begin}; no difference can be seen between 2 and 4 clients; {end}")
        );
        flat.levels[0].versus_best = Some(Difference::NotSeen);
        assert_eq!(
            flat.verdict(),
            format!("{begin}; no difference can be seen between 1, 2 and 4 clients; {end}")
        );
        for level in &mut flat.levels {
            level.versus_best = None;
        }
        assert_eq!(
            flat.verdict(),
            format!("{begin}; one run of each shows no noise: repeat at least 3 times; {end}")
        );
        // A law that fits, whose peak noise may have made.
        let mut found = scaling(&law(0.1, 0.01, &[1.0, 2.0, 4.0, 8.0, 16.0, 32.0]));
        found.law.as_mut().unwrap().kappa.low = Some(0.0);
        assert_eq!(found.peak(), Some((8.0, found.levels[3].tps)));
        assert!(!found.verdict().contains("it peaks with"));
    }

    #[test]
    fn a_law_that_explains_little_is_not_told() {
        let flat = scaling(&[(1.0, 207.0), (2.0, 203.0), (4.0, 212.0), (8.0, 205.0)]);
        assert_eq!(
            flat.verdict(),
            "the highest throughput measured is 212 transactions per second with 4 clients; the \
             Universal Scalability Law does not describe it: it explains 5 % of the variance"
        );
    }

    #[test]
    fn throughput_may_still_rise() {
        let found = scaling(&law(0.05, 0.0, &[1.0, 2.0, 4.0, 8.0]));
        assert_eq!(
            found.verdict(),
            "the highest throughput measured is 5930 transactions per second with 8 clients, the most that \
             were tried: more may reach more; by the Universal Scalability Law, latency grows with the \
             number of clients from 6 on"
        );
    }

    #[test]
    fn what_the_law_does_not_describe_is_told_as_it_was_measured() {
        let odd = scaling(&[
            (1.0, 1000.0),
            (2.0, 3000.0),
            (4.0, 2000.0),
            (8.0, 9000.0),
            (16.0, 1000.0),
        ]);
        assert_eq!(odd.bend(), None);
        let verdict = odd.verdict();
        assert!(
            verdict.starts_with(
                "the highest throughput measured is 9000 transactions per second with 8 clients; \
                 the Universal Scalability Law does not describe it: with "
            ),
            "{verdict}"
        );
    }

    #[test]
    fn few_numbers_of_clients_and_runs_without_transactions_have_no_law() {
        assert_eq!(
            scaling(&[(1.0, 500.0), (2.0, 900.0)]).verdict(),
            "the highest throughput measured is 900 transactions per second with 2 clients, the most that \
             were tried: more may reach more; whether it is the peak needs at least 4 numbers of clients"
        );
        assert_eq!(
            scaling(&[(1.0, 500.0), (2.0, 900.0), (4.0, 0.0), (8.0, 700.0)]).verdict(),
            "the highest throughput measured is 900 transactions per second with 2 clients; the Universal \
             Scalability Law is not fitted, because a run has 0 transactions"
        );
        assert_eq!(
            scaling(&[]).verdict(),
            "no number of clients has a run that counts"
        );
    }
}
