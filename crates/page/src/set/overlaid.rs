//! Sweeps drawn over each other: throughput by what they vary, with the curves that fit.

use super::{Set, TPS, options, points_query, scaling_query, without};
use crate::content::{Picture, Row, Table, decimal};
use crate::source::Source;
use selfbench_chart::{About, Across, CurvePoint, CurveSeries, Unit, curve};
use serde_json::Value;

/// Dimensions for the horizontal axis of sweeps; the first one that a grid has is used.
const ACROSS: [&str; 3] = ["clients", "scale", "rate"];
/// Number of steps of a fitted curve.
const STEPS: usize = 60;

/// The throughput of all sweeps over what the first of them varies, and beside it the latency.
pub(super) fn overlaid<S: Source>(sets: &[Set], source: &mut S) -> Result<Vec<Picture>, S::Error> {
    let sweeps: Vec<&Set> = sets.iter().filter(|set| set.is("sweep")).collect();
    let Some(across) = ACROSS
        .into_iter()
        .find(|name| sweeps.iter().any(|set| set.varies(name)))
    else {
        return Ok(Vec::new());
    };
    let mut series: Vec<CurveSeries> = Vec::new();
    let mut latencies: Vec<CurveSeries> = Vec::new();
    let mut latency_rows: Vec<Row> = Vec::new();
    let mut drawn = Table {
        caption: format!("Throughput by {across}"),
        numbers: vec![false, true, true, true, true],
        ..Table::default()
    };
    for set in sweeps {
        let mut of_set: Vec<CurveSeries> = Vec::new();
        // By the options that do not vary across.
        let named = |others: &str| match (sets.len(), others) {
            (1, "") => "tps".to_owned(),
            (1, others) => others.to_owned(),
            (_, "") => set.name(),
            (_, others) => format!("{}, {others}", set.name()),
        };
        for row in source.rows(&points_query(set.id))? {
            let point = row.0.iter().find(|(name, _)| name == "options");
            let x = point.and_then(|(_, point)| point.get(across)?.as_f64());
            let (Some(x), Some(y)) = (x, row.number("tps")) else {
                continue;
            };
            let name = named(&without(&row, "options", across));
            let [low, high] = ["tps_low", "tps_high"].map(|end| row.number(end));
            let point = CurvePoint { x, y, low, high };
            drawn.rows.push(Row(vec![
                ("series".into(), name.clone().into()),
                (across.into(), x.into()),
                ("tps".into(), y.into()),
                ("tps_low".into(), point.low.into()),
                ("tps_high".into(), point.high.into()),
            ]));
            if let Some(ms) = row.number("latency_p95_ms") {
                latency_rows.push(Row(vec![
                    ("series".into(), name.clone().into()),
                    (across.into(), x.into()),
                    ("latency_p95_ms".into(), ms.into()),
                ]));
                let point = CurvePoint {
                    y: ms,
                    low: None,
                    high: None,
                    ..point
                };
                add(&mut latencies, name.clone(), point);
            }
            add(&mut of_set, name, point);
        }
        if across == "clients" && set.varies("clients") {
            for law in source.rows(&scaling_query(set.id))? {
                let name = named(&options(&law, "options"));
                let series = of_set.iter_mut().find(|series| series.name == name);
                if let Some(series) = series {
                    series.fit = fit(&law, &series.points);
                }
            }
        }
        series.extend(of_set);
    }
    for series in series.iter_mut().chain(&mut latencies) {
        series.points.sort_by(|a, b| a.x.total_cmp(&b.x));
    }
    let highest = series
        .iter()
        .flat_map(|s| s.points.iter().map(move |point| (s, point)))
        .max_by(|a, b| a.1.y.total_cmp(&b.1.y));
    let Some((of, point)) = highest else {
        return Ok(Vec::new());
    };
    let about = About {
        title: match series
            .iter()
            .flat_map(|series| &series.points)
            .any(|point| point.low.is_some())
        {
            true => format!("Throughput by {across}, with intervals of 95 %."),
            false => format!("Throughput by {across}."),
        },
        finding: format!(
            "The highest is {} tps at {across} = {} ({}).",
            decimal(point.y),
            point.x,
            of.name
        ),
    };
    let mut pictures = vec![Picture::of(
        curve(&about, &Across::Numbers(Unit::Count(across)), TPS, &series),
        Some(drawn),
    )];
    if !latencies.is_empty() {
        let about = About {
            title: format!("95th percentile of latency by {across}."),
            finding: "Of the same points.".into(),
        };
        let across_of = Across::Numbers(Unit::Count(across));
        pictures.push(Picture::of(
            curve(&about, &across_of, Unit::Milliseconds, &latencies),
            Some(Table {
                caption: format!("95th percentile of latency by {across}"),
                numbers: vec![false, true, true],
                rows: latency_rows,
                ..Table::default()
            }),
        ));
    }
    Ok(pictures)
}

/// Adds a point to the series of that name.
fn add(all: &mut Vec<CurveSeries>, name: String, point: CurvePoint) {
    match all.iter_mut().find(|series| series.name == name) {
        Some(series) => series.points.push(point),
        None => all.push(CurveSeries {
            name,
            points: vec![point],
            ..CurveSeries::default()
        }),
    }
}

/// The law of a series where it was measured, if it fits.
fn fit(law: &Row, points: &[CurvePoint]) -> Vec<(f64, f64)> {
    let fits = law
        .0
        .iter()
        .any(|(name, value)| name == "fits" && *value == Value::Bool(true));
    let coefficients = || {
        Some((
            law.number("lambda")?,
            law.number("sigma")?,
            law.number("kappa")?,
        ))
    };
    let (true, Some((lambda, sigma, kappa))) = (fits, coefficients()) else {
        return Vec::new();
    };
    let last = points.iter().map(|point| point.x).fold(1.0, f64::max);
    let at = |step: usize| {
        let n = 1.0 + (last - 1.0) * step as f64 / STEPS as f64;
        (
            n,
            lambda * n / (1.0 + sigma * (n - 1.0) + kappa * n * (n - 1.0)),
        )
    };
    (0..=STEPS).map(at).collect()
}
