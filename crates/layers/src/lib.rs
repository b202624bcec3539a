//! Check of the imports between the extension's files against the order of the layers that
//! `src/lib.rs` lists.
//!
//! `imports` reads Rust as far as paths go; here they become edges between files. A module is
//! named by its path below the crate: empty for `lib.rs`, `["run", "spec"]` for `run/spec.rs`.
//! Paths made by a macro of another crate or by a re-export are not seen; a re-export is an
//! import of the file that has it.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A module by its path below the crate.
pub type Module = Vec<String>;

/// The files of a crate: texts by modules.
#[derive(Debug, Default)]
pub struct Sources(BTreeMap<Module, String>);

impl Sources {
    /// Reads all files below a directory that has `lib.rs`.
    pub fn read(root: &Path) -> std::io::Result<Sources> {
        let mut sources = Sources::default();
        sources.read_folder(root, &mut Vec::new())?;
        Ok(sources)
    }

    fn read_folder(&mut self, folder: &Path, module: &mut Module) -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            let stem = path.file_stem().unwrap_or_default().to_string_lossy();
            module.push(stem.into_owned());
            if path.is_dir() {
                self.read_folder(&path, module)?;
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = std::fs::read_to_string(&path)?;
                let is_of_folder = matches!(module.last().map(String::as_str), Some("lib" | "mod"));
                let of = if is_of_folder {
                    &module[..module.len() - 1]
                } else {
                    &module[..]
                };
                self.0.insert(of.to_vec(), text);
            }
            module.pop();
        }
        Ok(())
    }

    /// Sources given by module and text, such as `("run::spec", "use crate::error;")`.
    pub fn of(files: &[(&str, &str)]) -> Sources {
        let module = |path: &str| {
            let names = path.split("::").filter(|name| !name.is_empty());
            names.map(str::to_owned).collect()
        };
        let file = |(path, text): &(&str, &str)| (module(path), text.to_string());
        Sources(files.iter().map(file).collect())
    }

    /// The layers from top to bottom, from the table in the documentation of `lib.rs`: the lines
    /// that begin with a name in backquotes.
    pub fn layers(&self) -> Vec<String> {
        let text = self.0.get(&Module::new()).map_or("", String::as_str);
        text.lines()
            .filter_map(|line| line.strip_prefix("//! | `"))
            .filter_map(|line| Some(line.split_once('`')?.0.to_owned()))
            .collect()
    }

    /// The other files that each file imports from.
    pub fn imports(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        self.0
            .iter()
            .map(|(module, text)| {
                let imported = imports::paths(text, module)
                    .iter()
                    .flat_map(|path| self.files(module, path))
                    .filter(|file| *file != module)
                    .collect();
                (module, imported)
            })
            .collect()
    }

    /// The files that a path leads to: the one of the longest module on its way. A glob leads to
    /// the modules that it brings into scope, too.
    fn files(&self, of: &Module, path: &[String]) -> Vec<&Module> {
        let (path, is_glob) = match path.split_last() {
            Some((last, rest)) if last == "*" => (rest, true),
            _ => (path, false),
        };
        let found = (0..=path.len())
            .rev()
            .find_map(|length| self.0.get_key_value(&path[..length]));
        let Some((file, _)) = found else {
            return Vec::new();
        };
        let mut files = vec![file];
        if is_glob && file != of && file.len() == path.len() {
            let is_child =
                |module: &&Module| module.split_last().is_some_and(|(_, p)| p == &file[..]);
            files.extend(self.0.keys().filter(is_child));
        }
        files
    }

    /// Violations of the layers: modules missing from the list or listed without need, imports from
    /// a layer above, and circles of files. Empty if there are none.
    pub fn complaints(&self) -> Vec<String> {
        let layers = self.layers();
        let place = |module: &Module| match module.first() {
            // Items of lib.rs are above all layers.
            None => Some(0),
            Some(first) => layers
                .iter()
                .position(|layer| layer == first)
                .map(|at| at + 1),
        };
        let mut complaints = Vec::new();
        let modules: BTreeSet<&String> =
            self.0.keys().filter_map(|module| module.first()).collect();
        for module in &modules {
            match layers.iter().filter(|layer| layer == module).count() {
                0 => complaints.push(format!("{module} is not in the list of layers")),
                1 => {}
                _ => complaints.push(format!("{module} is twice in the list of layers")),
            }
        }
        for layer in layers.iter().filter(|layer| !modules.contains(layer)) {
            complaints.push(format!(
                "the list of layers has {layer}, which does not exist"
            ));
        }
        for (module, imported) in self.imports() {
            // The list itself stands in lib.rs, which imports nothing.
            for import in imported {
                if let (Some(own), Some(other)) = (place(module), place(import))
                    && other < own
                {
                    complaints.push(format!(
                        "{} imports from {}, which is in a layer above",
                        name(module),
                        name(import)
                    ));
                }
            }
        }
        for circle in self.circles() {
            let files: Vec<_> = circle.into_iter().map(name).collect();
            complaints.push(format!("these files form a circle: {}", files.join(", ")));
        }
        complaints
    }

    /// The sets of files of which each imports each other, by way of others of the set.
    pub fn circles(&self) -> Vec<Vec<&Module>> {
        let imports = self.imports();
        let reaches: BTreeMap<_, _> = imports
            .keys()
            .map(|from| (*from, reach(&imports, from)))
            .collect();
        let mut seen = BTreeSet::new();
        let mut circles = Vec::new();
        for (module, reached) in &reaches {
            if !reached.contains(module) || !seen.insert(*module) {
                continue;
            }
            let circle: Vec<_> = reached
                .iter()
                .copied()
                .filter(|other| reaches[other].contains(module))
                .collect();
            seen.extend(&circle);
            circles.push(circle);
        }
        circles
    }
}

/// All files that one imports, and those that they import, and so on.
fn reach<'m>(
    imports: &BTreeMap<&'m Module, BTreeSet<&'m Module>>,
    from: &'m Module,
) -> BTreeSet<&'m Module> {
    let mut reached = BTreeSet::new();
    let mut waiting = vec![from];
    while let Some(module) = waiting.pop() {
        for next in &imports[module] {
            if reached.insert(*next) {
                waiting.push(next);
            }
        }
    }
    reached
}

/// The module as Rust writes it.
fn name(module: &Module) -> String {
    match module.is_empty() {
        true => "the root of the crate".into(),
        false => module.join("::"),
    }
}
