//! Texts generated from the lists.

use selfbench_catalog::{
    INITIALIZE, INITIALIZE_PGIO, INITIALIZE_WORKLOAD, PGIO, RUN, documents, script, tables,
};
use sha2::{Digest, Sha256};
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
fn all_crates_are_in_the_copyright_file() {
    let read = |name| std::fs::read_to_string(root().join(name)).expect("a file");
    let copyright = read("debian/copyright");
    for package in read("Cargo.lock").split("[[package]]").skip(1) {
        let name = package.split('"').nth(1).expect("a name");
        let line = format!("\nFiles: vendor/{name}*/*\n");
        assert!(
            !package.contains("source =") || copyright.contains(&line),
            "{name} is not in debian/copyright: tools/copyright.sh"
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

/// The functions of the library that an install script names.
fn symbols(script: &str) -> impl Iterator<Item = &str> {
    const BEFORE: &str = "'MODULE_PATHNAME', '";
    let after = script.split(BEFORE).skip(1);
    after.filter_map(|rest| rest.split('\'').next())
}

/// The first one of them that the library does not have.
fn missing_symbol<'s>(directory: &Path, script: &'s str) -> Option<&'s str> {
    let mut sources = String::new();
    read_sources(directory, &mut sources);
    symbols(script).find(|symbol| {
        let function = symbol.trim_end_matches("_wrapper");
        !["(", "<"]
            .iter()
            .any(|after| sources.contains(&format!("fn {function}{after}")))
    })
}

fn read_sources(directory: &Path, sources: &mut String) {
    for entry in std::fs::read_dir(directory).expect("a directory").flatten() {
        let path = entry.path();
        if path.is_dir() {
            read_sources(&path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            // What SQL calls, and nothing else: a function below that attribute.
            let text = std::fs::read_to_string(&path).expect("a source");
            let functions = text.split("#[pg_extern(").skip(1);
            functions.for_each(|f| sources.push_str(f.split_once('{').expect("a body").0));
        }
    }
}

/// Fails with a sentence if something is wrong with a directory of releases, where `script` is that of a version.
fn check_releases(releases: &Path, version: &str, script: &str) -> Result<(), String> {
    let Ok(files) = std::fs::read_dir(releases) else {
        return Ok(());
    };
    let read = |name: &str| {
        std::fs::read_to_string(releases.join(name)).map_err(|e| format!("{name}: {e}"))
    };
    let mut sums = Vec::new();
    for file in files.flatten() {
        let name = file.file_name().to_string_lossy().into_owned();
        if name.ends_with(".sql") {
            let text = read(&name)?;
            if let Some(symbol) = missing_symbol(&root().join("src"), &text) {
                return Err(format!("{name} needs the C function {symbol}"));
            }
            let hash = Sha256::digest(text);
            let digits: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            sums.push(format!("{digits}  {name}"));
        }
    }
    sums.sort_by(|a, b| a[64..].cmp(&b[64..]));
    let mut listed: Vec<_> = read("SHA256SUMS")?.lines().map(str::to_owned).collect();
    listed.sort_by(|a, b| a[64..].cmp(&b[64..]));
    if sums != listed {
        return Err("a released script has changed".into());
    }
    let released = releases.join(format!("pg_selfbench--{version}.sql"));
    match std::fs::read_to_string(released) {
        Ok(released) if released != script => Err(format!(
            "version {version} is released: raise default_version"
        )),
        _ => Ok(()),
    }
}

#[test]
fn released_scripts_do_not_change() {
    let control =
        std::fs::read_to_string(root().join("pg_selfbench.control")).expect("a control file");
    let version = control
        .split("default_version = '")
        .nth(1)
        .expect("a version");
    let version = version.split('\'').next().expect("a version");
    assert_eq!(version, env!("CARGO_PKG_VERSION"), "Cargo.toml");
    let meta = std::fs::read_to_string(root().join("META.json")).expect("a file for PGXN");
    assert_eq!(
        meta.matches(&format!("\"version\": \"{version}\"")).count(),
        2,
        "META.json"
    );
    assert!(
        meta.contains(&format!("\"pg_selfbench--{version}.sql\"")),
        "META.json"
    );
    let read = |name: &str| std::fs::read_to_string(root().join(name)).expect("a changelog");
    let packaged = format!("pg-selfbench ({version}-");
    assert!(
        read("debian/changelog").starts_with(&packaged),
        "debian/changelog"
    );
    let makefile = read("Makefile");
    let built = makefile
        .split("\nPG_VERSIONS = ")
        .nth(1)
        .and_then(|rest| rest.lines().next());
    let packaged = read("debian/pgversions")
        .lines()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(built, Some(packaged.as_str()), "debian/pgversions");
    let newest = format!("\n## [{version}] - ");
    let changelog = read("CHANGELOG.md");
    assert_eq!(
        changelog.find("\n## "),
        changelog.find(&newest),
        "CHANGELOG.md"
    );
    assert!(changelog.contains(&newest), "CHANGELOG.md");
    let script = script(root()).expect("the script can be made");
    assert!(symbols(&script).count() > 50);
    assert_eq!(missing_symbol(&root().join("src"), &script), None);
    assert_eq!(
        check_releases(&root().join("releases"), version, &script),
        Ok(())
    );

    // That a change would be found.
    let releases = std::env::temp_dir().join(format!("releases.{}", std::process::id()));
    std::fs::create_dir_all(&releases).expect("a directory");
    let name = format!("pg_selfbench--{version}.sql");
    let write = |name: &str, text: &str| std::fs::write(releases.join(name), text).expect("a file");
    let hash: String = Sha256::digest(&script)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    write(&name, &script);
    write("SHA256SUMS", &format!("{hash}  {name}\n"));
    let as_released = check_releases(&releases, version, &script);
    let raised = check_releases(&releases, version, "more").expect_err("the script is another one");
    write(&name, "less");
    let changed =
        check_releases(&releases, version, &script).expect_err("the release is another one");
    write(
        "pg_selfbench--0.0.1.sql",
        "AS 'MODULE_PATHNAME', 'run_wrapper'; AS 'MODULE_PATHNAME', 'was_wrapper'",
    );
    let removed = check_releases(&releases, version, &script).expect_err("a function is gone");
    std::fs::remove_dir_all(&releases).expect("it can be removed");
    assert_eq!(
        removed,
        "pg_selfbench--0.0.1.sql needs the C function was_wrapper"
    );
    assert_eq!(as_released, Ok(()));
    assert!(raised.ends_with("raise default_version"), "{raised}");
    assert_eq!(changed, "a released script has changed");
}
