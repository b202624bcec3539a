//! Plans for filling tables by pages: the file and page of each row, and the parts of the work.
//!
//! Primary keys of accounts are filled in the same way, if they are there before.
//!
//! A plan exists only for tables with the storage that pgbench and pgio create: ordinary heap
//! tables and, for accounts, range or hash partitions that are such tables. All others are filled
//! by COPY.

use super::heap::{self, Filler, Heap, Key, PartitionHash, Row, RowKind, Template};
use super::keys::{self, KeyFiller};
use super::options::InitializeSpec;
use super::pgio::{Keys, PgioLoadSpec};
use crate::backend::identity::Identity;
use crate::clock;
use crate::error::Result;
use crate::query::{self, quote_literal};
use crate::state::catalog;
use crate::state::session::setting;
use crate::state::transaction::InTransaction;
use pgrx::pg_sys;
use selfbench_btree::Tree;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Most pages of a table.
pub const MAX_PAGES: u64 = u32::MAX as u64 - 1;
/// Pages, or leaves of a key, that a process fills before it takes the next part.
const PART_PAGES: u64 = 1024;
/// Files of a gigabyte that are filled at the same time, per process.
const FILES_PER_PROCESS: usize = 2;
/// Memory of a process for the batches of several hash partitions, in pages.
const HASH_PAGES: usize = 4096;

/// The partitions of the table; no row if it is itself a partition, whose bounds limit its rows.
/// `{}` is its name as a literal.
const PARTITIONS: &str = "
SELECT c.oid::pg_catalog.text, c.relkind::pg_catalog.text, p.partstrat::pg_catalog.text,
       (pg_catalog.pg_has_role(c.relowner, 'USAGE')
        AND pg_catalog.has_schema_privilege(c.relnamespace, 'CREATE'))::pg_catalog.text,
       (p.partnatts OPERATOR(pg_catalog.=) 1 AND p.partattrs[0] OPERATOR(pg_catalog.=) 1
        AND o.opcdefault
        AND o.opcnamespace OPERATOR(pg_catalog.=)
            'pg_catalog'::pg_catalog.regnamespace)::pg_catalog.text,
       (SELECT pg_catalog.json_agg(pg_catalog.json_build_array(
                   i.inhrelid::pg_catalog.int8,
                   pg_catalog.pg_get_expr(r.relpartbound, r.oid)))
          FROM pg_catalog.pg_inherits i
          JOIN pg_catalog.pg_class r ON r.oid OPERATOR(pg_catalog.=) i.inhrelid
         WHERE i.inhparent OPERATOR(pg_catalog.=) c.oid)::pg_catalog.text
  FROM pg_catalog.pg_class c
  LEFT JOIN pg_catalog.pg_partitioned_table p ON p.partrelid OPERATOR(pg_catalog.=) c.oid
  LEFT JOIN pg_catalog.pg_opclass o ON o.oid OPERATOR(pg_catalog.=) p.partclass[0]
 WHERE c.oid OPERATOR(pg_catalog.=) {}::pg_catalog.regclass AND NOT c.relispartition";

/// The data that processes need to fill tables together.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Role and database.
    pub identity: Identity,
    rows: i64,
    row: Row,
    layout: Layout,
    /// Files of a gigabyte that are filled at the same time.
    files_at_once: u64,
    /// Whether the role may add primary keys to the tables.
    pub may_add_keys: bool,
    /// WAL compression of the loader and its page workers.
    pub wal_compression: String,
}

/// Result of adding primary keys to accounts.
#[derive(Debug, Default)]
pub struct AddedKeys {
    /// Whether they have been added.
    pub added: bool,
    /// Tables that were filled by pages with their keys, and their numbers of rows.
    pub tables: Vec<(Heap, u64)>,
    /// Time that the keys took.
    pub spent_ns: u64,
}

impl AddedKeys {
    /// Enters the sizes of tables and keys into the catalog, as building the keys does; other
    /// commands have estimated them meanwhile.
    pub fn tell_sizes(&self) -> Result<()> {
        let now = InTransaction::current()?;
        for (heap, rows) in &self.tables {
            heap.tell_size(now, *rows);
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Layout {
    /// Each file has a range of rows.
    Ranges(Vec<RowRange>),
    /// The files of hash partitions, by remainder, and the number of groups that they are divided
    /// into.
    Hash(Vec<Heap>, usize),
}

/// Consecutive rows in one file.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct RowRange {
    heap: Heap,
    /// Numbers of the rows.
    rows: Range<i64>,
    /// The keys of rows by their numbers; if `None`, the key is the number.
    keys: Option<Keys>,
}

impl RowRange {
    /// Number of its rows.
    fn count(&self) -> u64 {
        (self.rows.end - self.rows.start) as u64
    }
}

/// The bounds of a partition.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// Range from, inclusive, and to, exclusive; without limit if `None`.
    Range(Option<i64>, Option<i64>),
    Hash {
        modulus: usize,
        remainder: usize,
    },
}

impl Bound {
    /// Parses the bounds as the server prints them.
    fn parse(text: &str) -> Option<Bound> {
        let text: String = text
            .chars()
            .filter(|c| !matches!(c, '\'' | '(' | ')'))
            .collect();
        let words: Vec<&str> = text
            .split([' ', ','])
            .filter(|word| !word.is_empty())
            .collect();
        match words[..] {
            ["FOR", "VALUES", "FROM", from, "TO", to] => {
                let limit = |word: &str, none| match word {
                    word if word == none => Some(None),
                    word => word.parse().ok().map(Some),
                };
                Some(Bound::Range(
                    limit(from, "MINVALUE")?,
                    limit(to, "MAXVALUE")?,
                ))
            }
            [
                "FOR",
                "VALUES",
                "WITH",
                "modulus",
                modulus,
                "remainder",
                remainder,
            ] => Some(Bound::Hash {
                modulus: modulus.parse().ok()?,
                remainder: remainder.parse().ok()?,
            }),
            _ => None,
        }
    }
}

impl Plan {
    /// The plan for filling accounts, given by its SQL name, and its primary keys, if `has_keys`, in
    /// this transaction, which has emptied it; `None` if COPY must fill it. `processes` may take
    /// part.
    pub fn of_accounts(
        spec: &InitializeSpec,
        accounts: &str,
        processes: usize,
        has_keys: bool,
    ) -> Result<Option<Plan>> {
        let rows = spec.accounts();
        let found = layout(accounts, rows, processes, has_keys)?;
        Ok(found.and_then(|(layout, may_add_keys)| {
            let plan = Plan::make(spec.identity, rows, layout, RowKind::Accounts, processes)?;
            Some(Plan {
                may_add_keys,
                ..plan
            })
        }))
    }

    /// The plan for filling pgio's tables in this transaction, which has created them; `None` if
    /// COPY must fill them. `processes` may take part.
    pub fn of_pgio(spec: &PgioLoadSpec, tables: &[pg_sys::Oid], processes: usize) -> Option<Plan> {
        if !tables.iter().all(|oid| catalog::may_insert(*oid)) {
            return None;
        }
        let ranges: Option<Vec<_>> = (1..)
            .zip(tables)
            .map(|(number, oid)| {
                Some(RowRange {
                    heap: Heap::of_table(*oid, false)?,
                    rows: 1..spec.rows_each + 1,
                    keys: Some(spec.keys(number)),
                })
            })
            .collect();
        let layout = Layout::Ranges(ranges?);
        Plan::make(spec.identity, spec.rows(), layout, RowKind::Pgio, processes)
    }

    /// Makes the plan for `rows` in all files together.
    fn make(
        identity: Identity,
        rows: i64,
        layout: Layout,
        kind: RowKind,
        processes: usize,
    ) -> Option<Plan> {
        let first = match &layout {
            Layout::Ranges(ranges) => ranges.first().map(|range| range.heap),
            Layout::Hash(heaps, _) => heaps.first().copied(),
        };
        let row = Row::form(&first?)?;
        let plan = Plan {
            identity,
            rows,
            row,
            layout,
            files_at_once: (FILES_PER_PROCESS * processes).max(1) as u64,
            may_add_keys: false,
            wal_compression: setting(c"wal_compression").unwrap_or_default(),
        };
        plan.fits(kind).then_some(plan)
    }

    /// Whether all tables have such rows, in one form, and numbers of rows and of pages are not too
    /// large for them.
    fn fits(&self, kind: RowKind) -> bool {
        let files = self.files();
        files.iter().all(|(heap, rows)| {
            heap.kind == kind
                && (heap.key_bytes == 8 || self.rows <= i64::from(i32::MAX))
                && heap.key_bytes == files[0].0.key_bytes
                && rows.div_ceil(self.template(heap).rows() as u64) <= MAX_PAGES
        })
    }

    /// All files, and how many rows each may get.
    fn files(&self) -> Vec<(Heap, u64)> {
        match &self.layout {
            Layout::Ranges(ranges) => ranges
                .iter()
                .map(|range| (range.heap, range.count()))
                .collect(),
            Layout::Hash(heaps, _) => heaps.iter().map(|heap| (*heap, self.rows as u64)).collect(),
        }
    }

    fn template(&self, heap: &Heap) -> Template {
        Template::new(&self.row, heap.free)
    }

    fn pages_of(&self, range: &RowRange) -> u64 {
        let per_page = self.template(&range.heap).rows() as u64;
        range.count().div_ceil(per_page)
    }

    /// The tree of keys, of a number of rows that is not known yet.
    fn endless_tree(&self, heap: &Heap) -> Tree {
        Tree::endless(heap::PAGE, heap.key_bytes, self.template(heap).rows())
    }

    /// The primary key of a file's rows, and its tree; none without rows: the server has made that.
    fn key_of(&self, heap: &Heap, rows: u64) -> Option<(Key, Tree)> {
        let key = heap.key.filter(|_| rows > 0)?;
        Some((key, self.endless_tree(heap).with_rows(rows)))
    }

    /// Approximate number of pages of all files together.
    pub fn pages(&self) -> u64 {
        let per_page = self
            .files()
            .first()
            .map_or(1, |(heap, _)| self.template(heap).rows());
        self.rows as u64 / per_page as u64
    }

    /// To be called before any process starts.
    pub fn prepare(&self) {
        if let Layout::Ranges(ranges) = &self.layout {
            for range in ranges {
                // See `fits`.
                range.heap.file.resize(self.pages_of(range) as u32);
                if let Some((key, tree)) = self.key_of(&range.heap, range.count()) {
                    key.file.resize(tree.blocks());
                }
            }
        }
    }

    /// Executes parts of the work until none is left. `take` returns the number of the next part;
    /// `done` gets the number of rows of each batch. Returns the nanoseconds that primary keys took.
    pub fn work(
        &self,
        mut take: impl FnMut() -> u64,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<u64> {
        let mut keys_ns = 0;
        match &self.layout {
            Layout::Ranges(ranges) => {
                let parts = self.parts(ranges);
                while let Some((range, is_key, pages)) = parts.get(take() as usize).cloned() {
                    let key = self.key_of(&range.heap, range.count());
                    match key.filter(|_| is_key) {
                        None => self.fill(range, pages, done)?,
                        Some((key, tree)) => {
                            let begun = clock::now_ns();
                            keys::fill(&key, &tree, range.rows.start, pages, done)?;
                            keys_ns += clock::now_ns() - begun;
                        }
                    }
                }
            }
            Layout::Hash(heaps, groups) => {
                while let part = take() as usize
                    && part < *groups
                {
                    let group = heaps.len() * part / groups..heaps.len() * (part + 1) / groups;
                    keys_ns += self.fill_partitions(heaps, group, done)?;
                }
            }
        }
        Ok(keys_ns)
    }

    /// The parts of the work: a range, whether it is that of its key, and pages or leaves. They are
    /// in the order in which processes take them: one of each of several files of a gigabyte in turn,
    /// because many file systems let only one process at a time write to a file.
    ///
    /// There are more such files than processes, but not all files of a large table: recovery that
    /// replays a canceled load fills with zeros what lies before the furthest page that was written,
    /// which may be far more than the load itself had taken.
    fn parts<'r>(&self, ranges: &'r [RowRange]) -> Vec<(&'r RowRange, bool, Range<u64>)> {
        const FILE: u64 = pg_sys::RELSEG_SIZE as u64;
        let (mut parts, mut files) = (Vec::new(), 0);
        for range in ranges {
            let key = self.key_of(&range.heap, range.count());
            let leaves = key.map_or(0, |(_, tree)| tree.leaves());
            for (is_key, pages) in [(false, self.pages_of(range)), (true, leaves)] {
                let firsts = (0..pages).step_by(PART_PAGES as usize);
                let part = |first: u64| {
                    let group = (files + first / FILE) / self.files_at_once;
                    let part = (range, is_key, first..(first + PART_PAGES).min(pages));
                    ((group, first % FILE), part)
                };
                parts.extend(firsts.map(part));
                files += pages.div_ceil(FILE);
            }
        }
        parts.sort_by_key(|(place, _)| *place);
        parts.into_iter().map(|(_, part)| part).collect()
    }

    fn fill(
        &self,
        range: &RowRange,
        pages: Range<u64>,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<()> {
        let template = self.template(&range.heap);
        let row = |page: u64| range.rows.start + page as i64 * template.rows() as i64;
        let mut filler = Filler::new(
            range.heap,
            &self.row,
            &template,
            pages.start as u32,
            false,
            heap::BATCH,
        );
        let mut rows = row(pages.start)..row(pages.end).min(range.rows.end);
        match range.keys {
            None => rows.try_for_each(|row| filler.push(row, done))?,
            Some(keys) => rows.try_for_each(|row| filler.push(keys.of(row), done))?,
        }
        filler.finish(done)
    }

    fn fill_partitions(
        &self,
        heaps: &[Heap],
        group: Range<usize>,
        done: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<u64> {
        let mut hash = PartitionHash::new(heaps[0].key_bytes, heaps.len() as u64);
        let templates: Vec<_> = heaps[group.clone()]
            .iter()
            .map(|heap| self.template(heap))
            .collect();
        let heaps = &heaps[group.clone()];
        let keyed = heaps.iter().filter(|heap| heap.key.is_some()).count();
        let batch = HASH_PAGES / (heaps.len() + keyed).max(1);
        let mut fillers: Vec<_> = heaps
            .iter()
            .zip(&templates)
            .map(|(heap, template)| {
                let rows = Filler::new(*heap, &self.row, template, 0, true, batch);
                let key = heap
                    .key
                    .map(|key| KeyFiller::new(&key, self.endless_tree(heap), batch));
                (rows, key)
            })
            .collect();
        for aid in 1..=self.rows {
            let remainder = hash.remainder(aid);
            if group.contains(&remainder) {
                let (rows, key) = &mut fillers[remainder - group.start];
                rows.push(aid, done)?;
                if let Some(key) = key {
                    key.push(aid);
                }
            }
        }
        let mut keys_ns = 0;
        for (rows, key) in fillers {
            rows.finish(done)?;
            if let Some(key) = key {
                keys_ns += key.finish(done)?;
            }
        }
        Ok(keys_ns)
    }

    /// Writes the visibility maps, the tables' statistics and the roots of the keys, after all
    /// processes have ended. Returns each table that has a key, with its number of rows.
    pub fn conclude(&self) -> Result<Vec<(Heap, u64)>> {
        let now = InTransaction::current()?;
        let mut keyed = Vec::new();
        for (heap, _) in self.files() {
            heap.write_visibility_map();
            let rows = heap.count(self.template(&heap).rows());
            if heap.key.is_some() {
                keyed.push((heap, rows));
            }
            if let Some((key, tree)) = self.key_of(&heap, rows) {
                key.enter_root(&tree);
                heap.tell_size(now, rows);
            }
        }
        Ok(keyed)
    }
}

/// The files of accounts, and whether the role may add primary keys to them; `None` unless they are
/// pgbench's.
fn layout(
    accounts: &str,
    rows: i64,
    processes: usize,
    has_keys: bool,
) -> Result<Option<(Layout, bool)>> {
    let sql = PARTITIONS.replace("{}", &quote_literal(accounts));
    let mut found = query::first_row(&sql)?.into_iter();
    let mut next = || found.next().flatten();
    let (Some(oid), Some(kind)) = (next().and_then(|oid| oid.parse::<u32>().ok()), next()) else {
        return Ok(None);
    };
    if !catalog::may_insert(oid.into()) {
        return Ok(None);
    }
    let (strategy, may_add_keys) = (next(), next().as_deref() == Some("true"));
    if kind == "r" {
        return Ok(Heap::of_table(oid.into(), has_keys).map(|heap| {
            let range = RowRange {
                heap,
                rows: 1..rows + 1,
                keys: None,
            };
            (Layout::Ranges(vec![range]), may_add_keys)
        }));
    }
    let (by_aid, partitions) = (next(), next());
    if by_aid.as_deref() != Some("true") || !heap::is_plain_parent(oid.into()) {
        return Ok(None);
    }
    let partitions: Vec<(u32, Option<String>)> = partitions
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default();
    let bounded: Option<Vec<(Heap, Bound)>> = partitions
        .into_iter()
        .map(|(oid, bound)| {
            Some((
                Heap::of_table(oid.into(), has_keys)?,
                Bound::parse(&bound?)?,
            ))
        })
        .collect();
    let layout = bounded.and_then(|bounded| match strategy.as_deref() {
        Some("r") => ranges(bounded, rows),
        Some("h") => hash(bounded, processes),
        _ => None,
    });
    Ok(layout.map(|layout| (layout, may_add_keys)))
}

/// The files of range partitions that together cover all accounts.
fn ranges(mut partitions: Vec<(Heap, Bound)>, rows: i64) -> Option<Layout> {
    let lower = |bound: &Bound| match bound {
        Bound::Range(from, _) => *from,
        Bound::Hash { .. } => None,
    };
    partitions.sort_by_key(|(_, bound)| lower(bound));
    let mut next = 1;
    let mut ranges = Vec::new();
    for (heap, bound) in partitions {
        let Bound::Range(from, to) = bound else {
            return None;
        };
        let end = to.map_or(rows + 1, |to| to.clamp(1, rows + 1));
        let begin = from.map_or(1, |from| from.clamp(1, rows + 1));
        if begin != next {
            return None;
        }
        ranges.push(RowRange {
            heap,
            rows: begin..end,
            keys: None,
        });
        next = end;
    }
    (next == rows + 1).then_some(Layout::Ranges(ranges))
}

/// The files of hash partitions, which must have one modulus and be complete.
fn hash(mut partitions: Vec<(Heap, Bound)>, processes: usize) -> Option<Layout> {
    let count = partitions.len();
    let number = |bound: &Bound| match bound {
        Bound::Hash { modulus, remainder } if *modulus == count => *remainder,
        _ => usize::MAX,
    };
    partitions.sort_by_key(|(_, bound)| number(bound));
    let complete = partitions
        .iter()
        .enumerate()
        .all(|(n, (_, bound))| number(bound) == n);
    let heaps = partitions.into_iter().map(|(heap, _)| heap).collect();
    complete.then_some(Layout::Hash(heaps, processes.clamp(1, count.max(1))))
}
