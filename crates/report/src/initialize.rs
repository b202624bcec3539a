//! The notices of initialization during the steps and at the end, in pgbench's words; those of
//! pgio's tables, too.

use crate::number::fixed;
use selfbench_model::InitializeStep;

/// Progress of the generation of a table's rows, without a line end.
///
/// `done` of `total` rows of `table` took `elapsed_seconds`; what remains is extrapolated from
/// that. pgbench names the table from version 17 on (`server_major`).
pub fn progress_line(
    done: u64,
    total: u64,
    table: &str,
    elapsed_seconds: f64,
    server_major: i32,
) -> String {
    let (percent, remaining_seconds) = if done == 0 {
        (0, 0.0)
    } else {
        (
            (u128::from(done) * 100)
                .checked_div(u128::from(total))
                .unwrap_or(100),
            total.saturating_sub(done) as f64 * elapsed_seconds / done as f64,
        )
    };
    let of_table = if server_major >= 17 {
        format!(" of {table}")
    } else {
        String::new()
    };
    format!(
        "{done} of {total} tuples ({percent}%){of_table} done \
         (elapsed {} s, remaining {} s)",
        fixed(elapsed_seconds, 2),
        fixed(remaining_seconds, 2),
    )
}

/// The line that closes initialization: the time of all steps together and of each, in seconds,
/// in the order in which they were done. Names are pgbench's or those of `bench.initialize`.
pub fn closing_line(steps: &[(InitializeStep, f64)], in_pgbench: bool) -> String {
    let total: f64 = steps.iter().map(|(_, seconds)| seconds).sum();
    let each: Vec<String> = steps
        .iter()
        .map(|(step, seconds)| {
            let name = step.name(in_pgbench);
            format!("{name} {} s", fixed(*seconds, 2))
        })
        .collect();
    format!("done in {} s ({}).", fixed(total, 2), each.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_named_from_17_on() {
        let of = |major| progress_line(100_000, 300_000, "pgbench_accounts", 0.5, major);
        assert_eq!(
            of(15),
            "100000 of 300000 tuples (33%) done (elapsed 0.50 s, remaining 1.00 s)"
        );
        assert_eq!(
            of(17),
            "100000 of 300000 tuples (33%) of pgbench_accounts done \
             (elapsed 0.50 s, remaining 1.00 s)"
        );
        assert_eq!(of(16), of(15));
        assert_eq!(of(18), of(17));
    }

    #[test]
    fn progress_copes_with_odd_counts() {
        for (done, total, percent) in [(0, 0, 0), (0, 5, 0), (5, 0, 100), (u64::MAX, u64::MAX, 100)]
        {
            assert_eq!(
                progress_line(done, total, "t", 1.0, 15),
                format!(
                    "{done} of {total} tuples ({percent}%) done (elapsed 1.00 s, remaining 0.00 s)"
                )
            );
        }
    }

    #[test]
    fn the_closing_line_sums_up_the_steps() {
        let steps = [
            (InitializeStep::DropTables, 0.004),
            (InitializeStep::CreateTables, 0.01),
            (InitializeStep::Generate, 0.25),
            (InitializeStep::Vacuum, 0.1),
            (InitializeStep::PrimaryKeys, 0.2),
        ];
        for (in_pgbench, name) in [(false, "generate rows"), (true, "client-side generate")] {
            assert_eq!(
                closing_line(&steps, in_pgbench),
                format!(
                    "done in 0.56 s (drop tables 0.00 s, create tables 0.01 s, \
                     {name} 0.25 s, vacuum 0.10 s, primary keys 0.20 s)."
                )
            );
        }
    }

    #[test]
    fn letters_and_steps_correspond() {
        for letter in "dtgGvpf".chars() {
            assert_eq!(
                InitializeStep::from_letter(letter).and_then(InitializeStep::letter),
                Some(letter)
            );
        }
        assert_eq!(InitializeStep::from_letter('x'), None);
    }
}
