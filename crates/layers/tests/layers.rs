//! The layers of the extension, and of small crates of which it is known what is wrong.

use selfbench_layers::Sources;
use std::path::Path;

#[test]
fn the_extension_keeps_to_its_layers() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../src");
    let sources = Sources::read(&root).expect("the sources can be read");
    assert!(
        sources.layers().len() > 10,
        "no list of layers in src/lib.rs"
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

/// Complaints about files, such as `low/part.rs`, beside a list of the layers `top` and `low`.
fn complaints(files: &[(&str, &str)]) -> Vec<String> {
    let list = "//! | layer |\n//! |---|\n//! | `top` |\n//! | `low` |\nmod top; mod low;";
    let mut sources = Sources::default();
    for (file, text) in [("lib.rs", list), ("top/mod.rs", ""), ("low/mod.rs", "")]
        .iter()
        .chain(files)
    {
        sources.add(Path::new(file), text.to_string());
    }
    sources.complaints()
}

#[test]
fn imports_from_below_and_within_a_folder_are_fine() {
    let files = [
        (
            "top/mod.rs",
            "mod part; use crate::low; pub use part::Part;",
        ),
        (
            "top/part.rs",
            "use super::other::Other; fn f() { crate::low::g() }",
        ),
        ("top/other.rs", "#[cfg(test)] mod tests { use super::*; }"),
    ];
    assert_eq!(complaints(&files), [""; 0]);
}

#[test]
fn an_import_from_above() {
    for text in [
        "use crate::top;",
        "use crate::{low::{self, part}, top::Part as Other};",
        "use crate::*;",
        "fn f() -> crate::top::Part { todo!() }",
        "fn f() { g!(\"{}\", crate::top::f::<u8>()) }",
        "#[serde(with = \"crate::top::json\")] struct S;",
        "use super::top as other;",
        "mod tests { use super::super::top::f; }",
        "mod tests { mod inner { use super::super::super::{top}; } }",
    ] {
        let found = complaints(&[("low/mod.rs", text)]);
        let expected = "low imports from top, which is in a layer above";
        assert!(
            found.iter().any(|found| found == expected),
            "{text}: {found:?}"
        );
    }
    assert_eq!(
        complaints(&[("low/mod.rs", "use crate::CONSTANT;")]),
        ["low imports from the root of the crate, which is in a layer above"]
    );
    assert_eq!(
        complaints(&[("low/part.rs", "use super::super::top::f;")]),
        ["low::part imports from top, which is in a layer above"]
    );
}

#[test]
fn what_is_no_import() {
    for text in [
        "// use crate::top;\n/* crate::top /* crate::top */ crate::top */",
        "/// See `crate::top`.\nfn f() {}",
        "const A: &str = \"crate::top is text\"; const B: &str = r#\"\" crate::top \"#;",
        "const QUOTE: char = '\"'; const TEXT: &str = \" crate::top \"; const OTHER: char = '\\'';",
        "pub(in crate::top) fn f(self) { self.g() } pub(super) fn h() {}",
    ] {
        assert_eq!(complaints(&[("low/mod.rs", text)]), [""; 0], "{text}");
    }
}

#[test]
fn a_list_that_is_not_that_of_the_folders() {
    assert_eq!(
        complaints(&[("middle.rs", "")]),
        ["the modules are {\"low\", \"middle\", \"top\"}, and the layers [\"low\", \"top\"]"]
    );
    let twice = "//! | `top` |\n//! | `low` |\n//! | `top` |";
    assert_eq!(complaints(&[("lib.rs", twice)]).len(), 1);
}

#[test]
fn circles_of_files() {
    assert_eq!(
        complaints(&[
            ("top/a.rs", "use super::b::B;"),
            ("top/b.rs", "fn f() { super::c::f() }"),
            ("top/c.rs", "use super::a;"),
            ("top/d.rs", "use super::a;"),
            ("low/mod.rs", "mod part; pub use part::Part;"),
            ("low/part.rs", "use super::Part;"),
        ]),
        ["these files form circles: low, low::part, top::a, top::b, top::c"]
    );
}
