//! The time budget of a run's transactions, from its rows.

use selfbench_model::{Mode, Run, RunTimes};
use selfbench_stats::budget::{self, LatencyPart, Reading, Readings, Waits};
use selfbench_stats::{ProcessTimes, TurnParts};

/// Time budget of a run's transactions; one part without a value if it is not known. `is_observed`
/// says whether the run was to be observed, `times` and `waits` are its observations.
pub fn time_budget(
    run: &Run,
    is_observed: bool,
    times: Option<&RunTimes>,
    waits: Waits,
) -> Vec<LatencyPart> {
    if run.is_in_progress() {
        return budget::unknown("the run is still in progress");
    }
    if !is_observed {
        return budget::unknown("the run was not observed (observe => false)");
    }
    let Some(times) = times else {
        return budget::unknown("the run was not observed until its end");
    };
    let Some(latency_ms) = run.figures.latency.latency_avg_ms else {
        return budget::unknown("no transaction was successful");
    };
    let transactions = run.figures.counts.transactions.max(1) as f64;
    let successful_ms = (latency_ms - run.figures.lag_avg_ms.unwrap_or(0.0)) * transactions;
    let is_libpq = run.mode == Mode::Libpq;
    let reconnects = is_libpq && run.reconnect;
    let not_counted = "the system does not count it";
    let of_sessions = process_times(times.sessions_cpu_ms, times.sessions_run_queue_ms);
    let of_workers = process_times(times.workers_cpu_ms, times.workers_run_queue_ms);
    budget::budget(&Readings {
        in_server: !is_libpq,
        latency_us: latency_ms * 1e3,
        lag_us: run.figures.lag_avg_ms.map(|ms| ms * 1e3),
        sleep_us: run.figures.sleep_avg_ms.unwrap_or(0.0) * 1e3,
        shell_us: times.shell_ms.unwrap_or(0.0) / transactions * 1e3,
        busy_ns: times.busy_ms * 1e6,
        unsuccessful: (1.0 - successful_ms / times.busy_ms).clamp(0.0, 1.0),
        // Between its transactions, such a client has no session that could be sampled.
        clients_ns: 1e6
            * if reconnects {
                times.busy_ms
            } else {
                times.clients_ms
            },
        shares_workers: is_libpq && run.workers < run.clients,
        sessions: match of_sessions {
            Some(of_sessions) => Ok(of_sessions),
            None if run.target.is_some() => Err("the sessions are on another server"),
            None if reconnects => Err("each transaction has its own session"),
            None => Err(not_counted),
        },
        workers: match of_workers {
            Some(_) if reconnects => Err("it includes the time to connect"),
            Some(of_workers) => Ok(of_workers),
            None => Err(not_counted),
        },
        timed: TurnParts {
            turns: times.timed_transactions as u64,
            plan_ns: ns(times.timed_plan_ms),
            executor_ns: ns(times.timed_executor_ms),
            commit_ns: ns(times.timed_commit_ms),
            session_ns: ns(times.timed_session_ms),
            harness_ns: ns(times.timed_harness_ms),
            others_ns: ns(times.timed_others_ms),
            run_queue_ns: ns(times.timed_run_queue_ms),
        },
        waits: sampled(waits),
    })
}

fn sampled(waits: Waits) -> Reading<Waits> {
    match waits.samples {
        0 => Err("waits were not sampled"),
        _ => Ok(waits),
    }
}

fn process_times(cpu_ms: Option<f64>, run_queue_ms: Option<f64>) -> Option<ProcessTimes> {
    Some(ProcessTimes {
        cpu_ns: ns(cpu_ms?),
        run_queue_ns: run_queue_ms.map(ns),
    })
}

fn ns(ms: f64) -> u64 {
    (ms * 1e6).round().max(0.0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use selfbench_model::RunState;

    fn run() -> Run {
        let mut run = Run {
            state: RunState::Finished,
            mode: Mode::Libpq,
            clients: 2,
            workers: 1,
            ..Run::default()
        };
        run.figures.latency.latency_avg_ms = Some(2.0);
        run
    }

    fn times() -> RunTimes {
        RunTimes {
            clients_ms: 20_000.0,
            busy_ms: 20_000.0,
            sessions_cpu_ms: Some(5000.0),
            sessions_run_queue_ms: Some(1000.0),
            workers_cpu_ms: Some(2500.0),
            ..RunTimes::default()
        }
    }

    fn reason(parts: &[LatencyPart], component: &str) -> String {
        let part = parts.iter().find(|part| part.component == component);
        let part = part.unwrap_or_else(|| panic!("no {component} in {parts:#?}"));
        assert_eq!(part.us, None);
        part.measured.clone()
    }

    #[test]
    fn totals_are_divided_among_transactions() {
        let parts = time_budget(&run(), true, Some(&times()), Waits::default());
        let cpu = parts.iter().find(|part| part.component == "server: CPU");
        assert_eq!(cpu.and_then(|part| part.us), Some(500.0));
        assert_eq!(
            reason(&parts, "client worker: run queue"),
            "unknown: the kernel does not count it"
        );
        assert_eq!(
            reason(&parts, "client worker: other clients"),
            "unknown: no round of a client worker was timed"
        );
    }

    #[test]
    fn reasons_are_those_of_the_run() {
        let unknown = |run: Run, times: Option<&RunTimes>| {
            reason(&time_budget(&run, true, times, Waits::default()), "latency")
        };
        let no_times = "unknown: the run was not observed until its end";
        assert_eq!(unknown(run(), None), no_times);
        let unobserved = time_budget(&run(), false, None, Waits::default());
        assert_eq!(
            reason(&unobserved, "latency"),
            "unknown: the run was not observed (observe => false)"
        );
        let mut failed = run();
        failed.figures.latency.latency_avg_ms = None;
        assert_eq!(
            unknown(failed, Some(&times())),
            "unknown: no transaction was successful"
        );
        let running = Run {
            state: RunState::Running,
            ..run()
        };
        assert_eq!(
            unknown(running, None),
            "unknown: the run is still in progress"
        );
        let without_sessions = RunTimes {
            sessions_cpu_ms: None,
            ..times()
        };
        let of = |run: Run| {
            let parts = time_budget(&run, true, Some(&without_sessions), Waits::default());
            reason(&parts, "server: CPU")
        };
        let target = Run {
            target: Some("host=db2".into()),
            ..run()
        };
        assert_eq!(of(target), "unknown: the sessions are on another server");
        let reconnect = Run {
            reconnect: true,
            ..run()
        };
        assert_eq!(
            of(reconnect),
            "unknown: each transaction has its own session"
        );
        assert_eq!(of(run()), "unknown: the system does not count it");
    }
}
