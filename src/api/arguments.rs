//! The arguments of a call by position, for functions that have too many to name them twice.

use crate::run::RunOptions;
use pgrx::datum::JsonB;
use pgrx::fcinfo::pg_getarg;
use pgrx::{FromDatum, pg_sys};

/// Arguments of a call, one after the other.
pub struct Arguments {
    call: pg_sys::FunctionCallInfo,
    next: usize,
}

impl Arguments {
    /// Those of the current call.
    ///
    /// # Safety
    /// `call` must be the call information of the current call, and the value must not outlive it.
    pub unsafe fn of_call(call: pg_sys::FunctionCallInfo) -> Arguments {
        Arguments { call, next: 0 }
    }

    /// The next one, which must be of the type that the function is declared with in SQL; `None` is
    /// NULL, or that there are no more.
    pub fn take<T: FromDatum>(&mut self) -> Option<T> {
        let number = self.next;
        self.next += 1;
        // SAFETY: promised to `of_call`; the call information tells the number of arguments.
        unsafe {
            (number < (*self.call).nargs as usize)
                .then(|| pg_getarg(self.call, number))
                .flatten()
        }
    }

    /// The options of a run, in the order of `bench.run` and `bench.start`.
    pub fn take_run_options(&mut self) -> RunOptions {
        // Fields are evaluated in the order in which they stand here.
        RunOptions {
            scripts: self.take(),
            mode: self.take(),
            clients: self.take(),
            jobs: self.take(),
            duration: self.take(),
            transactions: self.take(),
            protocol: self.take(),
            vacuum: self.take(),
            warmup: self.take(),
            progress: self.take(),
            interval: self.take(),
            seed: self.take(),
            label: self.take(),
            rate: self.take(),
            latency_limit: self.take(),
            max_tries: self.take(),
            variables: self.take::<JsonB>().map(|variables| variables.0),
            reconnect: self.take(),
            continue_on_error: self.take(),
            exit_on_abort: self.take(),
            per_statement: self.take(),
            failures_detailed: self.take(),
            verbose_errors: self.take(),
            log: self.take(),
            sampling_rate: self.take(),
            log_prefix: self.take(),
            target: self.take(),
            client_process: self.take(),
        }
    }
}
