//! Whether the tables of an initialization fit into the file systems of their tablespaces, and their
//! WAL into that of `pg_wal`. This is checked before anything is dropped or created: what a full disk
//! leaves must be replayed after a crash, on the same disk.
//!
//! The check does not include temporary files for sorting an index, about as large as the index; WAL
//! that is kept longer than checkpoints need it, for archiving or replication; and other changes of
//! the file systems. The file systems of a target are not accessible.

use super::heap::{self, PAGE};
use super::options::{ACCOUNTS, InitializeSpec, TELLERS};
use super::pgio::{PgioLoadSpec, Schema};
use super::tables::Tables;
use super::workload::spec::WorkloadSpec;
use super::workload::tables::Schema as WorkloadSchema;
use crate::error::{Error, Result};
use crate::query;
use crate::state::catalog::tablespace;
use crate::state::session;
use crate::state::transaction::InTransaction;
use pgrx::pg_sys;
use rustix::fs::{stat, statvfs};

/// Bytes of an index per row: an entry with its line pointer, and the space that the fill factor
/// leaves free.
const INDEX_ROW: u64 = 24;
/// Bytes of a row of pgbench's tables on a page: header and columns, aligned, and the line pointer.
/// Fillers make accounts, branches and tellers equally long.
const PGBENCH_ROW: u64 = 132;
/// Bytes of finished pages per byte of their WAL if it is compressed. Accounts shrink more, keys less.
const COMPRESSION: u64 = 5;
/// The directory of WAL.
const WAL: &str = "pg_wal";

/// The space that is needed or freed in a directory.
struct SpaceChange {
    directory: Directory,
    needed: u64,
    freed: u64,
}

/// A directory whose file system has to have space.
#[derive(Clone, Copy)]
enum Directory {
    Tablespace(pg_sys::Oid),
    Wal,
}

/// Fails if pgio's tables do not fit where the existing ones are dropped first.
///
/// Must be called in a transaction, in the server that has the tables.
pub fn require_for_pgio(spec: &PgioLoadSpec, schema: &Schema) -> Result<()> {
    let transaction = InTransaction::current()?;
    let at = |name| Directory::Tablespace(tablespace(transaction, name, spec.unlogged));
    let rows = spec.rows() as u64;
    let old: Vec<u32> = schema.old.iter().map(|old| old.table.oid).collect();
    require(
        at(spec.tablespace.as_deref()),
        rows * PAGE as u64,
        at(spec.index_tablespace.as_deref()),
        rows * INDEX_ROW,
        !spec.unlogged,
        &old,
    )
}

/// Fails if the tables of a workload do not fit where the existing ones are dropped first.
///
/// Must be called in a transaction, in the server that has the tables.
pub fn require_for_workload(spec: &WorkloadSpec, schema: &WorkloadSchema) -> Result<()> {
    let named = spec.tablespace.as_deref();
    let at = Directory::Tablespace(tablespace(InTransaction::current()?, named, spec.unlogged));
    let old: Vec<u32> = schema.old.iter().map(|old| old.oid).collect();
    let (tables, indexes) = (spec.table_bytes, spec.index_bytes);
    require(at, tables, at, indexes, !spec.unlogged, &old)
}

/// Fails if pgbench's tables do not fit, with the steps of an initialization. Existing tables give
/// their space back if a step drops them: emptied ones keep it until the new rows are there.
///
/// Must be called in a transaction, in the server that has the tables.
pub fn require_for_pgbench(spec: &InitializeSpec, tables: &Tables) -> Result<()> {
    if !spec.steps.contains(['g', 'G']) {
        return Ok(());
    }
    let transaction = InTransaction::current()?;
    let named = |name| tablespace(transaction, name, spec.unlogged);
    let old: Vec<u32> = tables.old().iter().map(|old| old.oid).collect();
    let at = match spec.steps.contains('t') {
        true => named(spec.tablespace.as_deref()),
        false => match tablespace_of_accounts(&old)? {
            Some(found) => found,
            // There is nothing to fill, which the server reports.
            None => return Ok(()),
        },
    };
    let rows = (ACCOUNTS + TELLERS + 1) as u64 * spec.scale as u64;
    let free = PAGE as u64 * (100 - spec.fillfactor as u64) / 100;
    let per_page = ((PAGE - heap::PAGE_HEADER) as u64).saturating_sub(free) / PGBENCH_ROW;
    let has_keys = spec.steps.contains('p');
    require(
        Directory::Tablespace(at),
        rows.div_ceil(per_page.max(1)) * PAGE as u64,
        Directory::Tablespace(named(spec.index_tablespace.as_deref())),
        if has_keys { rows * INDEX_ROW } else { 0 },
        !spec.unlogged,
        if spec.steps.contains('d') { &old } else { &[] },
    )
}

/// Fails if one of the file systems has too little space after dropping these tables.
fn require(
    tables: Directory,
    table_bytes: u64,
    indexes: Directory,
    index_bytes: u64,
    is_logged: bool,
    dropped: &[u32],
) -> Result<()> {
    let needs = |directory, needed| SpaceChange {
        directory,
        needed,
        freed: 0,
    };
    let wal_bytes = if is_logged {
        wal(table_bytes.saturating_add(index_bytes))
    } else {
        0
    };
    let mut changes = vec![
        needs(tables, table_bytes),
        needs(indexes, index_bytes),
        needs(Directory::Wal, wal_bytes),
    ];
    let new = changes.len();
    changes.extend(given_back(dropped)?);
    // An unknown file system is not checked; the server reports if it is full.
    let devices: Vec<_> = changes
        .iter()
        .map(|change| Some(stat(change.directory.path()).ok()?.st_dev))
        .collect();
    for (change, device) in changes[..new].iter().zip(&devices) {
        let Some(space) = device.and(statvfs(change.directory.path()).ok()) else {
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
                place: change.directory.described()?,
                needed: pretty(needed)?,
                free: pretty(free)?,
                freed: (freed > 0).then(|| pretty(freed)).transpose()?,
            });
        }
    }
    Ok(())
}

/// Existing tables `{oids}` and their partitions, with the tablespaces of their files.
const RELATIONS: &str = "
    located AS (
        SELECT c.oid, c.relname AS name, c.relkind AS kind,
               CASE WHEN c.reltablespace OPERATOR(pg_catalog.=) 0 THEN d.dattablespace
                    ELSE c.reltablespace END AS tablespace
          FROM pg_catalog.pg_class c, pg_catalog.pg_database d
         WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()),
    r AS (
        SELECT l.* FROM located l
         WHERE l.oid OPERATOR(pg_catalog.=) ANY ('{oids}'::pg_catalog.oid[])
            OR EXISTS (SELECT FROM pg_catalog.pg_inherits i
                        WHERE i.inhrelid OPERATOR(pg_catalog.=) l.oid
                          AND i.inhparent OPERATOR(pg_catalog.=)
                              ANY ('{oids}'::pg_catalog.oid[])))";

/// OIDs as the text of an array.
fn list(oids: &[u32]) -> String {
    let oids: Vec<String> = oids.iter().map(u32::to_string).collect();
    format!("{{{}}}", oids.join(","))
}

/// The tablespace of the accounts among these tables or, without them, of another one; `None`
/// without tables.
fn tablespace_of_accounts(tables: &[u32]) -> Result<Option<pg_sys::Oid>> {
    let sql = format!(
        "WITH {RELATIONS}
         SELECT r.tablespace FROM r WHERE r.kind OPERATOR(pg_catalog.=) 'r'
          ORDER BY r.name LIMIT 1"
    );
    query::first_value::<pg_sys::Oid>(&sql.replace("{oids}", &list(tables)), &[])
}

/// The space of the existing tables and their indexes, by tablespace.
fn given_back(tables: &[u32]) -> Result<Vec<SpaceChange>> {
    let found = query::first_row(
        &format!(
            "WITH {RELATIONS}
         SELECT pg_catalog.json_agg(
                    pg_catalog.json_build_array(f.tablespace, f.bytes))::pg_catalog.text
           FROM (SELECT r.tablespace::pg_catalog.int8 AS tablespace,
                        pg_catalog.sum(pg_catalog.pg_table_size(r.oid))::pg_catalog.int8 AS bytes
                   FROM (SELECT r.oid, r.tablespace FROM r
                          UNION ALL
                         SELECT i.oid, i.tablespace
                           FROM located i
                           JOIN pg_catalog.pg_index x
                             ON x.indexrelid OPERATOR(pg_catalog.=) i.oid
                           JOIN r ON r.oid OPERATOR(pg_catalog.=) x.indrelid) r
                  GROUP BY 1) f",
        )
        .replace("{oids}", &list(tables)),
    )?;
    let sizes: Vec<(u32, u64)> = found
        .into_iter()
        .next()
        .flatten()
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    Ok(sizes
        .into_iter()
        .map(|(tablespace, freed)| SpaceChange {
            directory: Directory::Tablespace(tablespace.into()),
            needed: 0,
            freed,
        })
        .collect())
}

/// Bytes that the WAL of that many bytes of tables and indexes takes in addition to the files that are
/// there and will be used again. Checkpoints limit it.
fn wal(bytes: u64) -> u64 {
    let setting = |name| session::setting(name).unwrap_or_default();
    if setting(c"wal_level") == "minimal" {
        return 0;
    }
    let written = match setting(c"wal_compression").as_str() {
        "off" | "" => bytes,
        _ => bytes / COMPRESSION,
    };
    let most = session::integer_setting(c"max_wal_size").max(0) as u64 * (1 << 20);
    let files = std::fs::read_dir(WAL).into_iter().flatten().flatten();
    let present: u64 = files
        .filter_map(|file| file.metadata().ok())
        .filter(std::fs::Metadata::is_file)
        .map(|file| file.len())
        .sum();
    written.min(most).saturating_sub(present)
}

impl Directory {
    /// Its path. The working directory of server processes is the data directory.
    fn path(self) -> String {
        match self {
            Directory::Tablespace(pg_sys::DEFAULTTABLESPACE_OID) => "base".into(),
            Directory::Tablespace(oid) => format!("pg_tblspc/{}", oid.to_u32()),
            Directory::Wal => WAL.into(),
        }
    }

    /// Its name for messages.
    fn described(self) -> Result<String> {
        let Directory::Tablespace(oid) = self else {
            return Ok("WAL".into());
        };
        let name = query::first_value::<String>(
            "SELECT t.spcname::pg_catalog.text FROM pg_catalog.pg_tablespace t
              WHERE t.oid OPERATOR(pg_catalog.=) $1",
            &[oid.into()],
        )?;
        Ok(format!("tablespace \"{}\"", name.unwrap_or_default()))
    }
}

/// A number of bytes with a unit.
fn pretty(bytes: u64) -> Result<String> {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let text =
        query::first_value::<String>("SELECT pg_catalog.pg_size_pretty($1)", &[bytes.into()])?;
    Ok(text.unwrap_or_default())
}
