//! Snapshots that are held while a run goes on.
//!
//! VACUUM and pruning remove dead rows only when no snapshot can see them. A snapshot as old as the
//! run, held by the caller, another session, a prepared transaction or a standby, makes updated
//! tables grow and distorts the figures of the run. So the coordinator checks from time to time who
//! holds such a snapshot, and the run reports it.

use crate::backend::transaction::{abort, transaction};
use crate::clock;
use crate::database::Database;
use crate::error::{Error, Result, catch};
use crate::query::SavedQuery;
use crate::security::as_owner;
use crate::server;
use crate::shared::Segment;
use pgrx::PgOid;
use pgrx::pg_sys;
use selfbench_model::Run;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;

/// The time between two samples.
const EVERY_NS: u64 = 1_000_000_000;
/// The time between the first two samples: callers that wait for the run arrive after its start.
const SOON_NS: u64 = 100_000_000;
/// A run counts as writing if it uses at least this many transaction IDs per transaction.
const WRITES: f64 = 0.01;
/// A standby reports its oldest snapshot every `wal_receiver_status_interval`, 10 s by default, also if it has
/// none: one that it keeps for longer is a snapshot.
const STANDBY_NS: u64 = 15_000_000_000;
/// Maximum number of holders that are named.
const NAMED: usize = 3;

/// The next transaction ID, and who keeps dead rows in this database, with the oldest transaction
/// ID that each keeps, when its transaction began, how many seconds ago, and whether it speaks for a standby:
/// sessions except those that vacuum, prepared transactions, replication slots. Parallel workers have the
/// snapshot of their leader.
///
/// Of sessions of other roles, a role without privileges of pg_read_all_stats is not told more than that
/// there are some; `ROLE` is that role. On a target, it gets no rows for them.
const HOLDERS: &str = include_str!("holders.sql");

/// Holder of a snapshot: process id (0 if it is none), oldest transaction id, description if the
/// role may know it; when its transaction began, and how many seconds ago, if that is known;
/// whether it speaks for a standby.
#[derive(Deserialize)]
struct Holder(
    i32,
    String,
    Option<String>,
    Option<String>,
    Option<f64>,
    bool,
);

/// A look at the snapshots that are held.
#[derive(Clone, Copy)]
struct Sample {
    at_ns: u64,
    next_xid: i64,
}

impl Sample {
    fn at(
        database: &mut Database,
        saved: &mut Option<SavedQuery>,
    ) -> Result<(Sample, Vec<Holder>)> {
        let at_ns = clock::now_ns();
        let mut row = Vec::new();
        match database {
            // The extension's owner may see all sessions, the query hides what the role may not.
            Database::Here => {
                let role = server::role();
                row = transaction(|| {
                    as_owner(|| {
                        if saved.is_none() {
                            let sql = HOLDERS.replace("ROLE", "$1");
                            *saved =
                                Some(SavedQuery::prepare(&sql, &[PgOid::from(pg_sys::OIDOID)])?);
                        }
                        saved
                            .as_ref()
                            .map_or(Ok(Vec::new()), |query| query.first_row(&[role.into()]))
                    })
                })?;
            }
            Database::There(_) => database.transaction(|database| {
                database.execute("SET LOCAL search_path = pg_catalog, pg_temp")?;
                row = database.first_row(&HOLDERS.replace("ROLE", "current_user"))?;
                Ok(())
            })?,
        }
        let sample = match row.as_slice() {
            [Some(next_xid), Some(holders)] => next_xid
                .parse()
                .ok()
                .zip(serde_json::from_str(holders).ok()),
            _ => None,
        };
        let (next_xid, holders) = sample.ok_or_else(|| {
            Error::Limit("could not determine which sessions hold snapshots".into())
        })?;
        Ok((Sample { at_ns, next_xid }, holders))
    }
}

/// Identity of a holder: process ID, or a name for a holder that is no process.
type By = (i32, Option<String>);

/// A holder in several samples, with the oldest transaction ID that it keeps, and when its transaction
/// began: while one snapshot is held, those of all later transactions have the same ID.
type Key = (By, String, Option<String>);

/// Since when a holder has its snapshot.
struct HeldSnapshot {
    from_ns: u64,
    /// Whether more than one sample has it. One that only one sample has is not older than
    /// transactions of the run, as far as known.
    is_old: bool,
    /// Least time that it must last to count, unless it lasts from the first sample to the last
    /// one.
    least_ns: u64,
    /// Whether the first sample has it.
    is_first: bool,
    /// Description; `None` if the role may not know it.
    who: Option<String>,
}

/// Snapshots that are held during a run, as far as known. An error makes them unknown and does not
/// end the run.
pub struct Snapshots {
    /// Whether clients are connected to a target, which is checked only at the start and the end.
    pub of_target: bool,
    /// The first and the latest sample, if all could be taken.
    samples: Option<(Sample, Sample)>,
    /// The time between the latest sample and the next one.
    gap_ns: u64,
    /// The query for this server.
    saved: Option<SavedQuery>,
    /// The holders in the latest sample.
    holders: BTreeMap<Key, HeldSnapshot>,
    /// When old snapshots were held, in order and without overlaps: begins and ends.
    spans: Vec<(u64, u64)>,
    /// Nanoseconds for which each held them, and its description.
    by: BTreeMap<By, (u64, Option<String>)>,
    /// When the run ended, if that is known.
    end_ns: u64,
}

impl Snapshots {
    /// Takes the first sample, before the run starts.
    pub fn before(segment: &Segment, database: &mut Database) -> Snapshots {
        let here = matches!(database, Database::Here);
        let mut snapshots = Snapshots {
            of_target: !here,
            samples: None,
            gap_ns: SOON_NS,
            saved: None,
            holders: BTreeMap::new(),
            spans: Vec::new(),
            by: BTreeMap::new(),
            end_ns: u64::MAX,
        };
        let known = !(here && server::in_recovery());
        let found = known.then(|| observe(database, &mut snapshots.saved));
        if let Some((sample, holders)) = found.flatten() {
            snapshots.hold(segment, (sample, sample), holders);
            snapshots.samples = Some((sample, sample));
        }
        snapshots
    }

    /// The clock reading at which another sample is due; `u64::MAX` if none is.
    pub fn due_ns(&self) -> u64 {
        match &self.samples {
            Some((_, last)) if !self.of_target => last.at_ns + self.gap_ns,
            _ => u64::MAX,
        }
    }

    /// Takes another sample if it is due.
    pub fn sample(&mut self, segment: &Segment, now_ns: u64) {
        if now_ns >= self.due_ns() {
            self.gap_ns = EVERY_NS;
            let found = observe(&mut Database::Here, &mut self.saved);
            self.compare(segment, found);
        }
    }

    /// Looks for the last time, when the run has ended, and sets the run's figures.
    pub fn after(
        mut self,
        segment: &Segment,
        database: &mut Database,
        run: &mut Run,
    ) -> Result<()> {
        if self.samples.is_none() {
            return Ok(());
        }
        let found = Sample::at(database, &mut self.saved)?;
        let measure_ns = segment.header().measure_ns.load(Relaxed);
        if let Some(seconds) = run.seconds {
            self.end_ns = measure_ns.saturating_add((seconds * 1e9) as u64 + 1);
        }
        self.compare(segment, Some(found));
        let Some((first, last)) = self.samples else {
            return Ok(());
        };
        let holders = std::mem::take(&mut self.holders);
        for ((by, ..), mut held) in holders {
            if held.is_first {
                held.least_ns = 0;
            }
            self.end(segment, by, held, last.at_ns);
        }
        let used_xids = last.next_xid - first.next_xid;
        let wrote = used_xids as f64 > WRITES * run.figures.counts.transactions as f64;
        if !wrote {
            run.snapshot_held_s = Some(0.0);
            return Ok(());
        }
        let held_ns: u64 = self.spans.iter().map(|(from, to)| to - from).sum();
        // Of a target, it is not known what was held between the two looks.
        if held_ns == 0 && self.of_target {
            return Ok(());
        }
        let held_s = held_ns as f64 / 1e9;
        run.snapshot_held_s = Some(run.seconds.map_or(held_s, |seconds| held_s.min(seconds)));
        if held_ns > 0 {
            run.snapshot_held_by = Some(self.named());
        }
        Ok(())
    }

    /// Names of those that held snapshots, the longest first.
    fn named(self) -> String {
        let mut by: Vec<_> = self.by.into_iter().collect();
        by.sort_by_key(|(_, (ns, _))| std::cmp::Reverse(*ns));
        let all = by.len();
        let mut named: Vec<_> = by.into_iter().filter_map(|(_, (_, who))| who).collect();
        let hidden = all - named.len();
        let others = named.len().saturating_sub(NAMED);
        named.truncate(NAMED);
        match hidden {
            0 => {}
            1 => named.push("another session".into()),
            _ => named.push(format!("{hidden} other sessions")),
        }
        if others > 0 {
            named.push(format!("{others} others"));
        }
        named.join(", ")
    }

    /// Compares a sample with the one before; without it, nothing is known any more.
    fn compare(&mut self, segment: &Segment, found: Option<(Sample, Vec<Holder>)>) {
        let samples = self.samples.take().zip(found);
        if let Some(((first, last), (sample, holders))) = samples {
            self.hold(segment, (last, sample), holders);
            self.samples = Some((first, sample));
        }
    }

    /// Sets who holds snapshots in a sample, which follows another one.
    ///
    /// A holder that keeps the same transaction ID in two samples, in the same transaction, has held its
    /// snapshot between them. It has begun when its transaction has, if that is later than the sample
    /// before, else on average half a gap before the first sample that has it; it has ended half a gap
    /// after the last one.
    /// The run's own clients are excluded: their snapshots are part of its scripts.
    fn hold(&mut self, segment: &Segment, (last, sample): (Sample, Sample), holders: Vec<Holder>) {
        let header = segment.header();
        let clients = 0..segment.layout().clients;
        let own: Vec<i32> = std::iter::once(std::process::id() as i32)
            .chain(segment.workers().map(|worker| worker.process.pid()))
            .chain(clients.map(|client| segment.client(client).0.backend_pid()))
            .collect();
        let is_own = |pid: i32| pid != 0 && own.contains(&pid);
        let middle_ns = last.at_ns.midpoint(sample.at_ns);
        let is_first = last.at_ns == sample.at_ns;
        let mut gone = std::mem::take(&mut self.holders);
        for Holder(pid, oldest, who, begin, lasts_s, of_standby) in holders {
            if is_own(pid) {
                continue;
            }
            let named = match self.of_target || pid == 0 || pid != header.caller.pid() {
                true => who.clone(),
                false => Some("the calling statement".to_owned()),
            };
            let key = ((pid, who.filter(|_| pid == 0)), oldest, begin);
            let there = gone.remove(&key);
            let began_ns = || {
                let began_ns = sample.at_ns.checked_sub((lasts_s? * 1e9) as u64)?;
                (began_ns >= last.at_ns).then_some(began_ns)
            };
            let held = HeldSnapshot {
                is_old: there.is_some(),
                least_ns: if of_standby { STANDBY_NS } else { 0 },
                is_first: there.as_ref().map_or(is_first, |there| there.is_first),
                from_ns: match there {
                    Some(there) => there.from_ns,
                    None => began_ns().unwrap_or(middle_ns),
                },
                who: named,
            };
            self.holders.insert(key, held);
        }
        gone.retain(|((pid, _), ..), _| !is_own(*pid));
        for ((by, ..), held) in gone {
            self.end(segment, by, held, middle_ns);
        }
    }

    /// Counts a snapshot that was held until then, as far as that was in the measured time.
    fn end(&mut self, segment: &Segment, by: By, held: HeldSnapshot, to_ns: u64) {
        if to_ns.saturating_sub(held.from_ns) < held.least_ns {
            return;
        }
        let measure_ns = segment.header().measure_ns.load(Relaxed);
        let (mut from_ns, mut to_ns) = (held.from_ns.max(measure_ns), to_ns.min(self.end_ns));
        if !held.is_old || from_ns >= to_ns {
            return;
        }
        let (ns, who) = self.by.entry(by).or_default();
        *ns += to_ns - from_ns;
        *who = held.who;
        // This span ends last: merges it with those that overlap.
        while let Some((from, to)) = self.spans.pop_if(|(_, to)| *to >= from_ns) {
            from_ns = from.min(from_ns);
            to_ns = to.max(to_ns);
        }
        self.spans.push((from_ns, to_ns));
    }
}

/// Looks; `None` if that is not possible.
fn observe(
    database: &mut Database,
    saved: &mut Option<SavedQuery>,
) -> Option<(Sample, Vec<Holder>)> {
    let found = catch(|| Sample::at(database, saved));
    if found.is_err() {
        abort();
    }
    found.ok()
}
