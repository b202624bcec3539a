//! Colors of charts: any two of one chart can be told apart, also by people who see two kinds of colors only, and all
//! stand out against the background.
//!
//! Differences are CIEDE2000. Color blindness is simulated as in Machado, Oliveira, Fernandes: A physiologically-based
//! model for simulation of color vision deficiency, IEEE Transactions on Visualization and Computer Graphics 15 (6),
//! 2009, with severity 1. Contrast is that of WCAG 2.1.

use palette::color_difference::{Ciede2000, Wcag21RelativeContrast};
use palette::{IntoColor, Lab, LinSrgb, Srgb};
use std::collections::BTreeMap;

/// Protanopia, deuteranopia, tritanopia, for linear RGB.
const BLINDNESS: [(&str, [[f64; 3]; 3]); 3] = [
    (
        "protanopia",
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
    ),
    (
        "deuteranopia",
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
    ),
    (
        "tritanopia",
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
    ),
];

/// Colors of series and of spans of time, which may all be in one chart.
const MARKS: [&str; 13] = [
    "c0",
    "c1",
    "c2",
    "c3",
    "c4",
    "c5",
    "c6",
    "c7",
    "warm",
    "checkpoint",
    "autovacuum",
    "canceled",
    "stall",
];

/// Colors of frames of flame graphs by file, and of those by change. What is found may be any.
const FRAMES: [&[&str]; 2] = [
    &["server", "own", "system", "library", "root", "found"],
    &["less", "fewer", "same", "more", "most", "root", "found"],
];

/// The colors of the style sheet, light and dark.
fn palettes() -> [BTreeMap<String, Srgb<f64>>; 2] {
    let style = selfbench_chart::STYLE.0;
    let (light, dark) = style.split_once("prefers-color-scheme: dark").unwrap();
    let colors = |text: &str| {
        let block = &text[..text.find("font:").unwrap_or(text.len())];
        let declared = block.split("--").filter_map(|part| {
            let (name, value) = part.split_once(": #")?;
            let color: Srgb<u8> = value.get(..6)?.parse().ok()?;
            Some((name.to_owned(), color.into_format()))
        });
        declared.collect::<BTreeMap<_, _>>()
    };
    let light = colors(light);
    let mut all = light.clone();
    all.extend(colors(dark.split_once("} }").unwrap().0));
    [light, all]
}

/// A color as it is seen, and with each color blindness.
fn seen(color: Srgb<f64>) -> Vec<(&'static str, Lab<palette::white_point::D65, f64>)> {
    let linear: LinSrgb<f64> = color.into_linear();
    let [r, g, b] = [linear.red, linear.green, linear.blue];
    let simulated = BLINDNESS.map(|(name, matrix)| {
        let [r, g, b] = matrix.map(|row| (row[0] * r + row[1] * g + row[2] * b).clamp(0.0, 1.0));
        (name, LinSrgb::new(r, g, b).into_color())
    });
    let mut all = vec![("normal", linear.into_color())];
    all.extend(simulated);
    all
}

#[test]
fn colors_of_a_chart_differ() {
    for (theme, colors) in ["light", "dark"].iter().zip(palettes()) {
        for of_chart in [MARKS.as_slice()].iter().chain(&FRAMES) {
            for (i, one) in of_chart.iter().enumerate() {
                for other in &of_chart[..i] {
                    let pairs = seen(colors[*one]).into_iter().zip(seen(colors[*other]));
                    for ((vision, a), (_, b)) in pairs {
                        let difference = a.difference(b);
                        assert!(
                            difference >= 10.0,
                            "{theme}, {vision}: {one} and {other} differ by {difference:.1}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn marks_stand_out() {
    for (theme, colors) in ["light", "dark"].iter().zip(palettes()) {
        for mark in MARKS.iter().chain(&["ink", "dim"]) {
            let contrast = colors[*mark].relative_contrast(colors["back"]);
            assert!(contrast >= 3.0, "{theme}: {mark} has {contrast:.2} : 1");
        }
    }
}

#[test]
fn names_of_frames_can_be_read() {
    for (theme, colors) in ["light", "dark"].iter().zip(palettes()) {
        for frame in FRAMES.concat() {
            let contrast = colors["ink"].relative_contrast(colors[frame]);
            assert!(contrast >= 4.5, "{theme}: {frame} has {contrast:.2} : 1");
        }
    }
}

/// Series of a chart beyond those that have a color are added up, so that no color is there twice.
#[test]
fn a_style_sheet_has_a_color_for_each_series() {
    let style = selfbench_chart::STYLE.0;
    for i in 0..8 {
        assert!(
            style.contains(&format!(".s{i} {{ --c: var(--c{i}); }}")),
            "{i}"
        );
    }
    assert!(!style.contains(".s8"));
}
