//! Families: their texts, parsed.

use crate::error::WorkloadError;
use crate::manifest::{Loader, Manifest, Mix, MixScript};
use selfbench_script::{builtin, statements};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Texts of a family.
#[derive(Clone, Copy, Debug)]
pub struct Source<'t> {
    /// Name of the family.
    pub name: &'t str,
    /// `manifest.json`.
    pub manifest: &'t str,
    /// `schema.sql`.
    pub schema: &'t str,
    /// `load.sql`.
    pub load: &'t str,
    /// `finish.sql`.
    pub finish: &'t str,
    /// `checks.sql`.
    pub checks: &'t str,
    /// Names and texts of the scripts.
    pub scripts: &'t [(&'t str, &'t str)],
}

/// Family of workloads.
#[derive(Clone, Debug)]
pub struct Family {
    /// Its name.
    pub name: String,
    /// Its description.
    pub manifest: Manifest,
    /// Statements that create tables and procedures.
    pub schema: Vec<String>,
    /// Queries of the rows, in order.
    pub load: Vec<LoadQuery>,
    /// Statements behind the load.
    pub finish: Vec<String>,
    /// Conditions on the rows.
    pub checks: Vec<Check>,
    /// Scripts by the name of their file.
    pub scripts: BTreeMap<String, String>,
}

/// Query of rows of a table, which is executed for each part. Its parameters are the part, from 0, the
/// scale, the seed, and the values of variables and constants as `jsonb`; its columns are those of the
/// table.
///
/// In `load.sql` it follows a line such as `-- customer: 10 * :scale parts of 3000 rows`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadQuery {
    /// The table.
    pub table: String,
    /// Expression for the number of parts.
    pub parts: String,
    /// Expression for the number of rows of a part.
    pub rows: String,
    /// Expression for the greatest number of rows of a part, if parts differ; `rows` is their mean then.
    pub at_most: Option<String>,
    /// The query.
    pub sql: String,
}

/// Condition: a query of rows that violate it.
///
/// In `checks.sql` it follows a line such as `-- name: description`; `-- name (after load only): description`
/// says that runs need not keep it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// The condition in words.
    pub description: String,
    /// Whether it holds after a load only.
    pub after_load_only: bool,
    /// The query.
    pub sql: String,
}

/// Families that the library has.
pub fn families() -> &'static [Source<'static>] {
    const FAMILIES: &[Source<'static>] = &include!(concat!(env!("OUT_DIR"), "/families.rs"));
    FAMILIES
}

/// The family of the library that has a mix of that name, or that name.
///
/// # Errors
/// If its texts are not valid.
pub fn find_mix(name: &str) -> Result<Option<(Family, Option<Mix>)>, WorkloadError> {
    for source in families() {
        let family = Family::parse(source)?;
        let mix = family.mix(name).cloned();
        if mix.is_some() || family.name == name {
            return Ok(Some((family, mix)));
        }
    }
    Ok(None)
}

impl Family {
    /// Parses the texts of a family.
    ///
    /// # Errors
    /// The first that is not valid.
    pub fn parse(source: &Source<'_>) -> Result<Family, WorkloadError> {
        let manifest = Manifest::parse(source.manifest)?;
        let mut scripts: BTreeMap<String, String> = source
            .scripts
            .iter()
            .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
            .collect();
        if manifest.loader == Some(Loader::Pgbench) {
            let built_in = builtin::list().iter();
            scripts.extend(built_in.map(|script| (script.name.to_owned(), script.body.to_owned())));
        }
        for script in manifest.mixes.iter().flat_map(|mix| &mix.scripts) {
            if !scripts.contains_key(script.file()) {
                return Err(WorkloadError::ScriptMissing(script.file().to_owned()));
            }
        }
        Ok(Family {
            name: source.name.to_owned(),
            manifest,
            schema: split("schema.sql", source.schema)?,
            load: load_queries(source.load)?,
            finish: split("finish.sql", source.finish)?,
            checks: checks(source.checks)?,
            scripts,
        })
    }

    /// Tables of the family: those that are filled, in order.
    pub fn tables(&self) -> Vec<String> {
        let mut tables = self.manifest.tables.clone();
        for query in &self.load {
            if !tables.contains(&query.table) {
                tables.push(query.table.clone());
            }
        }
        tables
    }

    /// The mix of that name.
    pub fn mix(&self, name: &str) -> Option<&Mix> {
        self.manifest.mixes.iter().find(|mix| mix.name == name)
    }

    /// Text of a script of a mix.
    pub fn body(&self, script: &MixScript) -> &str {
        self.scripts.get(script.file()).map_or("", String::as_str)
    }
}

/// Statements of a text.
fn split(file: &'static str, text: &str) -> Result<Vec<String>, WorkloadError> {
    statements(text).map_err(|offset| WorkloadError::Text {
        file,
        message: format!("a backslash at byte {offset}"),
    })
}

/// Parts of a text that begin with a line for which `header` gives something, such as `like`, each with its
/// statement.
fn headed<T>(
    file: &'static str,
    like: &str,
    text: &str,
    header: impl Fn(&str) -> Option<T>,
) -> Result<Vec<(T, String)>, WorkloadError> {
    let invalid = |message: String| WorkloadError::Text { file, message };
    let mut parts: Vec<(T, String)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("-- ").and_then(&header) {
            Some(found) => parts.push((found, String::new())),
            None => match parts.last_mut() {
                Some((_, sql)) => {
                    sql.push_str(line);
                    sql.push('\n');
                }
                None if line.trim().is_empty() || line.starts_with("--") => {}
                None => {
                    return Err(invalid(format!(
                        "no header such as \"{like}\" above \"{line}\""
                    )));
                }
            },
        }
    }
    for (_, sql) in &mut parts {
        match &split(file, sql)?[..] {
            [one] => *sql = one.trim_end_matches(';').to_owned(),
            found => {
                return Err(invalid(format!(
                    "{} statements below a header such as \"{like}\", not one",
                    found.len()
                )));
            }
        }
    }
    Ok(parts)
}

fn load_queries(text: &str) -> Result<Vec<LoadQuery>, WorkloadError> {
    let header = |line: &str| {
        let (table, rest) = line.split_once(": ")?;
        let (parts, rest) = rest.split_once(" parts of ")?;
        let (rows, at_most) = match rest.split_once(" rows, at most ") {
            Some((rows, at_most)) => (rows, Some(at_most.to_owned())),
            None => (rest.strip_suffix(" rows")?, None),
        };
        Some((table.to_owned(), parts.to_owned(), rows.to_owned(), at_most))
    };
    let found = headed("load.sql", "-- table: 1 parts of 1000 rows", text, header)?;
    let query = |((table, parts, rows, at_most), sql)| LoadQuery {
        table,
        parts,
        rows,
        at_most,
        sql,
    };
    Ok(found.into_iter().map(query).collect())
}

fn checks(text: &str) -> Result<Vec<Check>, WorkloadError> {
    let header = |line: &str| {
        let (name, description) = line.split_once(": ")?;
        let (name, after_load_only) = match name.strip_suffix(" (after load only)") {
            Some(name) => (name, true),
            None => (name, false),
        };
        let is_name = !name.contains(' ');
        is_name.then(|| (name.to_owned(), after_load_only, description.to_owned()))
    };
    let found = headed("checks.sql", "-- name: description", text, header)?;
    let check = |((name, after_load_only, description), sql)| Check {
        name,
        description,
        after_load_only,
        sql,
    };
    Ok(found.into_iter().map(check).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_are_valid() {
        let mut names = Vec::new();
        for source in families() {
            let family =
                Family::parse(source).unwrap_or_else(|error| panic!("{}: {error}", source.name));
            names.push(family.name.clone());
            names.extend(family.manifest.mixes.iter().map(|mix| mix.name.clone()));
            family
                .check()
                .unwrap_or_else(|error| panic!("{}: {error}", source.name));
        }
        names.sort();
        let count = names.len();
        names.dedup();
        assert!(names.len() + 1 >= count, "a name is taken twice: {names:?}");
    }

    #[test]
    fn headers_and_queries() {
        let text = "-- a: 2 * :scale parts of 10 rows\nSELECT 1\n  FROM x;\n-- b: 1 parts of 5 rows, at most 9\nSELECT 2;\n";
        let found = load_queries(text).unwrap();
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].parts, "2 * :scale");
        assert_eq!(found[0].rows, "10");
        assert_eq!(found[0].at_most, None);
        assert_eq!(found[1].rows, "5");
        assert_eq!(found[1].at_most.as_deref(), Some("9"));
        assert_eq!(found[1].sql, "SELECT 2");
        assert!(load_queries("SELECT 1;").is_err());
        let found = checks("-- sums (after load only): all is well\nSELECT 1;\n").unwrap();
        assert!(found[0].after_load_only && found[0].name == "sums");
    }
}
