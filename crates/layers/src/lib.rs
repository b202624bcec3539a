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
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let text = std::fs::read_to_string(&path)?;
                    sources.add(path.strip_prefix(root).unwrap_or(&path), text);
                }
            }
        }
        Ok(sources)
    }

    /// Adds the text of a file, such as `run/spec.rs`.
    pub fn add(&mut self, file: &Path, text: String) {
        let names = file.with_extension("");
        let mut module: Module = names
            .iter()
            .map(|name| name.to_string_lossy().into())
            .collect();
        module.pop_if(|last| last == "lib" || last == "mod");
        self.0.insert(module, text);
    }

    /// The layers from top to bottom, from the table in the documentation of `lib.rs`: the lines
    /// that begin with a name in backquotes.
    pub fn layers(&self) -> Vec<&str> {
        let text = self.0.get(&Module::new()).map_or("", String::as_str);
        text.lines()
            .filter_map(|line| line.strip_prefix("//! | `"))
            .filter_map(|line| Some(line.split_once('`')?.0))
            .collect()
    }

    /// The other files that each file imports from.
    pub fn imports(&self) -> BTreeMap<&Module, BTreeSet<&Module>> {
        let of_file = |(module, text): (_, &String)| {
            let paths = imports::paths(text, module);
            let files = paths.iter().flat_map(|path| self.files(module, path));
            (module, files.filter(|file| *file != module).collect())
        };
        self.0.iter().map(of_file).collect()
    }

    /// The files that a path leads to: the one of the longest module on its way. A glob leads to
    /// the modules that it brings into scope, too.
    fn files(&self, of: &Module, path: &[String]) -> Vec<&Module> {
        let names = path.strip_suffix(&["*".to_owned()]).unwrap_or(path);
        let file = |length| self.0.get_key_value(&names[..length]);
        let Some((file, _)) = (0..=names.len()).rev().find_map(file) else {
            return Vec::new();
        };
        let is_brought = |module: &&Module| {
            names.len() < path.len()
                && file != of
                && file == names
                && module
                    .split_last()
                    .is_some_and(|(_, parent)| parent == names)
        };
        std::iter::once(file)
            .chain(self.0.keys().filter(is_brought))
            .collect()
    }

    /// Violations of the layers: modules missing from the list or listed without need, imports from
    /// a layer above, and circles of files. Empty if there are none.
    pub fn complaints(&self) -> Vec<String> {
        let mut complaints = Vec::new();
        let layers = self.layers();
        let modules: BTreeSet<&str> = self
            .0
            .keys()
            .filter_map(|m| Some(m.first()?.as_str()))
            .collect();
        let mut listed = layers.clone();
        listed.sort_unstable();
        if !modules.iter().eq(&listed) {
            complaints.push(format!(
                "the modules are {modules:?}, and the layers {listed:?}"
            ));
        }
        let imports = self.imports();
        // Items of lib.rs are above all layers.
        let layer = |module: &Module| {
            layers
                .iter()
                .position(|layer| Some(*layer) == module.first().map(String::as_str))
        };
        for (module, imported) in &imports {
            for import in imported
                .iter()
                .filter(|import| layer(import) < layer(module))
            {
                complaints.push(format!(
                    "{} imports from {}, which is in a layer above",
                    name(module),
                    name(import)
                ));
            }
        }
        let circles = circles(imports);
        if !circles.is_empty() {
            complaints.push(format!("these files form circles: {}", circles.join(", ")));
        }
        complaints
    }
}

/// The files that import each other, by way of others too, and those between them.
fn circles(mut imports: BTreeMap<&Module, BTreeSet<&Module>>) -> Vec<String> {
    loop {
        let left: BTreeSet<_> = imports.keys().copied().collect();
        imports
            .values_mut()
            .for_each(|imported| imported.retain(|file| left.contains(file)));
        let imported: BTreeSet<_> = imports.values().flatten().copied().collect();
        imports.retain(|file, imports| !imports.is_empty() && imported.contains(file));
        if imports.len() == left.len() {
            return imports.into_keys().map(name).collect();
        }
    }
}

/// The module as Rust writes it.
fn name(module: &Module) -> String {
    match module.is_empty() {
        true => "the root of the crate".into(),
        false => module.join("::"),
    }
}
