//! The options of `bench.initialize_pgio`, checked.

use super::heap::PAGE;
use super::options::Place;
use super::pages::MAX_PAGES;
use super::pgio::PgioSpec;
use crate::backend::identity::Identity;
use crate::backend::settings;
use crate::check::{self, in_range, invalid};
use crate::error::{Error, Result};
use crate::options::options;
use crate::run::pgio::MAX_TABLES;

/// Fewest blocks of a table: of fewer, no order could be random.
const MIN_BLOCKS: u64 = 2;
/// Bytes of each unit, those of the server's settings and those of pgio.
const UNITS: [(&str, u64); 7] = [
    ("kB", 1 << 10),
    ("MB", 1 << 20),
    ("M", 1 << 20),
    ("GB", 1 << 30),
    ("G", 1 << 30),
    ("TB", 1 << 40),
    ("T", 1 << 40),
];

options! {
    /// The options of `bench.initialize_pgio`.
    pub struct PgioOptions {
        /// Number of tables.
        tables: i32 = 1,
        /// Blocks of each, or bytes with a unit.
        size: String = "1GB",
        /// Processes that fill tables.
        workers: Option<i32>,
        /// A connection string or the name of a foreign server.
        target: Option<String>,
        /// Tablespace of the tables.
        tablespace: Option<String>,
        /// Tablespace of the indexes.
        index_tablespace: Option<String>,
        /// Whether tables are unlogged.
        unlogged: bool = false,
        /// Whether not to check that there is space for them.
        force: bool = false,
        /// Selects the orders of keys.
        seed: Option<String>,
    }
}

impl PgioOptions {
    /// Checks everything that can be checked before something is dropped, but for the space.
    pub fn check(&self) -> Result<PgioSpec> {
        let tables = in_range("tables", self.tables, 1, MAX_TABLES)?;
        let size = self.size.as_str();
        let rows_each = blocks(size).ok_or_else(|| invalid_size(size))?;
        let unlogged = self.unlogged;
        let force = self.force;
        let seed = check::seed(self.seed.as_deref())?;
        let place = Place {
            what: "pgio's tables",
            tablespace: self.tablespace.as_deref(),
            index_tablespace: self.index_tablespace.as_deref(),
            target: self.target.as_deref(),
            workers: self.workers,
        };
        let target = place.check(true)?;
        Ok(PgioSpec {
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
fn blocks(size: &str) -> Option<i64> {
    let size = size.trim();
    let digits = size.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = (size[..digits].parse::<u64>().ok()?, size[digits..].trim());
    let blocks = if unit.is_empty() {
        number
    } else {
        let (_, bytes) = UNITS
            .into_iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(unit))?;
        number.checked_mul(bytes)? / PAGE as u64
    };
    (MIN_BLOCKS..=MAX_PAGES)
        .contains(&blocks)
        .then_some(blocks as i64)
}

fn invalid_size(size: &str) -> Error {
    let units = UNITS.map(|(unit, _)| format!("\"{unit}\"")).join(", ");
    invalid(
        "size",
        format!("\"{size}\""),
        &format!(
            "Valid sizes are {MIN_BLOCKS} to {MAX_PAGES} blocks of {} kB, given as their number or in \
             one of the units {units}.",
            PAGE / 1024
        ),
    )
}
