//! Every option in all its spellings, and what it asks for.

use std::collections::BTreeMap;

use selfbench_command_line::{
    Connection, Initialize, Invocation, Limit, Log, PartitionMethod, Partitioning, Run, Script,
    ScriptSource, Vacuum, parse,
};
use selfbench_model::InitializeStep;
use selfbench_model::Mode;
use selfbench_script::{Protocol, builtin};

const MAJOR: u32 = 15;

fn builtin_script(name: &str, weight: i64) -> Script {
    Script {
        source: ScriptSource::Builtin(builtin::find_builtin(name).unwrap()),
        weight,
    }
}

fn file(name: &str, weight: i64) -> Script {
    Script {
        source: ScriptSource::File(name.to_owned()),
        weight,
    }
}

/// Run of an empty command line.
fn default_run() -> Run {
    Run {
        connection: Connection::default(),
        mode: Mode::Libpq,
        debug: false,
        scripts: vec![builtin_script("tpcb-like", 1)],
        clients: 1,
        jobs: 1,
        limit: Limit::TransactionsPerClient(10),
        protocol: Protocol::Simple,
        variables: BTreeMap::new(),
        seed: None,
        vacuum: Vacuum::Small,
        reconnect: false,
        rate: None,
        latency_limit_us: None,
        max_tries: 1,
        scale: None,
        progress_s: None,
        progress_timestamp: false,
        log: None,
        report_per_command: false,
        failures_detailed: false,
        verbose_errors: false,
        exit_on_abort: false,
        continue_on_error: false,
    }
}

/// Initialization that `-i` asks for.
fn default_initialize() -> Initialize {
    Initialize {
        connection: Connection::default(),
        mode: Mode::Libpq,
        debug: false,
        steps: steps("dtgvp"),
        scale: 1,
        fillfactor: 100,
        partitioning: None,
        quiet: false,
        unlogged: false,
        tablespace: None,
        index_tablespace: None,
    }
}

fn steps(letters: &str) -> Vec<InitializeStep> {
    letters
        .chars()
        .map(|letter| InitializeStep::from_letter(letter).unwrap())
        .collect()
}

fn check_run(lines: &[&str], change: impl FnOnce(&mut Run)) {
    let mut expected = default_run();
    change(&mut expected);
    for line in lines {
        assert_eq!(
            parse(line, MAJOR).unwrap(),
            Invocation::Run(expected.clone()),
            "{line}"
        );
    }
}

fn check_initialize(lines: &[&str], change: impl FnOnce(&mut Initialize)) {
    let mut expected = default_initialize();
    change(&mut expected);
    for line in lines {
        assert_eq!(
            parse(line, MAJOR).unwrap(),
            Invocation::Initialize(expected.clone()),
            "{line}"
        );
    }
}

/// All spellings of an option with a value.
fn spellings(letter: char, name: &str, value: &str) -> [String; 4] {
    [
        format!("-{letter}{value}"),
        format!("-{letter} {value}"),
        format!("--{name}={value}"),
        format!("--{name} {value}"),
    ]
}

fn check_value(letter: char, name: &str, value: &str, change: impl FnOnce(&mut Run)) {
    let lines = spellings(letter, name, value);
    check_run(&lines.each_ref().map(String::as_str), change);
}

#[test]
fn nothing_asks_for_the_default() {
    check_run(&["", "pgbench", " \n", "--", "pgbench --"], |_| {});
    check_initialize(&["-i", "--initialize", "--initi", "pgbench -i"], |_| {});
}

#[test]
fn other_requests() {
    let name = "simple-update";
    for (lines, expected) in [
        (
            &["--help", "-?", "pgbench --help", "--help -c x", "-? 'a b'"][..],
            Invocation::Help,
        ),
        (
            &["--version", "-V", "pgbench -V -i -S"],
            Invocation::Version,
        ),
        (
            &["-b list", "-blist", "--builtin=list", "-i -b list --nope"],
            Invocation::ListScripts,
        ),
        (
            &[
                "--show-script=si",
                "--show-script simple-update -x",
                "-c 2 --show si",
            ],
            Invocation::ShowScript(builtin::find_builtin(name).unwrap()),
        ),
    ] {
        for line in lines {
            assert_eq!(parse(line, MAJOR).unwrap(), expected, "{line}");
        }
    }
}

#[test]
fn connection() {
    check_value('h', "host", "box", |run| {
        run.connection.host = Some("box".to_owned());
    });
    check_value('p', "port", "5433x", |run| {
        run.connection.port = Some("5433x".to_owned());
    });
    check_value('U', "username", "me", |run| {
        run.connection.user = Some("me".to_owned());
    });
    check_run(
        &[
            "db",
            "-- db",
            "pgbench db",
            "--dbname=db",
            "--dbname db",
            "--dbn=x --dbn=db",
        ],
        |run| run.connection.dbname = Some("db".to_owned()),
    );
    check_run(&["pgbench pgbench", "-- pgbench"], |run| {
        run.connection.dbname = Some("pgbench".to_owned());
    });
    check_run(&["-h '' ''"], |run| {
        run.connection.host = Some(String::new());
        run.connection.dbname = Some(String::new());
    });
    check_initialize(&["-i -h a -h b -p 1 -U me 'host=x port=2'"], |initialize| {
        initialize.connection = Connection {
            host: Some("b".to_owned()),
            port: Some("1".to_owned()),
            user: Some("me".to_owned()),
            dbname: Some("host=x port=2".to_owned()),
        };
    });
}

#[test]
fn common_options() {
    check_run(&["-d", "--debug", "-dd", "--deb"], |run| run.debug = true);
    check_initialize(&["-i -d", "--debug --initialize"], |initialize| {
        initialize.debug = true;
    });
    check_run(
        &[
            "--mode=spi",
            "--mode spi",
            "--mod=spi",
            "--mode=libpq --mode=spi",
        ],
        |run| run.mode = Mode::Spi,
    );
    check_run(&["--mode=libpq"], |_| {});
    check_initialize(&["-i --mode=spi"], |initialize| initialize.mode = Mode::Spi);
}

#[test]
fn scripts() {
    check_run(
        &[
            "-S",
            "--select-only",
            "-b se",
            "--builtin=select-only",
            "-b select-only@1",
        ],
        |run| run.scripts = vec![builtin_script("select-only", 1)],
    );
    check_run(&["-N", "--skip-some-updates", "-b si@1", "--skip"], |run| {
        run.scripts = vec![builtin_script("simple-update", 1)]
    });
    check_run(
        &["-f x.sql", "-fx.sql", "--file=x.sql", "--file x.sql@1"],
        |run| {
            run.scripts = vec![file("x.sql", 1)];
        },
    );
    check_run(&["-f 'a b@c@0' -Nb tpcb@2147483647 -S -f - -S"], |run| {
        run.scripts = vec![
            file("a b@c", 0),
            builtin_script("simple-update", 1),
            builtin_script("tpcb-like", 2147483647),
            builtin_script("select-only", 1),
            file("-", 1),
            builtin_script("select-only", 1),
        ];
    });
}

#[test]
fn values_of_runs() {
    check_value('c', "client", "7", |run| run.clients = 7);
    check_value('t', "transactions", "7", |run| {
        run.limit = Limit::TransactionsPerClient(7);
    });
    check_value('T', "time", "7", |run| run.limit = Limit::Seconds(7));
    check_value('s', "scale", "7", |run| run.scale = Some(7));
    check_value('P', "progress", "7", |run| run.progress_s = Some(7));
    check_value('R', "rate", "0.5", |run| run.rate = Some(0.5));
    check_value('L', "latency-limit", "2.5", |run| {
        run.latency_limit_us = Some(2500);
    });
    check_value('M', "protocol", "simple", |_| {});
    check_value('M', "protocol", "extended", |run| {
        run.protocol = Protocol::Extended;
    });
    check_value('M', "protocol", "prepared", |run| {
        run.protocol = Protocol::Prepared;
    });
    check_value('D', "define", "a=b=c", |run| {
        run.variables = [("a".to_owned(), "b=c".to_owned())].into();
    });
    check_run(&["--max-tries=3", "--max-tries 3x", "--m=3"], |run| {
        run.max_tries = 3;
    });
    check_run(&["--max-tries=0 -T 1", "-T 1 --max-tries=many"], |run| {
        run.max_tries = 0;
        run.limit = Limit::Seconds(1);
    });
    check_run(
        &["--random-seed=42", "--random-seed 42", "--ran=42"],
        |run| {
            run.seed = Some("42".to_owned());
        },
    );
    check_run(&["--random-seed=1 --random-seed=' -1'"], |run| {
        run.seed = Some(" -1".to_owned());
    });
    check_run(
        &["-j 2 -c 5", "-c5 --jobs=2", "-c 5 --jobs 2", "-c5 -j2"],
        |run| {
            run.clients = 5;
            run.jobs = 2;
        },
    );
    check_run(&["-j 9 -c 5"], |run| {
        run.clients = 5;
        run.jobs = 5;
    });
    check_run(&["-D a=1 -D b=2 -D 'a= x y'"], |run| {
        run.variables = [("a", " x y"), ("b", "2")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
    });
}

#[test]
fn numbers_are_read_as_in_c() {
    check_run(&["-c ' +07 '", "-c 007", "-c '\t7\n'"], |run| {
        run.clients = 7
    });
    check_run(&["-R 10/s", "-R 1e1", "-R ' +10.'", "-R 0xap0"], |run| {
        run.rate = Some(10.0);
    });
    check_run(&["-R inf", "-R 5 -R 1e999"], |_| {});
    check_run(&["-L 0.0001", "-L 5 -L 0.0009"], |_| {});
    check_run(&["-L inf", "-L 1e300"], |run| {
        run.latency_limit_us = Some(i64::MAX);
    });
    check_run(&["--max-tries=4294967297"], |_| {});
}

#[test]
fn flags_of_runs() {
    check_run(&["-C", "--connect", "--conn"], |run| run.reconnect = true);
    check_run(
        &[
            "-r",
            "--report-per-command",
            "--report-latencies",
            "--report-l",
            "--rep",
        ],
        |run| run.report_per_command = true,
    );
    check_run(&["-n", "--no-vacuum", "-vn", "-n -v", "--no"], |run| {
        run.vacuum = Vacuum::None;
    });
    check_run(&["-v", "--vacuum-all", "--vac"], |run| {
        run.vacuum = Vacuum::All
    });
    check_run(&["--failures-detailed", "--fa"], |run| {
        run.failures_detailed = true
    });
    check_run(&["--verbose-errors", "--ver"], |run| {
        run.verbose_errors = true
    });
    check_run(&["--exit-on-abort", "--exit"], |run| {
        run.exit_on_abort = true
    });
    check_run(&["--continue-on-error", "--cont"], |run| {
        run.continue_on_error = true;
    });
    check_run(&["--progress-timestamp -P 1", "-P1 --progress-"], |run| {
        run.progress_s = Some(1);
        run.progress_timestamp = true;
    });
}

#[test]
fn logging() {
    check_run(&["-l", "--log"], |run| run.log = Some(Log::default()));
    check_run(&["-l --log-prefix=x", "--log-p x --log"], |run| {
        run.log = Some(Log {
            prefix: Some("x".to_owned()),
            ..Log::default()
        });
    });
    check_run(&["-l --sampling-rate=0.25", "--samp .25 -l"], |run| {
        run.log = Some(Log {
            sampling_rate: Some(0.25),
            ..Log::default()
        });
    });
    check_run(
        &["-l --aggregate-interval=5 -T 60", "-T60 --agg 5 -l"],
        |run| {
            run.limit = Limit::Seconds(60);
            run.log = Some(Log {
                aggregate_interval_s: Some(5),
                ..Log::default()
            });
        },
    );
}

#[test]
fn initialization() {
    check_initialize(&["-i -s 7", "-is7", "--scale=7 -i"], |initialize| {
        initialize.scale = 7;
    });
    check_initialize(&["-i -F 70", "-iF70", "-i --fillfactor=70"], |initialize| {
        initialize.fillfactor = 70;
    });
    check_initialize(&["-iq", "-i --quiet"], |initialize| initialize.quiet = true);
    check_initialize(&["-i --unlogged-tables", "-i --un"], |initialize| {
        initialize.unlogged = true;
    });
    check_initialize(&["-i --tablespace=a", "-i --tab a"], |initialize| {
        initialize.tablespace = Some("a".to_owned());
    });
    check_initialize(&["-i --index-tablespace=a", "-i --ind a"], |initialize| {
        initialize.index_tablespace = Some("a".to_owned());
    });
    for (lines, letters) in [
        (
            &["-i -I dtGvpf", "-iIdtGvpf", "-i --init-steps='d t Gvpf'"][..],
            "dtGvpf",
        ),
        (&["-i -n", "-i -I 'vdtg vp' -n"], "dtgp"),
        (&["-i --foreign-keys"], "dtgvpf"),
        (&["-i --foreign-keys -I fd"], "fd"),
        (&["-i --foreign-keys -I ' '"], "f"),
        (&["-i -n -I v", "-i -I ' '"], ""),
        (&["-i -I ggg"], "ggg"),
    ] {
        check_initialize(lines, |initialize| initialize.steps = steps(letters));
    }
    let partitioned = |method| {
        move |initialize: &mut Initialize| {
            initialize.partitioning = Some(Partitioning { count: 3, method });
        }
    };
    check_initialize(
        &[
            "-i --partitions=3",
            "-i --partitions=3 --partition-method=Range",
        ],
        partitioned(PartitionMethod::Range),
    );
    check_initialize(
        &["--partition-method HASH -i --partitions 3"],
        partitioned(PartitionMethod::Hash),
    );
    check_initialize(
        &["-i --partitions=0", "-i --partitions=3 --partitions=0"],
        |_| {},
    );
}

#[test]
fn lines_of_the_manual() {
    check_run(
        &[
            "pgbench -c 10 -j 2 -T 60 -M prepared -P 5 -r mydb",
            "pgbench mydb -rP5 -Mprepared -T60 -j2 -c10",
            "pgbench \\\n  --client=10 \\\n  --jobs=2 --time=60 \\\n  \
             --protocol=prepared -P 5 -r mydb",
        ],
        |run| {
            run.clients = 10;
            run.jobs = 2;
            run.limit = Limit::Seconds(60);
            run.protocol = Protocol::Prepared;
            run.progress_s = Some(5);
            run.report_per_command = true;
            run.connection.dbname = Some("mydb".to_owned());
        },
    );
}
