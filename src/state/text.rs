//! Texts of the database as SPI returns them.

use pgrx::datum::{FromDatum, IntoDatum};
use pgrx::pg_sys;
use std::ffi::CStr;

/// A text in the encoding of the database.
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
            let text = CStr::from_ptr(copy).to_string_lossy().into_owned();
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
