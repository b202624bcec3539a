//! Growth of throughput with the number of clients: the Universal Scalability Law (Gunther, 1993;
//! see his "Guerrilla Capacity Planning", 2007, chapters 4 to 6).
//!
//! `X(N) = lambda N / (1 + sigma (N - 1) + kappa N (N - 1))`: `lambda` is the throughput of one client;
//! `sigma` the share of the work that clients do one after the other (contention); `kappa` what each
//! pair of clients costs (coherency), because of which throughput has a peak.
//!
//! The law is fitted by least squares of the relative residuals, since the noise of throughput grows
//! with throughput, with `sigma` and `kappa` not below 0. It is linear in `a = 1 / lambda`,
//! `b = sigma / lambda` and `c = kappa / lambda` if it is written as `N / X`; that fit is where the
//! steps of Gauss, Newton, Levenberg and Marquardt begin. Intervals come from the linearized model
//! without the bounds of 0, by the delta method and Student's t, and are cut at 0.

use crate::compare::t_quantile;
use statrs::distribution::{ContinuousCDF, FisherSnedecor};

/// The law has three coefficients, so that more numbers of clients are needed to contradict it.
pub const MIN_LEVELS: usize = 4;
/// A law fits if no mean differs from it by more than this fraction, or if that can be noise.
const CLOSE: f64 = 0.05;
/// A law that explains a smaller share of the variance does not describe how throughput changes.
pub const LEAST_R_SQUARED: f64 = 0.9;
/// Significance level of the lack of fit.
const LEVEL: f64 = 0.05;
const MAX_STEPS: usize = 200;

/// A coefficient with the interval that contains the true one in 95 % of all cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coefficient {
    /// The value that fits best.
    pub value: f64,
    /// The lower bound; `None` if there are only as many points as coefficients.
    pub low: Option<f64>,
    /// The upper bound.
    pub high: Option<f64>,
}

/// The law that describes some throughput best.
#[derive(Clone, Debug, PartialEq)]
pub struct Usl {
    /// Throughput of one client.
    pub lambda: Coefficient,
    /// Contention.
    pub sigma: Coefficient,
    /// Coherency.
    pub kappa: Coefficient,
    /// The share of the variance of throughput that it explains.
    pub r_squared: f64,
    /// The number of clients with the highest throughput, if that is within the measured range.
    pub peak: Option<f64>,
    /// The largest difference between the mean of some number of clients and the law, as a fraction of
    /// the law.
    pub worst: f64,
    /// The number of clients with this difference.
    pub worst_at: f64,
    /// The probability of such differences if the law holds: the F test of the lack of fit (Fisher,
    /// 1922), which needs repeated measurements.
    pub p_value: Option<f64>,
    /// Whether no mean is farther from it than 5 %, or a `p_value` above 0.05 says that noise can be the
    /// reason.
    pub close: bool,
    /// Whether it describes the measurements: it is close, and explains [`LEAST_R_SQUARED`] of the variance.
    pub fits: bool,
}

impl Usl {
    /// Throughput of that many clients.
    pub fn at(&self, clients: f64) -> f64 {
        let delay =
            self.sigma.value * (clients - 1.0) + self.kappa.value * clients * (clients - 1.0);
        self.lambda.value * clients / (1.0 + delay)
    }
}

/// Fits the law to points `(clients, throughput)`, of which several may have the same number of
/// clients. `None` if there are fewer than [`MIN_LEVELS`] numbers of clients, or a value is not finite
/// or not above 0.
pub fn fit(points: &[(f64, f64)]) -> Option<Usl> {
    let positive = |value: f64| value.is_finite() && value > 0.0;
    if !points.iter().all(|(n, x)| positive(*n) && positive(*x)) {
        return None;
    }
    // In units of the highest throughput, so that no square is too large or too small.
    let scale = points.iter().map(|(_, x)| *x).fold(0.0, f64::max);
    let scaled: Vec<_> = points.iter().map(|(n, x)| (*n, x / scale)).collect();
    let levels = levels(&scaled);
    if levels.len() < MIN_LEVELS {
        return None;
    }
    // All repeats of a level have the same weight, or slow ones would count more.
    let weighted = levels.iter().flat_map(|level| {
        let weight = level.mean.recip();
        level
            .values
            .iter()
            .map(move |x| (level.clients, *x, weight))
    });
    let weighted: Vec<Point> = weighted.collect();
    let fitted = least_squares(&weighted)?;
    let mut law = Usl {
        lambda: fitted.lambda,
        sigma: fitted.sigma,
        kappa: fitted.kappa,
        r_squared: 0.0,
        peak: None,
        worst: 0.0,
        worst_at: 0.0,
        p_value: None,
        close: false,
        fits: false,
    };
    law.r_squared = r_squared(&law, &weighted);
    law.peak = peak(&law, &levels);
    for level in &levels {
        let difference = (level.mean / law.at(level.clients) - 1.0).abs();
        if difference >= law.worst {
            (law.worst, law.worst_at) = (difference, level.clients);
        }
    }
    law.p_value = lack_of_fit(&weighted, &levels, fitted.rest);
    law.lambda = Coefficient {
        value: law.lambda.value * scale,
        low: law.lambda.low.map(|low| low * scale),
        high: law.lambda.high.map(|high| high * scale),
    };
    law.close = law.worst <= CLOSE || law.p_value.is_some_and(|p| p >= LEVEL);
    law.fits = law.close && law.r_squared >= LEAST_R_SQUARED;
    Some(law)
}

/// Number of clients, throughput, weight of the residual.
type Point = (f64, f64, f64);
/// Coefficients `a`, `b` and `c` of `N / X = a + b (N - 1) + c N (N - 1)`.
type Three = [f64; 3];

/// All measurements with one number of clients.
struct Level {
    clients: f64,
    values: Vec<f64>,
    mean: f64,
}

fn levels(points: &[(f64, f64)]) -> Vec<Level> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
    let levels = sorted.chunk_by(|a, b| a.0 == b.0).map(|level| Level {
        clients: level[0].0,
        values: level.iter().map(|(_, x)| *x).collect(),
        mean: level.iter().map(|(_, x)| x / level.len() as f64).sum(),
    });
    levels.collect()
}

/// Coefficients and the sum of squares that they leave.
struct Fitted {
    lambda: Coefficient,
    sigma: Coefficient,
    kappa: Coefficient,
    rest: f64,
}

fn least_squares(points: &[Point]) -> Option<Fitted> {
    // Which of b and c are free; what is not is 0. The best one within the bounds is the optimum.
    let candidates = [
        [true; 3],
        [true, false, true],
        [true, true, false],
        [true, false, false],
    ];
    let solutions = candidates.map(|free| descend(points, free));
    let inside = |solution: &&Three| solution[1] >= 0.0 && solution[2] >= 0.0;
    let best = solutions.iter().flatten().filter(inside);
    let best = *best.min_by(|x, y| rest(points, **x).total_cmp(&rest(points, **y)))?;
    let bounds = solutions[0].and_then(|solution| bounds(points, solution));
    let coefficient = |i: usize, value: f64| Coefficient {
        value,
        // A bound of the law without limits may be on the wrong side of what is within them.
        low: bounds.map(|bounds| bounds[i].0.max(0.0).min(value)),
        high: bounds.map(|bounds| bounds[i].1.max(value)),
    };
    let [a, b, c] = best;
    Some(Fitted {
        lambda: coefficient(0, a.recip()),
        sigma: coefficient(1, b / a),
        kappa: coefficient(2, c / a),
        rest: rest(points, best),
    })
}

/// `1`, `N - 1` and `N (N - 1)`.
fn terms(n: f64) -> Three {
    [1.0, n - 1.0, n * (n - 1.0)]
}

fn throughput(n: f64, abc: Three) -> f64 {
    n / dot(terms(n), abc)
}

fn dot(a: Three, b: Three) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// The sum of the squares of the weighted residuals; infinite if throughput is not above 0 somewhere.
fn rest(points: &[Point], abc: Three) -> f64 {
    let mut sum = 0.0;
    for (n, x, weight) in points {
        let expected = throughput(*n, abc);
        if !(expected > 0.0 && expected.is_finite()) {
            return f64::INFINITY;
        }
        sum += ((x - expected) * weight).powi(2);
    }
    sum
}

/// The least squares of those coefficients that are free.
fn descend(points: &[Point], free: [bool; 3]) -> Option<Three> {
    let restrict =
        |terms: Three| -> Three { std::array::from_fn(|i| f64::from(free[i]) * terms[i]) };
    // The linear fit of N / X, of which an error of X is one of N / X².
    let linear = points.iter().map(|(n, x, weight)| {
        let scale = weight * x * x / n;
        (restrict(terms(*n)).map(|term| term * scale), n / x * scale)
    });
    let mut abc = solve(normal(linear, free, 0.0))?;
    if rest(points, abc).is_infinite() {
        // All clients alike: no contention.
        let slowest = points.iter().map(|(n, x, _)| n / x).fold(0.0, f64::max);
        abc = [slowest, 0.0, 0.0];
    }
    let mut damping = 1e-3;
    let mut least = rest(points, abc);
    for _ in 0..MAX_STEPS {
        let tangents = points.iter().map(|(n, x, weight)| {
            let expected = throughput(*n, abc);
            // The derivative of N / d by d is -(N / d)² / N.
            let scale = -expected * expected / n * weight;
            (
                restrict(terms(*n)).map(|term| term * scale),
                (x - expected) * weight,
            )
        });
        let step = solve(normal(tangents, free, damping))?;
        let next = std::array::from_fn(|i| abc[i] + step[i]);
        let left = rest(points, next);
        if left <= least {
            let gain = least - left;
            (abc, least) = (next, left);
            damping = f64::max(damping / 10.0, 1e-12);
            if gain <= 1e-15 * least {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e12 {
                break;
            }
        }
    }
    least.is_finite().then_some(abc)
}

/// Matrix and right side of the normal equations; a coefficient that is not free is 0.
fn normal(
    rows: impl Iterator<Item = (Three, f64)>,
    free: [bool; 3],
    damping: f64,
) -> ([Three; 3], Three) {
    let (mut matrix, mut right) = ([[0.0; 3]; 3], [0.0; 3]);
    for (row, value) in rows {
        for i in 0..3 {
            right[i] += row[i] * value;
            for j in 0..3 {
                matrix[i][j] += row[i] * row[j];
            }
        }
    }
    for i in 0..3 {
        match free[i] {
            true => matrix[i][i] *= 1.0 + damping,
            false => matrix[i][i] = 1.0,
        }
    }
    (matrix, right)
}

/// Solves three equations by Cholesky's method; `None` if they do not have one solution.
fn solve((matrix, right): ([Three; 3], Three)) -> Option<Three> {
    // Scaled, since the sums of N and of N⁴ differ by many orders of magnitude.
    let scale: Three = std::array::from_fn(|i| matrix[i][i].sqrt().recip());
    let mut lower = [[0.0; 3]; 3];
    for i in 0..3 {
        for j in 0..=i {
            let done: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
            let value = matrix[i][j] * scale[i] * scale[j] - done;
            match i == j {
                true if value > 1e-14 => lower[i][i] = f64::sqrt(value),
                true => return None,
                false => lower[i][j] = value / lower[j][j],
            }
        }
    }
    let mut solution = [0.0; 3];
    for i in 0..3 {
        let done: f64 = (0..i).map(|k| lower[i][k] * solution[k]).sum();
        solution[i] = (right[i] * scale[i] - done) / lower[i][i];
    }
    for i in (0..3).rev() {
        let done: f64 = (i + 1..3).map(|k| lower[k][i] * solution[k]).sum();
        solution[i] = (solution[i] - done) / lower[i][i];
    }
    let solution: Three = std::array::from_fn(|i| solution[i] * scale[i]);
    solution
        .iter()
        .all(|value| value.is_finite())
        .then_some(solution)
}

/// The intervals of lambda, sigma and kappa around a solution without bounds.
fn bounds(points: &[Point], abc: Three) -> Option<[(f64, f64); 3]> {
    let freedom = points.len().checked_sub(3).filter(|freedom| *freedom > 0)? as f64;
    let variance = rest(points, abc) / freedom;
    let tangents = || {
        points.iter().map(|(n, _, weight)| {
            let scale = throughput(*n, abc).powi(2) / n * weight;
            (terms(*n).map(|term| term * scale), 0.0)
        })
    };
    let [a, b, c] = abc;
    // The gradients of 1/a, b/a and c/a.
    let gradients = [
        [-1.0 / (a * a), 0.0, 0.0],
        [-b / (a * a), 1.0 / a, 0.0],
        [-c / (a * a), 0.0, 1.0 / a],
    ];
    let values = [1.0 / a, b / a, c / a];
    let mut bounds = [(0.0, 0.0); 3];
    for i in 0..3 {
        let (matrix, _) = normal(tangents(), [true; 3], 0.0);
        let half = t_quantile(freedom)
            * (variance * dot(gradients[i], solve((matrix, gradients[i]))?))
                .max(0.0)
                .sqrt();
        bounds[i] = (values[i] - half, values[i] + half);
    }
    Some(bounds)
}

fn r_squared(law: &Usl, points: &[Point]) -> f64 {
    let mean = points
        .iter()
        .map(|(_, x, _)| x / points.len() as f64)
        .sum::<f64>();
    let of = |expected: &dyn Fn(f64) -> f64| -> f64 {
        points
            .iter()
            .map(|(n, x, _)| (x - expected(*n)).powi(2))
            .sum()
    };
    1.0 - of(&|n| law.at(n)) / of(&|_| mean)
}

/// The maximum of the law in the measured range, unless throughput still rises at its end.
fn peak(law: &Usl, levels: &[Level]) -> Option<f64> {
    let (first, last) = (levels.first()?.clients, levels.last()?.clients);
    // Without a square root, it falls from one client on.
    let peak = ((1.0 - law.sigma.value).max(0.0) / law.kappa.value).sqrt();
    (peak <= last || law.sigma.value >= 1.0).then(|| peak.max(first))
}

/// The probability of means as far from the law, measured by the spread of repeats.
fn lack_of_fit(points: &[Point], levels: &[Level], rest: f64) -> Option<f64> {
    let noise: f64 = levels
        .iter()
        .flat_map(|level| level.values.iter().map(|x| (x / level.mean - 1.0).powi(2)))
        .sum();
    let (lack, repeats) = (levels.len() - 3, points.len() - levels.len());
    if repeats == 0 || noise == 0.0 {
        return None;
    }
    let f = ((rest - noise).max(0.0) / lack as f64) / (noise / repeats as f64);
    Some(FisherSnedecor::new(lack as f64, repeats as f64).ok()?.sf(f))
}

#[cfg(test)]
mod tests;
