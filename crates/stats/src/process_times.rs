//! Times of a process on a CPU and waiting for one, as Linux counts them.

use crate::words::words;

words! {
    /// Time on a CPU, user and system, and time on the run queue, ready to run but not running, of
    /// a process or of several, in nanoseconds.
    ///
    /// A sum or difference is known if both sides are.
    #[derive(Eq)]
    pub struct ProcessTimes {
        /// Time on a CPU.
        pub cpu_ns: u64,
        /// Time on the run queue; `None` if the kernel does not count it.
        pub run_queue_ns: Option<u64>,
    }
}

impl ProcessTimes {
    /// Parses the content of `/proc/PID/schedstat`: nanoseconds on a CPU, nanoseconds on the run
    /// queue, and how often the process was given a CPU. The file is that of the process's first
    /// thread, so that it covers a process with a single thread. A kernel that does not count
    /// writes zeros: `None`, as for any other text.
    pub fn from_schedstat(text: &str) -> Option<ProcessTimes> {
        let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
        let mut next = || numbers.next()?.ok();
        let (cpu_ns, run_queue_ns, turns) = (next()?, next()?, next()?);
        (turns > 0 || cpu_ns > 0).then_some(ProcessTimes {
            cpu_ns,
            run_queue_ns: Some(run_queue_ns),
        })
    }

    /// Parses the content of `/proc/PID/stat`, whose CPU times are in ticks of that length; the run
    /// queue stays unknown.
    pub fn from_stat(text: &str, tick_ns: u64) -> Option<ProcessTimes> {
        // The second field is the program's name in parentheses, which may have any characters.
        let (_, fields) = text.rsplit_once(')')?;
        // User and system time are the fields 14 and 15.
        let mut times = fields.split_ascii_whitespace().skip(11);
        let mut next = || times.next()?.parse::<u64>().ok();
        let ticks = next()?.checked_add(next()?)?;
        Some(ProcessTimes {
            cpu_ns: ticks.checked_mul(tick_ns)?,
            run_queue_ns: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn schedstat_has_time_on_a_cpu_and_on_the_run_queue() {
        assert_eq!(
            ProcessTimes::from_schedstat("71290993 38896327 167\n"),
            Some(ProcessTimes {
                cpu_ns: 71_290_993,
                run_queue_ns: Some(38_896_327),
            })
        );
        let idle = ProcessTimes::from_schedstat("100 0 1").unwrap();
        assert_eq!(idle.run_queue_ns, Some(0));
    }

    #[test]
    fn zeros_are_not_a_measurement() {
        for text in ["0 0 0\n", "", "1 2", "a b c", "-1 0 1"] {
            assert_eq!(ProcessTimes::from_schedstat(text), None, "{text:?}");
        }
    }

    #[test]
    fn stat_has_ticks_after_a_name_of_any_characters() {
        let text = "42 (a (b) 7 8) S 1 42 42 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 1 0 5 6 7";
        assert_eq!(
            ProcessTimes::from_stat(text, 10_000_000),
            Some(ProcessTimes {
                cpu_ns: 2_000_000_000,
                run_queue_ns: None,
            })
        );
        assert_eq!(ProcessTimes::from_stat("42 (a) S 1 2", 10_000_000), None);
        assert_eq!(ProcessTimes::from_stat("", 10_000_000), None);
        assert_eq!(ProcessTimes::from_stat(text, u64::MAX), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = ProcessTimes::from_schedstat(&text);
            let _ = ProcessTimes::from_stat(&text, 10_000_000);
        }
    }
}
