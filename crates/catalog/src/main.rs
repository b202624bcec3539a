//! `sql` prints the install script; `docs` writes what the documentation has of the lists; `update OLD NEW` prints
//! the script that updates from one install script to another; `versions DIRECTORY` writes the scripts of a version
//! before and of one after this one, with the update to that, for tests.

use selfbench_catalog::{documents, next, previous, script, update};
use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

fn main() -> ExitCode {
    let root = Path::new(".");
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["sql"] => script(root).map(|script| print!("{script}")),
        ["docs"] => documents(root).and_then(|documents| {
            let write = |(path, text)| fs::write(path, text).map_err(|error| error.to_string());
            documents.into_iter().try_for_each(write)
        }),
        ["update", old, new] => print_update(old, new),
        ["versions", directory] => versions(root, Path::new(directory)),
        _ => Err("give sql, docs, update OLD NEW, or versions DIRECTORY".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn print_update(old: &str, new: &str) -> Result<(), String> {
    let read = |path| fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    print!("{}", update(&read(old)?, &read(new)?)?);
    Ok(())
}

fn versions(root: &Path, directory: &Path) -> Result<(), String> {
    let next = next(root)?;
    let files = [
        ("previous", previous(root)?),
        ("now--next", update(&script(root)?, &next)?),
        ("next", next),
    ];
    fs::create_dir_all(directory).map_err(|error| error.to_string())?;
    files.iter().try_for_each(|(name, text)| {
        let name = format!("pg_selfbench--{name}.sql");
        fs::write(directory.join(name), text).map_err(|error| error.to_string())
    })
}
