//! The clock, the stop request, the shell and the messages of a run, as a client needs them.

/// What a client needs of the world outside.
pub trait Control {
    /// Monotonic clock in nanoseconds, the same for all clients of a run.
    fn now_ns(&self) -> u64;
    /// Whether the client's driver has no other client and advances it again as soon as a
    /// transaction has ended: then the next one begins at the clock reading at which that one has
    /// ended.
    fn is_alone(&self) -> bool {
        false
    }
    /// Whether the run is being cancelled; no further statement is submitted then.
    fn stop(&self) -> bool;
    /// Ends the whole run, since a client was aborted.
    fn request_stop(&self);
    /// Runs a command line in the system's shell and waits for its end. With `output`, appends its
    /// standard output, of which the first line is enough, and gives whether it could be run;
    /// without, tells its lines and gives whether it ended with status 0. A stop request ends it.
    fn shell(&self, line: &str, output: Option<&mut Vec<u8>>) -> bool;
    /// Tells whoever watches the run a line: what the function `debug` writes, and errors that do
    /// not abort the client, if they are to be told.
    fn tell(&self, line: &str);
}
