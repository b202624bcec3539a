//! Waits of the sessions of a run, for reports, advice, charts and the time budget: by one query, which
//! reads the rows of `bench.run_waits` once. A run of a day has more than a million.

use super::json::query_json;
use crate::error::Result;
use selfbench_model::Waited;
use selfbench_stats::budget::Waits;
use serde::Deserialize;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Whether a session waits because its client has the turn. Before PostgreSQL 17, our own waits cannot be
/// told from those of other extensions.
pub const HAS_THE_TURN: &str = "(event LIKE 'Selfbench%'
    OR (class, event) IN (('Client', 'ClientRead'), ('Extension', 'Extension'))) IS TRUE";

/// The name that is drawn instead of a class if the client has the turn.
pub const BETWEEN: &str = "between statements";

/// Moments of a chart over time, at most.
pub const MOMENTS: i32 = 800;

/// Rows of an interval, of a class in a moment of a chart, or of an event.
#[derive(Deserialize)]
struct Group {
    moment: Option<i64>,
    interval_no: Option<i64>,
    class: Option<String>,
    event: Option<String>,
    /// Whether the client has the turn; `None` for intervals.
    between: Option<bool>,
    samples: u64,
    lasting: u64,
    rounds: u64,
    /// Samples of waits for storage, and for locks.
    storage: Option<f64>,
    locks: Option<f64>,
}

/// Waits of sessions in an interval.
pub struct SeenInterval {
    /// The part of the samples in which they waited for storage.
    pub storage_share: Option<f64>,
    /// Samples of waits for locks, if there are any.
    pub locks: Option<f64>,
}

/// Waits of sessions in a moment of a chart.
#[derive(Default)]
pub struct SeenMoment {
    /// Number of times that all sessions were sampled.
    pub rounds: u64,
    /// Number of samples in each class, [`BETWEEN`] among them.
    pub classes: HashMap<String, u64>,
}

/// Waits of the sessions of a run.
#[derive(Default)]
pub struct SeenWaits {
    /// By event, the most frequent first.
    pub events: Vec<Waited>,
    /// By interval.
    pub intervals: HashMap<i64, SeenInterval>,
    /// By moment of a chart.
    pub moments: HashMap<i64, SeenMoment>,
    /// Number of times that all sessions were sampled.
    pub rounds: u64,
    /// Waits that count in a time budget: those while the client of the session does not have the turn.
    pub waits: Waits,
}

impl SeenWaits {
    /// Reads them with the rights of the caller.
    pub fn load(run_id: i64) -> Result<SeenWaits> {
        // Others wait for the session that writes WAL or reads the block, and for storage with it.
        Ok(SeenWaits::of(query_json(
            &format!(
                "SELECT jsonb_build_object(
                            'moment', moment, 'interval_no', interval_no, 'class', class, 'event', event,
                            'between', between, 'samples', sum(samples), 'lasting', sum(lasting),
                            'rounds', max(rounds),
                            'storage', sum(samples) FILTER (WHERE class = 'IO' OR lower(event) IN ('walwrite', 'bufferio')),
                            'locks', sum(samples) FILTER (WHERE class = 'Lock'))::text
                   FROM (SELECT interval_no, class, event, samples, lasting, rounds, {HAS_THE_TURN} AS between,
                                interval_no / coalesce((SELECT max(interval_no) / {MOMENTS} + 1
                                                          FROM bench.run_intervals WHERE run_id = $1), 1) AS moment
                           FROM bench.run_waits WHERE run_id = $1) w
                  GROUP BY GROUPING SETS ((moment, interval_no), (moment, class, between), (class, event, between))"
            ),
            run_id,
        )?))
    }

    /// Reads those of the whole run alone, without intervals and moments, which takes a tenth of the time.
    pub fn load_events(run_id: i64) -> Result<SeenWaits> {
        Ok(SeenWaits::of(query_json(
            &format!(
                "SELECT jsonb_build_object('class', class, 'event', event, 'between', between, 'samples', sum(samples),
                                           'lasting', sum(lasting), 'rounds', max(rounds))::text
                   FROM (SELECT class, event, samples, lasting, rounds, {HAS_THE_TURN} AS between
                           FROM bench.run_waits WHERE run_id = $1) w
                  GROUP BY class, event, between"
            ),
            run_id,
        )?))
    }

    fn of(groups: Vec<Group>) -> SeenWaits {
        let mut seen = SeenWaits::default();
        let mut waiting: BTreeMap<String, (u64, u64)> = BTreeMap::new();
        for group in groups {
            let (samples, class) = (group.samples, group.class.unwrap_or_default());
            let is_between = group.between == Some(true);
            match (group.moment, group.interval_no) {
                (Some(moment), Some(interval_no)) => {
                    let share = group.storage.unwrap_or(0.0) / samples as f64;
                    let interval = SeenInterval {
                        storage_share: (samples > 0).then_some(share),
                        locks: group.locks,
                    };
                    seen.intervals.insert(interval_no, interval);
                    seen.moments.entry(moment).or_default().rounds += group.rounds;
                    seen.rounds += group.rounds;
                }
                (Some(moment), None) => {
                    let class = if is_between { BETWEEN.into() } else { class };
                    let classes = &mut seen.moments.entry(moment).or_default().classes;
                    *classes.entry(class).or_default() += samples;
                }
                (None, _) => {
                    seen.waits.samples += samples;
                    if group.event.is_some() && !is_between {
                        let of_class = waiting.entry(class.clone()).or_default();
                        of_class.0 += samples;
                        of_class.1 += group.lasting;
                    }
                    seen.events.push(Waited {
                        class,
                        event: group.event,
                        samples: samples as i64,
                    });
                }
            }
        }
        seen.waits.classes = waiting
            .into_iter()
            .map(|(class, (samples, lasting))| (class, samples, lasting))
            .collect();
        // As bench.top_waits has them.
        seen.events
            .sort_by_cached_key(|e| (Reverse(e.samples), e.class.clone(), e.event.clone()));
        seen
    }
}
