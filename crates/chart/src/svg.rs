//! Coordinates and paths as they are written in attributes.

use maud::Render;
use std::fmt::Write;

/// Width of the coordinates within a plot; it is stretched to the width of the page.
pub(crate) const WIDTH: f64 = 1000.0;

/// A number of at most two decimals.
#[derive(Clone, Copy)]
pub(crate) struct Px(pub f64);

impl Render for Px {
    fn render_to(&self, buffer: &mut String) {
        push(buffer, self.0, 100.0);
    }
}

/// A fraction of the width, as percentage.
#[derive(Clone, Copy)]
pub(crate) struct Percent(pub f64);

impl Render for Percent {
    fn render_to(&self, buffer: &mut String) {
        push(buffer, self.0 * 100.0, 1000.0);
        buffer.push('%');
    }
}

fn push(buffer: &mut String, value: f64, unit: f64) {
    let value = if value.is_finite() { value } else { 0.0 };
    // Minus zero is zero.
    let rounded = (value * unit).round() / unit + 0.0;
    let _ = write!(buffer, "{rounded}");
}

/// The data of a `path`, in coordinates of one decimal.
#[derive(Default)]
pub(crate) struct Path(String);

impl Path {
    pub fn move_to(&mut self, x: f64, y: f64) {
        self.step('M', x, y);
    }

    pub fn line_to(&mut self, x: f64, y: f64) {
        self.step('L', x, y);
    }

    /// A line through points.
    pub fn line(&mut self, points: impl IntoIterator<Item = (f64, f64)>) {
        for (i, (x, y)) in points.into_iter().enumerate() {
            match i {
                0 => self.move_to(x, y),
                _ => self.line_to(x, y),
            }
        }
    }

    /// A rectangle.
    pub fn rect(&mut self, x: f64, y: f64, width: f64, height: f64) {
        self.move_to(x, y);
        for (command, value) in [('h', width), ('v', height), ('h', -width)] {
            self.0.push(command);
            push(&mut self.0, value, 10.0);
        }
        self.close();
    }

    pub fn close(&mut self) {
        self.0.push('z');
    }

    fn step(&mut self, command: char, x: f64, y: f64) {
        self.0.push(command);
        push(&mut self.0, x, 10.0);
        self.0.push(' ');
        push(&mut self.0, y, 10.0);
    }
}

impl Render for Path {
    fn render_to(&self, buffer: &mut String) {
        buffer.push_str(&self.0);
    }
}
