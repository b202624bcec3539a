//! The figures of a run, from its clients' counters to rows: figures of intervals during the run,
//! all others when its clients have ended.

use super::harvest::Harvest;
use crate::clock;
use crate::error::Result;
use crate::results::pgio;
use crate::results::store::{self, RemainingRows};
use crate::run::pgio::Scan;
use crate::run::{Mode, RunSpec};
use crate::server;
use crate::shared::Segment;
use crate::shared::effort::Effort;
use crate::shared::{ClientState, IntervalFigures, StatementRows, reading};
use crate::telemetry::period::Period;
use selfbench_model::{
    Figures, INTERVALS_PER_BATCH, Latency, Observed, PgioSession, Run, RunClient, RunInterval,
    RunRecord, RunScript, RunState, RunStatement, encoded, scripts_hash,
};
use selfbench_report::counted;
use selfbench_script::Action;
use selfbench_stats::{LatencyHistogram, Tally, Usage};
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of errors that are stored with a run; its clients often fail for the same reason.
const MAX_ERRORS: usize = 20;

/// A statement that has matched no row so often, in sampled transactions, hardly does by chance.
const SAMPLED_EXECUTIONS: u32 = 20;

/// A client that completes hardly a transaction, while another one completes so many, is stalled.
const MANY: u64 = 10;

/// Collects the figures of a run in progress.
pub struct Collector<'s> {
    segment: &'s Segment,
    spec: &'s RunSpec,
    harvest: Harvest,
    intervals: Vec<RunInterval>,
    /// When the run ended, once it has.
    ended_ns: Option<u64>,
}

impl<'s> Collector<'s> {
    /// Allocates the memory for the figures of a run that is about to start.
    pub fn new(segment: &'s Segment, spec: &'s RunSpec) -> Result<Collector<'s>> {
        Ok(Collector {
            segment,
            spec,
            harvest: Harvest::new(segment)?,
            intervals: Vec::new(),
            ended_ns: None,
        })
    }

    /// Starts when the start barrier has opened.
    pub fn begin(&mut self) {
        let header = self.segment.header();
        self.harvest.begin(header.measure_ns.load(Relaxed));
    }

    /// The clock reading at which [`read`](Self::read) must be called.
    pub fn due_ns(&self) -> u64 {
        self.harvest.due_ns()
    }

    /// Reads the clients' latency counters, which must not wrap around twice between two readings,
    /// at the clock reading `now_ns`.
    pub fn read(&mut self, now_ns: u64) {
        self.harvest.read(self.segment, now_ns);
    }

    /// Ends the current interval at the clock reading `now_ns`; `None` if that is within the warm-up.
    pub fn end_interval(&mut self, now_ns: u64) -> Option<Period> {
        let header = self.segment.header();
        let interval = self.harvest.interval(self.segment, now_ns)?;
        let period = Period::new(header, interval.number, interval.begins_ns, now_ns);
        let figures = Figures::of(&interval.tally, &interval.histogram, period.seconds);
        header.last_interval.set(&IntervalFigures {
            tps: figures.tps.unwrap_or_default(),
            latency_avg_ms: figures.latency.latency_avg_ms,
        });
        let records = self.spec.pgio.is_some() && self.spec.run.mode == Mode::Spi;
        let blocks = |i: usize| records.then_some(interval.blocks[i] as i64);
        self.intervals.push(RunInterval {
            run_id: period.run_id,
            interval_no: period.number,
            begins_s: period.begins_s,
            seconds: period.seconds,
            figures,
            blocks_hit: blocks(0),
            blocks_read: blocks(1),
            wal_bytes: blocks(2),
        });
        Some(period)
    }

    /// Ends the last interval and the run: when its last client ended, however late that is noticed, or at
    /// the clock reading `now_ns` if one was killed.
    pub fn end(&mut self, now_ns: u64) -> Option<Period> {
        let ended_ns = reading::ended_ns(self.segment).unwrap_or(now_ns);
        self.ended_ns = Some(ended_ns);
        self.end_interval(ended_ns)
    }

    /// Whether there are enough intervals for a batch.
    pub fn fill_a_batch(&self) -> bool {
        self.intervals.len() >= INTERVALS_PER_BATCH
    }

    /// Stores the intervals so far with what was observed meanwhile, if the run is stored; otherwise
    /// discards them.
    pub fn store_intervals(&mut self, stores: bool, observed: Observed) -> Result<()> {
        if stores {
            store::intervals(&self.intervals, &observed)?;
        }
        self.intervals.clear();
        Ok(())
    }

    /// The figures of the run, whose clients have ended, and the rows that remain to be stored.
    pub fn conclude(mut self, run: Run) -> (RunRecord, RemainingRows) {
        let mut record = RunRecord {
            run,
            ..RunRecord::default()
        };
        let ended_ns = self.ended_ns.unwrap_or_else(clock::now_ns);
        conclude_run(
            self.segment,
            self.spec,
            &mut self.harvest,
            ended_ns,
            &mut record,
        );
        record.run.scripts_hash = Some(scripts_hash(&record.scripts));
        let sessions = conclude_pgio(self.segment, self.spec, &self.harvest, &mut record);
        let rows = RemainingRows {
            intervals: self.intervals,
            clients: clients(self.segment, record.run.run_id),
            sessions,
        };
        (record, rows)
    }
}

/// Computes the figures of the whole run, when its clients have ended.
fn conclude_run(
    segment: &Segment,
    spec: &RunSpec,
    harvest: &mut Harvest,
    ended_ns: u64,
    record: &mut RunRecord,
) {
    let measure = segment.header().measure_ns.load(Relaxed);
    let run = &mut record.run;
    let mut aborted = 0;
    let mut connection_ns = 0;
    for client in 0..spec.clients() {
        let (head, _) = segment.client(client);
        connection_ns += head.connection_ns();
        run.warmup_transactions += head.warmup_transactions() as i64;
        if head.state() == ClientState::Aborted {
            aborted += 1;
            if run.errors.len() < MAX_ERRORS {
                run.errors.extend(head.reason());
            }
        }
    }
    let left = segment.header().sessions_left.load(Relaxed);
    if left > 0 {
        run.errors.push(format!(
            "{} did not end when canceled; the server log has the process IDs",
            counted(left, "session")
        ));
    }
    let seconds = ended_ns.saturating_sub(measure) as f64 / 1e9;
    let (tallies, histograms) = harvest.totals(segment);
    let mut total = Tally::default();
    let mut all = LatencyHistogram::new();
    for (index, script) in spec.scripts.iter().enumerate() {
        total.merge(&tallies[index]);
        if all.merge(&histograms[index]).is_err() {
            run.errors
                .push("too many transactions for one histogram".into());
        }
        let figures = Figures::of(&tallies[index], &histograms[index], seconds);
        let above_limit = tallies[index].above_limit;
        record
            .scripts
            .push(script.row(run.run_id, index, figures, above_limit));
    }
    record.statements = statements(segment, spec, harvest, run.run_id);
    run.state = if aborted == spec.clients() {
        RunState::Failed
    } else {
        RunState::Finished
    };
    run.aborted_clients = aborted as i32;
    run.finished_at = Some(server::wall_clock());
    run.seconds = Some(seconds);
    run.figures = Figures::of(&total, &all, seconds);
    // Of a captured workload, statements that worked in the application are refused or lack rows.
    let is_told = spec.captured_workload.is_some() && total.counts.failed() > 0;
    if run.all_failed() || is_told {
        let mut clients = (0..spec.clients()).map(|client| segment.client(client).0);
        // A message has its severity, detail and hint, too.
        let first = clients.find_map(|client| client.first_failure());
        let line = first.as_deref().and_then(|text| text.lines().next());
        let message = line.map(|line| line.split_once(":  ").map_or(line, |(_, message)| message));
        let failed = total.counts.failed();
        let all = match run.all_failed() {
            true => format!("all transactions failed ({failed})"),
            false => format!("{failed} of {} transactions failed", total.counts.total()),
        };
        run.errors.push(format!(
            "{all}, the first with: {}",
            message.unwrap_or("an unknown error")
        ));
    }
    run.unmatched = unmatched(segment, spec);
    run.stalled_clients = stalled(segment, spec, &record.scripts, seconds);
    measure_harness(segment, spec, &total, run);
    if spec.run.reconnect {
        let made = total.counts.transactions + total.counts.failed();
        run.connection_ms = (made > 0).then(|| connection_ns as f64 / made as f64 / 1e6);
    }
}

/// The figures of each client.
fn clients(segment: &Segment, run_id: i64) -> Vec<RunClient> {
    let layout = segment.layout();
    let mut tallies = vec![Tally::default(); layout.scripts];
    (0..layout.clients)
        .map(|client| {
            reading::read_client(segment, client, &mut tallies);
            let mut all = Tally::default();
            tallies.iter().for_each(|tally| all.merge(tally));
            RunClient::of(run_id, client, &all)
        })
        .collect()
}

/// The figures of pgio's workload: those of the run, and of each session; none for other runs.
fn conclude_pgio(
    segment: &Segment,
    spec: &RunSpec,
    harvest: &Harvest,
    record: &mut RunRecord,
) -> Vec<PgioSession> {
    let Some(of_pgio) = &spec.pgio else {
        return Vec::new();
    };
    let run = &record.run;
    let seconds = run.seconds.unwrap_or(0.0);
    let layout = segment.layout();
    // Other processes may read for a session: parallel workers if the planner decides, and I/O workers ahead of it. Index
    // scans read blocks one by one in their own process.
    let elsewhere = spec.target.is_none()
        && match of_pgio.scan {
            Scan::Index => false,
            Scan::Bitmap => server::reads_ahead_by_workers(),
            Scan::Auto => true,
        };
    let used = |client| {
        let usage: Usage = segment.client(client).0.usage()?;
        Some(Usage {
            device_read_bytes: usage.device_read_bytes.filter(|_| !elsewhere),
            ..usage
        })
    };
    let scripts: Vec<&str> = spec.scripts.iter().map(|s| s.name.as_str()).collect();
    let mut tallies = vec![Tally::default(); layout.scripts];
    let sessions: Vec<PgioSession> = (0..spec.clients())
        .map(|client| {
            reading::read_client(segment, client, &mut tallies);
            let histograms: Vec<_> = (0..layout.histograms())
                .map(|number| harvest.of_set(segment, client, number))
                .collect();
            pgio::session_row(&pgio::SessionFigures {
                run_id: run.run_id,
                number: client,
                table: of_pgio.table_of(client),
                scripts: &scripts,
                tallies: &tallies,
                histograms: &histograms,
                usage: used(client),
                seconds,
            })
        })
        .collect();
    let usage = (0..spec.clients())
        .map(used)
        .reduce(|sum, next| {
            let mut sum = sum?;
            sum.merge(&next?);
            Some(sum)
        })
        .flatten();
    let reads = harvest.reads(segment);
    record.pgio = Some(pgio::run_row(run, &record.scripts, of_pgio, usage, reads));
    sessions
}

/// Sets the overhead of the harness, which stays unknown if a client worker has not recorded it.
fn measure_harness(segment: &Segment, spec: &RunSpec, total: &Tally, run: &mut Run) {
    let accounts = segment.workers().map(|worker| worker.account.get());
    let effort = match spec.run.mode {
        // A client with too few transactions has no sample.
        Mode::Spi => accounts.flatten().reduce(Effort::plus),
        Mode::Libpq => accounts
            .reduce(|sum, next| Some(sum?.plus(next?)))
            .flatten(),
    };
    let Some(effort) = effort else { return };
    let transactions = match spec.run.mode {
        Mode::Spi => effort.turns,
        // The workers' CPU time includes transactions of the warm-up and failed ones.
        Mode::Libpq => {
            total.counts.transactions + total.counts.failed() + run.warmup_transactions as u64
        }
    };
    let us = effort.harness_ns as f64 / 1e3;
    run.overhead_us = (transactions > 0).then(|| us / transactions as f64);
    run.overhead_share = Some(effort.harness_ns as f64 / effort.of_ns as f64);
}

/// Number of clients that completed at most one transaction, though another one completed [`MANY`], and
/// the run was long enough for as many of the slowest script: half of its transactions were faster than
/// that, also if some waited for the whole run.
fn stalled(segment: &Segment, spec: &RunSpec, scripts: &[RunScript], seconds: f64) -> i32 {
    let latencies = scripts
        .iter()
        .filter_map(|script| script.figures.latency.latency_p50_ms);
    let slowest_ms = latencies.fold(0.0, f64::max);
    if slowest_ms == 0.0 || seconds * 1e3 < MANY as f64 * slowest_ms {
        return 0;
    }
    let mut tallies = vec![Tally::default(); segment.layout().scripts];
    let mut completed = |client| -> u64 {
        reading::read_client(segment, client, &mut tallies);
        tallies.iter().map(|tally| tally.counts.total()).sum()
    };
    let finished = |client: &usize| segment.client(*client).0.state() == ClientState::Finished;
    let all: Vec<u64> = (0..spec.clients())
        .filter(finished)
        .map(&mut completed)
        .collect();
    match all.iter().any(|completed| *completed >= MANY) {
        true => all.iter().filter(|completed| **completed <= 1).count() as i32,
        false => 0,
    }
}

/// The statements that matched no row in any of the transactions that were sampled.
fn unmatched(segment: &Segment, spec: &RunSpec) -> Vec<String> {
    let in_vain = |number: usize| {
        let rows = segment.statement_rows().get(number);
        rows.map(StatementRows::in_vain)
            .filter(|executions| *executions >= SAMPLED_EXECUTIONS)
    };
    // Most runs have none, and need not parse their scripts for it.
    if (0..spec.statements).all(|number| in_vain(number).is_none()) {
        return Vec::new();
    }
    let Ok(workload) = spec.workload() else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for script in &workload.scripts {
        for command in &script.commands {
            if let Action::Sql(sql) = &command.action
                && let Some(executions) = in_vain(sql.number)
                && found.len() < MAX_ERRORS
            {
                found.push(format!(
                    "script \"{}\", line {}, in {executions} sampled executions: {}",
                    script.name,
                    command.line,
                    command.report_text()
                ));
            }
        }
    }
    found
}

/// The figures of single commands, if they were measured.
fn statements(
    segment: &Segment,
    spec: &RunSpec,
    harvest: &Harvest,
    run_id: i64,
) -> Vec<RunStatement> {
    // The script has been parsed before.
    let (true, Ok(workload)) = (spec.run.per_statement, spec.workload()) else {
        return Vec::new();
    };
    let mut tallies = reading::read_commands(segment).into_iter().enumerate();
    let mut rows = Vec::new();
    for (script_no, script) in workload.scripts.iter().enumerate() {
        let measured = script.commands.iter().zip(&mut tallies).enumerate();
        rows.extend(measured.map(|(command_no, (command, (number, tally)))| {
            let histogram = harvest.of_command(segment, number);
            RunStatement {
                run_id,
                script_no: script_no as i32,
                command_no: command_no as i32,
                line: command.line as i32,
                command: command.text.clone(),
                executions: tally.latency.count as i64,
                failures: tally.failures as i64,
                retries: tally.retries as i64,
                latency: Latency::of(&tally.latency, &histogram),
                histogram: encoded(&histogram),
            }
        }));
    }
    rows
}
