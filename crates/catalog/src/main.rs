//! `sql` prints the install script; `docs` writes what the documentation has of the lists.

use selfbench_catalog::{documents, script};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let root = Path::new(".");
    let done = match env::args().nth(1).as_deref() {
        Some("sql") => script(root).map(|script| print!("{script}")),
        Some("docs") => documents(root).and_then(|documents| {
            let write = |(path, text)| fs::write(path, text).map_err(|error| error.to_string());
            documents.into_iter().try_for_each(write)
        }),
        _ => Err("give sql or docs".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
