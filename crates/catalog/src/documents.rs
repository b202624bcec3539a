//! The parts of the documentation that follow from lists. A page has tables of options between
//! `<!-- options: name of the list -->` and `<!-- end -->`, and that of errors between `<!-- errors -->` and
//! `<!-- end -->`; the JSON Schema ends with what follows from tables.

use crate::Opt;
use crate::errors::errors;
use crate::expand::script;
use crate::lists::{Lists, read};
use crate::schema::schema;
use crate::tables::tables;
use std::fs;
use std::path::{Path, PathBuf};

/// The pages of a tree of sources that have such parts, with the text that they should have.
pub fn documents(root: &Path) -> Result<Vec<(PathBuf, String)>, String> {
    let (mut documents, errors) = (Vec::new(), errors(root)?);
    let lists = Lists::read(root, None)?;
    let entries = fs::read_dir(root.join("docs")).map_err(|error| error.to_string())?;
    let paths = entries.map(|entry| Ok(entry.map_err(|error| error.to_string())?.path()));
    for path in paths.collect::<Result<Vec<_>, String>>()? {
        if path.extension().is_some_and(|extension| extension == "md") {
            let text = read(&path)?;
            let written = page(&text, &lists, &errors)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            documents.push((path, written));
        }
    }
    let (script, path) = (script(root)?, root.join("docs/run.schema.json"));
    let written = schema(&read(&path)?, &script, &tables(&script))?;
    documents.push((path, written));
    Ok(documents)
}

fn page(text: &str, lists: &Lists, errors: &str) -> Result<String, String> {
    let mut parts = text.split("<!-- ");
    let mut written = parts.next().unwrap_or_default().to_owned();
    let mut is_open = false;
    for part in parts {
        let (mark, _) = part.split_once(" -->").ok_or("a mark does not end")?;
        if is_open && mark != "end" {
            return Err("no end behind a mark".into());
        }
        let made = match mark.strip_prefix("options: ") {
            Some(list) => Some(table(lists.options(list)?)),
            None => (mark == "errors").then(|| errors.to_owned()),
        };
        is_open = made.is_some();
        written += &made.map_or(format!("<!-- {part}"), |made| {
            format!("<!-- {mark} -->\n{made}")
        });
    }
    match is_open {
        true => Err("no end behind a mark".into()),
        false => Ok(written),
    }
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
