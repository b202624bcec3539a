//! Flame graphs: which functions were on the stacks that were sampled, and for how much of the time.

use crate::chart::{About, Chart};
use crate::number::{Unit, thousands};
use crate::svg::{Percent, Px};
use maud::{Markup, html};
use selfbench_markup::line;
use std::collections::BTreeMap;

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

/// A function on a stack, with those that it called.
#[derive(Default)]
struct Frame<'a> {
    samples: u64,
    called: BTreeMap<&'a str, Frame<'a>>,
}

/// A flame graph of folded stacks: functions from the root to the leaf, separated by semicolons, and how
/// often each stack was sampled. The root is at the bottom. The position and the width of a frame are
/// attributes of its `svg`, in percent, for programs that fold and search.
pub fn flame(about: &About, stacks: &[(String, u64)]) -> Chart {
    let mut root = Frame::default();
    for (stack, samples) in stacks {
        root.samples += samples;
        let mut frame = &mut root;
        for function in functions(stack).take(DEEPEST) {
            frame = frame.called.entry(function).or_default();
            frame.samples += samples;
        }
    }
    if root.samples == 0 {
        return Chart::empty(about);
    }
    let total = root.samples as f64;
    let depth = depth(&root, total);
    let mut frames = Vec::new();
    let mut drawing = Drawing {
        total,
        height: ROW * depth as f64,
        frames: &mut frames,
    };
    drawing.draw("all", &root, 0.0, 0);
    Chart::new(
        about,
        ROW * depth as f64,
        html! { g.flame { @for frame in frames { (frame) } } },
    )
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
        .filter(|called| called.samples as f64 >= total * LEAST);
    1 + drawn.map(|called| depth(called, total)).max().unwrap_or(0)
}

struct Drawing<'a> {
    total: f64,
    height: f64,
    frames: &'a mut Vec<Markup>,
}

impl Drawing<'_> {
    fn draw(&mut self, function: &str, frame: &Frame, from: f64, level: usize) {
        let part = frame.samples as f64 / self.total;
        if part < LEAST {
            return;
        }
        let y = self.height - ROW * (level + 1) as f64;
        self.frames.push(html! {
            svg.frame.alt[level % 2 == 1].root[level == 0] x=(Percent(from)) y=(Px(y)) width=(Percent(part))
                height=(Px(ROW)) {
                title {
                    (line(function)) ", " (thousands(&frame.samples.to_string())) " samples, "
                    (Unit::Share("").with(part))
                }
                rect width="100%" height=(Px(ROW - 1.0)) {}
                @if part >= LEAST_TEXT { text x="3" y="12" { (line(function)) } }
            }
        });
        let mut from = from;
        for (function, called) in &frame.called {
            self.draw(function, called, from, level + 1);
            from += called.samples as f64 / self.total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::functions;

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
}
