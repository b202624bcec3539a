//! Lists of options, and of the columns of structs in other crates. The program of this crate makes
//! the install script of the pieces in `src/sql` and of these lists, and the tables of options in
//! the documentation. It needs no server and no library.

mod comments;
mod documents;
mod errors;
mod expand;
mod lists;
mod options;
mod schema;
mod tables;
mod update;
mod versions;

pub use documents::documents;
pub use expand::script;
pub use options::{INITIALIZE, INITIALIZE_PGIO, INITIALIZE_WORKLOAD, PGIO, RUN};
pub use tables::{Column, Table, tables};
pub use update::update;
pub use versions::{next, previous};

/// An option of a SQL function.
#[derive(Clone, Copy, Debug)]
pub struct Opt {
    /// Its name.
    pub name: &'static str,
    /// Its type in Rust.
    pub of_type: &'static str,
    /// Its default in Rust; NULL if there is none.
    pub default: Option<&'static str>,
    /// Description, in lines.
    pub description: &'static [&'static str],
    /// The options of pgbench that it stands for.
    pub pgbench: Option<&'static str>,
    /// The column of `bench.runs` that stores it.
    pub column: Option<&'static str>,
    /// The type of this column in Rust.
    pub column_type: Option<&'static str>,
    /// Whether `bench.compare_runs` compares this column.
    pub is_compared: bool,
}

impl Opt {
    /// Returns the description.
    pub fn text(&self) -> String {
        let lines: Vec<_> = self.description.iter().map(|line| line.trim()).collect();
        lines.join(" ")
    }

    /// Returns the first sentence of the description.
    pub fn brief(&self) -> String {
        let text = self.text();
        let end = text.find(". ").unwrap_or(text.len() - 1);
        text[..end].to_owned()
    }

    /// The default as documents and people write it; `None` for NULL.
    pub fn shown_default(&self) -> Option<String> {
        let default = self.default?;
        if let Some((_, value)) = default.rsplit_once(':') {
            return Some(value.trim().to_lowercase());
        }
        Some(match default.strip_prefix("seconds(") {
            Some(number) => format!("{} s", number.trim_end_matches(')')),
            None => default.trim_matches('"').trim_end_matches(".0").to_owned(),
        })
    }
}

/// The type in SQL of a type in Rust, and whether it has NULL.
fn sql_type(of_type: &str) -> Result<(&'static str, bool), String> {
    let of_type = &of_type.replace(' ', "");
    let inner = of_type.strip_prefix("Option<");
    let inner = inner.and_then(|inner| inner.strip_suffix('>'));
    let sql = match inner.unwrap_or(of_type) {
        "bool" => "boolean",
        "i32" => "int",
        "i64" | "u64" => "bigint",
        "f64" => "float8",
        "String" | "Mode" | "Protocol" | "Vacuum" | "ClientProcess" | "Route"
        | "UndefinedVariables" | "Scan" => "text",
        "Vec<String>" => "text[]",
        "Vec<u8>" => "bytea",
        "BTreeMap<String,String>" | "Value" => "jsonb",
        "Interval" => "bench.span",
        "Seed" => "bench.seed",
        other => return Err(format!("no type in SQL is known for {other}")),
    };
    Ok((sql, inner.is_some()))
}
