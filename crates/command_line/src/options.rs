//! The table of all options, and lookup in it.

/// An option of the table.
#[derive(Debug)]
pub(crate) struct OptionSpec {
    /// Its identity.
    pub(crate) id: Id,
    /// Its long name.
    pub(crate) name: &'static str,
    /// Its short name.
    pub(crate) letter: Option<char>,
    /// Name of its value in the help text; `None` if it has none.
    pub(crate) argument: Option<&'static str>,
    /// The first version of pgbench that has it.
    since: u32,
    /// The last version of pgbench that has it.
    until: u32,
    /// Sections of the help text that list it, with its text there; may have several lines.
    pub(crate) help: &'static [(Section, &'static str)],
}

/// Options by what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Id {
    AggregateInterval,
    Builtin,
    Client,
    Connect,
    ContinueOnError,
    Dbname,
    Debug,
    Define,
    ExitOnAbort,
    FailuresDetailed,
    File,
    Fillfactor,
    ForeignKeys,
    Help,
    Host,
    IndexTablespace,
    InitSteps,
    Initialize,
    Jobs,
    LatencyLimit,
    Log,
    LogPrefix,
    MaxTries,
    Mode,
    NoVacuum,
    PartitionMethod,
    Partitions,
    Port,
    Progress,
    ProgressTimestamp,
    Protocol,
    Quiet,
    RandomSeed,
    Rate,
    ReportPerCommand,
    SamplingRate,
    Scale,
    SelectOnly,
    ShowScript,
    SkipSomeUpdates,
    Tablespace,
    Time,
    Transactions,
    UnloggedTables,
    Username,
    VacuumAll,
    VerboseErrors,
    Version,
}

/// The sections of the help text; an option is listed in those it can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// Options of initializations.
    Initialization,
    /// Options of runs that choose scripts.
    Scripts,
    /// Other options of runs.
    Run,
    /// Options of both.
    Common,
    /// Options of both that pgbench does not have.
    Ours,
}

/// The version of options that pgbench does not have.
const NEVER: u32 = u32::MAX;

use Section::{Common, Initialization, Ours, Run, Scripts};

/// Options, in the order in which messages list ambiguous ones.
#[rustfmt::skip]
pub(crate) static OPTIONS: &[OptionSpec] = &[
    option(Id::Builtin, "builtin").letter('b').takes("NAME[@W]")
        .help(&[(Scripts, "run the builtin script NAME, with weight W (default: 1)\n\
                   (\"-b list\" lists the builtin scripts)")]),
    option(Id::Client, "client").letter('c').takes("NUM")
        .help(&[(Run, "clients that run scripts at the same time (default: 1)")]),
    option(Id::Connect, "connect").letter('C')
        .help(&[(Run, "make a new connection for each transaction")]),
    option(Id::Dbname, "dbname").letter('d').takes("DBNAME").since(17)
        .help(&[(Common, "database to connect to")]),
    option(Id::Debug, "debug").letter('d').until(16)
        .help(DEBUG_HELP),
    option(Id::Define, "define").letter('D').takes("VARNAME=VALUE")
        .help(&[(Run, "give a variable of the scripts a value")]),
    option(Id::File, "file").letter('f').takes("FILENAME[@W]")
        .help(&[(Scripts, "run the script FILENAME, with weight W (default: 1)")]),
    option(Id::Fillfactor, "fillfactor").letter('F').takes("NUM")
        .help(&[(Initialization, "fill pages of the tables to NUM percent (default: 100)")]),
    option(Id::Host, "host").letter('h').takes("HOSTNAME")
        .help(&[(Common, "server's host, or directory of its socket")]),
    option(Id::Initialize, "initialize").letter('i')
        .help(&[(Initialization, "create and fill the tables instead of running scripts")]),
    option(Id::InitSteps, "init-steps").letter('I').takes("[dtgGvpf]+")
        .help(&[(Initialization, "steps of the initialization, in order (default: \"dtgvp\")")]),
    option(Id::Jobs, "jobs").letter('j').takes("NUM")
        .help(&[(Run, "threads that share the clients (default: 1)")]),
    option(Id::Log, "log").letter('l')
        .help(&[(Run, "log each transaction to a file")]),
    option(Id::LatencyLimit, "latency-limit").letter('L').takes("NUM")
        .help(&[(Run, "transactions that take more than NUM ms are late")]),
    option(Id::NoVacuum, "no-vacuum").letter('n')
        .help(&[(Initialization, "leave out the steps that vacuum"),
                (Run, "do not vacuum before the run")]),
    option(Id::Port, "port").letter('p').takes("PORT")
        .help(&[(Common, "server's port")]),
    option(Id::Progress, "progress").letter('P').takes("NUM")
        .help(&[(Run, "report progress every NUM seconds")]),
    option(Id::Protocol, "protocol").letter('M').takes("simple|extended|prepared")
        .help(&[(Run, "how statements are sent (default: simple)")]),
    option(Id::Quiet, "quiet").letter('q')
        .help(&[(Initialization, "report progress every 5 seconds only")]),
    option(Id::ReportPerCommand, "report-per-command").letter('r')
        .help(&[(Run, "report latencies, failures and retries of each command")]),
    option(Id::Rate, "rate").letter('R').takes("NUM")
        .help(&[(Run, "start NUM transactions per second, on average")]),
    option(Id::Scale, "scale").letter('s').takes("NUM")
        .help(&[(Initialization, "scale of the tables (default: 1)"),
                (Run, "scale to report and to give to scripts")]),
    option(Id::SelectOnly, "select-only").letter('S')
        .help(&[(Scripts, "run the script that only reads\n(means \"-b select-only\")")]),
    option(Id::SkipSomeUpdates, "skip-some-updates").letter('N')
        .help(&[(Scripts, "run the script that leaves tellers and branches alone\n\
                   (means \"-b simple-update\")")]),
    option(Id::Time, "time").letter('T').takes("NUM")
        .help(&[(Run, "run for NUM seconds")]),
    option(Id::Transactions, "transactions").letter('t').takes("NUM")
        .help(&[(Run, "run NUM transactions per client (default: 10)")]),
    option(Id::Username, "username").letter('U').takes("USERNAME")
        .help(&[(Common, "user to connect as")]),
    option(Id::VacuumAll, "vacuum-all").letter('v')
        .help(&[(Run, "vacuum all of the tables before the run")]),
    option(Id::UnloggedTables, "unlogged-tables")
        .help(&[(Initialization, "create unlogged tables")]),
    option(Id::Tablespace, "tablespace").takes("TABLESPACE")
        .help(&[(Initialization, "where to create tables")]),
    option(Id::IndexTablespace, "index-tablespace").takes("TABLESPACE")
        .help(&[(Initialization, "where to create indexes")]),
    option(Id::SamplingRate, "sampling-rate").takes("NUM")
        .help(&[(Run, "log this fraction of the transactions (0.01 for 1%)")]),
    option(Id::AggregateInterval, "aggregate-interval").takes("NUM")
        .help(&[(Run, "log sums over NUM seconds")]),
    option(Id::ProgressTimestamp, "progress-timestamp")
        .help(&[(Run, "progress shows seconds since 1970")]),
    option(Id::LogPrefix, "log-prefix").takes("PREFIX")
        .help(&[(Run, "how names of log files start (default: \"pgbench_log\")")]),
    option(Id::ForeignKeys, "foreign-keys")
        .help(&[(Initialization, "add foreign keys between the tables")]),
    option(Id::RandomSeed, "random-seed").takes("SEED")
        .help(&[(Run, "seed of random numbers (\"time\", \"rand\", integer)")]),
    option(Id::ShowScript, "show-script").takes("NAME")
        .help(&[(Run, "print the builtin script NAME, and nothing else")]),
    option(Id::Partitions, "partitions").takes("NUM")
        .help(&[(Initialization, "cut pgbench_accounts into NUM partitions (default: 0)")]),
    option(Id::PartitionMethod, "partition-method").takes("(range|hash)")
        .help(&[(Initialization, "what partitions are made by (default: range)")]),
    option(Id::FailuresDetailed, "failures-detailed")
        .help(&[(Run, "report failures by their kinds")]),
    option(Id::MaxTries, "max-tries").takes("NUM")
        .help(&[(Run, "tries of a transaction at most (default: 1)")]),
    option(Id::VerboseErrors, "verbose-errors")
        .help(&[(Run, "print each error")]),
    option(Id::ExitOnAbort, "exit-on-abort").since(17)
        .help(&[(Run, "end the run when a client is aborted")]),
    option(Id::Debug, "debug").since(17)
        .help(DEBUG_HELP),
    option(Id::ContinueOnError, "continue-on-error").since(19)
        .help(&[(Run, "go on after errors of statements")]),
    option(Id::ReportPerCommand, "report-latencies").until(14)
        .help(&[(Run, "old name of --report-per-command")]),
    option(Id::Mode, "mode").takes("spi|libpq").since(NEVER)
        .help(&[(Ours, "run inside the server, or over connections as pgbench does\n\
                (default: libpq)")]),
    option(Id::Version, "version").letter('V')
        .help(&[(Common, "print the version, then exit")]),
    option(Id::Help, "help").letter('?')
        .help(&[(Common, "print this text, then exit")]),
];

const DEBUG_HELP: &[(Section, &str)] = &[(Common, "print debugging messages")];

const fn option(id: Id, name: &'static str) -> OptionSpec {
    OptionSpec {
        id,
        name,
        letter: None,
        argument: None,
        since: 0,
        until: NEVER - 1,
        help: &[],
    }
}

/// The columns of the table.
impl OptionSpec {
    const fn letter(mut self, letter: char) -> Self {
        self.letter = Some(letter);
        self
    }

    const fn takes(mut self, argument: &'static str) -> Self {
        self.argument = Some(argument);
        self
    }

    const fn since(mut self, major: u32) -> Self {
        self.since = major;
        self
    }

    const fn until(mut self, major: u32) -> Self {
        self.until = major;
        self
    }

    const fn help(mut self, help: &'static [(Section, &'static str)]) -> Self {
        self.help = help;
        self
    }
}

impl OptionSpec {
    /// Whether pgbench of that version has it.
    pub(crate) fn is_of(&self, major: u32) -> bool {
        (self.since..=self.until).contains(&major)
    }

    /// Whether it makes sense in initializations only.
    pub(crate) fn only_initializes(&self) -> bool {
        self.help
            .iter()
            .all(|(section, _)| *section == Initialization)
    }

    /// Whether it makes sense in runs only.
    pub(crate) fn only_runs(&self) -> bool {
        self.help
            .iter()
            .all(|(section, _)| matches!(section, Scripts | Run))
    }

    /// Name in messages, such as `-c/--client`.
    pub(crate) fn label(&self) -> String {
        match self.letter {
            Some(letter) => format!("-{letter}/--{}", self.name),
            None => format!("--{}", self.name),
        }
    }

    /// Whether it counts as the first word only.
    fn only_first(&self) -> bool {
        matches!(self.id, Id::Help | Id::Version)
    }
}

/// Why a long name does not select an option.
#[derive(Debug)]
pub(crate) enum LookupError {
    /// No name starts like that.
    Unknown,
    /// The names of all of these do.
    Ambiguous(Vec<&'static OptionSpec>),
}

/// The option of those which count as the first word only that `word` is.
pub(crate) fn first_word(word: &str) -> Option<&'static OptionSpec> {
    let word = word.strip_prefix('-')?;
    OPTIONS.iter().find(|option| {
        let is_letter = |letter| word.strip_prefix(letter) == Some("");
        option.only_first()
            && (word.strip_prefix('-') == Some(option.name) || option.letter.is_some_and(is_letter))
    })
}

/// The option of that letter. Options of this version go before those of others.
pub(crate) fn by_letter(letter: char, major: u32) -> Option<&'static OptionSpec> {
    let found = |option: &&OptionSpec| option.letter == Some(letter);
    of_version(major)
        .find(found)
        .or_else(|| of_others(major).find(found))
}

/// The option of that name, or whose name alone starts like that. Options of this version go
/// before those of others, which thus make no abbreviation ambiguous.
pub(crate) fn by_name(name: &str, major: u32) -> Result<&'static OptionSpec, LookupError> {
    if let Some(option) = of_version(major)
        .chain(of_others(major))
        .find(|option| option.name == name)
    {
        return Ok(option);
    }
    let starts = |option: &&OptionSpec| option.name.starts_with(name);
    let mut found: Vec<_> = of_version(major).filter(starts).collect();
    if found.is_empty() {
        found = of_others(major).filter(starts).collect();
    }
    match found[..] {
        [] => Err(LookupError::Unknown),
        [option] => Ok(option),
        _ => Err(LookupError::Ambiguous(found)),
    }
}

fn of_version(major: u32) -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS
        .iter()
        .filter(move |option| option.is_of(major) && !option.only_first())
}

fn of_others(major: u32) -> impl Iterator<Item = &'static OptionSpec> {
    OPTIONS.iter().filter(move |option| !option.is_of(major))
}
