//! The arguments of a call by position, for functions that have too many to name them twice.

use crate::error::{Error, OrRaise, Result};
use crate::run::RunOptions;
use crate::run::options::illegal;
use pgrx::fcinfo::pg_getarg;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use serde_json::Value;
use std::ffi::CStr;

/// How long a text, an array or a document that is given to a function may be, in bytes; scripts
/// have a limit of their own. They are copied before anything is known of them, and a copy for
/// which there is no memory would end the process.
const MAX_BYTES: usize = 1 << 20;

/// Fails if a text that is given to a function is too long.
pub fn require_short<'t>(name: &str, text: &'t str) -> Result<&'t str> {
    require_size(format_args!("argument \"{name}\""), text.len())?;
    Ok(text)
}

fn require_size(what: std::fmt::Arguments<'_>, bytes: usize) -> Result<()> {
    if bytes > MAX_BYTES {
        return Err(Error::Limit(format!(
            "{what} has {bytes} bytes (maximum is {MAX_BYTES})"
        )));
    }
    Ok(())
}

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
    /// NULL, or that there are no more. Raises an error if it is too long.
    pub fn take<T: FromDatum + IntoDatum>(&mut self) -> Option<T> {
        let number = self.next;
        self.next += 1;
        // SAFETY: promised to `of_call`; the call information tells the number of arguments; a
        // value of variable length, which is a pointer, tells its size.
        unsafe {
            if number >= (*self.call).nargs as usize {
                return None;
            }
            let argument = (*self.call).args.as_ptr().add(number);
            if !(*argument).isnull && pg_sys::get_typlen(T::type_oid()) == -1 {
                let bytes = pg_sys::toast_raw_datum_size((*argument).value);
                require_size(format_args!("argument {}", number + 1), bytes).or_raise();
            }
            pg_getarg(self.call, number)
        }
    }

    /// The next one as the variables of a run, a document. Raises an error if it cannot be read.
    pub fn take_variables(&mut self) -> Option<Value> {
        let text: JsonbText = self.take()?;
        let value = serde_json::from_str(&text.0).map_err(|error| {
            illegal(
                "variables",
                error.to_string(),
                "An object of texts, numbers and booleans.",
            )
        });
        Some(value.or_raise())
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
            variables: self.take_variables(),
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

/// The text of a value of type `jsonb`.
struct JsonbText(String);

impl FromDatum for JsonbText {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _oid: pg_sys::Oid,
    ) -> Option<JsonbText> {
        // SAFETY: the caller promises a value of that type; its output function gives a text that
        // ends in a zero byte.
        unsafe {
            if is_null {
                return None;
            }
            let text: &CStr = pgrx::direct_function_call(pg_sys::jsonb_out, &[Some(datum)])?;
            Some(JsonbText(text.to_string_lossy().into_owned()))
        }
    }
}

impl IntoDatum for JsonbText {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        None
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::JSONBOID
    }
}
