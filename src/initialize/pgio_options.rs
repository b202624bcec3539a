//! The options of `bench.initialize_pgio`, checked.

use super::heap::PAGE;
use super::options::CommonOptions;
use super::pages::MAX_PAGES;
use super::pgio::PgioLoadSpec;
use crate::backend::identity::Identity;
use crate::backend::settings;
use crate::check::{self, Seed, in_range, invalid};
use crate::error::{Error, Result, catch};
use crate::options::options;
use crate::query;
use crate::run::pgio::MAX_TABLES;

/// Fewest blocks of a table: of fewer, no order could be random.
const MIN_BLOCKS: u64 = 2;

selfbench_catalog::initialize_pgio_options!(options! {
    /// The options of `bench.initialize_pgio`.
    pub struct PgioLoadOptions
});

impl PgioLoadOptions {
    /// Checks everything that can be checked before something is dropped, but for the space.
    pub fn check(&self) -> Result<PgioLoadSpec> {
        let tables = in_range("tables", self.tables, 1, MAX_TABLES)?;
        let size = self.size.as_str();
        let rows_each = blocks(size)?.ok_or_else(|| invalid_size(size))?;
        let unlogged = self.unlogged;
        let force = self.force;
        let seed = check::seed(self.seed.as_ref())?;
        let common = CommonOptions {
            what: "pgio's tables",
            named: "^pgio[1-9][0-9]*$",
            tablespace: self.tablespace.as_deref(),
            index_tablespace: self.index_tablespace.as_deref(),
            target: self.target.as_deref(),
            workers: self.workers,
        };
        let target = common.check(true)?;
        Ok(PgioLoadSpec {
            identity: Identity::current(),
            tables,
            rows_each,
            seed,
            unlogged,
            tablespace: self.tablespace.clone(),
            index_tablespace: self.index_tablespace.clone(),
            force,
            settings: settings::of_session()?,
            target,
            workers: self.workers,
        })
    }
}

/// The number of blocks that a size means, if it is valid; bytes are rounded down to whole blocks.
fn blocks(size: &str) -> Result<Option<i64>> {
    let size = size.trim();
    let blocks = match size.ends_with(|c: char| c.is_ascii_digit()) {
        true => size.parse::<u64>().ok(),
        false => bytes(size)?.map(|bytes| bytes / PAGE as u64),
    };
    Ok(blocks
        .filter(|blocks| (MIN_BLOCKS..=MAX_PAGES).contains(blocks))
        .map(|blocks| blocks as i64))
}

/// The number of bytes that the server reads from a number with a unit; pgio's units have no "B".
fn bytes(size: &str) -> Result<Option<u64>> {
    let b = if size.ends_with(['M', 'm', 'G', 'g', 'T', 't']) {
        "B"
    } else {
        ""
    };
    let size = format!("{size}{b}");
    let sql = "SELECT pg_catalog.pg_size_bytes($1)";
    match catch(|| query::first_value::<i64>(sql, &[size.as_str().into()])) {
        Ok(bytes) => Ok(bytes.and_then(|bytes| u64::try_from(bytes).ok())),
        // The class of values that are not valid.
        Err(error) if error.report().sqlstate.starts_with("22") => Ok(None),
        Err(error) => Err(error),
    }
}

fn invalid_size(size: &str) -> Error {
    invalid(
        "size",
        format!("\"{size}\""),
        &format!(
            "Valid sizes are {MIN_BLOCKS} to {MAX_PAGES} blocks of {} kB, given as their number, or \
             in bytes with a unit, such as \"64MB\".",
            PAGE / 1024
        ),
    )
}
