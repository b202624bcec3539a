//! The script language: what is parsed, evaluated and drawn.  One program,
//! because linking one for each file takes longer than running it.

#[path = "../common/mod.rs"]
mod common;

mod distributions;
mod errors;
mod expressions;
mod hashes;
mod meta_commands;
mod names;
mod precedence;
mod printed_values;
mod selection;
mod sql;
mod streams;
mod values;
mod variables;

/// A file that is not listed would not be tested.
#[test]
fn every_file_is_listed() {
    for entry in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/all")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let module = format!("mod {name};\n");
        assert!(
            name == "main" || include_str!("main.rs").contains(&module),
            "{path:?}"
        );
    }
}
