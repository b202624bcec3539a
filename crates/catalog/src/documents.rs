//! The parts of the documentation that follow from lists. A page has tables of options between
//! `<!-- options: name of the list -->` and `<!-- end -->`; the JSON Schema ends with what follows from tables.

use crate::Opt;
use crate::expand::{read, script};
use crate::lists::options;
use crate::schema::schema;
use crate::tables::tables;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages of a tree of sources that have such parts, with the text that they should have.
pub fn documents(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let mut documents = Vec::new();
    let entries = fs::read_dir(root.join("docs")).map_err(|error| error.to_string())?;
    let paths = entries.map(|entry| Ok(entry.map_err(|error| error.to_string())?.path()));
    for path in paths.collect::<Result<Vec<_>, String>>()? {
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = read(&path)?;
            let written = page(&text).map_err(|error| format!("{}: {error}", path.display()))?;
            documents.push((path, written));
        }
    }
    let (script, path) = (script(root)?, root.join("docs/run.schema.json"));
    let written = schema(&read(&path)?, &script, &tables(&script))?;
    documents.push((path, written));
    Ok(documents)
}

fn page(text: &str) -> Result<String, String> {
    let mut parts = text.split("<!-- options: ");
    let mut written = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (list, rest) = part.split_once(" -->\n").ok_or("a mark does not end")?;
        let (_, after) = rest
            .split_once("<!-- end -->")
            .ok_or("no end behind a mark")?;
        written += &format!(
            "<!-- options: {list} -->\n{}<!-- end -->{after}",
            table(options(list)?)
        );
    }
    Ok(written)
}

fn table(options: &[Opt]) -> String {
    let has_pgbench = options.iter().any(|option| option.pgbench.is_some());
    let pgbench = |cell: &str| {
        if has_pgbench {
            format!(" {cell} |")
        } else {
            String::new()
        }
    };
    let mut table = format!(
        "| option | default |{} |\n|---|---|{}---|\n",
        pgbench("pgbench"),
        if has_pgbench { "---|" } else { "" }
    );
    for option in options {
        let default = option.shown_default().unwrap_or("NULL".into());
        let is_code =
            default.contains(|c: char| c.is_ascii_lowercase()) && option.of_type != "bool";
        let default = if is_code {
            format!("`{default}`")
        } else {
            default
        };
        let names = option.pgbench.unwrap_or_default().split(", ");
        let names = names.map(|name| {
            if name.starts_with('-') {
                format!("`{name}`")
            } else {
                name.into()
            }
        });
        let names = pgbench(&names.collect::<Vec<_>>().join(", ")).replace("  |", " |");
        table += &format!(
            "| `{}` | {default} |{names} {} |\n",
            option.name,
            option.text()
        );
    }
    table
}
