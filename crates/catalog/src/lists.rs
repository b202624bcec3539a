//! The lists: columns by the name of their list, which is one of options or a struct in Rust.

use crate::options::{INITIALIZE, INITIALIZE_PGIO, INITIALIZE_WORKLOAD, PGIO, RUN};
use crate::{Opt, sql_type};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The files with structs whose fields are columns.
const SOURCES: [&str; 4] = [
    "crates/stats/src/tally.rs",
    "crates/stats/src/usage.rs",
    "crates/model/src/figures.rs",
    "crates/model/src/pgio.rs",
];

/// Columns that the server computes, each behind the one that it follows.
const COMPUTED: [(&str, &str, &str, &str); 1] = [(
    "transactions",
    "failed",
    "serialization_failures + deadlock_failures + other_failures",
    "Failed transactions of all kinds",
)];

/// Reads a file.
pub fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// A column as a list has it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub name: String,
    pub sql_type: &'static str,
    pub has_null: bool,
    /// The expression of which the server computes it.
    pub computed: Option<&'static str>,
    pub comment: String,
    /// The version that added it; `None` is the first one.
    pub since: Option<Version>,
}

/// A version of the extension, as its three numbers.
pub type Version = [u32; 3];

/// The version that a description names at its end, as in `Since 0.2.0.`
fn since(description: &str) -> Option<Version> {
    let (_, version) = description.trim_end_matches('.').rsplit_once("Since ")?;
    let numbers = version.split('.').map(|number| number.parse().ok());
    numbers.collect::<Option<Vec<_>>>()?.try_into().ok()
}

impl Listed {
    fn new(name: &str, of_type: &str, comment: &str) -> Result<Listed, String> {
        let (sql_type, has_null) = sql_type(of_type).map_err(|error| format!("{name}: {error}"))?;
        Ok(Listed {
            name: name.to_owned(),
            sql_type,
            has_null,
            computed: None,
            comment: comment.to_owned(),
            since: None,
        })
    }
}

/// A field of a struct, or an entry of a list.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) of_type: String,
    /// Whether its columns are those of its type.
    pub(crate) is_flat: bool,
    pub(crate) comment: String,
    pub(crate) since: Option<Version>,
}

/// All lists: of options, and of columns.
pub struct Lists {
    pub(crate) options: BTreeMap<&'static str, Vec<Opt>>,
    pub(crate) columns: BTreeMap<String, Vec<Field>>,
}

/// Makes the lists of another version.
pub type Change = fn(&mut Lists);

impl Lists {
    /// Reads the structs in a tree of sources.
    pub fn read(root: &Path, change: Option<Change>) -> Result<Lists, String> {
        let mut lists = Lists {
            options: BTreeMap::from([
                ("run_options", RUN.to_vec()),
                ("pgio_options", PGIO.to_vec()),
                ("initialize_options", INITIALIZE.to_vec()),
                ("initialize_pgio_options", INITIALIZE_PGIO.to_vec()),
                ("initialize_workload_options", INITIALIZE_WORKLOAD.to_vec()),
            ]),
            columns: BTreeMap::new(),
        };
        for source in SOURCES {
            lists.columns.extend(structs(&read(&root.join(source))?));
        }
        if let Some(change) = change {
            change(&mut lists);
        }
        let stored = |is_wanted: fn(&&Opt) -> bool| {
            let options = lists.options["run_options"].iter().filter(is_wanted);
            options.filter_map(Field::of_option).collect()
        };
        let (stored, compared) = (stored(|_| true), stored(|option| option.is_compared));
        let of_pgio = lists.options["pgio_options"].iter().map(|option| Field {
            comment: option.brief(),
            since: since(&option.text()),
            ..Field::new((option.name, option.of_type))
        });
        let of_pgio = of_pgio.collect();
        lists.columns.insert("run_options".to_owned(), stored);
        lists.columns.insert("compared".to_owned(), compared);
        lists.columns.insert("pgio_options".to_owned(), of_pgio);
        Ok(lists)
    }

    /// The options that a list has, by its name.
    pub fn options(&self, list: &str) -> Result<&[Opt], String> {
        let options = self.options.get(list);
        let options = options.ok_or_else(|| format!("there is no list {list}"))?;
        Ok(options)
    }

    /// The columns of a list.
    pub fn columns(&self, list: &str) -> Result<Vec<Listed>, String> {
        let fields = self.columns.get(list);
        let mut columns = Vec::new();
        for field in fields.ok_or_else(|| format!("there is no list {list}"))? {
            match field.is_flat {
                true => columns.extend(self.columns(&field.of_type)?),
                false => columns.push(Listed {
                    since: field.since,
                    ..Listed::new(&field.name, &field.of_type, &field.comment)?
                }),
            }
            for (_, name, expression, comment) in COMPUTED.iter().filter(|c| c.0 == field.name) {
                columns.push(Listed {
                    computed: Some(expression),
                    ..Listed::new(name, "i64", comment)?
                });
            }
        }
        Ok(columns)
    }
}

impl Field {
    pub(crate) fn new((name, of_type): (&str, &str)) -> Field {
        Field {
            name: name.to_owned(),
            of_type: of_type.to_owned(),
            is_flat: false,
            comment: String::new(),
            since: None,
        }
    }

    /// The column that stores an option.
    fn of_option(option: &Opt) -> Option<Field> {
        Some(Field {
            comment: option.brief(),
            since: since(&option.text()),
            ..Field::new((option.column?, option.column_type?))
        })
    }
}

/// The public structs of a source as rustfmt formats it, where a field is a line.
fn structs(text: &str) -> BTreeMap<String, Vec<Field>> {
    let begun = text.split("pub struct ").skip(1);
    let begun = begun.filter_map(|begun| begun.split_once(" {\n"));
    begun
        .map(|(name, body)| (name.to_owned(), fields(body)))
        .collect()
}

fn fields(body: &str) -> Vec<Field> {
    let (mut fields, mut attribute, mut comment) = (Vec::new(), "", Vec::new());
    for line in body.lines().map(str::trim).take_while(|line| *line != "}") {
        if line.starts_with("#[") {
            attribute = line;
        }
        comment.extend(line.strip_prefix("/// "));
        let field = line
            .strip_prefix("pub ")
            .and_then(|field| field.trim_end_matches(',').split_once(": "));
        if let Some(field) = field {
            // In another unit, it has another name, and fractions.
            let renamed = attribute
                .split('"')
                .nth(1)
                .filter(|_| attribute.contains("rename"));
            let text = comment.join(" ").trim_end_matches('.').to_owned();
            fields.push(Field {
                is_flat: attribute.contains("flatten"),
                since: since(&text),
                comment: text,
                ..Field::new(renamed.map_or(field, |name| (name, "f64")))
            });
            attribute = "";
            comment.clear();
        }
    }
    fields
}
