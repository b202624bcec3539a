//! Findings from the figures of a run itself.

use super::Finding;
use crate::number::counted;
use selfbench_model::{
    Evidence, HIDDEN_SESSIONS, Run, RunCheck, RunClient, RunRecord, RunScript, RunState,
    RunStatement, Waited,
};
use selfbench_stats::{buckets, summary};

/// Shorter runs say more about their beginning than about anything else.
pub(super) const SHORT_SECONDS: f64 = 10.0;
/// Fewer transactions have no percentiles to speak of.
const FEW_TRANSACTIONS: u64 = 100;
/// More transactions in a hundred that did not succeed are not an accident.
const LOST_PERCENT: f64 = 1.0;
/// Rates that are missed by less are not worth a word.
const MISSED_SHARE: f64 = 0.01;
/// Arrivals are random: their number deviates by more than this many standard deviations, the square
/// root of it, in one of a thousand runs.
const DEVIATIONS: f64 = 3.0;

/// The only finding about a run that has not ended.
pub(super) fn in_progress(run: &Run) -> Finding {
    Finding::note(
        "the run is still in progress",
        format!("state {}", run.state.name()),
        "Wait for it with bench.wait.",
    )
}

pub(super) fn findings(record: &RunRecord, evidence: &Evidence) -> Vec<Finding> {
    const IN_REPORT: &str = "Check the errors in its report, and repeat the run.";
    let run = &record.run;
    let counts = &run.figures.counts;
    let mut all = Vec::new();
    let ended = match run.state {
        RunState::Canceled => Some(("the run was canceled", IN_REPORT)),
        RunState::Failed => Some(("the run failed", IN_REPORT)),
        // Nothing is stored of why.
        RunState::Lost => Some((
            "the run was lost",
            "Check the server log, and repeat the run.",
        )),
        RunState::Starting | RunState::Running | RunState::Finished => None,
    };
    all.extend(ended.map(|(finding, remedy)| {
        let first = run.errors.first().cloned();
        let evidence = first.unwrap_or_else(|| format!("state {}", run.state.name()));
        Finding::error(finding, evidence, remedy)
    }));
    if run.teardown_due {
        let teardown = run.teardown.as_deref().unwrap_or_default();
        let statement = teardown.trim().lines().next().unwrap_or_default();
        all.push(Finding::warning(
            "the teardown of the run is still due",
            statement.chars().take(100).collect(),
            "Execute it with bench.finish_teardown, or end it with give_up => true: what the setup \
             has changed affects other runs.",
        ));
    }
    if run.aborted_clients > 0 {
        all.push(Finding::error(
            "clients aborted",
            format!("{} of {} clients", run.aborted_clients, run.clients),
            "Check the errors in its report. With continue_on_error, an error ends only the \
             transaction.",
        ));
    }
    all.extend(stalled_clients(run));
    all.extend(unequal_clients(run, &evidence.clients));
    for (finding, count, remedy) in [
        (
            "transactions failed",
            counts.failed(),
            "The figures do not include failed transactions: raise max_tries, or show their \
             errors with verbose_errors.",
        ),
        (
            "transactions were skipped",
            counts.skipped,
            "The server does not keep up with the rate within the latency limit: lower the rate.",
        ),
    ] {
        let percent = summary::percent(count, counts.total());
        if percent > LOST_PERCENT {
            let evidence = format!("{percent:.1}% of the transactions");
            all.push(Finding::warning(finding, evidence, remedy).explains(percent / 100.0));
        }
    }
    all.extend(record.checks.iter().filter_map(of_check));
    all.extend(record.scripts.iter().filter_map(exceeded_limit));
    all.extend(missed_rate(run).map(|missed| match has_too_few_clients(evidence) {
        true => Finding {
            finding: "the rate was missed: too few clients",
            remedy: "All clients were busy, and the server had more to give: use more clients. Latency counts from \
                     the scheduled start, so it includes the delay.",
            ..missed
        },
        false => missed,
    }));
    all.extend(run.unmatched.iter().map(|statement| {
        Finding::warning(
            "a statement matched no row",
            statement.clone(),
            "Check its conditions and the variables in them: a statement that finds nothing is fast, and \
             may not be what was to be measured.",
        )
    }));
    if run.has_hidden_sessions() {
        all.push(Finding::note(
            "waits of sessions were not observed",
            HIDDEN_SESSIONS.trim_start_matches("not observed: ").into(),
            "Nothing is said about locks. Connect to the server itself to see what its sessions wait for. \
             What a transaction waits for a session of a connection pooler in transaction mode is the \
             latency of its first statement: see it with per_statement.",
        ));
        all.extend(
            record
                .statements
                .iter()
                .filter_map(|s| waited_for_pool(record, s)),
        );
    }
    let highest_ms = buckets::HIGHEST_NS as f64 / 1e6;
    if let Some(max_ms) = run.figures.latency.latency_max_ms
        && max_ms > highest_ms
    {
        all.push(Finding::warning(
            "latencies exceed the range of the histogram",
            format!("longest latency {max_ms:.0} ms, range up to {highest_ms:.0} ms"),
            "Percentiles are too low; mean, standard deviation and maximum are exact.",
        ));
    }
    if run.state == RunState::Lost {
        return all;
    }
    if counts.transactions < FEW_TRANSACTIONS {
        all.push(Finding::note(
            "few transactions were measured",
            counted(counts.transactions, "transaction"),
            "Run it for a longer time: percentiles need many transactions.",
        ));
    }
    let seconds = run.seconds.unwrap_or(0.0);
    if seconds < SHORT_SECONDS {
        all.push(Finding::note(
            "the run was short",
            format!("{seconds:.1} s"),
            "Run it for at least 10 s, or longer to include checkpoints and autovacuum.",
        ));
    }
    all
}

/// A condition of the workload that does not hold, or could not be evaluated.
fn of_check(check: &RunCheck) -> Option<Finding> {
    if check.holds == Some(false) {
        return Some(Finding::error(
            "a condition of the workload is violated",
            violation(check),
            "The transactions lost or damaged rows, or the rows were wrong before the run: load the tables \
             again, and call bench.check_workload before the next run.",
        ));
    }
    check.has_failed().then(|| {
        let reason = check.example.as_deref().unwrap_or_default();
        Finding::warning(
            "a condition of the workload was not judged",
            format!("{}: {reason}", check.condition),
            "Remove the reason, and call bench.check_workload.",
        )
    })
}

/// A script whose 90th percentile exceeds the limit of its workload.
fn exceeded_limit(script: &RunScript) -> Option<Finding> {
    let (limit_ms, above_limit) = (script.p90_limit_ms?, script.above_limit?);
    (!script.p90_is_met()?).then(|| {
        Finding::warning(
            "a latency limit of the workload is exceeded",
            format!(
                "{}: {above_limit} of {} transactions took more than {limit_ms} ms, without \\sleep",
                script.description, script.figures.counts.transactions
            ),
            "Use fewer clients, a rate, or larger tables.",
        )
    })
}

/// A violated condition with its rows.
pub(crate) fn violation(check: &RunCheck) -> String {
    let rows = counted(check.violations.unwrap_or(0), "row");
    let example = check.example.iter();
    let example: String = example.map(|row| format!(", such as {row}")).collect();
    format!(
        "{} ({}): {rows}{example}",
        check.condition, check.description
    )
}

/// A statement that does nothing waits if it takes more than that part of the latency, and more than so many
/// times what the fastest other one takes.
const MOST: f64 = 0.5;
const TIMES: f64 = 3.0;

/// Remedy for a connection pooler that has too few sessions.
const SMALL_POOL: &str = "A connection pooler in session mode needs one session more than the run has clients, and \
    lets clients without one wait until others end. For PgBouncer, raise default_pool_size.";

/// Remedy for an error of a connection pooler that has too few sessions; `None` for all others.
pub fn remedy_of_small_pool(error: &str) -> Option<&'static str> {
    let is_told = error == "query_wait_timeout" || error.contains("FATAL:  query_wait_timeout");
    is_told.then_some(SMALL_POOL)
}

/// Clients that waited for nearly the whole run.
pub fn stalled_clients(run: &Run) -> Option<Finding> {
    let remedy = match run.has_hidden_sessions() {
        true => {
            "A connection pooler in session mode needs one session more than the run has clients, and lets \
             clients without one wait until others end. For PgBouncer, raise default_pool_size, or use \
             transaction mode with protocol => 'extended'. If it has enough, look for locks in the target."
        }
        false => "Check what they waited for with bench.top_waits.",
    };
    (run.stalled_clients > 0).then(|| {
        Finding::warning(
            "clients completed hardly any transaction",
            format!(
                "{} of {} clients, at most one each",
                run.stalled_clients, run.clients
            ),
            remedy,
        )
        .explains(f64::from(run.stalled_clients) / f64::from(run.clients))
    })
}

/// A client that completed a smaller fraction of what the luckiest did was unlucky,
const UNLUCKY: f64 = 0.5;
/// if that one completed so many transactions.
const LUCKY: i64 = 100;

/// Clients that completed far fewer transactions than others.
fn unequal_clients(run: &Run, clients: &[RunClient]) -> Option<Finding> {
    let ended = |client: &RunClient| client.transactions + client.failed;
    let most = clients.iter().map(ended).max()?;
    let least = clients.iter().min_by_key(|client| ended(client))?;
    // A schedule gives its starts to whoever is free.
    if run.rate.is_some() || most < LUCKY || ended(least) as f64 >= UNLUCKY * most as f64 {
        return None;
    }
    let all: i64 = clients.iter().map(ended).sum();
    let lost = 1.0 - all as f64 / (most as f64 * clients.len() as f64);
    Some(
        Finding::warning(
            "clients were of unequal luck",
            format!(
                "client {} completed {} transactions, others up to {most}",
                least.client_no,
                ended(least)
            ),
            "bench.run_clients has the figures of each client. A mean of all describes none of them: look for what \
             only some of them wait for or execute.",
        )
        .explains(lost),
    )
}

/// More clients get more done if sessions work, or wait for each other, for less of their time.
const WORKING: f64 = 0.5;
const CONTENDED: f64 = 0.3;

/// Whether a run that missed its rate would have reached more with more clients.
fn has_too_few_clients(evidence: &Evidence) -> bool {
    let sum = |is: &dyn Fn(&Waited) -> bool| -> f64 {
        let waits = evidence.waits.iter().filter(|wait| is(wait));
        waits.map(|wait| wait.samples as f64).sum()
    };
    let all = sum(&|wait| !matches!(wait.class.as_str(), "Client" | "Extension"));
    let contended = sum(&|wait| matches!(wait.class.as_str(), "Lock" | "LWLock" | "BufferPin"));
    let working = sum(&|wait| wait.event.is_none());
    working < WORKING * all && contended < CONTENDED * all
}

/// A statement that does nothing, BEGIN, has most of the latency: it waits for a session of the pooler.
fn waited_for_pool(record: &RunRecord, statement: &RunStatement) -> Option<Finding> {
    let mut scripts = record.scripts.iter();
    let script = scripts.find(|script| script.script_no == statement.script_no)?;
    let (all_ms, own_ms) = (
        script.figures.latency.latency_avg_ms?,
        statement.latency.latency_avg_ms?,
    );
    let command = statement.command.trim().to_uppercase();
    let begins = command.starts_with("BEGIN") || command.starts_with("START TRANSACTION");
    let others = record.statements.iter().filter(|other| {
        other.script_no == statement.script_no && other.command_no != statement.command_no
    });
    let fastest_ms = others
        .filter_map(|s| s.latency.latency_avg_ms)
        .reduce(f64::min)?;
    (begins && own_ms > MOST * all_ms && own_ms > TIMES * fastest_ms).then(|| {
        Finding::warning(
            "clients waited for sessions of the connection pooler",
            format!("BEGIN takes {own_ms:.1} of {all_ms:.1} ms"),
            "The pool has fewer sessions than the run has clients. PgBouncer's SHOW POOLS counts who waits; \
             raise default_pool_size, or use fewer clients.",
        )
    })
}

/// A run that missed its rate: too few transactions were begun or skipped.
pub fn missed_rate(run: &Run) -> Option<Finding> {
    let wanted = run.rate?;
    let all = run.seconds.unwrap_or(0.0);
    // The last transactions may end long after the last one was due.
    let seconds = match (run.transactions_per_client, run.duration_s) {
        (None, Some(seconds)) => seconds.min(all),
        _ => all,
    };
    let (due, done) = (wanted * seconds, run.figures.counts.total() as f64);
    // A number of transactions takes until the last client is done, whose schedule was the slowest.
    let variance = match run.transactions_per_client {
        Some(_) => due * f64::from(run.clients),
        None => due,
    };
    let missed = due - done;
    (missed > MISSED_SHARE * due && missed > DEVIATIONS * variance.sqrt()).then(|| {
        Finding::warning(
            "the rate was missed",
            format!(
                "by {:.0}%: {:.1} instead of {wanted:.1} transactions per second",
                100.0 * missed / due,
                done / seconds
            ),
            "The clients did not keep up: use more clients, or a lower rate. Latency counts from \
             the scheduled start, so it includes the delay.",
        )
        .explains(missed / due)
    })
}
