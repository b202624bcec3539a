use super::*;
use crate::random::Random;

/// SPEC SDM 91 on a Sun SPARCcenter 2000: Gunther (2007), chapter 5; the data set `specsdm91` of the R
/// package `usl`.
const SDM: [(f64, f64); 7] = [
    (1.0, 64.9),
    (18.0, 995.9),
    (36.0, 1652.4),
    (72.0, 1853.2),
    (108.0, 1828.9),
    (144.0, 1775.0),
    (216.0, 1702.2),
];

/// A ray tracer on an SGI Origin 2000: Gunther (2007), chapter 5; `raytracer` of the R package `usl`.
const RAYTRACER: [(f64, f64); 11] = [
    (1.0, 20.0),
    (4.0, 78.0),
    (8.0, 130.0),
    (12.0, 170.0),
    (16.0, 190.0),
    (20.0, 200.0),
    (24.0, 210.0),
    (28.0, 230.0),
    (32.0, 260.0),
    (48.0, 280.0),
    (64.0, 310.0),
];

fn near(value: f64, expected: f64, relative: f64) {
    let error = (value - expected).abs();
    assert!(
        error <= relative * expected.abs(),
        "{value} instead of {expected}"
    );
}

fn coefficient_near(coefficient: Coefficient, value: f64, low: f64, high: f64) {
    near(coefficient.value, value, 1e-5);
    near(coefficient.low.unwrap(), low, 1e-4);
    near(coefficient.high.unwrap(), high, 1e-4);
}

/// The documentation of the R package has sigma 0.0277, kappa 0.000104, lambda 90.0 and a peak at 96.5.
/// With `f = lambda n, l, s, k: l*n / (1 + s*(n-1) + k*n*(n-1))`:
/// `p, c = curve_fit(f, n, x, p0=(x[0], .02, 1e-4), maxfev=20000)`.
#[test]
fn the_fit_with_equal_weights_is_the_published_one() {
    let points = SDM.map(|(n, x)| (n, x, 1.0));
    let fitted = least_squares(&points).unwrap();
    coefficient_near(fitted.lambda, 89.9951971655218, 50.53200828, 129.458386);
    coefficient_near(
        fitted.sigma,
        0.02772845391706665,
        0.00240232241,
        0.05305458542,
    );
    coefficient_near(
        fitted.kappa,
        0.00010436548821,
        4.918269579e-5,
        0.000159548281,
    );
}

/// Fit with `sigma=x`; intervals `p -+ stats.t.ppf(.975, 4) * np.sqrt(np.diag(c))`, cut at 0.
#[test]
fn relative_residuals_are_fitted_as_scipy_does() {
    let law = fit(&SDM).unwrap();
    coefficient_near(law.lambda, 67.70896048368577, 55.70574858, 79.71217239);
    coefficient_near(
        law.sigma,
        0.013515166691626121,
        0.00250285315,
        0.02452748023,
    );
    coefficient_near(
        law.kappa,
        0.00011509152360630327,
        5.272566923e-5,
        0.000177457378,
    );
    near(law.r_squared, 0.9785890686031882, 1e-6);
    near(law.peak.unwrap(), 92.58135582522011, 1e-5);
    assert!(law.worst > 0.05 && law.p_value.is_none() && !law.fits);

    let law = fit(&RAYTRACER).unwrap();
    coefficient_near(law.lambda, 21.444692817813372, 19.31452593, 23.57485970);
    near(law.sigma.value, 0.0560540105416357, 1e-5);
    near(law.kappa.value, 1.6879145744665033e-06, 1e-3);
    assert_eq!(law.kappa.low, Some(0.0));
    near(law.kappa.high.unwrap(), 0.00027691013176398243, 1e-4);
    assert_eq!(law.peak, None, "747.8 is beyond the measured range");
}

/// `curve_fit(..., sigma=m)` with the mean `m` of each level; the F test of `stats.f.sf(F, 3, 12)`.
#[test]
fn repeats_show_whether_the_law_fits() {
    let figures = [
        990.0, 1010.0, 1005.0, 1935.5, 1869.1, 1897.5, 3304.9, 3441.2, 3458.3, 5472.0, 5636.1,
        5362.5, 7139.0, 7246.6, 7103.1, 7198.9, 7057.8, 6881.3,
    ];
    let clients = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    let mut points: Vec<_> = (0..18).map(|i| (clients[i / 3], figures[i])).collect();
    let law = fit(&points).unwrap();
    coefficient_near(
        law.lambda,
        1001.2107175915781,
        985.2856129741303,
        1017.135822209026,
    );
    coefficient_near(
        law.sigma,
        0.05002171647144609,
        0.043977156889937356,
        0.056066276052954826,
    );
    coefficient_near(
        law.kappa,
        0.0020137199931685346,
        0.0018091565799701003,
        0.002218283406366969,
    );
    near(law.peak.unwrap(), 21.719873810769215, 1e-5);
    near(law.r_squared, 0.9988691005475534, 1e-6);
    near(law.p_value.unwrap(), 0.9868816290312117, 1e-3);
    assert!(law.fits && law.worst < 0.01);

    // Something else happens beyond 8 clients.
    for point in &mut points[12..15] {
        point.1 *= 0.7;
    }
    let law = fit(&points).unwrap();
    assert!(law.p_value.unwrap() < 0.001 && law.worst > 0.05 && !law.fits);
}

/// Throughput that changes by little beside its noise: no mean is far from any curve.
#[test]
fn a_law_that_explains_little_does_not_fit() {
    let flat = [(1.0, 207.0), (2.0, 203.0), (4.0, 212.0), (8.0, 205.0)];
    let law = fit(&flat).unwrap();
    assert!(law.close && law.r_squared < 0.6 && !law.fits, "{law:?}");
    let even = fit(&flat.map(|(n, _)| (n, 200.0))).unwrap();
    assert!(!even.fits);
}

#[test]
fn coefficients_are_not_below_zero() {
    // Linear, and better than that.
    let linear = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n| (n, 100.0 * n));
    let law = fit(&linear).unwrap();
    near(law.lambda.value, 100.0, 1e-6);
    assert!(law.sigma.value < 1e-9 && law.kappa.value < 1e-9);
    assert!((law.peak, law.fits) == (None, true));
    let better = [1.0, 2.0, 4.0, 8.0, 16.0].map(|n: f64| (n, 100.0 * n.powf(1.2)));
    let law = fit(&better).unwrap();
    assert_eq!((law.sigma.value, law.kappa.value), (0.0, 0.0));
    assert_eq!((law.sigma.low, law.kappa.low), (Some(0.0), Some(0.0)));
    assert!(!law.fits);
}

#[test]
fn a_peak_below_the_measured_range_is_at_its_begin() {
    let falling = [4.0, 8.0, 16.0, 32.0].map(|n: f64| (n, 1000.0 / n));
    let law = fit(&falling).unwrap();
    assert_eq!(law.peak, Some(4.0));
}

#[test]
fn what_cannot_be_fitted_is_not() {
    let three = [(1.0, 10.0), (2.0, 19.0), (4.0, 30.0), (4.0, 31.0)];
    assert_eq!(fit(&three), None);
    assert_eq!(fit(&[]), None);
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let mut points = SDM;
        points[3].1 = bad;
        assert_eq!(fit(&points), None);
        let mut points = SDM;
        points[3].0 = bad;
        assert_eq!(fit(&points), None);
    }
    // Nonsense is fitted, or not, without a panic.
    let mut random = Random::new(3);
    for _ in 0..200 {
        let points: Vec<_> = (1..8)
            .map(|n| (f64::from(n), 1e3 * random.unit()))
            .collect();
        if let Some(law) = fit(&points) {
            assert!(law.lambda.value > 0.0 && law.sigma.value >= 0.0 && law.kappa.value >= 0.0);
        }
    }
    let huge = SDM.map(|(n, x)| (n * 1e3, x * 1e200));
    let tiny = SDM.map(|(n, x)| (n, x * 1e-200));
    near(
        fit(&tiny).unwrap().lambda.value,
        67.70896048368577e-200,
        1e-5,
    );
    assert!(fit(&huge).unwrap().lambda.value > 1e198);
}

#[test]
fn intervals_contain_the_true_coefficients_as_often_as_they_say() {
    let mut random = Random::new(9);
    let (lambda, sigma, kappa) = (1000.0, 0.05, 0.002);
    let (mut covered, mut fits) = ([0; 3], 0);
    for _ in 0..400 {
        let mut points = Vec::new();
        for n in [1.0, 2.0, 4.0, 8.0, 16.0, 32.0] {
            for _ in 0..3 {
                let x = lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0));
                points.push((n, x * (1.0 + 0.03 * random.normal())));
            }
        }
        let law = fit(&points).unwrap();
        let truth = [(law.lambda, lambda), (law.sigma, sigma), (law.kappa, kappa)];
        for (count, (coefficient, truth)) in covered.iter_mut().zip(truth) {
            let inside = coefficient.low.unwrap()..=coefficient.high.unwrap();
            *count += usize::from(inside.contains(&truth));
        }
        fits += usize::from(law.fits);
    }
    assert!(
        covered.iter().all(|n| (372..=392).contains(n)),
        "{covered:?} of 400"
    );
    assert!(fits >= 380, "{fits} of 400");
}
