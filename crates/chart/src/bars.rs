//! Horizontal bars: one for each thing, or one of parts for each arm.

use crate::chart::fits;
use crate::chart::{About, Chart};
use crate::color::{OTHERS, SERIES, colors};
use crate::legend::{self, Entry};
use crate::number::Unit;
use crate::svg::{Percent, Px};
use maud::{Markup, html};
use selfbench_markup::line;

/// Height of a bar with its name above it.
const ROW: f64 = 36.0;

/// Characters of a name that fit a narrow page beside a value.
const NAME: usize = 38;

/// Characters of a name that fit a wide page.
const LONGEST: usize = 150;

/// A bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Name, which may be the text of a statement.
    pub name: String,
    /// Length of the bar; `None` if it is not known.
    pub value: Option<f64>,
    /// Note behind the value; may be empty.
    pub note: String,
}

/// A bar for each thing, in their order, all from 0.
pub fn bars(about: &About, unit: Unit, bars: &[Bar]) -> Chart {
    if bars.is_empty() {
        return Chart::empty(about);
    }
    let values = bars.iter().filter_map(|bar| bar.value);
    let highest = values.filter(|value| value.is_finite()).fold(0.0, f64::max);
    let part = |value: Option<f64>| match value {
        Some(value) if highest > 0.0 => Percent((value / highest).clamp(0.0, 1.0)),
        _ => Percent(0.0),
    };
    let says = |bar: &Bar| {
        let value = bar
            .value
            .map_or("unknown".to_owned(), |value| unit.with(value));
        match bar.note.is_empty() {
            true => value,
            false => format!("{value}, {}", line(&bar.note)),
        }
    };
    let marks = html! {
        @for (i, bar) in bars.iter().enumerate() {
            @let y = ROW * i as f64;
            g {
                title { (line(&bar.name)) ": " (says(bar)) }
                (clipped(y, html! { text.mono y="13" { (shortened(&bar.name, LONGEST)) } }))
                text.value x="100%" y=(Px(y + 13.0)) { (says(bar)) }
                rect.fill.s0 x="0" y=(Px(y + 18.0)) width=(part(bar.value)) height="9" {}
            }
        }
    };
    Chart::new(about, ROW * bars.len() as f64, marks)
}

/// A name that is cut where values begin, at any width.
fn clipped(y: f64, name: Markup) -> Markup {
    html! { svg y=(Px(y)) width="66%" height="17" { (name) } }
}

/// A text of at most that many characters, in one line.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let text = line(text.trim()).replace("[U+000A]", " ");
    if text.chars().count() <= most {
        return text;
    }
    let short: String = text.chars().take(most.saturating_sub(3)).collect();
    short + "..."
}

/// A part of an arm's bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Name; it has the same color in all arms.
    pub name: String,
    /// Length; `None` if it is not known.
    pub value: Option<f64>,
}

/// A bar of parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BudgetArm {
    /// Name.
    pub name: String,
    /// The parts in their order.
    pub parts: Vec<Part>,
}

impl BudgetArm {
    fn sum(&self) -> f64 {
        let known = self.parts.iter().filter_map(|part| part.value);
        known
            .filter(|value| *value > 0.0 && value.is_finite())
            .sum()
    }
}

/// Parts below this fraction of their arm are narrower than a pixel.
const NARROWEST: f64 = 5e-4;

/// The parts of arms that can be seen: of more than there are colors for, the shortest are added up.
fn added_up(arms: &[BudgetArm]) -> Vec<BudgetArm> {
    let mut sums: Vec<(&str, f64)> = Vec::new();
    for arm in arms {
        let least = NARROWEST * arm.sum();
        for (_, part) in segments(arm) {
            let value = part.value.filter(|value| *value >= least).unwrap_or(0.0);
            match sums.iter_mut().find(|(name, _)| *name == part.name) {
                Some((_, sum)) => *sum += value,
                None => sums.push((&part.name, value)),
            }
        }
    }
    sums.retain(|(_, sum)| *sum > 0.0);
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let (named, others) = sums.split_at(sums.len().min(SERIES));
    let is_of =
        |names: &[(&str, f64)], part: &Part| names.iter().any(|(name, _)| *name == part.name);
    let of_arm = |arm: &BudgetArm| {
        let mut parts: Vec<Part> = Vec::new();
        let mut rest = 0.0;
        for (_, part) in segments(arm) {
            match part.value {
                Some(_) if is_of(named, part) => parts.push(part.clone()),
                Some(value) if is_of(others, part) => rest += value,
                _ => {}
            }
        }
        if rest > 0.0 {
            parts.push(Part {
                name: OTHERS.to_owned(),
                value: Some(rest),
            });
        }
        BudgetArm {
            name: arm.name.clone(),
            parts,
        }
    };
    arms.iter().map(of_arm).collect()
}

/// A bar of parts for each arm, all from 0, as long as their sums. With a single arm, the legend has its
/// values.
pub fn budget(about: &About, unit: Unit, arms: &[BudgetArm]) -> Chart {
    let arms = added_up(arms);
    let longest = arms.iter().map(BudgetArm::sum).fold(0.0, f64::max);
    if longest <= 0.0 {
        return Chart::empty(about);
    }
    let mut names: Vec<&str> = Vec::new();
    for part in arms.iter().flat_map(|arm| &arm.parts) {
        if !names.contains(&part.name.as_str()) {
            names.push(&part.name);
        }
    }
    let colors = colors(&names);
    let class = |name: &str| {
        let position = names.iter().position(|known| *known == name);
        position.map_or("", |i| colors[i].as_str())
    };
    let value_of = |part: &Part, sum: f64| {
        let value = part.value.unwrap_or(0.0);
        format!(
            "{} ({})",
            unit.with(value),
            Unit::Share("").with(value / sum)
        )
    };
    let bars = html! {
        @for (i, arm) in arms.iter().enumerate() {
            @let y = ROW * i as f64;
            @let sum = arm.sum();
            text x="0" y=(Px(y + 13.0)) { (shortened(&arm.name, NAME)) }
            text.value x="100%" y=(Px(y + 13.0)) { (unit.with(sum)) }
            @for (before, part) in segments(arm) {
                @let length = part.value.unwrap_or(0.0) / longest;
                rect.part.(class(&part.name)) x=(Percent(before / longest)) y=(Px(y + 18.0))
                    width=(Percent(length)) height="14" {
                    title { (line(&part.name)) ": " (value_of(part, sum)) }
                }
                @if fits(&part.name, length) {
                    text.label.bottom x=(Percent(before / longest + length / 2.0)) y=(Px(y + 29.0)) {
                        (line(&part.name))
                    }
                }
            }
        }
    };
    let top = ROW * arms.len() as f64 + 8.0;
    match arms.as_slice() {
        [arm] => {
            let parts: Vec<&Part> = segments(arm).into_iter().map(|(_, part)| part).collect();
            let list = html! {
                @for (i, part) in parts.iter().enumerate() {
                    @let y = top + legend::ROW * i as f64 + 11.0;
                    text.legend x="0" y=(Px(y)) {
                        tspan.key.(class(&part.name)) { "\u{25A0}" } tspan dx="4" { (shortened(&part.name, NAME)) }
                    }
                    text.value x="100%" y=(Px(y)) { (value_of(part, arm.sum())) }
                }
            };
            let height = top + legend::ROW * parts.len() as f64;
            Chart::new(about, height, html! { (bars) (list) })
        }
        _ => {
            let entry = |name: &&str| Entry {
                class: class(name).to_owned(),
                name: (*name).to_owned(),
            };
            let entries: Vec<Entry> = names.iter().map(entry).collect();
            let height = top + legend::height(&entries);
            Chart::new(
                about,
                height,
                html! { (bars) (legend::draw(&entries, top)) },
            )
        }
    }
}

/// The parts above 0, and the sum of those before each.
fn segments(arm: &BudgetArm) -> Vec<(f64, &Part)> {
    let mut before = 0.0;
    let mut segments = Vec::new();
    for part in &arm.parts {
        if let Some(value) = part.value.filter(|value| *value > 0.0 && value.is_finite()) {
            segments.push((before, part));
            before += value;
        }
    }
    segments
}
