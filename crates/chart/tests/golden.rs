//! Charts of fixed data are the files in `tests/golden`; `UPDATE_GOLDEN=1` writes them.

mod data;

use data::*;
use selfbench_chart::*;
use std::path::Path;

fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, actual).expect("the file can be written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{name} differs; UPDATE_GOLDEN=1 writes it"
    );
}

/// Every chart of fixed data, by name.
fn charts() -> Vec<(&'static str, Chart)> {
    let latency = [
        wave("avg", 60, 1.0),
        wave("p95", 60, 4.0),
        wave("p99", 60, 90.0),
    ];
    let layers = [
        "not waiting",
        "IO",
        "LWLock",
        "Lock",
        "Client",
        "IPC",
        "Timeout",
        "Extension",
    ];
    let layers: Vec<Series> = layers
        .iter()
        .enumerate()
        .map(|(i, name)| wave(name, 60, 1.0 + i as f64))
        .collect();
    let (spans, sixty) = (spans(), time(60.0));
    let tps = Unit::Count("transactions/s");
    vec![
        (
            "lines",
            lines(
                &about("Throughput"),
                sixty,
                tps,
                false,
                &[wave("tps", 60, 8000.0)],
                &spans,
            ),
        ),
        (
            "lines_log",
            lines(
                &about("Latency"),
                sixty,
                Unit::Milliseconds,
                true,
                &latency,
                &spans,
            ),
        ),
        (
            "stack",
            stack(
                &about("Waits"),
                sixty,
                Unit::Count("sessions"),
                &layers,
                &[],
            ),
        ),
        (
            "distribution",
            distribution(
                &about("Distribution"),
                &[(String::new(), &bins())],
                &marks(),
            ),
        ),
        (
            "distributions",
            distribution(
                &about("Distributions"),
                &[
                    ("run 2".to_owned(), &bins()),
                    ("run 1: <b>".to_owned(), &other_bins()),
                ],
                &[],
            ),
        ),
        (
            "percentiles",
            percentiles(
                &about("Percentiles"),
                &[curve_of("a", 1.0), curve_of("b", 1.4)],
            ),
        ),
        (
            "heat",
            heat(&about("Latency over time"), sixty, &[], &heat_map()),
        ),
        (
            "heat_canceled",
            heat(&about("Latency over time"), sixty, &spans, &heat_map()),
        ),
        (
            "bars",
            bars(&about("Statements"), Unit::Milliseconds, &statements()),
        ),
        (
            "budget",
            budget(
                &about("Time budget"),
                Unit::Microseconds,
                &[arm("run 1", 1.0)],
            ),
        ),
        (
            "budgets",
            budget(
                &about("Time budgets"),
                Unit::Microseconds,
                &[arm("spi", 1.0), arm("libpq", 1.7)],
            ),
        ),
        (
            "intervals",
            intervals(&about("Arms"), tps, &arms(), Some(5000.0)),
        ),
        (
            "curve",
            curve(
                &about("Scaling"),
                &Across::Numbers(Unit::Count("clients")),
                tps,
                &scaling(),
            ),
        ),
        ("flame", flame(&about("Flame graph"), &stacks(), None)),
        (
            "flame_against",
            flame(&about("Flame graphs"), &stacks(), Some(&other_stacks())),
        ),
    ]
}

#[test]
fn charts_of_fixed_data() {
    for (name, chart) in charts() {
        check(&format!("{name}.svg"), &chart.alone());
    }
}

/// The lines of a plot.
fn plot(
    title: &str,
    time: TimeAxis,
    unit: Unit,
    series: &Series,
    spans: &[Span],
    width: usize,
    glyphs: text::Glyphs,
) -> Vec<String> {
    let plot = text::Plot {
        title: title.to_owned(),
        time,
        unit,
        series: series.clone(),
        spans: spans.to_vec(),
    };
    plot.lines(width, glyphs)
}

#[test]
fn ticks_of_a_plot_are_even() {
    for highest in [1.0, 2.1, 3.0, 4.4, 5.1, 7.0, 9.9] {
        let values = wave("", 60, highest);
        let lines = plot(
            "",
            time(60.0),
            Unit::Count(""),
            &values,
            &[],
            80,
            text::Glyphs::Ascii,
        );
        let rows = lines
            .iter()
            .enumerate()
            .filter(|(_, line)| line.get(8..9) == Some("+"));
        let at: Vec<usize> = rows.map(|(row, _)| row).collect();
        let gaps: Vec<usize> = at.windows(2).map(|rows| rows[1] - rows[0]).collect();
        // The last one is that of the axis.
        let of_ticks = &gaps[..gaps.len() - 1];
        assert!(
            of_ticks.iter().all(|gap| *gap == of_ticks[0]),
            "{}",
            lines.join("\n")
        );
    }
}

#[test]
fn text_of_fixed_data() {
    let mut text = String::new();
    for glyphs in [text::Glyphs::Unicode, text::Glyphs::Ascii] {
        let tps = Unit::Count("transactions/s");
        let lines = plot(
            "tps",
            time(60.0),
            tps,
            &wave("", 60, 8000.0),
            &spans(),
            80,
            glyphs,
        );
        text += &(lines.join("\n") + "\n");
        text += &(text::line(&wave("", 60, 8000.0), 40, glyphs) + "\n");
        let short = wave("", 60, 0.4);
        let lines = plot(
            "p99",
            time(60.0),
            Unit::Milliseconds,
            &short,
            &[],
            40,
            glyphs,
        )
        .join("\n");
        assert_eq!(lines.is_ascii(), glyphs == text::Glyphs::Ascii, "{lines}");
    }
    check("plots.txt", &text);
}

/// Checks that a chart has nothing that the policy forbids.
fn check_policy(name: &str, svg: &str) {
    let document = roxmltree::Document::parse(svg).unwrap_or_else(|e| panic!("{name}: {e}\n{svg}"));
    assert!(svg.is_ascii(), "{name}");
    assert!(!svg.contains("NaN") && !svg.contains("inf%"), "{name}");
    let root = document.root_element();
    assert_eq!(root.attribute("role"), Some("img"), "{name}");
    assert!(
        root.descendants()
            .any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title")))
    );
    for node in document.descendants().filter(|node| node.is_element()) {
        assert_ne!(node.tag_name().name(), "script", "{name}");
        for attribute in node.attributes() {
            let attribute = attribute.name();
            let is_allowed = !attribute.starts_with("on")
                && !["style", "href", "fill", "stroke"].contains(&attribute);
            assert!(is_allowed, "{name}: {attribute}");
        }
    }
}

#[test]
fn charts_have_no_script_no_colors_and_a_title() {
    for (name, chart) in charts() {
        check_policy(name, &chart.alone());
        let html = selfbench_markup::finish(chart.embedded());
        check_policy(name, &html);
        assert!(!html.contains("<style"), "{name}");
    }
}

/// Data that are none, one, the same, not known, not finite.
#[test]
fn odd_data() {
    let sixty = time(60.0);
    let unit = Unit::Milliseconds;
    let none = Series::default();
    let with = |values: &[Option<f64>]| Series {
        name: "<b>".to_owned(),
        points: values
            .iter()
            .enumerate()
            .map(|(i, value)| Point {
                at: i as f64,
                seconds: 1.0,
                value: value.map(Range::of),
            })
            .collect(),
    };
    let odd = [
        none,
        with(&[Some(5.0)]),
        with(&[None, None]),
        with(&[Some(3.0), None, Some(3.0), Some(3.0)]),
        with(&[Some(0.0), Some(0.0)]),
        with(&[Some(f64::NAN), Some(f64::INFINITY), Some(1e300), Some(-1.0)]),
        with(&[Some(1e-300)]),
    ];
    for (i, series) in odd.iter().enumerate() {
        for may_be_log in [false, true] {
            for time in [sixty, time(0.0), time(f64::NAN), time(1e9)] {
                let series = std::slice::from_ref(series);
                let spans = [Span {
                    kind: SpanKind::Checkpoint,
                    from: -5.0,
                    to: f64::NAN,
                }];
                let chart = lines(&about("odd"), time, unit, may_be_log, series, &spans);
                check_policy(&format!("lines {i}"), &chart.alone());
                check_policy(
                    &format!("stack {i}"),
                    &stack(&about("odd"), time, unit, series, &[]).alone(),
                );
            }
        }
        for glyphs in [text::Glyphs::Unicode, text::Glyphs::Ascii] {
            for width in [0, 30, 1000] {
                plot("odd", sixty, unit, series, &[], width, glyphs);
                text::line(series, width, glyphs);
            }
        }
        let values: Vec<Option<f64>> = series
            .points
            .iter()
            .map(|p| p.value.map(|r| r.mean))
            .collect();
        check_policy(
            "sparkline",
            &selfbench_markup::finish(sparkline("odd", &values)),
        );
        for value in values {
            let bar = Bar {
                name: "\u{202e}\0".to_owned(),
                value,
                note: String::new(),
            };
            check_policy("bars", &bars(&about("odd"), unit, &[bar]).alone());
            let part = Part {
                name: "p".to_owned(),
                value,
            };
            let arm = BudgetArm {
                name: "a".to_owned(),
                parts: vec![part],
            };
            check_policy("budget", &budget(&about("odd"), unit, &[arm]).alone());
            let arm = Interval {
                value,
                low: value,
                high: value,
                ..Interval::default()
            };
            check_policy(
                "intervals",
                &intervals(&about("odd"), unit, &[arm], value).alone(),
            );
            let point = CurvePoint {
                x: 1.0,
                y: value.unwrap_or(0.0),
                low: value,
                high: None,
            };
            let curve_of = CurveSeries {
                points: vec![point],
                ..CurveSeries::default()
            };
            check_policy(
                "curve",
                &curve(
                    &about("odd"),
                    &Across::Numbers(unit),
                    unit,
                    std::slice::from_ref(&curve_of),
                )
                .alone(),
            );
            check_policy(
                "dates",
                &curve(
                    &about("odd"),
                    &Across::Dates(vec![Mark::default()]),
                    unit,
                    &[curve_of],
                )
                .alone(),
            );
            let curve_of = PercentileCurve {
                points: vec![(100.0, value.unwrap_or(0.0))],
                ..PercentileCurve::default()
            };
            check_policy(
                "percentiles",
                &percentiles(&about("odd"), &[curve_of]).alone(),
            );
            let from_ms = value.unwrap_or(0.0);
            let bin = Bin {
                from_ms,
                to_ms: from_ms,
                count: 3,
            };
            check_policy(
                "distribution",
                &distribution(&about("odd"), &[(String::new(), &[bin])], &[]).alone(),
            );
        }
    }
    check_policy("bars", &bars(&about("odd"), unit, &[]).alone());
    check_policy("budget", &budget(&about("odd"), unit, &[]).alone());
    check_policy(
        "intervals",
        &intervals(&about("odd"), unit, &[], None).alone(),
    );
    check_policy(
        "curve",
        &curve(&about("odd"), &Across::Dates(vec![]), unit, &[]).alone(),
    );
    check_policy("percentiles", &percentiles(&about("odd"), &[]).alone());
    check_policy(
        "distribution",
        &distribution(&about("odd"), &[], &[]).alone(),
    );
    check_policy(
        "heat",
        &heat(&about("odd"), sixty, &[], &HeatMap::default()).alone(),
    );
    check_policy("flame", &flame(&about("odd"), &[], None).alone());
    let deep = vec![(vec!["f"; 5000].join(";"), 1)];
    check_policy("flame", &flame(&about("odd"), &deep, Some(&deep)).alone());
}

/// A spike of one second in a day is in the chart, which is small.
#[test]
fn a_day_keeps_its_spikes() {
    let point = |i: usize| Point {
        at: i as f64 * 108.0,
        seconds: 108.0,
        value: Some(Range {
            low: 0.9,
            mean: 1.0,
            high: if i == 400 { 250.0 } else { 1.1 },
        }),
    };
    let day = Series {
        name: "max".to_owned(),
        points: (0..800).map(point).collect(),
    };
    let chart = lines(
        &about("Day"),
        time(86400.0),
        Unit::Milliseconds,
        true,
        std::slice::from_ref(&day),
        &[],
    )
    .alone();
    assert!(chart.contains("time, h"));
    assert!(chart.contains("500"), "the axis reaches the spike");
    assert!(chart.len() < 60_000, "{} bytes", chart.len());
    let text = plot(
        "Day",
        time(86400.0),
        Unit::Milliseconds,
        &day,
        &[],
        80,
        text::Glyphs::Unicode,
    );
    let is_dot = |c: char| ('\u{2801}'..='\u{28ff}').contains(&c);
    assert!(text[2].contains(is_dot), "{}", text.join("\n"));
}
