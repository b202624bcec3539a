//! Whether pgio's tables fit into the file systems of their tablespaces.
//!
//! The check does not include WAL, which is small for finished pages, is recycled and may be on
//! another file system; temporary files for sorting an index, about as large as the index; and
//! other changes of the file systems. The file systems of a target are not accessible.

use super::heap::PAGE;
use super::pgio::{PgioSpec, Schema};
use crate::error::{Error, Result};
use crate::query;
use crate::state::catalog::tablespace;
use crate::state::transaction::InTransaction;
use pgrx::pg_sys;
use rustix::fs::{stat, statvfs};

/// Bytes of an index per row: an entry with its line pointer, and the space that the fill factor
/// leaves free.
const INDEX_ROW: u64 = 24;

/// The space that is needed or freed in a tablespace.
struct Change {
    tablespace: pg_sys::Oid,
    needed: u64,
    freed: u64,
}

/// Fails if one of the file systems has too little space after dropping the existing tables.
///
/// Must be called in a transaction, in the server that has the tables.
pub fn require(spec: &PgioSpec, schema: &Schema) -> Result<()> {
    let transaction = InTransaction::current()?;
    let rows = spec.rows() as u64;
    let needs = |name: Option<&str>, needed| Change {
        tablespace: tablespace(transaction, name, spec.unlogged),
        needed,
        freed: 0,
    };
    let mut changes = vec![
        needs(spec.tablespace.as_deref(), rows * PAGE as u64),
        needs(spec.index_tablespace.as_deref(), rows * INDEX_ROW),
    ];
    let new = changes.len();
    changes.extend(given_back(schema)?);
    // An unknown file system is not checked; the server reports if it is full.
    let devices: Vec<_> = changes
        .iter()
        .map(|change| Some(stat(directory(change.tablespace)).ok()?.st_dev))
        .collect();
    for (change, device) in changes[..new].iter().zip(&devices) {
        let Some(space) = device.and(statvfs(directory(change.tablespace)).ok()) else {
            continue;
        };
        let free = space.f_bavail.saturating_mul(space.f_frsize);
        let (mut needed, mut freed) = (0, 0);
        for (other, _) in changes.iter().zip(&devices).filter(|(_, d)| *d == device) {
            needed += other.needed;
            freed += other.freed;
        }
        if needed > free.saturating_add(freed) {
            return Err(Error::DiskFull {
                tablespace: tablespace_name(change.tablespace)?,
                needed: pretty(needed)?,
                free: pretty(free)?,
                freed: (freed > 0).then(|| pretty(freed)).transpose()?,
            });
        }
    }
    Ok(())
}

/// The space of the existing tables and their indexes, by tablespace.
fn given_back(schema: &Schema) -> Result<Vec<Change>> {
    let oids: Vec<String> = schema.old.iter().map(|old| old.oid.to_string()).collect();
    let found = query::first_row(&format!(
        "SELECT pg_catalog.json_agg(
                    pg_catalog.json_build_array(f.tablespace, f.bytes))::pg_catalog.text
           FROM (SELECT CASE WHEN c.reltablespace OPERATOR(pg_catalog.=) 0 THEN d.dattablespace
                             ELSE c.reltablespace END::pg_catalog.int8 AS tablespace,
                        pg_catalog.sum(pg_catalog.pg_table_size(c.oid))::pg_catalog.int8 AS bytes
                   FROM pg_catalog.pg_class c, pg_catalog.pg_database d
                  WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
                    AND (c.oid OPERATOR(pg_catalog.=) ANY ('{{{oids}}}'::pg_catalog.oid[])
                         OR EXISTS (SELECT FROM pg_catalog.pg_index i
                                     WHERE i.indexrelid OPERATOR(pg_catalog.=) c.oid
                                       AND i.indrelid OPERATOR(pg_catalog.=)
                                           ANY ('{{{oids}}}'::pg_catalog.oid[])))
                  GROUP BY 1) f",
        oids = oids.join(",")
    ))?;
    let sizes: Vec<(u32, u64)> = found
        .into_iter()
        .next()
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    Ok(sizes
        .into_iter()
        .map(|(tablespace, freed)| Change {
            tablespace: tablespace.into(),
            needed: 0,
            freed,
        })
        .collect())
}

/// The directory of a tablespace's files. The working directory of server processes is the data
/// directory.
fn directory(tablespace: pg_sys::Oid) -> String {
    if tablespace == pg_sys::DEFAULTTABLESPACE_OID {
        "base".into()
    } else {
        format!("pg_tblspc/{}", tablespace.to_u32())
    }
}

fn tablespace_name(tablespace: pg_sys::Oid) -> Result<String> {
    let name = query::first_value::<String>(
        "SELECT t.spcname::pg_catalog.text FROM pg_catalog.pg_tablespace t
          WHERE t.oid OPERATOR(pg_catalog.=) $1",
        &[tablespace.into()],
    )?;
    Ok(name.unwrap_or_default())
}

/// A number of bytes with a unit.
fn pretty(bytes: u64) -> Result<String> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let text =
        query::first_value::<String>("SELECT pg_catalog.pg_size_pretty($1)", &[bytes.into()])?;
    Ok(text.unwrap_or_default())
}
