//! Look-ups in the catalogs, by the server's own functions.

use super::transaction::InTransaction;
use crate::error::{Error, Result};
use crate::text::c_text;
use pgrx::pg_sys;
use std::collections::BTreeSet;
use std::ffi::{CStr, CString};

/// The tablespace of that name, or the one where the session creates tables or indexes that do not
/// name one. Raises an error if there is none of that name.
pub fn tablespace(_: InTransaction, name: Option<&str>, unlogged: bool) -> pg_sys::Oid {
    let persistence = match unlogged {
        true => pg_sys::RELPERSISTENCE_UNLOGGED,
        false => pg_sys::RELPERSISTENCE_PERMANENT,
    };
    // SAFETY: looks into the catalogs, in a transaction; the name ends in a zero byte.
    unsafe {
        let given = match name {
            Some(name) => {
                let name = CString::new(name).unwrap_or_default();
                pg_sys::get_tablespace_oid(name.as_ptr(), false)
            }
            None => pg_sys::GetDefaultTablespace(persistence as _, false),
        };
        if given == pg_sys::InvalidOid {
            pg_sys::MyDatabaseTableSpace
        } else {
            given
        }
    }
}

/// The type of that name in schema `bench`; no OID if there is none, or outside of a transaction.
pub fn type_of_extension(name: &CStr) -> pg_sys::Oid {
    if InTransaction::current().is_err() {
        return pg_sys::InvalidOid;
    }
    // SAFETY: looks into the catalogs, in a transaction; the names end in a zero byte.
    unsafe {
        pg_sys::GetSysCacheOid(
            pg_sys::SysCacheIdentifier::TYPENAMENSP as i32,
            pg_sys::Anum_pg_type_oid as pg_sys::AttrNumber,
            name.as_ptr().into(),
            pg_sys::get_namespace_oid(c"bench".as_ptr(), true).into(),
            pg_sys::Datum::from(0),
            pg_sys::Datum::from(0),
        )
    }
}

/// The OID of a table of the extension; the current role needs no rights. Takes no lock.
///
/// # Errors
/// If the extension has been dropped.
pub fn own_table(_: InTransaction, name: &CStr) -> Result<pg_sys::Oid> {
    // SAFETY: looks into the catalogs, in a transaction; both names end in a zero byte.
    let oid = unsafe {
        let schema = pg_sys::get_namespace_oid(c"bench".as_ptr(), true);
        pg_sys::get_relname_relid(name.as_ptr(), schema)
    };
    match oid {
        pg_sys::InvalidOid => Err(Error::ExtensionDropped),
        oid => Ok(oid),
    }
}

/// The columns of a table of the extension, which may be of an older version than this library: none if it does
/// not have the table yet.
pub fn own_columns(now: InTransaction, table: &str) -> BTreeSet<String> {
    let table = CString::new(table).unwrap_or_default();
    let Ok(table) = own_table(now, &table) else {
        return BTreeSet::new();
    };
    // SAFETY: looks into the catalogs, in a transaction; returns null behind the last column.
    let name = |number| unsafe { pg_sys::get_attname(table, number, true) };
    let names = (1..).map(name).take_while(|name| !name.is_null());
    // SAFETY: not null, and a string of the server's.
    names.map(|name| unsafe { c_text(name) }).collect()
}

/// Whether row-level security of a table of the extension applies to the current role: not to a
/// superuser, to a role with BYPASSRLS, or to the owner.
pub fn hides_rows(now: InTransaction, table: &CStr) -> bool {
    own_table(now, table).map_or(true, |table| {
        // SAFETY: looks into the catalogs, in a transaction; raises no error.
        let security = unsafe { pg_sys::check_enable_rls(table, pg_sys::InvalidOid, true) };
        security == pg_sys::CheckEnableRlsResult::RLS_ENABLED as i32
    })
}

/// Whether the current role may insert into a table; an error outside of a transaction.
pub fn may_insert(table: pg_sys::Oid) -> bool {
    may(table, pg_sys::ACL_INSERT)
}

/// Whether the current role has a privilege for a table; raises an error if there is no such table.
fn may(table: pg_sys::Oid, privilege: u32) -> bool {
    // SAFETY: looks into the catalogs.
    let checked = unsafe { pg_sys::pg_class_aclcheck(table, pg_sys::GetUserId(), privilege as _) };
    checked == pg_sys::AclResult::ACLCHECK_OK
}

/// Locks a relation and its schema with ACCESS SHARE until the end of the transaction, as `LOCK TABLE` does with the relation of
/// a name. Raises an error if it is a table or a sequence that the current role may not read; leaves out what else it may not.
pub fn lock_readable(_: InTransaction, relation: pg_sys::Oid) {
    // SAFETY: in a transaction. A relation that has been dropped has neither kind nor schema, and its lock is on a number.
    unsafe {
        let kind = pg_sys::get_rel_relkind(relation);
        let exists = kind != 0;
        if exists && !may(relation, pg_sys::ACL_SELECT) {
            if matches!(kind as u8, b'r' | b'p' | b'S') {
                pg_sys::aclcheck_error(
                    pg_sys::AclResult::ACLCHECK_NO_PRIV,
                    pg_sys::get_relkind_objtype(kind),
                    pg_sys::get_rel_name(relation),
                );
            }
            return;
        }
        let mode = pg_sys::AccessShareLock as i32;
        pg_sys::LockRelationOid(relation, mode);
        let schema = pg_sys::get_rel_namespace(relation);
        pg_sys::LockDatabaseObject(pg_sys::NamespaceRelationId, schema, 0, mode);
    }
}

/// The foreign server of that name; `None` if there is none.
pub fn foreign_server(_: InTransaction, name: &str) -> Option<pg_sys::Oid> {
    let name = CString::new(name).unwrap_or_default();
    // SAFETY: the name ends in a zero byte.
    let oid = unsafe { pg_sys::get_foreign_server_oid(name.as_ptr(), true) };
    (oid != pg_sys::InvalidOid).then_some(oid)
}

/// Options by name.
pub type Options = Vec<(String, String)>;

/// The options of a foreign server, and those of the current role's user mapping for it. Raises an
/// error if there is no such server or mapping.
pub fn foreign_options(_: InTransaction, server: pg_sys::Oid) -> (Options, Options) {
    // SAFETY: both calls raise an error if there is nothing to return. Lists of options have the
    // element type that is read.
    unsafe {
        let mapping = pg_sys::GetUserMapping(pg_sys::GetUserId(), server);
        let server = pg_sys::GetForeignServer(server);
        (options((*server).options), options((*mapping).options))
    }
}

/// # Safety
/// The argument must be a list of definition elements, or null.
unsafe fn options(list: *mut pg_sys::List) -> Options {
    // SAFETY: the caller's promise; the server's function gives any value as text.
    unsafe {
        pgrx::PgList::<pg_sys::DefElem>::from_pg(list)
            .iter_ptr()
            .map(|element| {
                let value = c_text(pg_sys::defGetString(element));
                (c_text((*element).defname), value)
            })
            .collect()
    }
}
