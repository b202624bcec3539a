//! Flame graphs: which functions were on the stacks that were sampled, and for how much of the time.

use crate::bars::shortened;
use crate::chart::{About, Chart};
use crate::legend::{self, Entry};
use crate::number::{Unit, thousands};
use crate::svg::{Percent, Px};
use maud::{Markup, html};
use selfbench_markup::line;
use std::collections::{BTreeMap, BTreeSet};

/// Height of a frame.
const ROW: f64 = 17.0;

/// Frames that take a smaller part of the samples are not drawn.
const LEAST: f64 = 0.002;

/// Frames that take a smaller part have no text; any other is cut where the frame ends.
const LEAST_TEXT: f64 = 0.02;

/// Frames above this depth are not drawn.
const DEEPEST: usize = 200;

/// Part of the names of functions of the benchmark itself.
const OWN: &str = "selfbench";

/// Name of the frame that stands for them.
const OWN_FRAME: &str = "pg_selfbench";

/// Names in a sentence at most.
const NAMED: usize = 3;

/// A change of a share by less than that is none, and one by more than the second is a large one.
const CHANGES: [f64; 2] = [0.005, 0.03];
/// Standard errors of a share that sampling alone hardly exceeds.
const ERRORS: f64 = 3.0;

/// Colors of frames by the file that a function is of, and their names in the legend.
const FILES: [(&str, &str); 4] = [
    ("server", "PostgreSQL"),
    ("own", "pg_selfbench"),
    ("system", "libc and kernel"),
    ("library", "other libraries and extensions"),
];

/// Colors of frames by how their share changed, and their names in the legend.
const CHANGED: [(&str, &str); 5] = [
    ("less", "3+ points less"),
    ("fewer", "less"),
    ("same", "same share"),
    ("more", "more"),
    ("most", "3+ points more"),
];

/// Libraries of the system.
const SYSTEM: [&str; 7] = [
    "libc.",
    "libc-",
    "libm.",
    "libm-",
    "libpthread",
    "ld-linux",
    "linux-vdso",
];

/// Folded stacks, and how often each was sampled.
type Stacks = [(String, u64)];

/// A function on a stack, with those that it called.
#[derive(Default)]
struct Frame<'a> {
    /// Samples of the run, and of the one that it is compared with.
    samples: [u64; 2],
    called: BTreeMap<&'a str, Frame<'a>>,
}

impl<'a> Frame<'a> {
    /// The frame on which all stacks are.
    fn of(runs: [&'a Stacks; 2]) -> Frame<'a> {
        let mut root = Frame::default();
        for (run, stacks) in runs.into_iter().enumerate() {
            for (stack, samples) in stacks {
                root.samples[run] = root.samples[run].saturating_add(*samples);
                let mut frame = &mut root;
                for function in functions(stack).take(DEEPEST) {
                    frame = frame.called.entry(function).or_default();
                    frame.samples[run] = frame.samples[run].saturating_add(*samples);
                }
            }
        }
        root
    }

    /// Shares of all samples of each run.
    fn shares(&self, all: [u64; 2]) -> [f64; 2] {
        [0, 1].map(|run| self.samples[run] as f64 / all[run].max(1) as f64)
    }
}

/// A flame graph of folded stacks: functions from the root to the leaf, separated by semicolons, and how
/// often each stack was sampled. The root is at the bottom. The position and the width of a frame are
/// attributes of its `svg`, in percent, for programs that fold and search. A frame has the color of the file that its
/// function is of; with the stacks of another run, that of the change of its share, as in a differential flame graph
/// (Gregg, <https://www.brendangregg.com/blog/2014-11-09/differential-flame-graphs.html>), whose points are an
/// attribute.
pub fn flame(about: &About, stacks: &Stacks, before: Option<&Stacks>) -> Chart {
    let root = Frame::of([stacks, before.unwrap_or_default()]);
    let all = root.samples;
    if all[0] == 0 || (before.is_some() && all[1] == 0) {
        return Chart::empty(about);
    }
    let depth = depth(&root, all[0] as f64);
    let mut drawing = Drawing {
        all,
        is_change: before.is_some(),
        top: 0.0,
        depth,
        classes: Vec::new(),
        frames: Vec::new(),
    };
    let known = match before {
        Some(_) => CHANGED.as_slice(),
        None => FILES.as_slice(),
    };
    let entries: Vec<Entry> = {
        drawing.find("all", &root, 0);
        let used = known
            .iter()
            .filter(|(class, _)| drawing.classes.contains(class));
        used.map(|(class, name)| Entry {
            class: (*class).to_owned(),
            name: (*name).to_owned(),
        })
        .collect()
    };
    drawing.top = legend::height(&entries);
    drawing.draw("all", &root, 0.0, 0);
    Chart::new(
        about,
        drawing.top + ROW * depth as f64,
        html! {
            (legend::draw(&entries, 0.0))
            g.flame { @for frame in &drawing.frames { (frame) } }
        },
    )
    .of_frames()
}

/// Changes from one run to another: functions whose own share of the samples rose or fell most, and those that
/// are gone. `None` without samples of both.
pub fn changes(stacks: &Stacks, before: &Stacks) -> Option<String> {
    let root = Frame::of([stacks, before]);
    let all = root.samples;
    if all.contains(&0) {
        return None;
    }
    let mut own: BTreeMap<&str, [f64; 2]> = BTreeMap::new();
    for (run, stacks) in [stacks, before].into_iter().enumerate() {
        for (stack, samples) in stacks {
            if let Some(function) = functions(stack).last() {
                own.entry(function).or_default()[run] += *samples as f64 / all[run] as f64;
            }
        }
    }
    let mut changed: Vec<(&str, f64)> = own
        .into_iter()
        .filter(|(function, _)| !stands_for_several(function))
        .map(|(function, shares)| (function, change(shares, all)))
        .filter(|(_, change)| *change != 0.0)
        .collect();
    changed.sort_by(|a, b| b.1.total_cmp(&a.1));
    let points = |(function, change): &(&str, f64)| {
        format!(
            "{} {:+.1} points",
            shortened(function, NAME),
            100.0 * change
        )
    };
    let rose = changed
        .iter()
        .filter(|(_, change)| *change > 0.0)
        .take(NAMED);
    let fell = changed
        .iter()
        .rev()
        .filter(|(_, change)| *change < 0.0)
        .take(NAMED);
    let known = stacks.iter().flat_map(|(stack, _)| functions(stack));
    let mut gone = BTreeMap::new();
    find_gone(&root, all, &known.collect(), &mut gone);
    let mut gone: Vec<(&str, f64)> = gone
        .into_iter()
        .filter(|(function, share)| {
            !stands_for_several(function) && change([0.0, *share], all) != 0.0
        })
        .collect();
    gone.sort_by(|a, b| b.1.total_cmp(&a.1));
    let share = |(function, share): &(&str, f64)| {
        format!(
            "{} ({})",
            shortened(function, NAME),
            Unit::Share("").with(*share)
        )
    };
    let parts = [
        ("more time in ", rose.map(points).collect::<Vec<_>>()),
        ("less in ", fell.map(points).collect()),
        ("gone: ", gone.iter().take(NAMED).map(share).collect()),
    ];
    let said = parts.iter().filter(|(_, names)| !names.is_empty());
    let said: Vec<String> = said
        .map(|(words, names)| format!("{words}{}", names.join(", ")))
        .collect();
    Some(match said.is_empty() {
        true => "no share of a function differs by more than chance explains.".to_owned(),
        false => said.join("; ") + ".",
    })
}

/// Whether a name is of frames of several functions.
fn stands_for_several(function: &str) -> bool {
    function.starts_with('[')
}

/// The change of a share between two runs with so many samples; 0 if it is small, or if sampling explains it: by three
/// standard errors of the difference of two shares.
fn change([now, then]: [f64; 2], all: [u64; 2]) -> f64 {
    let [a, b] = all.map(|samples| samples.max(1) as f64);
    let both = (now * a + then * b) / (a + b);
    let error = (both * (1.0 - both).max(0.0) * (1.0 / a + 1.0 / b)).sqrt();
    match now - then {
        change if change.abs() < CHANGES[0].max(ERRORS * error) => 0.0,
        change => change,
    }
}

/// Characters of a function in a sentence.
const NAME: usize = 40;

/// Shares of functions of the other run that are not among those of the run, without those that they called.
fn find_gone<'a>(
    frame: &Frame<'a>,
    all: [u64; 2],
    known: &BTreeSet<&str>,
    gone: &mut BTreeMap<&'a str, f64>,
) {
    for (function, called) in &frame.called {
        match known.contains(function) {
            true => find_gone(called, all, known, gone),
            false => *gone.entry(function).or_default() += called.shares(all)[1],
        }
    }
}

/// The class of the file that a function is of: of another file than the server, its name is in brackets at the end.
fn class_of_file(function: &str) -> &'static str {
    let file = function.strip_suffix(']').and_then(|function| {
        let (_, file) = function.rsplit_once(['[', ' '])?;
        Some(file)
    });
    match file {
        _ if function.contains(OWN) => "own",
        Some(file) if SYSTEM.iter().any(|library| file.starts_with(library)) => "system",
        Some(file) if file.contains(".so") => "library",
        // The server's functions are written in C, whose names have no path.
        _ if function.contains("::") => "own",
        _ => "server",
    }
}

/// The class of a change of a share.
fn class_of_change(change: f64) -> &'static str {
    let large = CHANGES[1];
    match change {
        change if change <= -large => "less",
        change if change < 0.0 => "fewer",
        0.0 => "same",
        change if change < large => "more",
        _ => "most",
    }
}

/// The functions of a stack, with one frame in place of those of the benchmark's own code between two of
/// the server: timed transactions take another path through it, and each statement would have two towers.
fn functions(stack: &str) -> impl Iterator<Item = &str> {
    let mut inside = false;
    stack.split(';').filter_map(move |function| {
        let own = function.contains(OWN);
        // The server's functions are written in C, whose names have no path.
        let was_inside = inside;
        inside = own || (inside && function.contains("::"));
        match (was_inside, inside) {
            (true, true) => None,
            (false, true) => Some(OWN_FRAME),
            _ => Some(function),
        }
    })
}

/// Number of drawn frames above each other.
fn depth(frame: &Frame, total: f64) -> usize {
    let drawn = frame
        .called
        .values()
        .filter(|called| is_drawn(called, total));
    1 + drawn.map(|called| depth(called, total)).max().unwrap_or(0)
}

fn is_drawn(frame: &Frame, total: f64) -> bool {
    frame.samples[0] as f64 >= total * LEAST
}

struct Drawing {
    all: [u64; 2],
    is_change: bool,
    top: f64,
    depth: usize,
    classes: Vec<&'static str>,
    frames: Vec<Markup>,
}

impl Drawing {
    /// The class of a frame. Below all others are the kinds of processes.
    fn class(&self, function: &str, frame: &Frame, level: usize) -> &'static str {
        match level {
            0 => "root",
            1 if !self.is_change => "root",
            _ if self.is_change => class_of_change(change(frame.shares(self.all), self.all)),
            _ => class_of_file(function),
        }
    }

    /// Finds the classes of what is drawn.
    fn find(&mut self, function: &str, frame: &Frame, level: usize) {
        let class = self.class(function, frame, level);
        if !self.classes.contains(&class) {
            self.classes.push(class);
        }
        for (function, called) in &frame.called {
            if is_drawn(called, self.all[0] as f64) {
                self.find(function, called, level + 1);
            }
        }
    }

    fn draw(&mut self, function: &str, frame: &Frame, from: f64, level: usize) {
        let [now, then] = frame.shares(self.all);
        let points = 100.0 * (now - then);
        let y = self.top + ROW * (self.depth - level - 1) as f64;
        // Most frames are of the server.
        let class = match self.class(function, frame, level) {
            "server" => "frame".to_owned(),
            class => format!("frame {class}"),
        };
        self.frames.push(html! {
            svg class=(class) x=(Percent(from)) y=(Px(y)) width=(Percent(now)) height=(Px(ROW))
                data-points=[self.is_change.then(|| format!("{points:.2}"))] {
                title {
                    (line(function)) ", " (thousands(&frame.samples[0].to_string())) " sample" @if frame.samples[0] != 1 { "s" } ", "
                    (Unit::Share("").with(now))
                    @if self.is_change && points.abs() >= 0.05 { ", " (format!("{points:+.1}")) " points" }
                }
                rect width="100%" height=(Px(ROW - 1.0)) {}
                @if now >= LEAST_TEXT { text x="3" y="12" { (line(function)) } }
            }
        });
        let mut from = from;
        for (function, called) in &frame.called {
            if is_drawn(called, self.all[0] as f64) {
                self.draw(function, called, from, level + 1);
            }
            from += called.samples[0] as f64 / self.all[0] as f64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_functions_are_one_frame() {
        let of = |stack| functions(stack).collect::<Vec<_>>().join(";");
        let turn =
            "main;pg_selfbench_main;core::call;selfbench_client::advance;SPI_execute;ExecutorRun";
        assert_eq!(of(turn), "main;pg_selfbench;SPI_execute;ExecutorRun");
        let timed = "main;pg_selfbench_main;pg_selfbench::timing;std::call;SPI_execute;ExecutorRun";
        assert_eq!(of(timed), of(turn));
        let llvm = "main;llvm::run;ExecutorRun";
        assert_eq!(of(llvm), llvm);
    }

    #[test]
    fn colors_are_those_of_files() {
        for (function, class) in [
            ("ExecProcNode", "server"),
            ("[static in postgres]", "server"),
            ("[unknown]", "server"),
            (OWN_FRAME, "own"),
            ("core::ptr::drop", "own"),
            ("core::ptr::drop [x.so]", "library"),
            ("pg_selfbench::run [pg_selfbench.so]", "own"),
            ("__memmove_avx [libc.so.6]", "system"),
            ("[static in libc-2.31.so]", "system"),
            ("[unknown in linux-vdso.so.1]", "system"),
            ("PQgetResult [libpq.so.5]", "library"),
            ("[static in plpgsql.so]", "library"),
        ] {
            assert_eq!(class_of_file(function), class, "{function}");
        }
    }

    #[test]
    fn changes_are_shares_of_all_samples() {
        let stacks = |all: &[(&str, u64)]| -> Vec<(String, u64)> {
            all.iter()
                .map(|(stack, n)| (stack.to_string(), *n))
                .collect()
        };
        let before = stacks(&[("a;b", 50), ("a;c;d", 30), ("a;c;b", 20)]);
        let now = stacks(&[("a;b", 600), ("a;f", 400)]);
        assert_eq!(
            changes(&now, &before).unwrap(),
            "more time in f +40.0 points; less in d -30.0 points; gone: c (50.0 %)."
        );
        // Twice as many samples are no change.
        let twice = stacks(&[("a;b", 100), ("a;c;d", 60), ("a;c;b", 40)]);
        assert_eq!(
            changes(&twice, &before).unwrap(),
            "no share of a function differs by more than chance explains."
        );
        // Two of 115 samples are chance; names of several functions are none.
        let few = |own| {
            stacks(&[
                ("a;b", 115 - own),
                ("a;c", own),
                ("a;[static in postgres]", 100),
            ])
        };
        assert_eq!(changes(&few(2), &few(0)), changes(&twice, &before));
        assert_eq!(changes(&now, &[]), None);
        let classes = [-0.5, -0.01, 0.0, 0.01, 0.5].map(class_of_change);
        assert_eq!(classes, ["less", "fewer", "same", "more", "most"]);
    }
}
