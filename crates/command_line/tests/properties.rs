//! Properties of all command lines.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::{collection, option};
use selfbench_command_line::{
    Connection, Initialize, Invocation, Limit, Log, PartitionMethod, Partitioning, Run, Script,
    ScriptSource, Vacuum, parse,
};
use selfbench_model::InitializeStep;
use selfbench_model::Mode;
use selfbench_script::{Protocol, builtin};

/// The words of a command line that is being written.
#[derive(Default)]
struct Words(Vec<String>);

impl Words {
    fn flag(&mut self, option: &str, given: bool) {
        if given {
            self.0.push(option.to_owned());
        }
    }

    fn value(&mut self, option: &str, value: Option<impl ToString>) {
        if let Some(value) = value {
            self.0.extend([option.to_owned(), value.to_string()]);
        }
    }

    fn common(&mut self, connection: &Connection, mode: Mode, debug: bool) {
        self.value("--host", connection.host.as_ref());
        self.value("--port", connection.port.as_ref());
        self.value("--username", connection.user.as_ref());
        self.value("--dbname", connection.dbname.as_ref());
        self.value("--mode", Some(mode.name()));
        self.flag("--debug", debug);
    }
}

fn run_words(run: &Run) -> Words {
    let mut words = Words::default();
    words.common(&run.connection, run.mode, run.debug);
    for script in &run.scripts {
        let (option, name) = match &script.source {
            ScriptSource::Builtin(builtin) => ("--builtin", builtin.name),
            ScriptSource::File(name) => ("--file", name.as_str()),
        };
        words.value(option, Some(format!("{name}@{}", script.weight)));
    }
    words.value("--client", Some(run.clients));
    words.value("--jobs", Some(run.jobs));
    match run.limit {
        Limit::TransactionsPerClient(count) => words.value("--transactions", Some(count)),
        Limit::Seconds(seconds) => words.value("--time", Some(seconds)),
    }
    words.value("--protocol", Some(run.protocol.as_str()));
    for (name, value) in &run.variables {
        words.value("--define", Some(format!("{name}={value}")));
    }
    words.value("--random-seed", run.seed.as_ref());
    words.flag("--no-vacuum", run.vacuum == Vacuum::None);
    words.flag("--vacuum-all", run.vacuum == Vacuum::All);
    words.flag("--connect", run.reconnect);
    words.value("--rate", run.rate);
    words.value(
        "--latency-limit",
        run.latency_limit_us.map(|limit| limit as f64 / 1000.0),
    );
    words.value("--max-tries", Some(run.max_tries));
    words.value("--scale", run.scale);
    words.value("--progress", run.progress_s);
    words.flag("--progress-timestamp", run.progress_timestamp);
    if let Some(log) = &run.log {
        words.flag("--log", true);
        words.value("--log-prefix", log.prefix.as_ref());
        words.value("--sampling-rate", log.sampling_rate);
        words.value("--aggregate-interval", log.aggregate_interval_s);
    }
    words.flag("--report-per-command", run.report_per_command);
    words.flag("--failures-detailed", run.failures_detailed);
    words.flag("--verbose-errors", run.verbose_errors);
    words.flag("--exit-on-abort", run.exit_on_abort);
    words.flag("--continue-on-error", run.continue_on_error);
    words
}

fn initialize_words(initialize: &Initialize) -> Words {
    let mut words = Words::default();
    words.flag("--initialize", true);
    words.common(&initialize.connection, initialize.mode, initialize.debug);
    // An empty text is an error, a blank is not.
    let steps: String = initialize
        .steps
        .iter()
        .filter_map(|step| step.letter())
        .collect();
    words.value("--init-steps", Some(format!("{steps} ")));
    words.value("--scale", Some(initialize.scale));
    words.value("--fillfactor", Some(initialize.fillfactor));
    if let Some(partitioning) = initialize.partitioning {
        words.value("--partitions", Some(partitioning.count));
        words.value(
            "--partition-method",
            Some(match partitioning.method {
                PartitionMethod::Range => "range",
                PartitionMethod::Hash => "hash",
            }),
        );
    }
    words.flag("--quiet", initialize.quiet);
    words.flag("--unlogged-tables", initialize.unlogged);
    words.value("--tablespace", initialize.tablespace.as_ref());
    words.value("--index-tablespace", initialize.index_tablespace.as_ref());
    words
}

/// Any text that a value can be, with a good share of characters that quoting is about.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9=@ '\"\\\\#$\n-]{0,8}",
        any::<String>(),
        Just("--".to_owned()),
    ]
}

fn positive() -> impl Strategy<Value = i32> {
    prop_oneof![1..100, 1..=i32::MAX]
}

fn connection() -> impl Strategy<Value = Connection> {
    (
        option::of(text()),
        option::of(text()),
        option::of(text()),
        option::of(text()),
    )
        .prop_map(|(host, port, user, dbname)| Connection {
            host,
            port,
            user,
            dbname,
        })
}

fn mode() -> impl Strategy<Value = Mode> {
    select(vec![Mode::Spi, Mode::Libpq])
}

fn scripts() -> impl Strategy<Value = Vec<Script>> {
    let source = prop_oneof![
        select(builtin::list()).prop_map(|script| {
            ScriptSource::Builtin(builtin::find_builtin(script.name).unwrap())
        }),
        text().prop_map(ScriptSource::File),
    ];
    let script =
        (source, 0..=i64::from(i32::MAX)).prop_map(|(source, weight)| Script { source, weight });
    collection::vec(script, 1..6).prop_filter("some weight", |scripts| {
        scripts.iter().any(|script| script.weight > 0)
    })
}

fn log() -> impl Strategy<Value = Log> {
    let sampling_rate = prop_oneof![Just(1.0), 1e-9..1.0];
    (
        option::of(text()),
        option::of(prop_oneof![
            sampling_rate.prop_map(Ok),
            positive().prop_map(Err)
        ]),
    )
        .prop_map(|(prefix, what)| Log {
            prefix,
            sampling_rate: what.and_then(|what: Result<f64, i32>| what.ok()),
            aggregate_interval_s: what.and_then(|what| what.err()),
        })
}

prop_compose! {
    fn some_run()(
        connection in connection(),
        mode in mode(),
        scripts in scripts(),
        clients in positive(),
        jobs in positive(),
        limit in prop_oneof![
            positive().prop_map(Limit::TransactionsPerClient),
            positive().prop_map(Limit::Seconds),
        ],
        protocol in select(vec![Protocol::Simple, Protocol::Extended, Protocol::Prepared]),
        variables in collection::btree_map("[a-zé_][a-z0-9_]{0,3}", text(), 0..4),
        seed in option::of(prop_oneof![
            any::<u64>().prop_map(|seed| seed.to_string()),
            Just("time".to_owned()),
            Just("rand".to_owned()),
        ]),
        vacuum in select(vec![Vacuum::None, Vacuum::Small, Vacuum::All]),
        rate in option::of(prop_oneof![1e-3..1e6, any::<f64>()]),
        quarters in option::of(1..i64::from(i32::MAX)),
    )(
        max_tries in match (limit, quarters) {
            (Limit::TransactionsPerClient(_), None) => 1..=i32::MAX,
            _ => 0..=i32::MAX,
        },
        scale in option::of(positive()),
        progress_s in option::of(positive()),
        log in option::of(log()),
        flags in any::<[bool; 8]>(),
        (connection, mode, scripts, clients, jobs, limit, protocol, variables, seed, vacuum, rate,
         quarters) in Just((connection, mode, scripts, clients, jobs, limit, protocol, variables,
                            seed, vacuum, rate, quarters)),
    ) -> Run {
        let limit = match (limit, log.as_ref().and_then(|log| log.aggregate_interval_s)) {
            (Limit::Seconds(_), Some(interval)) => Limit::Seconds(interval),
            (limit, _) => limit,
        };
        let [debug, reconnect, progress_timestamp, report_per_command, failures_detailed,
             verbose_errors, exit_on_abort, continue_on_error] = flags;
        Run {
            connection,
            mode,
            debug,
            scripts,
            clients,
            jobs: jobs.min(clients),
            limit,
            protocol,
            variables: variables.into_iter().filter(|(_, value)| !value.is_empty()).collect(),
            seed,
            vacuum,
            reconnect,
            rate: rate.map(f64::abs).filter(|rate| rate.is_normal()),
            // Quarters of a millisecond have exact texts.
            latency_limit_us: quarters.map(|quarters| quarters * 250),
            max_tries,
            scale,
            progress_s,
            progress_timestamp: progress_timestamp && progress_s.is_some(),
            log,
            report_per_command,
            failures_detailed,
            verbose_errors,
            exit_on_abort,
            continue_on_error,
        }
    }
}

prop_compose! {
    fn some_initialize()(
        connection in connection(),
        mode in mode(),
        debug in any::<bool>(),
        letters in "[dtgGvpf]{0,8}",
        scale in positive(),
        fillfactor in 10..=100,
        partitioning in option::of(
            (positive(), select(vec![PartitionMethod::Range, PartitionMethod::Hash]))
        ),
        quiet in any::<bool>(),
        unlogged in any::<bool>(),
        tablespace in option::of(text()),
        index_tablespace in option::of(text()),
    ) -> Initialize {
        Initialize {
            connection,
            mode,
            debug,
            steps: letters.chars().map(|letter| InitializeStep::from_letter(letter).unwrap()).collect(),
            scale,
            fillfactor,
            partitioning: partitioning.map(|(count, method)| Partitioning { count, method }),
            quiet,
            unlogged,
            tablespace,
            index_tablespace,
        }
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>(), major in 0..30u32) {
        _ = parse(&text, major);
    }

    #[test]
    fn nothing_like_a_command_line_makes_it_panic(
        text in "((-|--|@|=| |'|\")?[-a-zA-Z0-9@=. ]{0,12}){0,8}",
        major in 14..21u32,
    ) {
        _ = parse(&text, major);
    }

    #[test]
    fn a_run_that_was_written_is_read(run in some_run(), major in 15..20u32) {
        let line = shell_words::join(run_words(&run).0);
        prop_assert_eq!(parse(&line, major), Ok(Invocation::Run(run)), "{}", line);
    }

    #[test]
    fn an_initialization_that_was_written_is_read(
        initialize in some_initialize(),
        major in 15..20u32,
    ) {
        let line = shell_words::join(initialize_words(&initialize).0);
        prop_assert_eq!(parse(&line, major), Ok(Invocation::Initialize(initialize)), "{}", line);
    }
}
