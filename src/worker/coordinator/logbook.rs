//! The log of transactions: taken from the clients' rings, stored as rows, written as files.
//!
//! Clients only write to shared memory. The coordinator stores the entries when a ring is half
//! full, from time to time, and at the end.

use crate::backend::interrupts::asked_to_end;
use crate::backend::limits::{Limited, Limits};
use crate::clock;
use crate::error::{Error, Result};
use crate::results::log;
use crate::run::{LogSpec, RunSpec};
use crate::server;
use crate::shared::Segment;
use crate::shared::log_entry::RingEntry;
use selfbench_model::{LoggedTransaction, TransactionOutcome};
use selfbench_report::log::{Aggregate, LogFormat, transaction_line};
use selfbench_script::clients_per_thread;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::rc::Rc;

/// Room for the log of all workers together, in bytes.
const ROOM: usize = 16 << 20;
/// Room for the log of one worker, at least and at most.
const ROOM_PER_WORKER: std::ops::RangeInclusive<usize> = 256 << 10..=8 << 20;

/// Room for the log of one worker if there are this many, in bytes.
pub fn room(workers: usize) -> usize {
    (ROOM / workers.max(1)).clamp(*ROOM_PER_WORKER.start(), *ROOM_PER_WORKER.end())
}

/// The log of one run.
pub struct Logbook<'l> {
    run_id: i64,
    stores: bool,
    limits: &'l Limits,
    /// Rows that are stored or to be stored.
    rows: u64,
    /// Rows to be stored.
    unstored: Rc<Vec<LoggedTransaction>>,
    /// Converts a clock reading to microseconds since 1970.
    epoch_us: i64,
    format: LogFormat,
    /// One for each thread, if files are asked for.
    files: Vec<LogFile>,
    /// The thread of each client.
    threads: Vec<usize>,
    /// Whether storing or writing has failed: later entries are discarded, so that no client waits
    /// for room.
    failed: bool,
    bytes: Vec<u8>,
    text: String,
}

/// The file of one thread.
struct LogFile {
    path: String,
    file: BufWriter<File>,
    aggregate: Option<Aggregate>,
}

impl<'l> Logbook<'l> {
    /// The log of a run that begins at the clock reading `start_ns`; `stores` if rows can be
    /// stored. Creates the files that are asked for.
    pub fn open(
        spec: &RunSpec,
        log: &LogSpec,
        limits: &'l Limits,
        run_id: i64,
        stores: bool,
        start_ns: u64,
    ) -> Result<Self> {
        let format = LogFormat {
            rate: spec.run.rate.is_some(),
            latency_limit: spec.latency_limit_ns().is_some(),
            max_tries: spec.max_tries(),
            failures_detailed: spec.run.failures_detailed,
            server_major: server::version_num() / 10_000,
        };
        let epoch_us = server::epoch_us() - (clock::now_ns() / 1000) as i64;
        let mut files = Vec::new();
        let mut threads = Vec::new();
        if let Some(prefix) = &log.prefix {
            let pid = std::process::id();
            for (thread, clients) in clients_per_thread(spec.clients(), spec.jobs()).enumerate() {
                threads.extend(clients.map(|_| thread));
                let path = match thread {
                    0 => format!("{prefix}.{pid}"),
                    _ => format!("{prefix}.{pid}.{thread}"),
                };
                let file = File::create(&path).map_err(|error| log_error(&path, &error))?;
                let aggregate = log.aggregate_s.map(|seconds| {
                    Aggregate::new(format, seconds, epoch_us + (start_ns / 1000) as i64)
                });
                files.push(LogFile {
                    path,
                    file: BufWriter::new(file),
                    aggregate,
                });
            }
        }
        Ok(Self {
            run_id,
            stores: stores && log.aggregate_s.is_none(),
            limits,
            rows: 0,
            unstored: Rc::default(),
            epoch_us,
            format,
            files,
            threads,
            failed: false,
            bytes: Vec::new(),
            text: String::new(),
        })
    }

    /// Whether a client may soon have to wait for room.
    pub fn is_pressing(segment: &Segment) -> bool {
        (0..segment.layout().workers)
            .filter_map(|worker| segment.log(worker))
            .any(|ring| ring.is_half_full())
    }

    /// Stores and writes what the clients have logged since the last call. While another session has locked the
    /// tables, waits until the run must end, and then leaves the rows to be stored by [`Self::close`].
    pub fn drain(&mut self, segment: &Segment) -> Result<()> {
        self.take(segment)?;
        match log::store(self.run_id, &self.unstored, asked_to_end) {
            Err(error) if error.is_lock_timeout() && asked_to_end() => Ok(()),
            stored => self.stored(stored),
        }
    }

    /// Notes that the rows are stored, or that this has failed.
    fn stored(&mut self, stored: Result<()>) -> Result<()> {
        self.unstored = Rc::default();
        self.failed |= stored.is_err();
        stored
    }

    /// Writes what the clients have logged since the last call, and keeps it to be stored; discards it if the log
    /// has failed before.
    pub fn take(&mut self, segment: &Segment) -> Result<()> {
        if self.failed {
            self.bytes.clear();
            (0..segment.layout().workers)
                .filter_map(|worker| segment.log(worker))
                .for_each(|ring| ring.read(&mut self.bytes));
            return Ok(());
        }
        let taken = self.read(segment);
        self.failed = taken.is_err();
        taken
    }

    fn read(&mut self, segment: &Segment) -> Result<()> {
        let has_rate = self.format.rate;
        let has_lag = |outcome| has_rate && outcome == TransactionOutcome::Success;
        let mut rows = Vec::new();
        for worker in 0..segment.layout().workers {
            let Some(ring) = segment.log(worker) else {
                continue;
            };
            self.bytes.clear();
            ring.read(&mut self.bytes);
            let mut bytes = self.bytes.as_slice();
            let entries = std::iter::from_fn(|| RingEntry::take(&mut bytes));
            let logged = entries.map(|entry| LoggedTransaction {
                client: entry.client,
                count: entry.count,
                script: entry.script,
                outcome: entry.outcome,
                latency_ns: entry.latency_ns,
                lag_ns: has_lag(entry.outcome).then_some(entry.lag_ns),
                retries: entry.retries,
                at_us: self.epoch_us + (entry.at_ns / 1000) as i64,
            });
            if self.files.is_empty() {
                rows.extend(logged);
                continue;
            }
            for logged in logged {
                let thread = self.threads.get(logged.client as usize).copied();
                if let Some(file) = self.files.get_mut(thread.unwrap_or(0)) {
                    self.text.clear();
                    match &mut file.aggregate {
                        Some(aggregate) => aggregate.add(&logged, &mut self.text),
                        None => transaction_line(&self.format, &logged, &mut self.text),
                    }
                    file.write(&self.text)?;
                }
                rows.push(logged);
            }
        }
        if !self.stores {
            return Ok(());
        }
        let left = match self.limits.most(Limited::RowsLogged) {
            None => usize::MAX,
            Some(most) => (u64::from(most) - self.rows) as usize,
        };
        let is_beyond = rows.len() > left;
        rows.truncate(left);
        self.rows += rows.len() as u64;
        Rc::make_mut(&mut self.unstored).append(&mut rows);
        match is_beyond {
            false => Ok(()),
            true => {
                let what = "number of transactions in the log";
                Err(self.limits.exceeded(Limited::RowsLogged, what.into()))
            }
        }
    }

    /// Takes the remaining entries after the clients have ended, and stores what is not stored yet.
    pub fn close(mut self, segment: &Segment) -> Result<()> {
        let taken = self.take(segment);
        let stored = log::finish(self.run_id, &self.unstored);
        self.stored(stored)?;
        taken?;
        if self.failed {
            return Ok(());
        }
        let now_us = self.epoch_us + (clock::now_ns() / 1000) as i64;
        for file in &mut self.files {
            self.text.clear();
            if let Some(aggregate) = &mut file.aggregate {
                aggregate.advance(now_us, &mut self.text);
            }
            file.write(&self.text)?;
            file.file
                .flush()
                .map_err(|error| log_error(&file.path, &error))?;
        }
        Ok(())
    }
}

impl LogFile {
    fn write(&mut self, text: &str) -> Result<()> {
        self.file
            .write_all(text.as_bytes())
            .map_err(|error| log_error(&self.path, &error))
    }
}

fn log_error(path: &str, error: &std::io::Error) -> Error {
    Error::LogFile {
        path: path.to_owned(),
        message: crate::error::reason(error),
    }
}
