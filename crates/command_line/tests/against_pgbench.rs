//! Wrong and right command lines give what the installed pgbench gives.
//!
//! pgbench is the one that `pg_config` knows, or the one that the variable `PG_CONFIG` names. The
//! server that it would connect to does not exist: if it tries, it accepts the command line.

#![cfg(unix)]

use std::env;
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use selfbench_command_line::{Error, Invocation, list_scripts, parse, show_script};
use selfbench_script::Rng;

/// A directory without a server's socket.
const NO_SERVER: &str = "/nonexistent";
const GENERATED_LINES: usize = 1500;

/// Makes the names of directories differ.
static DIRECTORIES: AtomicUsize = AtomicUsize::new(0);

/// The installed pgbench.
struct Pgbench {
    path: PathBuf,
    major: u32,
    directory: PathBuf,
}

impl Pgbench {
    /// `None` if there is none and nobody says that there should be one.
    fn find() -> Option<Self> {
        let wanted = env::var_os("PG_CONFIG");
        let config = wanted.clone().unwrap_or("pg_config".into());
        let bindir = match Command::new(&config).arg("--bindir").output() {
            Ok(output) => String::from_utf8(output.stdout).unwrap(),
            Err(error) => {
                assert!(wanted.is_none(), "cannot run {config:?}: {error}");
                return None;
            }
        };
        let path = Path::new(bindir.trim()).join("pgbench");
        if !path.exists() {
            assert!(wanted.is_none(), "{path:?} does not exist");
            return None;
        }
        let version = Command::new(&path).arg("--version").output().unwrap();
        let version = String::from_utf8(version.stdout).unwrap();
        let number = version.split_whitespace().nth(2).unwrap();
        let major = number.split(|c: char| !c.is_ascii_digit()).next().unwrap();
        let directory = env::temp_dir().join(format!(
            "command_line.{}.{}",
            std::process::id(),
            DIRECTORIES.fetch_add(1, Ordering::Relaxed)
        ));
        fs::create_dir_all(&directory).unwrap();
        for script in ["s.sql", "a@b.sql", "-i"] {
            fs::write(directory.join(script), "SELECT 1;\n").unwrap();
        }
        Some(Self {
            path,
            major: major.parse().unwrap(),
            directory,
        })
    }

    fn run(&self, words: &[String]) -> Output {
        Command::new(&self.path)
            .arg0("pgbench")
            .args(words)
            .env_clear()
            .env("PGHOST", NO_SERVER)
            .env("PGUSER", "nobody")
            .current_dir(&self.directory)
            .output()
            .unwrap()
    }

    /// Result of pgbench for a command line, in the form of [`expected`].
    fn outcome(&self, words: &[String]) -> String {
        let output = self.run(words);
        let stderr = String::from_utf8_lossy(&output.stderr);
        if stderr.contains("could not create connection for ") {
            return "accepted".to_owned();
        }
        if !output.stdout.is_empty() {
            let stdout = String::from_utf8_lossy(&output.stdout);
            return stdout.split(' ').take(2).collect::<Vec<_>>().join(" ");
        }
        stderr
            .lines()
            .filter(|line| !line.starts_with("pgbench: setting random seed to"))
            .map(|line| match line.strip_prefix("pgbench: ") {
                Some(rest) => rest.strip_prefix("error: ").unwrap_or(rest),
                None => line,
            })
            // Older minor versions have a slip here.
            .map(|line| format!("{}\n", line.replace("-c/--clients", "-c/--client")))
            .collect()
    }
}

impl Drop for Pgbench {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.directory);
    }
}

/// Result that this crate expects of pgbench for a command line.
fn expected(words: &[String], major: u32) -> String {
    match parse(&shell_words::join(words), major) {
        Ok(Invocation::Run(_) | Invocation::Initialize(_)) => "accepted".to_owned(),
        Ok(Invocation::Help) => "pgbench is".to_owned(),
        Ok(Invocation::Version) => "pgbench (PostgreSQL)".to_owned(),
        Ok(Invocation::ListScripts) => list_scripts(),
        Ok(Invocation::ShowScript(script)) => show_script(script),
        Err(error) => error_text(&error),
    }
}

fn error_text(error: &Error) -> String {
    let mut text = format!("{}\n", error.message);
    if let Some(detail) = &error.detail {
        text += &format!("detail: {detail}\n");
    }
    match &error.hint {
        // pgbench prints it by itself.
        Some(hint) if hint.starts_with("Available builtin scripts:") => {
            text += &format!("{hint}\n\n");
        }
        Some(hint) if hint.ends_with("bench.pgbench('--help').") => {
            text += "hint: Try \"pgbench --help\" for more information.\n";
        }
        Some(hint) => text += &format!("hint: {hint}\n"),
        None => {}
    }
    text
}

/// Fails with all lines that pgbench sees differently.
fn compare(lines: impl IntoIterator<Item = Vec<String>>) {
    let Some(pgbench) = Pgbench::find() else {
        println!("not compared: no pgbench is installed");
        return;
    };
    let mut differences = String::new();
    let mut accepted = 0;
    let mut count = 0;
    for words in lines {
        // The word would be dropped.
        if words.first().is_some_and(|word| word == "pgbench") {
            continue;
        }
        let theirs = pgbench.outcome(&words);
        let ours = expected(&words, pgbench.major);
        count += 1;
        accepted += usize::from(theirs == "accepted");
        if theirs != ours {
            differences += &format!(
                "{}\npgbench: {theirs}\nours: {ours}\n\n",
                shell_words::join(&words)
            );
        }
    }
    println!("{count} command lines compared, {accepted} of them accepted");
    assert!(differences.is_empty(), "{differences}");
    assert!(count > 0);
}

fn words(line: &str) -> Vec<String> {
    shell_words::split(line).unwrap()
}

/// Lines that were chosen because something about them is special.
#[test]
fn chosen_lines() {
    let many = |count: usize| vec!["-S".to_owned(); count];
    let mut lines: Vec<Vec<String>> = include_str!("lines.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(words)
        .collect();
    lines.push(many(128));
    lines.push(many(129));
    lines.push([many(128), words("-f s.sql -c 0")].concat());
    lines.push([many(129), words("-i")].concat());
    compare(lines);
}

/// Every long name, cut at every length.
#[test]
fn all_abbreviations() {
    let names = include_str!("names.txt").split_whitespace();
    compare(names.flat_map(|name| {
        (0..=name.len()).flat_map(|length| {
            let option = format!("--{}", &name[..length]);
            ["", "=s.sql"].map(|value| vec![format!("{option}{value}"), "-i".to_owned()])
        })
    }));
}

/// Random words.
#[test]
fn generated_lines() {
    let mut rng = Rng::from_seed(15);
    compare(
        (0..GENERATED_LINES)
            .map(|_| generate(&mut rng))
            .collect::<Vec<_>>(),
    );
}

fn pick<T: Copy>(rng: &mut Rng, from: &[T]) -> T {
    from[rng.range(0, from.len() as i64 - 1) as usize]
}

fn generate(rng: &mut Rng) -> Vec<String> {
    const NUMBERS: &[&str] = &[
        "1",
        "2",
        "3",
        "5",
        "10",
        "60",
        "100",
        "0",
        "-1",
        "+4",
        " 6 ",
        "",
        " ",
        "0.5",
        "1e1",
        "x",
        "1x",
        "2147483648",
        "99999999999999999999",
        "-99999999999999999999",
        "0x10",
        "07",
        ".",
    ];
    const FLAGS: &[&str] = &[
        "-S",
        "-N",
        "-n",
        "-C",
        "-l",
        "-r",
        "-v",
        "-q",
        "-i",
        "-i",
        "-Sn",
        "-lr",
        "--log",
        "--progress-timestamp",
        "--failures-detailed",
        "--verbose-errors",
        "--foreign-keys",
        "--unlogged-tables",
        "--debug",
        "--no-vac",
        "--init",
        "--select",
        "--quiet",
    ];
    const NUMERIC: &[&str] = &[
        "-c",
        "-j",
        "-t",
        "-T",
        "-s",
        "-F",
        "-P",
        "-R",
        "-L",
        "--partitions",
        "--max-tries",
        "--aggregate-interval",
        "--sampling-rate",
        "--client",
        "--time",
        "--scale",
        "--rate",
        "--transactions",
        "--random-seed",
    ];
    const BUILTINS: &[&str] = &[
        "tpcb", "s", "select@2", "si@0", "x@1", "list", "list@1", "@", "", "t@x",
    ];
    const FILES: &[&str] = &["s.sql", "s.sql@3", "s.sql@0", "a@b.sql@1", "a@b.sql"];
    const DEFINITIONS: &[&str] = &["a=1", "a", "=1", "a=", "1a=2", "a=b=c", "ä=1", "a b=1"];
    const OTHERS: &[(&str, &str)] = &[
        ("-M", "prepared"),
        ("-M", "Simple"),
        ("-I", "dtgvp"),
        ("-I", "d t"),
        ("-I", "x"),
        ("-I", ""),
        ("--partition-method", "HASH"),
        ("--partition-method", "list"),
        ("--tablespace", "x"),
        ("--log-prefix", "p"),
        ("--show-script", "si"),
        ("--show-script", "s"),
        ("-h", NO_SERVER),
        ("-U", "me"),
        ("-p", "1"),
    ];
    const ODDITIES: &[&str] = &[
        "db",
        "",
        "-",
        "--",
        "-?",
        "-V",
        "--help",
        "--version",
        "-x",
        "--nope",
        "--log=1",
        "--p",
        "-c",
        "--port",
        "-S=",
        "pgbench",
    ];
    let mut words = Vec::new();
    for _ in 0..rng.range(1, 6) {
        let (option, value) = match rng.range(0, 11) {
            0..=2 => (pick(rng, FLAGS), None),
            3 | 4 => (pick(rng, NUMERIC), Some(pick(rng, NUMBERS))),
            5 | 6 => (pick(rng, NUMERIC), Some("10")),
            7 => ("-b", Some(pick(rng, BUILTINS))),
            8 => ("-f", Some(pick(rng, FILES))),
            9 => ("--define", Some(pick(rng, DEFINITIONS))),
            10 => {
                let (option, value) = pick(rng, OTHERS);
                (option, Some(value))
            }
            _ => (pick(rng, ODDITIES), None),
        };
        match value {
            None => words.push(option.to_owned()),
            Some(value) if rng.range(0, 1) == 0 => {
                words.extend([option, value].map(str::to_owned));
            }
            Some(value) if option.starts_with("--") => words.push(format!("{option}={value}")),
            // Without a value, the next word would be it.
            Some("") => words.extend([option, ""].map(str::to_owned)),
            Some(value) => words.push(format!("{option}{value}")),
        }
    }
    words
}
