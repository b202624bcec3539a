//! What a sweep over numbers of clients says, in one sentence: where throughput peaks, and from where
//! on more clients mainly wait.

use crate::capacity::significant;
use crate::number::{counted, fixed};
use selfbench_stats::usl::{MIN_LEVELS, Usl};

/// How throughput grows with the number of clients.
#[derive(Clone, Debug)]
pub struct Scaling {
    /// Numbers of clients with the mean throughput of each, by rising number.
    pub levels: Vec<(f64, f64)>,
    /// The law that describes them best; `None` if there are too few levels.
    pub law: Option<Usl>,
}

impl Scaling {
    /// The number of clients with the highest throughput, and that: of the law if it fits, else of what
    /// was measured.
    pub fn peak(&self) -> Option<(f64, f64)> {
        let last = self.levels.last()?.0;
        match self.law.as_ref().filter(|law| law.fits) {
            Some(law) => {
                let clients = law.peak.unwrap_or(last);
                Some((clients, law.at(clients)))
            }
            None => self.measured_peak(),
        }
    }

    fn measured_peak(&self) -> Option<(f64, f64)> {
        let higher = |a: (f64, f64), b: (f64, f64)| if b.1 > a.1 { b } else { a };
        self.levels.iter().copied().reduce(higher)
    }

    /// The number of clients that would reach the highest throughput if none had to wait for another:
    /// from there on, latency grows with the number of clients. Only if the law fits.
    pub fn bend(&self) -> Option<f64> {
        let law = self.law.as_ref().filter(|law| law.fits)?;
        let alone = law.lambda.value;
        (alone > 0.0).then_some(self.peak()?.1 / alone)
    }

    /// The sentence.
    pub fn verdict(&self) -> String {
        let (Some(peak), Some(last)) = (self.peak(), self.levels.last()) else {
            return "no number of clients has a run that counts".into();
        };
        let measured = |(clients, tps): (f64, f64)| {
            format!(
                "the highest throughput measured is {} transactions per second with {}",
                significant(tps),
                count(clients)
            )
        };
        let Some(law) = &self.law else {
            return format!(
                "{}; whether it is the peak needs at least {MIN_LEVELS} numbers of clients",
                measured(peak)
            );
        };
        if !law.fits {
            return format!(
                "{}; the Universal Scalability Law does not describe it: with {}, throughput \
                 differs from the law by {:.0} %",
                measured(peak),
                count(law.worst_at),
                100.0 * law.worst
            );
        }
        let (clients, tps) = (peak.0.round(), significant(peak.1));
        let mut text = match law.peak {
            Some(_) => format!(
                "throughput peaks with {} at {tps} transactions per second",
                count(clients)
            ),
            None => format!(
                "throughput still rises with {}, up to {tps} transactions per second",
                count(last.0)
            ),
        };
        if let Some(bend) = self.bend() {
            text.push_str(&format!(
                "; latency grows with the number of clients from {} on",
                significant(bend)
            ));
        }
        text
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
        Scaling {
            levels: levels.to_vec(),
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
        assert!((clients - 9.487).abs() < 0.01, "{clients}");
        assert_eq!(
            found.verdict(),
            "throughput peaks with 9 clients at 3570 transactions per second; latency grows with \
             the number of clients from 3.57 on"
        );
        assert!((tps - 3574.8).abs() < 0.1, "{tps}");
    }

    #[test]
    fn throughput_may_still_rise() {
        let found = scaling(&law(0.05, 0.0, &[1.0, 2.0, 4.0, 8.0]));
        assert_eq!(
            found.verdict(),
            "throughput still rises with 8 clients, up to 5930 transactions per second; latency \
             grows with the number of clients from 5.93 on"
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
    fn few_numbers_of_clients_have_no_law() {
        assert_eq!(
            scaling(&[(1.0, 500.0), (2.0, 900.0)]).verdict(),
            "the highest throughput measured is 900 transactions per second with 2 clients; \
             whether it is the peak needs at least 4 numbers of clients"
        );
        assert_eq!(
            scaling(&[]).verdict(),
            "no number of clients has a run that counts"
        );
    }
}
