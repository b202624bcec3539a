//! Whether the last value of a series differs from those before it.

use crate::summary::median;

/// Number of values needed before the last one.
pub const LEAST_EARLIER: usize = 5;
/// Number of them that count: older ones say less about what is usual now.
pub const MOST_EARLIER: usize = 14;
/// Least distance of the last value from their median, as a fraction.
pub const LEAST_CHANGE: f64 = 0.1;

/// The last value of a series beside those before it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LastValue {
    /// The last value.
    pub value: f64,
    /// Number of values before it that count.
    pub earlier: usize,
    /// Their median.
    pub median: f64,
    /// The last value divided by the median.
    pub ratio: f64,
    /// Whether it is outside the range of those before it and more than [`LEAST_CHANGE`] from their
    /// median. Of values that do not change, one in `earlier + 1` is below the range of the others.
    pub has_changed: bool,
}

impl LastValue {
    /// Compares the last of these values, which are in order of time; `None` if there are too few
    /// before it, or values that are not numbers.
    pub fn of(values: &[f64]) -> Option<LastValue> {
        let (&value, before) = values.split_last()?;
        let earlier = &before[before.len().saturating_sub(MOST_EARLIER)..];
        if earlier.len() < LEAST_EARLIER || earlier.iter().any(|x| !x.is_finite()) {
            return None;
        }
        let median = median(earlier)?;
        let ratio = value / median;
        let is_outside = earlier.iter().all(|&x| value < x) || earlier.iter().all(|&x| value > x);
        ratio.is_finite().then_some(LastValue {
            value,
            earlier: earlier.len(),
            median,
            ratio,
            has_changed: is_outside && (ratio - 1.0).abs() > LEAST_CHANGE,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(values: &[f64]) -> Option<bool> {
        LastValue::of(values).map(|last| last.has_changed)
    }

    #[test]
    fn a_value_far_outside_of_the_others_has_changed() {
        let last = LastValue::of(&[100.0, 104.0, 98.0, 101.0, 97.0, 60.0]).unwrap();
        assert_eq!((last.earlier, last.median, last.ratio), (5, 100.0, 0.6));
        assert!(last.has_changed);
        assert_eq!(
            changed(&[100.0, 104.0, 98.0, 101.0, 97.0, 140.0]),
            Some(true)
        );
    }

    #[test]
    fn it_must_be_outside_their_range_and_far_from_their_median() {
        assert_eq!(
            changed(&[100.0, 50.0, 98.0, 101.0, 97.0, 60.0]),
            Some(false)
        );
        assert_eq!(
            changed(&[100.0, 100.0, 100.0, 100.0, 100.0, 91.0]),
            Some(false)
        );
    }

    #[test]
    fn few_values_say_nothing() {
        assert_eq!(LastValue::of(&[]), None);
        assert_eq!(LastValue::of(&[1.0]), None);
        assert_eq!(LastValue::of(&[1.0, 1.0, 1.0, 1.0, 9.0]), None);
        assert_eq!(LastValue::of(&[1.0, 1.0, f64::NAN, 1.0, 1.0, 9.0]), None);
        assert_eq!(LastValue::of(&[0.0, 0.0, 0.0, 0.0, 0.0, 9.0]), None);
    }

    #[test]
    fn old_values_do_not_count() {
        let mut values = vec![500.0];
        values.extend([100.0; MOST_EARLIER]);
        values.push(120.0);
        let last = LastValue::of(&values).unwrap();
        assert_eq!((last.earlier, last.median), (MOST_EARLIER, 100.0));
        assert!(last.has_changed);
    }
}
