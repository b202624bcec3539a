//! The interface through which a client's statements reach the server.

use selfbench_script::{Command, SqlCommand, Variables};

/// Maximum length of a value that is stored in a variable, in bytes: every client that stores a value
/// copies it several times before the next statement is sent.
pub const MAX_VALUE_BYTES: usize = 16 << 20;

/// How a statement, or another request to a session, ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Successfully.
    Done,
    /// With an error.
    Failed(SqlError),
}

/// An error of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlError {
    /// Five characters; empty if the server sent none.
    pub sqlstate: String,
    /// The server's message with its severity, as psql shows it.
    pub message: String,
    /// The session cannot go on.
    pub lost: bool,
    /// Which of the statements that were sent together has failed, from 0.
    pub query: usize,
}

/// Whether a transaction block is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// None.
    None,
    /// Open.
    Open,
    /// Open, and failed: only its end is accepted.
    Failed,
}

/// What one statement returned, as far as `\gset` and `\aset` need it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QueryResult {
    /// The number of rows; 0 for a statement that returns none by its nature.
    pub rows: u64,
    /// The columns of the last row; empty if there is no row.
    pub last_row: Vec<Column>,
}

/// One column of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// What it holds.
    pub value: ColumnValue,
}

/// The value of a column in text form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnValue {
    /// SQL NULL.
    Null,
    /// Any other value.
    Text(String),
    /// A value of that many bytes, which is more than [`MAX_VALUE_BYTES`].
    TooLong(usize),
}

/// The resources that a session has used since it began, as its server process counts them. Blocks
/// are the server's, times are in nanoseconds. `None` means that the system or this version of the
/// server does not provide the figure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Blocks found in the server's shared buffers.
    pub blocks_hit: u64,
    /// Blocks read into them, from the operating system.
    pub blocks_read: u64,
    /// Blocks that were clean before.
    pub blocks_dirtied: u64,
    /// Blocks that the session itself wrote: evicted ones, and those that extended a table.
    pub blocks_written: u64,
    /// Blocks that it evicted from shared buffers, written or not.
    pub blocks_evicted: Option<u64>,
    /// Time of these readings; 0 unless the server measures it.
    pub read_ns: u64,
    /// Time of these writes; 0 unless the server measures it.
    pub write_ns: u64,
    /// Records of WAL.
    pub wal_records: u64,
    /// Full page images among them.
    pub wal_fpi: u64,
    /// Bytes of WAL.
    pub wal_bytes: u64,
    /// Bytes read from a block device, not from the operating system's cache.
    pub device_read_bytes: Option<u64>,
    /// Bytes that the operating system was to write to a block device.
    pub device_write_bytes: Option<u64>,
}

impl Usage {
    /// Number of words of [`Usage::to_words`].
    pub const WORDS: usize = 12;

    /// The word for a figure that is not known.
    const UNKNOWN: u64 = u64::MAX;

    /// The figures as plain numbers, for shared memory.
    pub fn to_words(&self) -> [u64; Usage::WORDS] {
        [
            self.blocks_hit,
            self.blocks_read,
            self.blocks_dirtied,
            self.blocks_written,
            self.blocks_evicted.unwrap_or(Usage::UNKNOWN),
            self.read_ns,
            self.write_ns,
            self.wal_records,
            self.wal_fpi,
            self.wal_bytes,
            self.device_read_bytes.unwrap_or(Usage::UNKNOWN),
            self.device_write_bytes.unwrap_or(Usage::UNKNOWN),
        ]
    }

    /// The reverse of [`Usage::to_words`].
    pub fn from_words(words: [u64; Usage::WORDS]) -> Usage {
        let known = |word: u64| (word != Usage::UNKNOWN).then_some(word);
        Usage {
            blocks_hit: words[0],
            blocks_read: words[1],
            blocks_dirtied: words[2],
            blocks_written: words[3],
            blocks_evicted: known(words[4]),
            read_ns: words[5],
            write_ns: words[6],
            wal_records: words[7],
            wal_fpi: words[8],
            wal_bytes: words[9],
            device_read_bytes: known(words[10]),
            device_write_bytes: known(words[11]),
        }
    }

    /// What has been added since an earlier reading.
    pub fn since(&self, earlier: &Usage) -> Usage {
        self.with(earlier, u64::saturating_sub)
    }

    /// The sum of what two sessions have used.
    pub fn plus(&self, other: &Usage) -> Usage {
        self.with(other, u64::wrapping_add)
    }

    /// A function of each two figures of two usages; known where both are.
    fn with(&self, other: &Usage, function: fn(u64, u64) -> u64) -> Usage {
        let (words, others) = (self.to_words(), other.to_words());
        Usage::from_words(std::array::from_fn(|i| {
            if words[i] == Usage::UNKNOWN || others[i] == Usage::UNKNOWN {
                Usage::UNKNOWN
            } else {
                function(words[i], others[i])
            }
        }))
    }
}

/// One client's connection to the server. At most one request is in progress at a time.
pub trait Session {
    /// Begins to execute a statement with these values. Its outcome comes from
    /// [`Session::poll`], also if it cannot be begun. Within a pipeline it is not polled: errors
    /// are part of the outcome of the pipeline.
    fn submit(&mut self, command: &SqlCommand, variables: &Variables);
    /// Begins to roll back the open transaction block; polled like a statement.
    fn submit_rollback(&mut self);
    /// Begins to open a transaction block; polled like a statement.
    fn submit_begin(&mut self);
    /// Begins to commit the open transaction block; polled like a statement.
    fn submit_commit(&mut self);
    /// Begins to read what the session has used; polled like a statement. It does not belong to the
    /// run's statements and is submitted after a stop request, too.
    fn submit_usage(&mut self);
    /// What was read last; `None` if it could not be.
    fn usage(&self) -> Option<Usage>;
    /// The outcome of what was submitted; `None` while it is still in progress.
    fn poll(&mut self) -> Option<Outcome>;
    /// Whether a transaction block is open, when nothing is in progress.
    fn block(&self) -> Block;
    /// What the statement whose outcome was polled last has returned, up to its error if it
    /// failed: one entry per statement that was sent together with others. Only for commands
    /// that store results.
    fn results(&self) -> &[QueryResult];
    /// Begins a pipeline; polled like a statement. `commands` are those that follow in the script:
    /// statements up to the pipeline's end that need preparation are prepared first.
    fn start_pipeline(&mut self, commands: &[Command]);
    /// Ends an implicit transaction within the pipeline. Not polled.
    fn sync_pipeline(&mut self);
    /// Begins to end the pipeline; polled like a statement. The outcome comes when the pipeline
    /// is over, with the first error of its statements if there was one.
    fn end_pipeline(&mut self);
    /// Begins to connect a session that is not connected; polled like a statement.
    fn submit_connect(&mut self);
    /// Closes the connection and forgets what was prepared.
    fn disconnect(&mut self);
}
