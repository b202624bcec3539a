//! The client state machine against a session that does what a test says.  One program,
//! because linking one for each file takes longer than running it.

mod blocks;
mod common;
mod conditionals;
mod deadline;
mod details;
mod interleavings;
mod latency;
mod lost_session;
mod meta_errors;
mod open_block;
mod options;
mod pipelines;
mod position;
mod rate;
mod retries;
mod rotation;
mod sleep;
mod statement_errors;
mod stop;
mod store;
mod streams;
mod transactions;
mod usage;
mod waiting;
mod warm_up;

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
