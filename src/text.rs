//! Texts of the server and of libpq, and texts for the server.

use pgrx::datum::{Array, FromDatum, IntoDatum};
use pgrx::pg_sys;
use std::borrow::Cow;
use std::ffi::{CStr, c_char};

/// Number of the encoding of the current database.
pub fn encoding() -> i32 {
    // SAFETY: reads what the session has learned when it began.
    unsafe { pg_sys::GetDatabaseEncoding() }
}

/// Whether texts of the current database are UTF-8, or bytes that the server does not interpret.
pub fn stores_unicode() -> bool {
    let encoding = encoding();
    encoding == pg_sys::pg_enc::PG_UTF8 as i32 || encoding == pg_sys::pg_enc::PG_SQL_ASCII as i32
}

/// The text as the server may get it: without zero characters, and only ASCII if the encoding of the
/// database is another one.
pub fn storable(text: &str) -> Cow<'_, str> {
    selfbench_model::storable(text, !stores_unicode())
}

/// A copy of a text of the server; empty if it is null.
///
/// # Safety
/// `text` must be null or end in a zero byte.
pub unsafe fn c_text(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: the caller's promise.
    unsafe { CStr::from_ptr(text) }
        .to_string_lossy()
        .into_owned()
}

/// A text that SPI returns, in the encoding of the database.
pub struct AnyText(pub String);

impl FromDatum for AnyText {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        _oid: pg_sys::Oid,
    ) -> Option<AnyText> {
        if is_null {
            return None;
        }
        // SAFETY: the caller promises a value of that type; the copy ends in a zero byte.
        unsafe {
            let copy = pg_sys::text_to_cstring(datum.cast_mut_ptr());
            let text = c_text(copy);
            pg_sys::pfree(copy.cast());
            Some(AnyText(text))
        }
    }
}

impl IntoDatum for AnyText {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        None
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::TEXTOID
    }
}

/// An array of texts that SPI returns, in the encoding of the database.
pub struct TextArray(pub Vec<Option<Vec<u8>>>);

impl FromDatum for TextArray {
    unsafe fn from_polymorphic_datum(
        datum: pg_sys::Datum,
        is_null: bool,
        oid: pg_sys::Oid,
    ) -> Option<TextArray> {
        if is_null {
            return None;
        }
        let stored = datum.cast_mut_ptr();
        // SAFETY: the caller promises a value of that type. Of one that is compressed or stored elsewhere
        // there is a copy, which nothing refers to in the end.
        unsafe {
            let array = pg_sys::pg_detoast_datum(stored);
            let texts = Array::<&[u8]>::from_polymorphic_datum(array.into(), false, oid)
                .map(|array| array.iter().map(|text| text.map(<[u8]>::to_vec)).collect());
            if array != stored {
                pg_sys::pfree(array.cast());
            }
            texts.map(TextArray)
        }
    }
}

impl IntoDatum for TextArray {
    fn into_datum(self) -> Option<pg_sys::Datum> {
        None
    }

    fn type_oid() -> pg_sys::Oid {
        pg_sys::TEXTARRAYOID
    }
}
