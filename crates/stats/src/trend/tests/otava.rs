//! The divergence against reference values of Apache Otava 0.8.0. Its method differs: it tests parts by Student's
//! t-test with variances divided by n, on the values themselves, in overlapping windows, and merges what a weaker
//! first pass has found.

use super::divergences;
use crate::steadiness::mean;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// A change before a position.
#[derive(Clone, Copy)]
struct Point {
    at: usize,
    p_value: f64,
    magnitude: f64,
}

impl Point {
    fn of(at: usize, before: &[f64], after: &[f64]) -> Point {
        let (n, m) = (before.len() as f64, after.len() as f64);
        let (mean_1, mean_2) = (mean(before), mean(after));
        let variance = |values: &[f64], mean: f64| {
            values
                .iter()
                .map(|value| (value - mean).powi(2))
                .sum::<f64>()
                / values.len() as f64
        };
        // Otava passes these on as if they were divided by n - 1.
        let pooled = ((n - 1.0) * variance(before, mean_1) + (m - 1.0) * variance(after, mean_2))
            / (n + m - 2.0);
        let t = (mean_1 - mean_2) / (pooled * (1.0 / n + 1.0 / m)).sqrt();
        let p_value = match n + m > 2.0 {
            true => 2.0 * StudentsT::new(0.0, 1.0, n + m - 2.0).unwrap().sf(t.abs()),
            false => 1.0,
        };
        let forward = (mean_2 / mean_1 - 1.0).abs();
        let backward = (mean_1 / mean_2 - 1.0).abs();
        Point {
            at,
            p_value,
            magnitude: forward.max(backward),
        }
    }

    /// Point at this place, between other neighbors.
    fn within(self, series: &[f64], points: &[Point]) -> Point {
        let begin = points.iter().rev().find(|point| point.at < self.at);
        let end = points.iter().find(|point| point.at > self.at);
        let (begin, end) = (
            begin.map_or(0, |p| p.at),
            end.map_or(series.len(), |p| p.at),
        );
        Point::of(self.at, &series[begin..self.at], &series[self.at..end])
    }
}

/// The best split of a part, whose second half may end before the part does.
fn candidate(part: &[f64]) -> Option<(usize, f64)> {
    let ends = 2..=part.len();
    let splits = ends.flat_map(|end| divergences(&part[..end]).into_iter().enumerate().skip(1));
    splits.max_by(|(_, a), (_, b)| a.total_cmp(b))
}

fn split_window(window: &[f64], largest_p: f64) -> Vec<usize> {
    let mut points: Vec<usize> = Vec::new();
    loop {
        let bounds: Vec<usize> = [0]
            .into_iter()
            .chain(points.iter().copied())
            .chain([window.len()])
            .collect();
        let candidates = bounds.windows(2).filter_map(|part| {
            let (at, q) = candidate(&window[part[0]..part[1]])?;
            Some((part[0], part[0] + at, part[1], q))
        });
        let Some((begin, at, end, _)) = candidates.max_by(|a, b| a.3.total_cmp(&b.3)) else {
            return points;
        };
        if Point::of(at, &window[begin..at], &window[at..end]).p_value > largest_p {
            return points;
        }
        points.push(at);
        points.sort_unstable();
    }
}

fn change_points(
    series: &[f64],
    window: usize,
    largest_p: f64,
    least_magnitude: f64,
) -> Vec<usize> {
    let mut places: Vec<usize> = Vec::new();
    let mut start = 0;
    while start < series.len() {
        let end = series.len().min(start + window);
        let found = split_window(&series[start..end], 10.0 * largest_p);
        let found: Vec<usize> = found.into_iter().map(|at| start + at).collect();
        start = (start + window / 2).max(found.last().copied().unwrap_or(0));
        places.extend(found);
    }
    places.sort_unstable();
    places.dedup();
    let points = places.iter().map(|at| Point::of(*at, &[0.0], &[0.0]));
    let points: Vec<Point> = points.collect();
    let mut points: Vec<Point> = points
        .iter()
        .map(|point| point.within(series, &points))
        .collect();
    loop {
        let weakest =
            (0..points.len()).max_by(|a, b| points[*a].p_value.total_cmp(&points[*b].p_value));
        let Some(mut weakest) = weakest else {
            return Vec::new();
        };
        if points[weakest].p_value < largest_p {
            let by_magnitude =
                |a: &usize, b: &usize| points[*a].magnitude.total_cmp(&points[*b].magnitude);
            weakest = (0..points.len()).min_by(by_magnitude).unwrap();
            if points[weakest].magnitude > least_magnitude {
                return points.iter().map(|point| point.at).collect();
            }
        }
        points.remove(weakest);
        // Otava judges these again, not the one before.
        for number in weakest..points.len().min(weakest + 2) {
            points[number] = points[number].within(series, &points);
        }
    }
}

/// Values around 100 with a deviation of 2 %, made by the linear congruential generator of C's standard, of two
/// decimals.
fn series(seed: u64, n: usize, shape: impl Fn(f64) -> f64) -> Vec<f64> {
    let mut state = seed;
    let mut unit = || {
        state = (state * 1_103_515_245 + 12_345) % (1 << 31);
        state as f64 / (1_u64 << 31) as f64
    };
    (0..n)
        .map(|night| {
            let normal = (0..12).map(|_| unit()).sum::<f64>() - 6.0;
            let value = 100.0 * shape(night as f64) * (1.0 + 0.02 * normal);
            (100.0 * value).round() / 100.0
        })
        .collect()
}

#[test]
fn changes_are_those_of_otava() {
    let steps = series(1, 120, |night| match night {
        ..40.0 => 1.0,
        ..80.0 => 0.9,
        _ => 1.05,
    });
    let noise = series(2, 120, |_| 1.0);
    let drift = series(3, 120, |night| {
        1.0 - 0.2 * f64::max(0.0, night - 50.0) / 70.0
    });
    let spike = series(4, 80, |night| if night == 40.0 { 0.6 } else { 1.0 });
    let found = |series| {
        [(50, 0.001, 0.0), (50, 0.001, 0.05), (30, 0.01, 0.0)]
            .map(|(window, p, magnitude)| change_points(series, window, p, magnitude))
    };
    assert_eq!(found(&steps), [[40, 80]; 3]);
    assert_eq!(found(&noise), [vec![], vec![], vec![94, 95]]);
    assert_eq!(
        found(&drift),
        [
            vec![61, 74, 85, 100, 112],
            vec![85, 112],
            vec![61, 74, 89, 107, 114]
        ]
    );
    assert_eq!(found(&spike), [vec![], vec![], vec![40, 41]]);
    for (series, at, divergence) in [
        (steps, 40, 95.77251282051279),
        (noise, 34, 9.485995085995086),
        (drift, 28, 9.699901234567887),
        (spike, 40, 76.7340087554722),
    ] {
        let (found, q) = candidate(&series[..50]).unwrap();
        assert_eq!(found, at);
        assert!((q / divergence - 1.0).abs() < 1e-9, "{q}");
    }
}
