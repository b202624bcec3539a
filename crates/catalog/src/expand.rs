//! The install script: the pieces of `src/sql`, one after the other, with the lists that they name.
//!
//! A piece names a list as `{{kind list selection}}`. On a line of its own, each item has a line.
//!
//! | kind | items |
//! |---|---|
//! | `arguments` | options as arguments of a function, with their defaults |
//! | `columns` | columns of a table |
//! | `attributes` | attributes of a composite type |
//! | `names` | names of columns; with `p.` before the list, qualified |
//! | `literals` | names of columns as texts |
//!
//! The selection is one of `from a`, `to b`, `from a to b`, `only a, b`, `except a, b`; for arguments,
//! `with a = default, b = default` may follow. `{{arguments bench.f}}` are those of a function above.
//! Columns, attributes and names that a version after the first has added stand last, in the order of versions: an
//! update can only append them.
//!
//! Lines between `{{each table of runs}}` and `{{end}}` are repeated for each table with a column `run_id`,
//! whose name takes the place of `{{table}}`.

use crate::comments::commented;
use crate::lists::{Change, Listed, Lists, Version, read};
use crate::{Opt, sql_type, tables};
use std::fs;
use std::path::Path;

/// The pieces in the order of creation.
const PIECES: [&str; 26] = [
    "schema",
    "tables",
    "telemetry",
    "profile",
    "waits",
    "runs",
    "scripts",
    "initialize",
    "workloads",
    "capture",
    "validate",
    "clone",
    "random",
    "results",
    "jobs",
    "charts",
    "require",
    "travel",
    "retention",
    "sets",
    "trend",
    "alerts",
    "capacity",
    "pgbench",
    "pgio",
    "compare",
];

/// The install script of a tree of sources.
pub fn script(root: &Path) -> Result<String, String> {
    changed_script(root, None)
}

/// The install script with other lists.
pub fn changed_script(root: &Path, change: Option<Change>) -> Result<String, String> {
    let lists = Lists::read(root, change)?;
    let folder = root.join("src/sql");
    let mut script =
        "\\echo Use \"CREATE EXTENSION pg_selfbench\" to load this file. \\quit\n".to_owned();
    let files = fs::read_dir(&folder).map_err(|error| error.to_string())?;
    if files.count() != PIECES.len() {
        return Err("the list of pieces is not that of the files in src/sql".into());
    }
    for piece in PIECES {
        let path = folder.join(piece).with_extension("sql");
        expand(&read(&path)?, &lists, &mut script)
            .map_err(|error| format!("src/sql/{piece}.sql: {error}"))?;
    }
    commented(&each_table(&script))
}

/// An item of a list in a script.
struct Item {
    text: String,
    comment: String,
    /// The version that added it, if it must stand last.
    since: Option<Version>,
}

/// Adds a piece to the script.
fn expand(text: &str, lists: &Lists, script: &mut String) -> Result<(), String> {
    let mut later: Vec<Item> = Vec::new();
    for line in text.split_inclusive('\n') {
        // The end of a table or type, or of the columns of a view.
        if line == ");\n" {
            append(&mut later, "    ", script);
        } else if line.starts_with("      FROM ") {
            append(&mut later, "           ", script);
        } else if line.trim_end().ends_with(';') && !later.is_empty() {
            return Err(format!("no place for {}", later[0].text));
        }
        let found = line.split_once("{{").and_then(|(before, rest)| {
            let (name, after) = rest.split_once("}}")?;
            (!["each table of runs", "end", "table"].contains(&name))
                .then_some((before, name, after))
        });
        let Some((before, name, after)) = found else {
            *script += line;
            continue;
        };
        let items = match name.strip_prefix("arguments bench.") {
            Some(function) => vec![Item {
                text: arguments_of(function, script)?.trim_start().into(),
                comment: String::new(),
                since: None,
            }],
            None => items(name, lists).map_err(|error| format!("{{{{{name}}}}}: {error}"))?,
        };
        let (last, items): (Vec<_>, Vec<_>) =
            items.into_iter().partition(|item| item.since.is_some());
        later.extend(last);
        let texts: Vec<_> = items.iter().map(|item| item.text.as_str()).collect();
        if !before.trim_start().is_empty() {
            *script += &[before, &texts.join(", "), after].concat();
            continue;
        }
        for (number, Item { text, comment, .. }) in items.iter().enumerate() {
            let is_last = number + 1 == items.len();
            let comma = if is_last { after.trim_end() } else { "," };
            let comment = if comment.is_empty() {
                ""
            } else {
                &format!(" -- {comment}")
            };
            *script += &format!("{before}{text}{comma}{comment}\n");
        }
    }
    Ok(())
}

/// Appends what later versions have added to the list that a script ends with.
fn append(later: &mut Vec<Item>, indent: &str, script: &mut String) {
    later.sort_by_key(|item| item.since);
    for Item { text, comment, .. } in later.drain(..) {
        let end = script.trim_end().len();
        let line = script[..end].rfind('\n').map_or(0, |end| end + 1);
        let comma = script[line..end].find(" -- ").map_or(end, |at| line + at);
        script.insert(comma, ',');
        *script += indent;
        *script += &text;
        if !comment.is_empty() {
            *script += &format!(" -- {comment}");
        }
        script.push('\n');
    }
}

/// The arguments of a function that a script creates.
fn arguments_of<'s>(function: &str, script: &'s str) -> Result<&'s str, String> {
    let found = script.split_once(&format!("CREATE FUNCTION bench.{function}(\n"));
    let found = found.and_then(|(_, begun)| begun.split_once("\n)"));
    found
        .map(|(arguments, _)| arguments)
        .ok_or_else(|| format!("no function {function} is above"))
}

/// The items of a list that a piece names, with comments for columns.
fn items(name: &str, lists: &Lists) -> Result<Vec<Item>, String> {
    let (kind, rest) = name.split_once(' ').unwrap_or_default();
    let (list, selection) = rest.split_once(' ').unwrap_or((rest, ""));
    let (selection, given) = selection.split_once("with ").unwrap_or((selection, ""));
    let (qualifier, list) = list.rsplit_once('.').unwrap_or(("", list));
    if kind == "arguments" {
        let options = select(lists.options(list)?, |option| option.name, selection)?;
        let item = |option| {
            Ok(Item {
                text: argument(option, given)?,
                comment: as_comment(&meaning(option)),
                since: None,
            })
        };
        return options.into_iter().map(item).collect();
    }
    let columns = lists.columns(list)?;
    let columns = select(&columns, |column| &column.name, selection)?;
    let item = |column: &Listed| {
        let Listed {
            name,
            sql_type,
            has_null,
            computed,
            comment,
            since,
        } = column;
        let text = match kind {
            "columns" => {
                let not_null = if *has_null { "" } else { " NOT NULL" };
                let value = match computed {
                    Some(expression) => format!(" GENERATED ALWAYS AS ({expression}) STORED"),
                    // Of rows that are there, and of those in a dump of an older version.
                    None if since.is_some() && !has_null => {
                        format!(" DEFAULT {}", nothing(sql_type))
                    }
                    None => String::new(),
                };
                format!("{name} {sql_type}{not_null}{value}")
            }
            "attributes" => format!("{name} {sql_type}"),
            "names" if qualifier.is_empty() => name.clone(),
            "names" => format!("{qualifier}.{name}"),
            "literals" => format!("'{name}'"),
            _ => return Err(format!("there is no kind {kind}")),
        };
        let is_declared = ["columns", "attributes"].contains(&kind);
        let comment = if is_declared { comment.as_str() } else { "" };
        Ok(Item {
            text,
            comment: as_comment(comment),
            since: since.filter(|_| kind != "literals"),
        })
    };
    columns.into_iter().map(item).collect()
}

/// The value that a column has in rows that know none.
fn nothing(sql_type: &str) -> &str {
    match sql_type {
        "boolean" => "false",
        "text" => "''",
        "text[]" | "jsonb" => "'{}'",
        _ => "0",
    }
}

/// Short description of an option, with its unit.
fn meaning(option: &Opt) -> String {
    match option.of_type.contains("Interval") {
        true => option.brief() + ", an interval or a number of seconds",
        false => option.brief(),
    }
}

/// A description as a comment in SQL, which does not begin with a capital letter.
fn as_comment(description: &str) -> String {
    let text = description.replace('`', "");
    match text.char_indices().nth(1) {
        Some((at, second)) if !second.is_ascii_uppercase() => {
            text[..at].to_lowercase() + &text[at..]
        }
        _ => text,
    }
}

/// The items of a list that a selection has.
fn select<'l, T>(
    list: &'l [T],
    name: impl Fn(&'l T) -> &'l str,
    selection: &str,
) -> Result<Vec<&'l T>, String> {
    let (keyword, names) = selection.trim().split_once(' ').unwrap_or_default();
    let names: Vec<&str> = names
        .split([',', ' '])
        .filter(|word| *word != "to")
        .filter(|name| !name.is_empty())
        .collect();
    let at = |wanted: &str| {
        let found = list.iter().position(|item| name(item) == wanted);
        found.ok_or_else(|| format!("the list does not have {wanted}"))
    };
    let places = names
        .iter()
        .map(|name| at(name))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(match (keyword, &places[..]) {
        ("", []) => list.iter().collect(),
        ("from", [first]) => list[*first..].iter().collect(),
        ("from", [first, last]) => list[*first..=*last].iter().collect(),
        ("to", [last]) => list[..=*last].iter().collect(),
        ("only", _) => places.iter().map(|at| &list[*at]).collect(),
        ("except", _) => {
            let items = list.iter().enumerate();
            items
                .filter(|(at, _)| !places.contains(at))
                .map(|(_, item)| item)
                .collect()
        }
        _ => return Err("the selection is not understood".into()),
    })
}

/// An option as an argument; `given` has defaults that it has instead of its own.
fn argument(option: &Opt, given: &str) -> Result<String, String> {
    let given = given
        .split(',')
        .filter_map(|pair| pair.trim().split_once(" = "));
    let given = given
        .filter(|(name, _)| *name == option.name)
        .map(|(_, value)| value.to_owned())
        .next();
    let (sql_type, _) = sql_type(option.of_type)?;
    let is_text = ["text", "bench.span"].contains(&sql_type);
    let default = given.or_else(|| {
        let default = option.shown_default()?;
        Some(if is_text {
            format!("'{default}'")
        } else {
            default
        })
    });
    Ok(format!(
        "{} {sql_type} DEFAULT {}",
        option.name,
        default.unwrap_or("NULL".into())
    ))
}

/// Repeats what is to be repeated for each table of runs.
fn each_table(script: &str) -> String {
    let mut repeated = String::new();
    let mut rest = script;
    while let Some((before, begun)) = rest.split_once("{{each table of runs}}\n") {
        let (body, after) = begun.split_once("{{end}}\n").unwrap_or((begun, ""));
        repeated += before;
        for table in tables(script) {
            if table.name != "runs" && table.has_rows_of_runs() {
                repeated += &body.replace("{{table}}", &table.name);
            }
        }
        rest = after;
    }
    repeated + rest
}
