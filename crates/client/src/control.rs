//! The clock, the stop request, the shell and the messages of a run, as a client needs them.

/// Services that a client needs besides its session.
pub trait Control {
    /// Monotonic clock in nanoseconds, the same for all clients of a run.
    fn now_ns(&self) -> u64;
    /// Whether the client's driver has no other client and advances it again as soon as a
    /// transaction has ended. The next transaction then begins at the clock reading at which the
    /// last one ended.
    fn is_alone(&self) -> bool {
        false
    }
    /// Whether the run is being canceled; no further statement is submitted then.
    fn stop(&self) -> bool;
    /// Ends the whole run because a client was aborted.
    fn request_stop(&self);
    /// Runs a command line in the system's shell and waits for its end. With `output`, appends its
    /// standard output, of which the first line is enough, and is successful if it could be run;
    /// without, reports its lines and is successful if it ended with status 0. A stop request ends
    /// it.
    fn shell(&self, line: &str, output: Option<&mut Vec<u8>>) -> ShellEnd;
    /// Reports a line to the caller of the run: what the function `debug` writes, the steps of
    /// clients, and errors that do not abort the client, if these are requested.
    fn report(&self, line: &str);
}

/// Outcome of a command line of the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShellEnd {
    /// Whether it was successful.
    pub successful: bool,
    /// Time that the client waited for it; without the CPU time that the client's process took to
    /// start it and to read what it wrote.
    pub waited_ns: u64,
}
