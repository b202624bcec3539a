//! Texts generated from the lists.

use selfbench_catalog::{
    INITIALIZE, INITIALIZE_PGIO, INITIALIZE_WORKLOAD, PGIO, RUN, documents, script, tables,
};
use std::path::Path;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

#[test]
fn documents_are_up_to_date() {
    for (path, text) in documents(root()).expect("the documents can be made") {
        let written = std::fs::read_to_string(&path).expect("a page");
        assert!(
            written == text,
            "{} is not up to date: make docs",
            path.display()
        );
    }
}

#[test]
fn the_script_is_plain_text() {
    let script = script(root()).expect("the script can be made");
    for left in ["{{", "LIKE bench", "EXECUTE format('CREATE", "DO $$"] {
        assert!(!script.contains(left), "the script has {left}");
    }
    assert!(tables(&script).len() > 15);
}

#[test]
fn descriptions_are_sentences() {
    let lists = [RUN, PGIO, INITIALIZE, INITIALIZE_PGIO, INITIALIZE_WORKLOAD];
    for option in lists.concat() {
        let text = option.text();
        assert!(
            text.starts_with(|c: char| c.is_ascii_uppercase()) && text.ends_with('.'),
            "{text}"
        );
    }
}

#[test]
fn what_is_not_compared_differs_from_run_to_run() {
    let stored = RUN.iter().filter(|option| option.column.is_some());
    let others: Vec<_> = stored.filter(|o| !o.is_compared).map(|o| o.name).collect();
    assert_eq!(others, ["seed", "label"]);
    let not_stored: Vec<_> = RUN
        .iter()
        .filter(|o| o.column.is_none())
        .map(|o| o.name)
        .collect();
    assert_eq!(not_stored, ["progress", "settings"]);
}
