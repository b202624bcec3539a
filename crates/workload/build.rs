//! Takes the folders of `workloads` into the library: a list of their names and texts. The texts themselves, since
//! paths would make a library depend on where it was built.

use std::fmt::Write;
use std::io::ErrorKind;
use std::path::Path;
use std::{env, fs};

/// The files of a family beside its scripts, in the order of the fields of `Source`. One that is missing is
/// empty.
const FILES: [&str; 5] = [
    "manifest.json",
    "schema.sql",
    "load.sql",
    "finish.sql",
    "checks.sql",
];

fn main() {
    let root = Path::new("../../workloads");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut code = String::from("[\n");
    for family in names(root) {
        let folder = root.join(&family);
        let literal = |file: &Path| {
            println!("cargo::rerun-if-changed={}", file.display());
            match fs::read_to_string(file) {
                Err(error) if error.kind() == ErrorKind::NotFound => "\"\"".to_owned(),
                text => format!("{:?}", text.expect("a text in UTF-8")),
            }
        };
        let [manifest, schema, load, finish, checks] =
            FILES.map(|file| literal(&folder.join(file)));
        writeln!(
            code,
            "Source {{ name: {family:?}, manifest: {manifest}, schema: {schema}, load: {load}, \
             finish: {finish}, checks: {checks}, scripts: &["
        )
        .expect("a text can grow");
        for script in names(&folder.join("scripts")) {
            let text = literal(&folder.join("scripts").join(&script));
            let name = script.trim_end_matches(".sql");
            writeln!(code, "({name:?}, {text}),").expect("a text can grow");
        }
        code.push_str("] },\n");
    }
    code.push(']');
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&out).join("families.rs"), code).expect("the directory can be written");
}

/// Names in a directory, sorted; none if there is no directory.
fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}
