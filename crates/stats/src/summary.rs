//! Rates, shares and medians.

/// Transactions per second; 0 if `seconds` is not above 0.
///
/// Reports show the figure together with its mode.
pub fn tps(transactions: u64, seconds: f64) -> f64 {
    if seconds > 0.0 {
        transactions as f64 / seconds
    } else {
        0.0
    }
}

/// `part` as a percentage of `total`; 0 of 0 is NaN, as in pgbench.
pub fn percent(part: u64, total: u64) -> f64 {
    100.0 * part as f64 / total as f64
}

/// The ratio of `value` to `base`; `None` if `base` is 0 or either is not a finite number.
pub fn ratio(value: f64, base: f64) -> Option<f64> {
    let quotient = value / base;
    (value.is_finite() && base.is_finite() && quotient.is_finite()).then_some(quotient)
}

/// The median of samples in any order: the middle one, or the mean of the two in the middle.
///
/// `None` if there are none or one of them is NaN.
pub fn median(samples: &[f64]) -> Option<f64> {
    sorted(samples).map(|sorted| middle(&sorted))
}

/// The first and the third quartile of samples in any order, interpolated like `percentile_cont` in SQL
/// (Hyndman and Fan, Sample Quantiles in Statistical Packages, 1996, definition 7).
///
/// `None` if there are none or one of them is NaN.
pub fn quartiles(samples: &[f64]) -> Option<[f64; 2]> {
    let sorted = sorted(samples)?;
    let quantile = |p: f64| {
        let place = p * (sorted.len() - 1) as f64;
        let (below, above) = (
            sorted[place.floor() as usize],
            sorted[place.ceil() as usize],
        );
        below + place.fract() * (above - below)
    };
    Some([quantile(0.25), quantile(0.75)])
}

/// Lowest, middle and highest of repeated measurements, in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Lowest sample.
    pub min: f64,
    /// Median, see [`median`].
    pub median: f64,
    /// Highest sample.
    pub max: f64,
}

impl Spread {
    /// The spread of samples in any order; `None` if there are none or one of them is NaN.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let sorted = sorted(samples)?;
        Some(Self {
            min: *sorted.first()?,
            median: middle(&sorted),
            max: *sorted.last()?,
        })
    }
}

/// The samples by rising value, unless there are none or one is NaN.
fn sorted(samples: &[f64]) -> Option<Vec<f64>> {
    if samples.is_empty() || samples.iter().any(|sample| sample.is_nan()) {
        return None;
    }
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    Some(sorted)
}

/// The median of a sorted slice that is not empty.
fn middle(sorted: &[f64]) -> f64 {
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[half]
    } else {
        f64::midpoint(sorted[half - 1], sorted[half])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_time() {
        assert_eq!(tps(100, 4.0), 25.0);
        for seconds in [0.0, -1.0, f64::NAN] {
            assert_eq!(tps(100, seconds), 0.0);
        }
    }

    #[test]
    fn a_share_of_nothing_is_not_a_number() {
        assert_eq!(percent(1, 8), 12.5);
        assert_eq!(percent(0, 8), 0.0);
        assert!(percent(0, 0).is_nan());
    }

    #[test]
    fn ratios_are_finite_or_none() {
        assert_eq!(ratio(3.0, 2.0), Some(1.5));
        assert_eq!(ratio(3.0, 0.0), None);
        assert_eq!(ratio(0.0, 0.0), None);
        assert_eq!(ratio(1.0, f64::INFINITY), None);
        assert_eq!(ratio(f64::NAN, 1.0), None);
    }

    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[1.0, f64::NAN]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[9.0, 1.0, 5.0]), Some(5.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 9.0]), Some(3.0));
    }

    #[test]
    fn quartiles_are_interpolated() {
        assert_eq!(quartiles(&[]), None);
        assert_eq!(quartiles(&[1.0, f64::NAN]), None);
        assert_eq!(quartiles(&[3.0]), Some([3.0, 3.0]));
        assert_eq!(quartiles(&[4.0, 1.0, 3.0, 2.0]), Some([1.75, 3.25]));
    }

    #[test]
    fn a_spread_has_the_extremes() {
        let spread = Spread::of(&[110.0, 90.0, 100.0]).unwrap();
        assert_eq!(
            spread,
            Spread {
                min: 90.0,
                median: 100.0,
                max: 110.0
            }
        );
        assert_eq!(Spread::of(&[]), None);
    }
}
