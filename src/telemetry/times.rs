//! The row of where the time of a run went.

use super::processes::Used;
use crate::shared::client_slot::ClientSlot;
use crate::shared::{Segment, reading};
use selfbench_model::RunTimes;
use selfbench_stats::{ProcessTimes, TurnParts};
use std::sync::atomic::Ordering::Relaxed;

/// The row of a run of that duration; `used` is the usage of its processes.
pub fn of_run(segment: &Segment, seconds: f64, used: &Used) -> RunTimes {
    let header = segment.header();
    let measure_ns = header.measure_ns.load(Relaxed);
    let clients = || (0..segment.layout().clients).map(|client| segment.client(client).0);
    let clients_ns: u64 = clients()
        .map(|client| match client.finished_ns() {
            // A client that was killed has not recorded its end.
            0 => (seconds * 1e9) as u64,
            end_ns => end_ns.saturating_sub(measure_ns),
        })
        .sum();
    // Transactions are counted as a whole, the kernel counts the measured time.
    let early_ns: u64 = clients().map(ClientSlot::early_ns).sum();
    let unfinished_ns: u64 = clients().map(ClientSlot::unfinished_ns).sum();
    let total = reading::read_total(segment);
    let mut parts = TurnParts::default();
    let accounts = segment.workers().map(|worker| &worker.account);
    accounts
        .filter_map(|account| account.parts())
        .for_each(|one| parts.merge(&one));
    // A run that was ended in its warm-up has used nothing in the measured time.
    let measured = |times: Option<ProcessTimes>| times.filter(|_| clients_ns > 0);
    let cpu = |times: Option<ProcessTimes>| Some(ms(measured(times)?.cpu_ns));
    let run_queue = |times: Option<ProcessTimes>| measured(times)?.run_queue_ns.map(ms);
    RunTimes {
        run_id: header.run_id.load(Relaxed),
        clients_ms: ms(clients_ns),
        busy_ms: (total.busy_ns() - early_ns as f64).max(0.0) / 1e6 + ms(unfinished_ns),
        shell_ms: (total.shell_ns > 0).then(|| ms(total.shell_ns)),
        sessions_cpu_ms: cpu(used.sessions),
        sessions_run_queue_ms: run_queue(used.sessions),
        workers_cpu_ms: cpu(used.workers),
        workers_run_queue_ms: run_queue(used.workers),
        coordinator_cpu_ms: cpu(used.coordinator),
        coordinator_run_queue_ms: run_queue(used.coordinator),
        timed_transactions: parts.turns as i64,
        timed_plan_ms: ms(parts.plan_ns),
        timed_executor_ms: ms(parts.executor_ns),
        timed_commit_ms: ms(parts.commit_ns),
        timed_session_ms: ms(parts.session_ns),
        timed_harness_ms: ms(parts.harness_ns),
        timed_others_ms: ms(parts.others_ns),
        timed_run_queue_ms: ms(parts.run_queue_ns),
    }
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
