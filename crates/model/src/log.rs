//! The log of single transactions.

/// Outcome of a logged transaction.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TransactionOutcome {
    /// Successfully.
    Success,
    /// With a serialization failure.
    Serialization,
    /// With a deadlock.
    Deadlock,
    /// With another error.
    Other,
    /// Skipped: not started.
    Skipped,
}

impl TransactionOutcome {
    /// The word for it in the log table.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Serialization => "serialization",
            Self::Deadlock => "deadlock",
            Self::Other => "other",
            Self::Skipped => "skipped",
        }
    }
}

/// One transaction of the log.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoggedTransaction {
    /// Number of the client.
    pub client: u32,
    /// The client's count of transactions, this one included.
    pub count: u64,
    /// Index of the script.
    pub script: u16,
    /// Outcome.
    pub outcome: TransactionOutcome,
    /// Its latency, if it was successful.
    pub latency_ns: u64,
    /// Time from its scheduled start to its beginning, if it was successful and there is a rate.
    pub lag_ns: Option<u64>,
    /// Tries beyond the first.
    pub retries: u32,
    /// When it ended, in microseconds since 1970.
    pub at_us: i64,
}
