//! The call of a function of ours: its arguments by name, and what its statement allows.
//!
//! A function's arguments are declared in SQL, and read here by the names and types of that
//! declaration. If the library and the declaration do not agree, which happens when only one of them
//! has been updated, the call fails with an error; no value is read as another type.

use super::horizon::Horizon;
use super::transaction::TopLevelCall;
use crate::check::{self, Ids, Seed, interval_text, invalid};
use crate::error::{Error, OrRaise, Result, catch, problem};
use crate::query;
use crate::state::catalog;
use crate::state::session;
use crate::text::{c_text, encoding};
use pgrx::callconv::{Arg, ArgAbi};
use pgrx::datum::{DatumWithOid, FromDatum, Interval};
use pgrx::pg_catalog::pg_proc::{PgProc, ProArgMode};
use pgrx::pg_sys;
use pgrx::pgrx_sql_entity_graph::metadata::{
    ArgumentError, ReturnsError, ReturnsRef, SqlMappingRef, SqlTranslatable, TypeOrigin,
};
use selfbench_model::Mode;
use selfbench_script::Protocol;
use serde_json::Value;
use std::cell::RefCell;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;

/// Limit of a text, an array or a document that is given to a function, in bytes; scripts have a
/// limit of their own. They are copied before anything is known of them, and a copy for which there
/// is no memory would end the process.
const MAX_BYTES: usize = 1 << 20;

/// The current call of a function. It is the function's parameter in Rust, and stands for all of its
/// arguments.
pub struct Call<'call> {
    info: pg_sys::FunctionCallInfo,
    /// The names of the arguments that have no default, once the arguments have been read.
    required: RefCell<Vec<String>>,
    call: PhantomData<&'call ()>,
}

// SAFETY: it holds what the server passes for this call, for as long as the call lasts.
unsafe impl<'call> ArgAbi<'call> for Call<'call> {
    unsafe fn unbox_arg_unchecked(arg: Arg<'_, 'call>) -> Self {
        Call {
            // SAFETY: the caller's promise; the call information is there for every argument.
            info: unsafe { pg_sys::FunctionCallInfo::unbox_arg_unchecked(arg) },
            required: RefCell::default(),
            call: PhantomData,
        }
    }

    fn is_virtual_arg() -> bool {
        true
    }
}

// SAFETY: SQL does not see it.
unsafe impl SqlTranslatable for Call<'_> {
    const TYPE_IDENT: &'static str = pgrx::pgrx_resolved_type!(Call);
    const TYPE_ORIGIN: TypeOrigin = TypeOrigin::External;
    const ARGUMENT_SQL: std::result::Result<SqlMappingRef, ArgumentError> = Ok(SqlMappingRef::Skip);
    const RETURN_SQL: std::result::Result<ReturnsRef, ReturnsError> =
        Ok(ReturnsRef::One(SqlMappingRef::Skip));
}

impl<'call> Call<'call> {
    /// Whether and how the caller may stop holding back the removal of dead rows. To be asked before
    /// anything else is done.
    pub fn horizon(&self) -> Horizon<'call> {
        // SAFETY: the information on the current call.
        unsafe { Horizon::of_call(self.info) }
    }

    /// The `CALL` of a procedure, if it may end its transaction.
    pub fn at_top_level(&self) -> Option<TopLevelCall<'call>> {
        // SAFETY: as above.
        unsafe { TopLevelCall::find(self.info) }
    }

    /// Returns the data that the server passes for this call.
    pub(super) fn info(&self) -> pg_sys::FunctionCallInfo {
        self.info
    }

    /// Reads the arguments. Fails if the declaration has one that `read` does not take.
    pub fn read<T>(&self, read: impl FnOnce(&mut Arguments<'call>) -> Result<T>) -> Result<T> {
        let mut arguments = self.arguments()?;
        let declared = arguments.declared.iter();
        let required = declared.filter(|argument| !argument.has_default);
        self.required
            .replace(required.map(|argument| argument.name.clone()).collect());
        let value = read(&mut arguments)?;
        match arguments.declared.iter().find(|argument| !argument.taken) {
            None => Ok(value),
            Some(argument) => Err(Error::Mismatch(format!(
                "does not know argument \"{}\" of function {}",
                argument.name, arguments.function
            ))),
        }
    }

    /// Fails if the extension has been dropped since the call began, even if there is another one now:
    /// then the types of the function's result are gone.
    pub fn require_extension(&self) -> Result<()> {
        // SAFETY: the information on the current call, which names the function.
        let function = unsafe { (*(*self.info).flinfo).fn_oid };
        let exists = query::first_value::<bool>(
            "SELECT EXISTS (SELECT FROM pg_catalog.pg_proc p WHERE p.oid OPERATOR(pg_catalog.=) $1)",
            &[function.into()],
        )?;
        match exists {
            Some(true) => Ok(()),
            _ => Err(Error::ExtensionDropped),
        }
    }

    /// The error of a call whose arguments have been read: an argument without a default cannot be
    /// left out.
    fn explained(&self, error: Error) -> Error {
        let required = self.required.borrow();
        match error {
            Error::NullOption { option } if required.iter().any(|name| name == option) => {
                Error::NullArgument { name: option }
            }
            error => error,
        }
    }

    fn arguments(&self) -> Result<Arguments<'call>> {
        // SAFETY: the information on the current call, which names the function.
        let (oid, count) = unsafe { ((*(*self.info).flinfo).fn_oid, (*self.info).nargs) };
        let function = PgProc::new(oid).ok_or(Error::ExtensionDropped)?;
        let modes = function.proargmodes();
        let names = function.proargnames().into_iter().zip(modes);
        let names = names.filter_map(|(name, mode)| match mode {
            ProArgMode::In | ProArgMode::InOut | ProArgMode::Variadic => Some(name),
            _ => None,
        });
        // The last arguments are those with a default.
        let required = (count as usize).saturating_sub(function.pronargdefaults());
        let declared: Vec<_> = names
            .zip(function.proargtypes())
            .enumerate()
            .map(|(at, (name, oid))| Declared {
                name: name.unwrap_or_default(),
                oid,
                has_default: at >= required,
                taken: false,
            })
            .collect();
        let arguments = Arguments {
            call: self.info,
            lifetime: PhantomData,
            function: name_of(oid),
            declared,
        };
        match arguments.declared.len() == count as usize {
            true => Ok(arguments),
            false => Err(Error::Mismatch(format!(
                "finds no names of the arguments of function {}",
                arguments.function
            ))),
        }
    }
}

/// Result of a call.
pub trait OrRaiseIn<T> {
    /// Returns the value, or raises the error, with a hint that fits the arguments of the call.
    fn or_raise_in(self, call: &Call<'_>) -> T;
}

impl<T> OrRaiseIn<T> for Result<T> {
    fn or_raise_in(self, call: &Call<'_>) -> T {
        self.map_err(|error| call.explained(error)).or_raise()
    }
}

/// The name of a function.
fn name_of(function: pg_sys::Oid) -> String {
    // SAFETY: in a transaction; the text is null or ends in a zero byte.
    unsafe { c_text(pg_sys::get_func_name(function)) }
}

/// An argument as SQL declares it.
struct Declared {
    name: String,
    oid: pg_sys::Oid,
    has_default: bool,
    taken: bool,
}

/// The arguments of a call, by name.
pub struct Arguments<'call> {
    call: *const pg_sys::FunctionCallInfoBaseData,
    function: String,
    declared: Vec<Declared>,
    lifetime: PhantomData<&'call ()>,
}

impl<'call> Arguments<'call> {
    /// The value of an argument. NULL is an error, unless the type has it.
    pub fn take<T: Argument>(&mut self, name: &'static str) -> Result<T> {
        let at = self.required(name, T::SQL, T::oid())?;
        self.value(name, at)
    }

    /// The value of an argument, by default `default`.
    pub fn take_or<T: Argument>(&mut self, name: &'static str, default: T) -> Result<T> {
        match self.find(name, T::SQL, T::oid())? {
            Some(at) => self.value(name, at),
            None => Ok(default),
        }
    }

    /// The value of an argument of type `text` as a script, which is not copied: the parser says if
    /// it is too long.
    pub fn take_script(&mut self, name: &'static str) -> Result<Option<&'call str>> {
        let at = self.required(name, String::SQL, String::oid())?;
        let Some(value) = self.datum(at) else {
            return Ok(None);
        };
        value.require_readable(name)?;
        // SAFETY: a value of type text, which lives as long as the call.
        Ok(unsafe { <&str>::from_datum(value.datum, false) })
    }

    /// The value of an argument of type `json`, of any size, which is not copied: a parameter for a
    /// query.
    pub fn take_document(&mut self, name: &'static str) -> Result<Option<DatumWithOid<'call>>> {
        let at = self.required(name, "json", pg_sys::JSONOID)?;
        // SAFETY: a value of that type, which lives as long as the call.
        let document = |value: SqlValue| unsafe { DatumWithOid::new(value.datum, value.oid) };
        Ok(self.datum(at).map(document))
    }

    /// Position of an argument of that type; an error, if there is none.
    fn required(&mut self, name: &'static str, sql: &str, oid: pg_sys::Oid) -> Result<usize> {
        self.find(name, sql, oid)?.ok_or_else(|| {
            Error::Mismatch(format!(
                "expects argument \"{name}\" of function {}",
                self.function
            ))
        })
    }

    /// Position of an argument, if it is declared with that type; an error, if it is with another.
    fn find(&mut self, name: &str, sql: &str, oid: pg_sys::Oid) -> Result<Option<usize>> {
        let Some(at) = self.declared.iter().position(|a| a.name == name) else {
            return Ok(None);
        };
        let declared = self.declared[at].oid;
        if declared != oid {
            return Err(Error::Mismatch(format!(
                "expects argument \"{name}\" of function {} to be of type {sql}, not {}",
                self.function,
                type_name(declared)
            )));
        }
        self.declared[at].taken = true;
        Ok(Some(at))
    }

    fn value<T: Argument>(&self, name: &'static str, at: usize) -> Result<T> {
        let Some(value) = self.datum(at) else {
            return T::null().ok_or(Error::NullOption { option: name });
        };
        let bytes = value.bytes();
        if bytes > MAX_BYTES {
            return Err(Error::Limit(format!(
                "argument \"{name}\" has {bytes} bytes (maximum is {MAX_BYTES})"
            )));
        }
        if matches!(
            value.oid,
            pg_sys::TEXTOID | pg_sys::TEXTARRAYOID | pg_sys::JSONBOID
        ) {
            value.require_readable(name)?;
        }
        T::of_sql(name, value)
    }

    /// The value at a place, unless it is NULL.
    fn datum(&self, at: usize) -> Option<SqlValue> {
        // SAFETY: the call information has as many arguments as are declared.
        let argument = unsafe { *(*self.call).args.as_ptr().add(at) };
        let (datum, oid) = (argument.value, self.declared[at].oid);
        (!argument.isnull).then_some(SqlValue { datum, oid })
    }
}

/// A value of the server, not NULL, with its type: an argument as it is declared, or a result of
/// [`cast`].
#[derive(Clone, Copy)]
pub struct SqlValue {
    datum: pg_sys::Datum,
    oid: pg_sys::Oid,
}

impl SqlValue {
    /// The value as the binding reads it, for an implementation of [`Argument`] with its type.
    fn read<T: FromDatum>(self, name: &'static str) -> Result<T> {
        // SAFETY: a value of that type.
        unsafe { T::from_datum(self.datum, false) }.ok_or(Error::NullOption { option: name })
    }

    /// Its size, if its type has variable length.
    fn bytes(self) -> usize {
        // SAFETY: a value of variable length is a pointer to it, and tells its size.
        unsafe {
            match pg_sys::get_typlen(self.oid) {
                -1 => pg_sys::toast_raw_datum_size(self.datum),
                _ => 0,
            }
        }
    }

    /// The value as SQL prints it.
    fn text(self) -> &'static [u8] {
        let (mut function, mut is_varlena) = (pg_sys::InvalidOid, false);
        // SAFETY: an output function gives a text that ends in a zero byte and lives as long as the
        // call.
        unsafe {
            pg_sys::getTypeOutputInfo(self.oid, &mut function, &mut is_varlena);
            CStr::from_ptr(pg_sys::OidOutputFunctionCall(function, self.datum)).to_bytes()
        }
    }

    /// Fails if a text, or the texts of an array or a document, cannot be [read](session::readable).
    fn require_readable(self, name: &'static str) -> Result<()> {
        if encoding() as u32 == pg_sys::pg_enc::PG_UTF8 {
            return Ok(());
        }
        match session::readable(self.text()) {
            Ok(_) => Ok(()),
            Err(needed) => Err(Error::UnreadableText { name, needed }),
        }
    }
}

/// The name of a type for messages.
fn type_name(oid: pg_sys::Oid) -> String {
    // SAFETY: in a transaction; the text ends in a zero byte.
    let name = unsafe { c_text(pg_sys::format_type_be_qualified(oid)) };
    match name.strip_prefix("pg_catalog.") {
        Some(name) => name.to_owned(),
        None => name,
    }
}

/// A type that an argument or an option may have.
pub trait Argument: Sized {
    /// Its name in SQL.
    const SQL: &'static str;

    /// Its OID; a type of the extension that has just been dropped has none.
    fn oid() -> pg_sys::Oid;

    /// Value for NULL, if it is allowed.
    fn null() -> Option<Self> {
        None
    }

    /// A value of that type.
    fn of_sql(name: &'static str, value: SqlValue) -> Result<Self>;

    /// A value of a document, as SQL casts its text.
    fn of_json(name: &'static str, value: &Value) -> Result<Self>;

    /// The value as a document has it.
    fn to_json(&self) -> Value;
}

impl<T: Argument> Argument for Option<T> {
    const SQL: &'static str = T::SQL;

    fn oid() -> pg_sys::Oid {
        T::oid()
    }

    fn null() -> Option<Self> {
        Some(None)
    }

    fn of_sql(name: &'static str, value: SqlValue) -> Result<Self> {
        T::of_sql(name, value).map(Some)
    }

    fn of_json(name: &'static str, value: &Value) -> Result<Self> {
        T::of_json(name, value).map(Some)
    }

    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, T::to_json)
    }
}

/// A type with a few values, each with its name in SQL, where it is a text.
pub trait Choice: Copy + 'static {
    /// Its values in the order in which they are offered.
    const ALL: &'static [Self];

    /// Name in SQL.
    fn as_str(self) -> &'static str;

    /// The value of that name, which has been checked.
    fn named(name: &str) -> Self {
        let named = Self::ALL.iter().find(|value| value.as_str() == name);
        *named.unwrap_or(&Self::ALL[0])
    }
}

impl<T: Choice> Argument for T {
    const SQL: &'static str = String::SQL;

    fn oid() -> pg_sys::Oid {
        String::oid()
    }

    fn of_sql(name: &'static str, value: SqlValue) -> Result<Self> {
        one_of(name, &String::of_sql(name, value)?)
    }

    fn of_json(name: &'static str, value: &Value) -> Result<Self> {
        one_of(name, &String::of_json(name, value)?)
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }
}

/// The value with that name.
fn one_of<T: Choice>(option: &'static str, text: &str) -> Result<T> {
    let named: Vec<_> = T::ALL
        .iter()
        .map(|value| (value.as_str(), *value))
        .collect();
    check::one_of(option, text, named)
}

impl Choice for Mode {
    const ALL: &'static [Mode] = &[Mode::Spi, Mode::Libpq];

    fn as_str(self) -> &'static str {
        self.name()
    }
}

impl Choice for Protocol {
    const ALL: &'static [Protocol] = &[Protocol::Simple, Protocol::Extended, Protocol::Prepared];

    fn as_str(self) -> &'static str {
        Protocol::as_str(self)
    }
}

/// A type that the binding reads, and the server from a text.
macro_rules! arguments {
    ($($sql:literal: $type:ty, $oid:expr, $to_json:expr;)*) => {$(
        impl Argument for $type {
            const SQL: &'static str = $sql;

            fn oid() -> pg_sys::Oid {
                $oid
            }

            fn of_sql(name: &'static str, value: SqlValue) -> Result<Self> {
                value.read(name)
            }

            fn of_json(name: &'static str, value: &Value) -> Result<Self> {
                cast(name, value, $oid, $sql)?.read(name)
            }

            fn to_json(&self) -> Value {
                #[allow(clippy::redundant_closure_call)]
                ($to_json)(self)
            }
        }
    )*};
}

arguments! {
    "text": String, pg_sys::TEXTOID, |text: &String| text.as_str().into();
    "integer": i32, pg_sys::INT4OID, |number: &i32| (*number).into();
    "bigint": i64, pg_sys::INT8OID, |number: &i64| (*number).into();
    "double precision": f64, pg_sys::FLOAT8OID, |number: &f64| as_sql_prints(*number);
    "boolean": bool, pg_sys::BOOLOID, |value: &bool| (*value).into();
    "regrole": pg_sys::Oid, pg_sys::REGROLEOID, |oid: &pg_sys::Oid| oid.to_u32().into();
    "regrole[]": Vec<Option<pg_sys::Oid>>, pg_sys::REGROLEARRAYOID,
        |roles: &Vec<Option<pg_sys::Oid>>| roles.iter().map(|role| role.map(pg_sys::Oid::to_u32)).collect();
    "text[]": Vec<Option<String>>, pg_sys::TEXTARRAYOID, |texts: &Vec<_>| serde_json::json!(texts);
}

/// A span of time, which is an interval to the server.
impl Argument for Interval {
    const SQL: &'static str = "bench.span";

    fn oid() -> pg_sys::Oid {
        catalog::type_of_extension(c"span")
    }

    fn of_sql(name: &'static str, value: SqlValue) -> Result<Self> {
        value.read(name)
    }

    fn of_json(name: &'static str, value: &Value) -> Result<Self> {
        if value.is_number() {
            return Err(invalid(
                name,
                value.to_string(),
                "An interval with a unit, such as \"10 s\".",
            ));
        }
        cast(name, value, pg_sys::INTERVALOID, "interval")?.read(name)
    }

    fn to_json(&self) -> Value {
        interval_text(self).into()
    }
}

/// Types that are texts to the server; numbers are cast to them.
macro_rules! texts {
    ($($sql:literal, $name:literal: $type:ident;)*) => {$(
        impl Argument for $type {
            const SQL: &'static str = $sql;

            fn oid() -> pg_sys::Oid {
                catalog::type_of_extension($name)
            }

            fn of_sql(name: &'static str, value: SqlValue) -> Result<Self> {
                value.require_readable(name)?;
                value.read(name).map($type)
            }

            fn of_json(name: &'static str, value: &Value) -> Result<Self> {
                String::of_json(name, value).map($type)
            }

            fn to_json(&self) -> Value {
                self.0.to_json()
            }
        }
    )*};
}

texts! {
    "bench.seed", c"seed": Seed;
    "bench.ids", c"ids": Ids;
}

/// A document.
impl Argument for Value {
    const SQL: &'static str = "jsonb";

    fn oid() -> pg_sys::Oid {
        pg_sys::JSONBOID
    }

    fn of_sql(name: &'static str, value: SqlValue) -> Result<Self> {
        // Not copied: a number with few bytes may have 131,072 digits.
        serde_json::from_slice(value.text()).map_err(|error| {
            invalid(
                name,
                problem(&error),
                "A document with fewer levels and smaller numbers.",
            )
        })
    }

    fn of_json(_name: &'static str, value: &Value) -> Result<Self> {
        Ok(value.clone())
    }

    fn to_json(&self) -> Value {
        self.clone()
    }
}

/// A number as SQL prints it, without a fraction if it is whole.
fn as_sql_prints(number: f64) -> Value {
    const EXACT: f64 = 1e15;
    match number.fract() == 0.0 && number.abs() < EXACT {
        true => (number as i64).into(),
        false => number.into(),
    }
}

/// Casts the text of a document's value as SQL does.
fn cast(
    name: &'static str,
    value: &Value,
    oid: pg_sys::Oid,
    sql: &'static str,
) -> Result<SqlValue> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let input = CString::new(text).map_err(|_| Error::Limit("a text has a zero byte".into()))?;
    catch(|| {
        let (mut function, mut parameter) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        // SAFETY: in a transaction; an input function takes a text that ends in a zero byte.
        unsafe {
            pg_sys::getTypeInputInfo(oid, &mut function, &mut parameter);
            let text = input.as_ptr().cast_mut();
            let datum = pg_sys::OidInputFunctionCall(function, text, parameter, -1);
            Ok(SqlValue { datum, oid })
        }
    })
    .map_err(|error| {
        let report = error.report();
        invalid(
            name,
            value.to_string(),
            &format!("A value of type {sql} ({}).", report.message),
        )
    })
}
