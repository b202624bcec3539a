//! The lists: columns by the name of their list, which is one of options or a struct in Rust.

use crate::expand::read;
use crate::options::{INITIALIZE, INITIALIZE_PGIO, INITIALIZE_WORKLOAD, PGIO, RUN};
use crate::{Opt, sql_type};
use std::collections::BTreeMap;
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

/// A column as a list has it.
#[derive(Clone, Debug)]
pub struct Listed {
    pub name: String,
    pub sql_type: &'static str,
    pub has_null: bool,
    /// The expression of which the server computes it.
    pub computed: Option<&'static str>,
    pub comment: String,
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
        })
    }
}

/// A field of a struct, or an entry of a list.
struct Field {
    name: String,
    of_type: String,
    /// Whether its columns are those of its type.
    is_flat: bool,
    comment: String,
}

/// All lists.
pub struct Lists(BTreeMap<String, Vec<Field>>);

/// The options that a list has, by its name.
pub fn options(list: &str) -> Result<&'static [Opt], String> {
    Ok(match list {
        "run_options" => RUN,
        "pgio_options" => PGIO,
        "initialize_options" => INITIALIZE,
        "initialize_pgio_options" => INITIALIZE_PGIO,
        "initialize_workload_options" => INITIALIZE_WORKLOAD,
        _ => return Err(format!("there is no list {list}")),
    })
}

impl Lists {
    /// Reads the structs in a tree of sources.
    pub fn read(root: &Path) -> Result<Lists, String> {
        let stored = |is_wanted: fn(&Opt) -> bool| {
            let options = RUN.iter().filter(|option| is_wanted(option));
            let fields = options.filter_map(|option| {
                let field = Field::new((option.column?, option.column_type?));
                Some(Field {
                    comment: option.brief(),
                    ..field
                })
            });
            fields.collect()
        };
        let of_pgio = PGIO.iter().map(|option| Field {
            comment: option.brief(),
            ..Field::new((option.name, option.of_type))
        });
        let mut lists = BTreeMap::from([
            ("run_options".to_owned(), stored(|_| true)),
            ("compared".to_owned(), stored(|option| option.is_compared)),
            ("pgio_options".to_owned(), of_pgio.collect()),
        ]);
        for source in SOURCES {
            lists.extend(structs(&read(&root.join(source))?));
        }
        Ok(Lists(lists))
    }

    /// The columns of a list.
    pub fn columns(&self, list: &str) -> Result<Vec<Listed>, String> {
        let fields = self.0.get(list);
        let mut columns = Vec::new();
        for field in fields.ok_or_else(|| format!("there is no list {list}"))? {
            match field.is_flat {
                true => columns.extend(self.columns(&field.of_type)?),
                false => columns.push(Listed::new(&field.name, &field.of_type, &field.comment)?),
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
    fn new((name, of_type): (&str, &str)) -> Field {
        Field {
            name: name.to_owned(),
            of_type: of_type.to_owned(),
            is_flat: false,
            comment: String::new(),
        }
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
            fields.push(Field {
                is_flat: attribute.contains("flatten"),
                comment: comment.join(" ").trim_end_matches('.').to_owned(),
                ..Field::new(renamed.map_or(field, |name| (name, "f64")))
            });
            attribute = "";
            comment.clear();
        }
    }
    fields
}
