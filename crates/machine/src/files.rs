//! Reading small files.

use std::path::{Path, PathBuf};

/// The files of a machine.
pub trait Files {
    /// The text of a file without white space at its ends; `None` if it cannot be read.
    fn text(&self, path: &Path) -> Option<String>;

    /// A path without symbolic links; `None` if it does not exist.
    fn resolve(&self, path: &Path) -> Option<PathBuf>;
}

/// The files of this machine.
pub struct System;

impl Files for System {
    fn text(&self, path: &Path) -> Option<String> {
        let bytes = std::fs::read(path).ok()?;
        Some(String::from_utf8_lossy(&bytes).trim().to_owned())
    }

    fn resolve(&self, path: &Path) -> Option<PathBuf> {
        std::fs::canonicalize(path).ok()
    }
}

/// The text of a file.
pub(crate) fn text(files: &impl Files, path: &str) -> Option<String> {
    files.text(Path::new(path))
}

/// The value of a line such as `MemTotal:   24684084 kB`, or `model name : AMD EPYC`.
pub(crate) fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    text.lines().find_map(|line| value_of(line, name))
}

/// The value of a line if its name is this.
pub(crate) fn value_of<'t>(line: &'t str, name: &str) -> Option<&'t str> {
    let (found, value) = line.split_once(':')?;
    (found.trim_end() == name).then(|| value.trim())
}

/// Count of the numbers in a list such as `0-3,8`.
pub(crate) fn list_length(list: &str) -> Option<usize> {
    list.split(',')
        .map(|range| {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
            last.checked_sub(first)?.checked_add(1)
        })
        .sum()
}

/// The word in brackets of a list such as `always [madvise] never`.
pub(crate) fn chosen(list: &str) -> Option<&str> {
    let (_, rest) = list.split_once('[')?;
    Some(rest.split_once(']')?.0)
}
