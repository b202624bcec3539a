//! The arguments of a call by position, for functions that have too many to name them twice.

use crate::check::invalid;
use crate::error::{Error, OrRaise, Result};
use crate::run::RunOptions;
use pgrx::fcinfo::pg_getarg;
use pgrx::{FromDatum, IntoDatum, pg_sys};
use serde_json::Value;
use std::ffi::CStr;

/// How long a text, an array or a document that is given to a function may be, in bytes; scripts
/// have a limit of their own. They are copied before anything is known of them, and a copy for
/// which there is no memory would end the process.
const MAX_BYTES: usize = 1 << 20;

/// Fails if a text, or the texts of an array or a document, cannot be read: texts are UTF-8 here.
/// Those of a database without an encoding may be anything, and those of a database with another
/// encoding are not converted and have to be ASCII.
///
/// # Safety
/// `value` must be a value of type `oid`.
unsafe fn require_readable(number: usize, value: pg_sys::Datum, oid: pg_sys::Oid) -> Result<()> {
    // SAFETY: promised by the caller; an output function gives a text that ends in a zero byte.
    let (encoding, text) = unsafe {
        let encoding = pg_sys::GetDatabaseEncoding() as u32;
        if encoding == pg_sys::pg_enc::PG_UTF8 {
            return Ok(());
        }
        let (mut function, mut is_varlena) = (pg_sys::InvalidOid, false);
        pg_sys::getTypeOutputInfo(oid, &mut function, &mut is_varlena);
        let text = pg_sys::OidOutputFunctionCall(function, value);
        (encoding, CStr::from_ptr(text).to_bytes())
    };
    let (readable, needed) = match encoding {
        pg_sys::pg_enc::PG_SQL_ASCII => (std::str::from_utf8(text).is_ok(), "UTF-8"),
        _ => (text.is_ascii(), "ASCII"),
    };
    match readable {
        true => Ok(()),
        false => Err(Error::UnreadableText { number, needed }),
    }
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
    /// NULL, or that there are no more. Raises an error if it is too long, or a text that cannot be
    /// read.
    pub fn take<T: FromDatum + IntoDatum>(&mut self) -> Option<T> {
        self.take_up_to(MAX_BYTES)
    }

    /// The next one as a script, which is not copied: the parser says if it is too long. The text
    /// lives as long as the call.
    pub fn take_script<'call>(&mut self) -> Option<&'call str> {
        self.take_up_to(usize::MAX)
    }

    fn take_up_to<T: FromDatum + IntoDatum>(&mut self, max_bytes: usize) -> Option<T> {
        let number = self.next;
        self.next += 1;
        // SAFETY: promised to `of_call`; the call information tells the number of arguments; a
        // value of variable length, which is a pointer, tells its size.
        unsafe {
            if number >= (*self.call).nargs as usize {
                return None;
            }
            let argument = (*self.call).args.as_ptr().add(number);
            let oid = T::type_oid();
            if !(*argument).isnull && pg_sys::get_typlen(oid) == -1 {
                let bytes = pg_sys::toast_raw_datum_size((*argument).value);
                if bytes > max_bytes {
                    Error::Limit(format!(
                        "argument {} has {bytes} bytes (maximum is {max_bytes})",
                        number + 1
                    ))
                    .raise();
                }
                if matches!(
                    oid,
                    pg_sys::TEXTOID | pg_sys::TEXTARRAYOID | pg_sys::JSONBOID
                ) {
                    require_readable(number + 1, (*argument).value, oid).or_raise();
                }
            }
            pg_getarg(self.call, number)
        }
    }

    /// The next one as the variables of a run, a document. Raises an error if it cannot be read.
    pub fn take_variables(&mut self) -> Option<Value> {
        let text: JsonbText = self.take()?;
        let value = serde_json::from_str(&text.0).map_err(|error| {
            invalid(
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
