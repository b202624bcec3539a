//! Fixed data for charts.

use selfbench_chart::*;

pub fn about(title: &str) -> About {
    About {
        title: title.to_owned(),
        finding: format!("{title} <of> fixed & \"made up\" data."),
    }
}

/// A course of `n` points of a second: a wave with a dip, ranges around it.
pub fn wave(name: &str, n: usize, height: f64) -> Series {
    let point = |i: usize| {
        let at = i as f64 + 0.5;
        let dip = if (n * 6 / 10..n * 7 / 10).contains(&i) {
            0.3
        } else {
            1.0
        };
        let mean = height * dip * (1.0 + 0.2 * (i as f64 / 5.0).sin());
        Point {
            at,
            seconds: 1.0,
            value: Some(Range {
                low: mean * 0.9,
                mean,
                high: mean * 1.15,
            }),
        }
    };
    Series {
        name: name.to_owned(),
        points: (0..n).map(point).collect(),
    }
}

pub fn time(to: f64) -> TimeAxis {
    TimeAxis { from: 0.0, to }
}

pub fn spans() -> Vec<Span> {
    let span = |kind, from, to| Span { kind, from, to };
    vec![
        span(SpanKind::WarmUp, 0.0, 5.0),
        span(SpanKind::Checkpoint, 30.0, 42.0),
        span(SpanKind::Autovacuum, 38.0, 50.0),
        span(SpanKind::Canceled, 55.0, 60.0),
    ]
}

/// Bins of equal ratios with two humps.
pub fn bins() -> Vec<Bin> {
    let bin = |i: i32| {
        let hump = |middle: f64, width: f64, height: f64| {
            height * (-((f64::from(i) - middle) / width).powi(2)).exp()
        };
        Bin {
            from_ms: 0.1 * 1.15_f64.powi(i),
            to_ms: 0.1 * 1.15_f64.powi(i + 1),
            count: (hump(12.0, 4.0, 10000.0) + hump(33.0, 2.0, 900.0)) as u64,
        }
    };
    (0..45).map(bin).collect()
}

/// Bins with the same bounds and other counts.
pub fn other_bins() -> Vec<Bin> {
    let mut bins = bins();
    let counts: Vec<u64> = bins.iter().map(|bin| bin.count / 2).collect();
    for (bin, count) in bins.iter_mut().skip(5).zip(counts) {
        bin.count = count;
    }
    bins
}

pub fn marks() -> Vec<(String, f64)> {
    [
        ("p50", 0.55),
        ("p95", 9.0),
        ("p99", 11.5),
        ("p99.9", 13.0),
        ("max", 41.0),
    ]
    .map(|(name, ms)| (name.to_owned(), ms))
    .to_vec()
}

pub fn curve_of(name: &str, factor: f64) -> PercentileCurve {
    let points = [0.0, 10.0, 25.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];
    let ms = |percentile: f64| factor * (0.3 + 0.2 / (1.0 - percentile / 100.0).powf(0.6));
    PercentileCurve {
        name: name.to_owned(),
        points: points.iter().map(|p| (*p, ms(*p))).collect(),
    }
}

pub fn heat_map() -> HeatMap {
    let column = |t: usize| {
        let count = |row: usize| {
            let middle = if (36..42).contains(&t) { 14.0 } else { 6.0 };
            let away = (row as f64 - middle) / 3.0;
            (1000.0 * (-away * away).exp()) as u64 + u64::from(row == 18 && t.is_multiple_of(7))
        };
        (0..20).map(count).collect()
    };
    HeatMap {
        times: (0..=60).map(f64::from).collect(),
        latencies_ms: (0..=20).map(|i| 0.1 * 1.35_f64.powi(i)).collect(),
        counts: (0..60).map(column).collect(),
    }
}

pub fn statements() -> Vec<Bar> {
    let bar = |name: &str, value, note: &str| Bar {
        name: name.to_owned(),
        value,
        note: note.to_owned(),
    };
    vec![
        bar("BEGIN;", Some(0.004), ""),
        bar(
            "UPDATE pgbench_accounts SET abalance = abalance + :delta\n WHERE aid = :aid;",
            Some(0.081),
            "",
        ),
        bar(
            "SELECT abalance <b> FROM pgbench_accounts;",
            Some(0.033),
            "2 failures",
        ),
        bar("END;", None, ""),
    ]
}

pub fn arm(name: &str, factor: f64) -> BudgetArm {
    let part = |(name, value): (&str, Option<f64>)| Part {
        name: name.to_owned(),
        value: value.map(|value: f64| value * factor),
    };
    BudgetArm {
        name: name.to_owned(),
        parts: [
            ("plan", Some(6.5)),
            ("executor", Some(41.0)),
            ("commit", Some(22.0)),
            ("waits: IO", Some(130.0)),
            ("waits: LWLock", Some(18.0)),
            ("run queue", None),
            ("not explained", Some(9.0)),
        ]
        .map(part)
        .to_vec(),
    }
}

pub fn arms() -> Vec<Interval> {
    let arm = |name: &str, value, low, high, note: &str| Interval {
        name: name.to_owned(),
        value,
        low,
        high,
        runs: value
            .into_iter()
            .flat_map(|value: f64| [0.98 * value, 1.03 * value])
            .collect(),
        note: note.to_owned(),
    };
    vec![
        arm(
            "baseline",
            Some(5000.0),
            Some(4900.0),
            Some(5100.0),
            "baseline",
        ),
        arm(
            "wal_compression",
            Some(5600.0),
            Some(5450.0),
            Some(5750.0),
            "1.09 to 1.15 times",
        ),
        arm("failed", None, None, None, "no run"),
    ]
}

pub fn scaling() -> Vec<CurveSeries> {
    let throughput = |n: f64| 1000.0 * n / (1.0 + 0.05 * (n - 1.0) + 0.002 * n * (n - 1.0));
    let point = |n: f64| CurvePoint {
        x: n,
        y: throughput(n) * if n == 4.0 { 1.03 } else { 0.98 },
        low: Some(throughput(n) * 0.94),
        high: Some(throughput(n) * 1.06),
    };
    vec![CurveSeries {
        name: "tps".to_owned(),
        points: [1.0, 2.0, 4.0, 8.0, 16.0, 32.0].map(point).to_vec(),
        fit: (1..=64)
            .map(|n| (f64::from(n) / 2.0, throughput(f64::from(n) / 2.0)))
            .collect(),
        ..CurveSeries::default()
    }]
}

pub fn stacks() -> Vec<(String, u64)> {
    [
        ("spi client;main;run;execute;ExecScan;heap_fetch", 400),
        ("spi client;main;run;execute;ExecScan;index_getnext", 250),
        (
            "spi client;main;selfbench::run;commit;XLogFlush;fsync [libc.so.6]",
            180,
        ),
        (
            "spi client;main;run;execute;plpgsql_call_handler [plpgsql.so]",
            20,
        ),
        ("spi client;main;run;commit;<script>alert(1)</script>", 40),
        ("coordinator;main;tick", 30),
        ("coordinator;main;rare", 1),
    ]
    .map(|(stack, samples)| (stack.to_owned(), samples))
    .to_vec()
}

/// Stacks of a run in which the index took more time, and nothing was called from PL/pgSQL.
pub fn other_stacks() -> Vec<(String, u64)> {
    let mut stacks = stacks();
    stacks.retain(|(stack, _)| !stack.contains("plpgsql"));
    stacks[1].1 = 25;
    stacks.push(("spi client;main;run;plan".to_owned(), 90));
    stacks
}
