//! The layers of the extension, and of small crates of which it is known what is wrong.

use selfbench_layers::Sources;
use std::path::Path;

#[test]
fn the_extension_keeps_to_its_layers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
    let sources = Sources::read(&root).expect("the sources can be read");
    let layers = sources.layers();
    assert!(
        layers.len() > 10,
        "no list of layers in src/lib.rs: {layers:?}"
    );
    assert!(
        sources
            .imports()
            .values()
            .any(|imported| imported.len() > 5),
        "no file imports anything"
    );
    let complaints = sources.complaints();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

const LIST: &str =
    "//! | layer | what it is |\n//! |---|---|\n//! | `top` | above |\n//! | `low` | below |\n";

fn complaints(files: &[(&str, &str)]) -> Vec<String> {
    Sources::of(files).complaints()
}

#[test]
fn imports_from_below_and_within_a_folder_are_fine() {
    let files = [
        ("", LIST),
        ("top", "mod part; use crate::low; pub use part::Part;"),
        (
            "top::part",
            "use super::other::Other; fn f() { crate::low::g() }",
        ),
        ("top::other", "#[cfg(test)] mod tests { use super::*; }"),
        ("low", ""),
    ];
    assert!(complaints(&files).is_empty(), "{:?}", complaints(&files));
}

#[test]
fn an_import_from_above() {
    for text in [
        "use crate::top;",
        "use crate::{top::Part};",
        "use crate::*;",
        "fn f() -> crate::top::Part { todo!() }",
        "use super::top as other;",
    ] {
        let found = complaints(&[("", LIST), ("top", ""), ("low", text)]);
        let expected = "low imports from top, which is in a layer above";
        assert!(
            found.iter().any(|found| found == expected),
            "{text}: {found:?}"
        );
    }
    assert_eq!(
        complaints(&[("", LIST), ("top", ""), ("low", "use crate::CONSTANT;")]),
        ["low imports from the root of the crate, which is in a layer above"]
    );
    assert_eq!(
        complaints(&[
            ("", LIST),
            ("top", ""),
            ("low", ""),
            ("low::part", "use super::super::top::f;")
        ]),
        ["low::part imports from top, which is in a layer above"]
    );
}

#[test]
fn a_list_that_is_not_that_of_the_folders() {
    assert_eq!(
        complaints(&[("", LIST), ("top", ""), ("middle::part", "")]),
        [
            "middle is not in the list of layers",
            "the list of layers has low, which does not exist"
        ]
    );
    let twice = format!("{LIST}//! | `top` | again |");
    assert_eq!(
        complaints(&[("", &twice), ("top", ""), ("low", "")]),
        ["top is twice in the list of layers"]
    );
}

#[test]
fn circles_of_files() {
    assert_eq!(
        complaints(&[
            ("", LIST),
            ("top::a", "use super::b::B;"),
            ("top::b", "fn f() { super::c::f() }"),
            ("top::c", "use super::a;"),
            ("low", "mod part; pub use part::Part;"),
            ("low::part", "use super::Part;"),
        ]),
        [
            "these files form a circle: low, low::part",
            "these files form a circle: top::a, top::b, top::c"
        ]
    );
}
