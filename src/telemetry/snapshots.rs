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
/// At most this many holders are named.
const NAMED: usize = 3;

/// The next transaction ID, and who keeps dead rows in this database, with the oldest transaction
/// ID that each keeps: sessions except those that vacuum, prepared transactions, replication slots.
/// A role without the privilege to see other roles' sessions gets no row for them.
const HOLDERS: &str = "
SELECT txid_snapshot_xmax(txid_current_snapshot())::text,
       coalesce(json_agg(json_build_array(h.pid, h.oldest, h.who))::text, '[]')
  FROM (SELECT pid,
               CASE WHEN backend_xmin IS NULL OR age(backend_xid) > age(backend_xmin)
                    THEN backend_xid ELSE backend_xmin END::text,
               format('process %s (%s)', pid,
                      concat_ws(', ', nullif(backend_type, 'client backend'), 'role ' || usename,
                                nullif(application_name, '')))
          FROM pg_stat_activity
         WHERE (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL)
           AND pid <> pg_backend_pid()
           AND (datname = current_database() OR backend_type = 'walsender')
           AND backend_type <> 'autovacuum worker'
           AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum)
         UNION ALL
        SELECT 0, transaction::text, format('prepared transaction %s', quote_literal(gid))
          FROM pg_prepared_xacts WHERE database = current_database()
         UNION ALL
        SELECT 0, xmin::text, format('replication slot %s', slot_name)
          FROM pg_replication_slots WHERE xmin IS NOT NULL
       ) h (pid, oldest, who)";

/// Who keeps what: process id (0 if it is none), oldest transaction id, description.
#[derive(Deserialize, PartialEq)]
struct Holder(i32, String, String);

/// The snapshots that were held at some moment.
struct Sample {
    at_ns: u64,
    next_xid: i64,
    holders: Vec<Holder>,
}

impl Sample {
    fn at(database: &mut Database, saved: &mut Option<SavedQuery>) -> Result<Sample> {
        let at_ns = clock::now_ns();
        let mut row = Vec::new();
        match database {
            // The extension's owner may see all sessions. The run shows nothing of them that is
            // secret.
            Database::Here => {
                row = transaction(|| {
                    as_owner(|| {
                        if saved.is_none() {
                            *saved = Some(SavedQuery::prepare(HOLDERS, &[])?);
                        }
                        saved
                            .as_ref()
                            .map_or(Ok(Vec::new()), |query| query.first_row(&[]))
                    })
                })?;
            }
            Database::There(_) => database.transaction(|database| {
                database.execute("SET LOCAL search_path = pg_catalog, pg_temp")?;
                row = database.first_row(HOLDERS)?;
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
        Ok(Sample {
            at_ns,
            next_xid,
            holders,
        })
    }
}

/// Snapshots that are held during a run, as far as known. An error makes them unknown and does not
/// end the run.
pub struct Snapshots {
    /// Whether clients are connected to a target, which is checked only at the start and the end.
    pub of_target: bool,
    /// The first and the latest sample.
    samples: Option<(i64, Sample)>,
    /// The time between the latest sample and the next one.
    gap_ns: u64,
    /// The query for this server.
    saved: Option<SavedQuery>,
    /// For how long a snapshot was held, and by whom, in nanoseconds.
    held_ns: u64,
    by: BTreeMap<String, u64>,
}

impl Snapshots {
    /// Takes the first sample, before the run starts.
    pub fn before(database: &mut Database) -> Snapshots {
        let here = matches!(database, Database::Here);
        let known = !(here && server::in_recovery());
        let mut saved = None;
        let sample = known.then(|| observe(database, &mut saved)).flatten();
        Snapshots {
            of_target: !here,
            samples: sample.map(|sample| (sample.next_xid, sample)),
            gap_ns: SOON_NS,
            saved,
            held_ns: 0,
            by: BTreeMap::new(),
        }
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
            let sample = observe(&mut Database::Here, &mut self.saved);
            self.compare(segment, sample);
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
        let sample = Sample::at(database, &mut self.saved)?;
        self.compare(segment, Some(sample));
        let Some((first, last)) = &self.samples else {
            return Ok(());
        };
        let wrote =
            (last.next_xid - first) as f64 > WRITES * run.figures.counts.transactions as f64;
        let held_ns = if wrote { self.held_ns } else { 0 };
        let held_s = held_ns as f64 / 1e9;
        run.snapshot_held_s = Some(run.seconds.map_or(held_s, |seconds| held_s.min(seconds)));
        if held_ns > 0 {
            let mut by: Vec<_> = self.by.into_iter().collect();
            by.sort_by_key(|(_, ns)| std::cmp::Reverse(*ns));
            let others = by.len().saturating_sub(NAMED);
            let mut named: Vec<_> = by.into_iter().take(NAMED).map(|(who, _)| who).collect();
            if others > 0 {
                named.push(format!("{others} others"));
            }
            run.snapshot_held_by = Some(named.join(", "));
        }
        Ok(())
    }

    /// A holder that keeps the same transaction ID in two samples has held its snapshot between them.
    /// The run's own clients are excluded: their snapshots are part of its scripts.
    fn compare(&mut self, segment: &Segment, sample: Option<Sample>) {
        let (Some((first, last)), Some(sample)) = (self.samples.take(), sample) else {
            return;
        };
        let header = segment.header();
        let clients = 0..segment.layout().clients;
        let own: Vec<i32> = std::iter::once(std::process::id() as i32)
            .chain(segment.workers().map(|worker| worker.process.pid()))
            .chain(clients.map(|client| segment.client(client).0.backend_pid()))
            .collect();
        let from_ns = last.at_ns.max(header.measure_ns.load(Relaxed));
        let length_ns = sample.at_ns.saturating_sub(from_ns);
        let mut held = false;
        for holder in sample.holders.iter().filter(|h| last.holders.contains(h)) {
            let Holder(pid, _, who) = holder;
            if *pid != 0 && own.contains(pid) {
                continue;
            }
            held = true;
            let who = match self.of_target || *pid == 0 || *pid != header.caller.pid() {
                true => who,
                false => "the calling statement",
            };
            *self.by.entry(who.to_owned()).or_default() += length_ns;
        }
        if held {
            self.held_ns += length_ns;
        }
        self.samples = Some((first, sample));
    }
}

/// Looks; `None` if that is not possible.
fn observe(database: &mut Database, saved: &mut Option<SavedQuery>) -> Option<Sample> {
    let sample = catch(|| Sample::at(database, saved));
    if sample.is_err() {
        abort();
    }
    sample.ok()
}
