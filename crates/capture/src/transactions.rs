//! Statements grouped into transactions. pg_stat_statements does not know which statements were executed in
//! one transaction; from numbers of calls, transactions and blocks follows how many were on average.

/// Frequency of a statement.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    /// Calls.
    pub calls: f64,
    /// Whether it only reads.
    pub reads: bool,
    /// Identification of its row: a number that statements have in common which identify a row by the same
    /// columns of a table. `None` if it finds its rows otherwise.
    pub row: Option<usize>,
}

/// Statements in a script that are executed one after the other, on one row if there are several.
#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    /// Their positions among the statements.
    pub statements: Vec<usize>,
    /// Mean number of executions in a transaction.
    pub times: f64,
}

/// Scripts for statements.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Statements that are transactions of their own, with the number of these.
    pub single: Vec<(usize, f64)>,
    /// Statements of a transaction block.
    pub block: Vec<Share>,
    /// Number of transactions that are such blocks.
    pub blocks: f64,
}

/// A smaller share of transactions is not distinguished from none: the counters are not read at the same
/// moment.
const NOISE: f64 = 0.05;
/// A mean that is that close to a whole number is taken for it.
const NEARLY_WHOLE: f64 = 0.02;
/// Longer transactions are not taken for usual ones.
pub const MOST_STATEMENTS: f64 = 100.0;
/// The most executions of a statement in a transaction.
const MOST_TIMES: f64 = 100.0;

/// The number of commits in a window of that many seconds. Sessions report them up to a second late; if that
/// explains the difference to the calls of a statement, it is their number.
pub fn settled_commits(commits: f64, seconds: f64, calls: impl Iterator<Item = f64>) -> f64 {
    let distance = |calls: &f64| (calls - commits).abs();
    calls
        .filter(|calls| distance(calls) * seconds <= commits)
        .min_by(|a, b| distance(a).total_cmp(&distance(b)))
        .unwrap_or(commits)
}

/// Arranges statements in as many transactions as there were commits for them. `begins` is the number of
/// transaction blocks, if it is known.
pub fn arrange(statements: &[Rates], commits: f64, begins: Option<f64>) -> Plan {
    let sum = |reads: bool| -> f64 {
        let which = statements.iter().filter(|s| s.reads == reads);
        which.map(|s| s.calls).sum()
    };
    let (reads, writes) = (sum(true), sum(false));
    let partners = partners(statements);
    let partnered: f64 = partners.iter().map(|at| statements[*at].calls).sum();
    let total = reads + writes;
    let commits = commits.clamp(total.min(1.0), total.max(1.0));
    // Transactions of one statement. The server does not count each BEGIN that a client has prepared.
    let is_plausible = |singles: &f64| {
        let blocks = commits - singles;
        blocks >= NOISE * commits && total - singles <= blocks * MOST_STATEMENTS
    };
    let known = begins.map(|begins| (commits - begins).max(0.0));
    let reading = [reads, reads - partnered].into_iter();
    let reading = reading.filter(|singles| writes > 0.0 && commits > *singles);
    let mut candidates = known.into_iter().chain(reading);
    let mut singles = candidates.find(is_plausible).unwrap_or(0.0);
    if singles < NOISE * commits {
        singles = 0.0;
    }
    let mut blocks = commits - singles;
    if total < commits * (1.0 + NOISE) {
        (singles, blocks) = (total, 0.0);
    }
    // Reads that join those that write, as far as there are reads in blocks.
    let mut in_blocks = reads - singles;
    let joins = |at: &usize| {
        let calls = statements[*at].calls;
        let joins = calls * (1.0 - NOISE) <= in_blocks;
        in_blocks -= if joins { calls } else { 0.0 };
        joins
    };
    let joined: Vec<usize> = partners.into_iter().filter(joins).collect();
    let others = reads - joined.iter().map(|at| statements[*at].calls).sum::<f64>();
    let of_reads = if others > 0.0 {
        (singles / others).min(1.0)
    } else {
        0.0
    };
    let rest = (singles - reads).max(0.0);
    let of_writes = if writes > 0.0 {
        (rest / writes).min(1.0)
    } else {
        0.0
    };
    let alone = |at: usize| match statements[at].reads {
        true if joined.contains(&at) => 0.0,
        true => of_reads,
        false => of_writes,
    };
    let most = statements.iter().enumerate();
    let most = most.map(|(at, s)| s.calls * (1.0 - alone(at)));
    blocks = blocks.max(most.fold(0.0, f64::max) / MOST_TIMES);
    let mut plan = Plan {
        single: Vec::new(),
        block: Vec::new(),
        blocks,
    };
    for (statement, s) in statements.iter().enumerate() {
        let single = s.calls * alone(statement);
        if single >= 0.5 {
            plan.single.push((statement, single));
        }
        if blocks > 0.0 && alone(statement) < 1.0 {
            let mut times = (s.calls - single) / blocks;
            let whole = times.round();
            if whole > 0.0 && (times - whole).abs() < NEARLY_WHOLE * whole {
                times = whole;
            }
            plan.block.push(Share {
                statements: vec![statement],
                times,
            });
        }
    }
    plan.block = of_one_row(statements, plan.block);
    if plan.block.is_empty() {
        plan.blocks = 0.0;
    }
    plan
}

/// The reads that are executed as often as a statement that writes: first those of the row that one writes.
fn partners(statements: &[Rates]) -> Vec<usize> {
    let is_partner = |read: &Rates, write: &Rates| {
        !write.reads && (write.calls - read.calls).abs() <= NEARLY_WHOLE * write.calls
    };
    let mut found: Vec<usize> = (0..statements.len())
        .filter(|at| {
            let read = &statements[*at];
            read.reads && statements.iter().any(|write| is_partner(read, write))
        })
        .collect();
    found.sort_by_key(|at| {
        let read = &statements[*at];
        let is_of_row = |write: &Rates| write.row == read.row && is_partner(read, write);
        read.row.is_none() || !statements.iter().any(is_of_row)
    });
    found
}

/// Puts statements together that are executed equally often and identify their row in the same way: first
/// those that write, in the place of the first of them, then those that read what was written.
fn of_one_row(statements: &[Rates], block: Vec<Share>) -> Vec<Share> {
    let of = |share: &Share| statements[share.statements[0]];
    let (reads, writes): (Vec<_>, Vec<_>) = block.into_iter().partition(|share| of(share).reads);
    let mut found: Vec<Share> = Vec::new();
    for share in writes.into_iter().chain(reads) {
        let is_same = |other: &&mut Share| {
            of(&share).row.is_some()
                && of(&share).row == of(other).row
                && (other.times - share.times).abs() <= NEARLY_WHOLE * share.times
        };
        match found.iter_mut().find(is_same) {
            Some(other) => other.statements.extend(share.statements),
            None => found.push(share),
        }
    }
    // Those that only read are first.
    found.sort_by_key(|share| !of(share).reads);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(list: &[(f64, bool)]) -> Vec<Rates> {
        let rates = list.iter();
        rates
            .map(|(calls, reads)| Rates {
                calls: *calls,
                reads: *reads,
                row: None,
            })
            .collect()
    }

    #[test]
    fn blocks_of_equal_statements() {
        let tpcb = rates(&[
            (1000.0, false),
            (1000.0, true),
            (999.0, false),
            (1001.0, false),
        ]);
        for begins in [Some(1000.0), Some(985.0), Some(2.0), None] {
            let plan = arrange(&tpcb, 1007.0, begins);
            assert!(plan.single.is_empty(), "{plan:?}");
            assert!(
                plan.block.iter().all(|share| share.times == 1.0),
                "{plan:?}"
            );
        }
    }

    #[test]
    fn commits_that_are_reported_late() {
        let commits =
            |seconds| settled_commits(1100.0, seconds, [5000.0, 1000.0, 1004.0].into_iter());
        assert_eq!(commits(4.0), 1004.0);
        assert_eq!(commits(300.0), 1100.0);
    }

    #[test]
    fn single_statements() {
        let reads = rates(&[(700.0, true), (300.0, true)]);
        let plan = arrange(&reads, 1000.0, Some(0.0));
        assert_eq!(plan.single, [(0, 700.0), (1, 300.0)]);
        assert!(plan.block.is_empty() && plan.blocks == 0.0);
        // Commits of others.
        assert_eq!(arrange(&reads, 5000.0, None).single, plan.single);
    }

    #[test]
    fn reads_stay_single_as_far_as_there_are_transactions() {
        let mixed = rates(&[(800.0, true), (200.0, false), (200.0, false)]);
        let plan = arrange(&mixed, 1000.0, Some(200.0));
        assert_eq!(plan.single, [(0, 800.0)]);
        assert!(plan.block.iter().all(|share| share.times == 1.0) && plan.block.len() == 2);
        let plan = arrange(&mixed, 600.0, Some(200.0));
        assert_eq!(plan.single, [(0, 400.0)]);
        assert_eq!(plan.block[0].times, 2.0);
        // Without the number of blocks.
        assert_eq!(arrange(&mixed, 1000.0, None).single, [(0, 800.0)]);
    }

    #[test]
    fn reads_join_what_writes_as_often() {
        // A read and a write of one block, beside single reads.
        let mixed = rates(&[(5000.0, true), (1000.0, true), (1001.0, false)]);
        for begins in [Some(1000.0), None] {
            let plan = arrange(&mixed, 6003.0, begins);
            assert_eq!(plan.single.len(), 1, "{plan:?}");
            assert!((plan.single[0].1 - 5000.0).abs() < 10.0, "{plan:?}");
            assert_eq!(plan.block.len(), 2, "{plan:?}");
            assert!(plan.block.iter().all(|s| s.times == 1.0), "{plan:?}");
        }
        // No more than there are in blocks: that of the same row.
        let with_row = |calls, reads, row| Rates { calls, reads, row };
        let two = [
            with_row(1000.0, true, None),
            with_row(1000.0, true, Some(3)),
            with_row(1000.0, false, Some(3)),
        ];
        let plan = arrange(&two, 2000.0, Some(1000.0));
        assert_eq!(plan.single, [(0, 1000.0)]);
        assert_eq!(plan.block[0].statements, [2, 1]);
        // None where there are no blocks.
        assert_eq!(arrange(&mixed, 7001.0, Some(0.0)).single.len(), 3);
    }

    #[test]
    fn statements_of_one_row() {
        let with_row = |calls, reads, row| Rates { calls, reads, row };
        let statements = [
            with_row(1000.0, true, Some(7)),
            with_row(1000.0, true, Some(8)),
            with_row(3000.0, true, Some(8)),
            with_row(1000.0, true, None),
            with_row(995.0, false, Some(9)),
            with_row(1000.0, false, Some(7)),
            with_row(1000.0, false, None),
            with_row(1000.0, false, Some(7)),
        ];
        let plan = arrange(&statements, 1000.0, Some(1000.0));
        let shares: Vec<_> = plan.block.iter().map(|s| s.statements.clone()).collect();
        let expected: [&[usize]; 6] = [&[1], &[2], &[3], &[4], &[5, 7, 0], &[6]];
        assert_eq!(shares, expected);
        assert_eq!(plan.block[1].times, 3.0);
    }

    #[test]
    fn nothing_is_lost() {
        let mixed = rates(&[(8000.0, true), (3.0, false), (0.0, true), (17.0, false)]);
        for commits in [0.0, 1.0, 50.0, 4000.0, 1e9] {
            for begins in [None, Some(0.0), Some(40.0), Some(1e9)] {
                let plan = arrange(&mixed, commits, begins);
                let of_block = plan.block.iter().map(|share| share.times * plan.blocks);
                let all = of_block
                    .chain(plan.single.iter().map(|(_, calls)| *calls))
                    .sum::<f64>();
                assert!(
                    (all - 8020.0).abs() < 170.0,
                    "{commits} {begins:?} {plan:?}"
                );
                assert!(plan.block.iter().all(|share| share.times <= MOST_TIMES));
            }
        }
    }
}
