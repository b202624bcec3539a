//! Writes a page of charts to the standard output, with axes over many ranges of values: the browser's
//! tests look for labels that overlap or are cut.

use selfbench_chart::{
    About, Across, Bin, Chart, CurvePoint, CurveSeries, Interval, PercentileCurve, Point, Range,
    Series, TimeAxis, Unit, curve, distribution, intervals, lines, percentiles,
};
use selfbench_page::{Block, Picture, Report, Section};

/// Sections of seven charts each.
const SECTIONS: usize = 48;

fn main() {
    let report = Report {
        state: None,
        title: "Charts over many ranges".into(),
        subtitle: String::new(),
        sections: (1..=SECTIONS).map(section).collect(),
        footer: String::new(),
    };
    print!("{}", report.html());
}

/// Charts whose log axes begin at 1, 2 or 5 times a power of ten, and have up to a dozen such values.
fn section(number: usize) -> Section {
    let (first, values) = (number % 3, number.div_ceil(3));
    let nth = |n: usize| [1.0, 2.0, 5.0][n % 3] * 10_f64.powf((n / 3) as f64);
    let low = nth(first) * if values % 2 == 0 { 10.0 } else { 0.01 };
    let ratio = nth(first + values) / nth(first);
    // From 0, the lowest value, to 1, the highest one.
    let value = |at: f64| low * ratio.powf(at);
    let charts = [
        latencies(number, value),
        tail(number, value),
        over_time(number, Unit::Milliseconds, true, value),
        over_time(number, Unit::Bytes("/s"), false, |at| 1e4 * value(at)),
        over_time(number, Unit::Count("blocks/s"), false, |at| {
            1e-3 * value(at)
        }),
        arms(number, value),
        by_clients(number, |at| 1e3 * value(at)),
    ];
    let picture = |chart| {
        Block::Chart(Picture {
            chart,
            table: None,
            query: String::new(),
            plot: None,
        })
    };
    Section {
        heading: format!("Range {number}"),
        blocks: charts.map(picture).into(),
    }
}

/// The fractional part of a multiple: spread evenly from 0 to 1, the same each time.
fn fraction(number: usize, of: f64) -> f64 {
    (number as f64 * of).fract()
}

fn about(title: &str, number: usize) -> About {
    About {
        title: format!("{title} {number}"),
        finding: "Made up.".into(),
    }
}

fn latencies(number: usize, value: impl Fn(f64) -> f64) -> Chart {
    let bin = |i: usize| Bin {
        from_ms: value(i as f64 / 40.0),
        to_ms: value((i + 1) as f64 / 40.0),
        count: 1 + (1000.0 * fraction(number + i, 0.618)) as u64,
    };
    let names = ["p50", "p95", "p99", "p99.9", "max"];
    let mark = |(i, name): (usize, &str)| {
        let at = (i as f64 + fraction(number + i, 0.618)) / names.len() as f64;
        (name.to_owned(), value(at))
    };
    let marks: Vec<_> = names.into_iter().enumerate().map(mark).collect();
    let bins: Vec<_> = (0..40).map(bin).collect();
    distribution(
        &about("Distribution", number),
        &[(String::new(), &bins)],
        &marks,
    )
}

fn tail(number: usize, value: impl Fn(f64) -> f64) -> Chart {
    let known = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999];
    let known = &known[..2 + number % 8];
    let points = known.iter().enumerate();
    let points = points.map(|(i, percentile)| (*percentile, value(i as f64 / 8.0)));
    let curve = PercentileCurve {
        name: "p".into(),
        points: points.collect(),
    };
    percentiles(&about("Percentiles", number), &[curve])
}

fn over_time(number: usize, unit: Unit, may_be_log: bool, value: impl Fn(f64) -> f64) -> Chart {
    let seconds = 10_f64.powf(10.0 * fraction(number, 0.414) - 4.0);
    let time = TimeAxis {
        from: 0.0,
        to: seconds,
    };
    let point = |i: usize| Point {
        at: seconds * (i as f64 + 0.5) / 50.0,
        seconds: seconds / 50.0,
        value: Some(Range::of(value(fraction(i, 0.618)))),
    };
    let series = Series {
        name: "mean".into(),
        points: (0..50).map(point).collect(),
    };
    let about = about("Course", number);
    lines(&about, time, unit, may_be_log, &[series], &[])
}

fn arms(number: usize, value: impl Fn(f64) -> f64) -> Chart {
    let arm = |i: usize| {
        let middle = value(fraction(number + i, 0.618));
        Interval {
            name: format!("arm {i}"),
            value: Some(middle),
            low: Some(0.9 * middle),
            high: Some(1.1 * middle),
            runs: vec![0.95 * middle, 1.05 * middle],
            note: "no difference can be seen".into(),
        }
    };
    let arms: Vec<_> = (1..=3).map(arm).collect();
    let about = about("Arms", number);
    intervals(&about, Unit::Milliseconds, &arms, Some(value(0.5)))
}

fn by_clients(number: usize, value: impl Fn(f64) -> f64) -> Chart {
    let most = 10_f64.powf(4.0 * fraction(number, 0.732)).ceil();
    let point = |i: usize| CurvePoint {
        x: (1.0 + (most - 1.0) * i as f64 / 5.0).round(),
        y: value(fraction(number + i, 0.618)),
        low: None,
        high: None,
    };
    let series = CurveSeries {
        name: "tps".into(),
        points: (0..=5).map(point).collect(),
        ..CurveSeries::default()
    };
    let (clients, tps) = (Unit::Count("clients"), Unit::Count("transactions/s"));
    curve(
        &about("Scaling", number),
        &Across::Numbers(clients),
        tps,
        &[series],
    )
}
