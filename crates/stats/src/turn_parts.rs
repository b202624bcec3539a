//! Parts of the time of some transactions, as the processes of clients timed them.

use crate::words::words;

words! {
    /// Times of some of the transactions of a client worker, in nanoseconds.
    ///
    /// The parts of a client of mode spi are CPU time: what its process waits for is in none of
    /// them. Those of mode libpq are time during which the answers of clients lay ready.
    #[derive(Eq)]
    pub struct TurnParts {
        /// Transactions that ended in what was timed.
        pub turns: u64,
        /// Mode spi: parsing, rewriting and planning statements, and looking up their plans.
        pub plan_ns: u64,
        /// The executor and utility commands.
        pub executor_ns: u64,
        /// Commit, and the abort of failed transactions.
        pub commit_ns: u64,
        /// The rest of the session: start of transactions, parameter values, activity reports.
        pub session_ns: u64,
        /// Outside of the session: choosing scripts, meta commands, recording.
        pub harness_ns: u64,
        /// Mode libpq: while the worker served its other clients.
        pub others_ns: u64,
        /// While the worker was on the run queue.
        pub run_queue_ns: u64,
    }
}

impl TurnParts {
    /// The CPU time of a client of mode spi.
    pub fn cpu_ns(&self) -> u64 {
        self.plan_ns + self.executor_ns + self.commit_ns + self.session_ns + self.harness_ns
    }
}
