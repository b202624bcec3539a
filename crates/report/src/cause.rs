//! Likely causes of a change of a series.
//!
//! Whatever differs between the runs before and after a change may be its cause. How likely that is follows from
//! three factors: how much the thing can matter at all, how many of the runs it separates, and whether the runs
//! show the effect that it would have. The factors are judgments, not statistics; only their order is told.

use serde::{Deserialize, Serialize};

/// Least likelihood of a cause that is named.
const LEAST: f64 = 0.15;
/// Others that are at least that likely, as a fraction of the likeliest one, are named with it.
const CLOSE: f64 = 0.7;
/// Factor of a cause whose effect the runs do not show.
const WITHOUT_EFFECT: f64 = 0.2;
/// Share of the wait events whose rise or fall is a full effect.
const FULL_SHARE: f64 = 0.1;
/// Work per transaction whose change by this factor is an effect.
const MUCH: f64 = 1.3;

/// Kind of what differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Aspect {
    /// An option of the runs, or the version of something.
    Option,
    /// A setting of the server.
    Setting,
    /// A fact about the machine.
    Hardware,
    /// A table or index that was there before or after only.
    Relation,
    /// The size of a table or index, in bytes.
    Size,
    /// The share of a wait event in all samples.
    Wait,
    /// A part of the time budget, in microseconds per transaction.
    Budget,
    /// Work per transaction: scans, blocks or bytes.
    Work,
}

/// Difference between the runs before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Kind.
    pub aspect: Aspect,
    /// Name of the setting, relation, wait event or other thing.
    pub name: String,
    /// Value before; `None`: the default of a setting, or nothing of the kind.
    pub before: Option<String>,
    /// Value after.
    pub after: Option<String>,
    /// The value before as a number, of sizes, waits, budgets and work; of an index, its scans per
    /// transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_before: Option<f64>,
    /// The value after as a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number_after: Option<f64>,
    /// Share of the runs that the difference separates, 0 to 1.
    #[serde(default = "all", skip_serializing)]
    pub agreement: f64,
}

fn all() -> f64 {
    1.0
}

impl Difference {
    /// The numbers before and after; 0 for those that are not known.
    fn numbers(&self) -> (f64, f64) {
        let number = |number: Option<f64>| number.unwrap_or(0.0);
        (number(self.number_before), number(self.number_after))
    }

    /// Whether it may be a cause. Waits, budgets and work are effects.
    fn is_candidate(&self) -> bool {
        !matches!(self.aspect, Aspect::Wait | Aspect::Budget | Aspect::Work)
    }
}

/// The likely cause of a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Cause {
    /// The cause in a sentence, or `unknown`.
    pub cause: String,
    /// All that differs, the likeliest cause first, then effects.
    pub differences: Vec<Difference>,
}

impl Cause {
    /// The cause of a change of the time per transaction by that ratio.
    pub fn of(time_ratio: f64, mut differences: Vec<Difference>) -> Cause {
        let effects: Vec<Difference> = differences
            .iter()
            .filter(|difference| !difference.is_candidate())
            .cloned()
            .collect();
        let likelihood = |difference: &Difference| likelihood(difference, time_ratio, &effects);
        differences.sort_by(|a, b| likelihood(b).total_cmp(&likelihood(a)));
        let most = differences.first().map_or(0.0, likelihood);
        let named: Vec<String> = differences
            .iter()
            .take_while(|difference| likelihood(difference) >= (CLOSE * most).max(LEAST))
            .map(|difference| sentence(difference, &effects))
            .collect();
        Cause {
            cause: match named.is_empty() {
                true => "unknown".into(),
                false => named.join("; or "),
            },
            differences,
        }
    }
}

/// Effect that a cause would have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// Writing and flushing WAL takes another time.
    Commit,
    /// Other plans: tables are scanned in another way.
    Plans,
    /// Other use of memory: temporary files.
    Memory,
    /// Other blocks are read from outside of shared buffers.
    Reads,
    /// None that could be told from others.
    Any,
}

/// Weight of a difference, from 0 to 1, and its effect.
fn prior(difference: &Difference, time_ratio: f64) -> (f64, Effect) {
    match difference.aspect {
        Aspect::Setting => of_setting(&difference.name),
        Aspect::Option => match difference.name.as_str() {
            "extension_version" | "label" | "log" | "per_statement" => (0.5, Effect::Any),
            "server_version" => (0.8, Effect::Any),
            _ => (0.6, Effect::Any),
        },
        Aspect::Hardware => (0.6, Effect::Any),
        Aspect::Relation => match difference.number_before.or(difference.number_after) {
            // An index that was not used, or a table.
            Some(scans) if scans < 0.001 => (0.1, Effect::Plans),
            _ => (1.0, Effect::Plans),
        },
        Aspect::Size => {
            let (before, after) = difference.numbers();
            let explained = (after / before).ln() / time_ratio.ln();
            // Work that is linear in the size explains no more.
            (0.5 * explained.clamp(0.0, 1.0).powi(2), Effect::Any)
        }
        Aspect::Wait | Aspect::Budget | Aspect::Work => (0.0, Effect::Any),
    }
}

/// Settings by the beginnings of their names: how much they can matter, and their effect.
const SETTINGS: [(&str, f64, Effect); 45] = [
    ("log_statement", 0.6, Effect::Any),
    ("log_min_duration", 0.6, Effect::Any),
    ("log_", 0.02, Effect::Any),
    ("application_name", 0.0, Effect::Any),
    ("bonjour", 0.0, Effect::Any),
    ("client_", 0.02, Effect::Any),
    ("cluster_name", 0.0, Effect::Any),
    ("datestyle", 0.02, Effect::Any),
    ("default_text", 0.1, Effect::Any),
    ("event_source", 0.0, Effect::Any),
    ("external_pid", 0.0, Effect::Any),
    ("intervalstyle", 0.02, Effect::Any),
    ("lc_", 0.1, Effect::Any),
    ("listen_addresses", 0.02, Effect::Any),
    ("logging_collector", 0.1, Effect::Any),
    ("port", 0.0, Effect::Any),
    ("syslog", 0.02, Effect::Any),
    ("timezone", 0.02, Effect::Any),
    ("unix_socket", 0.02, Effect::Any),
    ("synchronous_", 1.0, Effect::Commit),
    ("fsync", 1.0, Effect::Commit),
    ("full_page_writes", 0.8, Effect::Commit),
    ("wal_", 0.7, Effect::Commit),
    ("commit_", 0.8, Effect::Commit),
    ("checkpoint_", 0.6, Effect::Commit),
    ("max_wal_size", 0.7, Effect::Commit),
    ("min_wal_size", 0.3, Effect::Commit),
    ("work_mem", 1.0, Effect::Memory),
    ("hash_mem_multiplier", 1.0, Effect::Memory),
    ("temp_", 0.5, Effect::Memory),
    ("shared_buffers", 1.0, Effect::Reads),
    ("effective_io_concurrency", 0.7, Effect::Reads),
    ("huge_pages", 0.6, Effect::Any),
    ("random_page_cost", 1.0, Effect::Plans),
    ("seq_page_cost", 1.0, Effect::Plans),
    ("cpu_", 0.9, Effect::Plans),
    ("effective_cache_size", 0.9, Effect::Plans),
    ("enable_", 1.0, Effect::Plans),
    ("jit", 0.9, Effect::Plans),
    ("geqo", 0.6, Effect::Plans),
    ("plan_cache_mode", 1.0, Effect::Plans),
    ("default_statistics_target", 0.6, Effect::Plans),
    ("max_parallel_workers", 0.9, Effect::Plans),
    ("parallel_", 0.9, Effect::Plans),
    ("min_parallel_", 0.9, Effect::Plans),
];

fn of_setting(name: &str) -> (f64, Effect) {
    let name = name.to_ascii_lowercase();
    let mut known = SETTINGS.iter();
    let known = known.find(|(begin, ..)| name.starts_with(begin));
    known.map_or((0.5, Effect::Any), |(_, prior, effect)| (*prior, *effect))
}

/// Likelihood that a difference is the cause.
fn likelihood(difference: &Difference, time_ratio: f64, effects: &[Difference]) -> f64 {
    let (prior, effect) = prior(difference, time_ratio);
    let seen = match effect {
        Effect::Any => 0.5,
        effect => {
            let strengths = effects.iter().map(|seen| strength(seen, effect));
            strengths.fold(0.0, f64::max)
        }
    };
    prior * difference.agreement * (WITHOUT_EFFECT + (1.0 - WITHOUT_EFFECT) * seen)
}

/// Clarity with which something shows an effect, from 0 to 1.
fn strength(seen: &Difference, effect: Effect) -> f64 {
    let (before, after) = seen.numbers();
    let shows = |is_so: bool| if is_so { 1.0 } else { 0.0 };
    let is_much = |least: f64| {
        let (low, high) = (before.min(after), before.max(after));
        high >= least && high > MUCH * low
    };
    let of_events = |events: &[&str]| {
        let is_one = events.iter().any(|event| seen.name.contains(event));
        if is_one {
            ((after - before).abs() / FULL_SHARE).min(1.0)
        } else {
            0.0
        }
    };
    match (effect, seen.aspect) {
        (Effect::Commit, Aspect::Wait) => of_events(&["WAL", "SyncRep"]),
        (Effect::Commit, Aspect::Work) => shows(seen.name == "WAL bytes" && is_much(100.0)),
        (Effect::Plans, Aspect::Work) => shows(seen.name.contains(" scans of ") && is_much(0.01)),
        (Effect::Memory, Aspect::Wait) => of_events(&["BufFile"]),
        (Effect::Memory, Aspect::Work) => shows(seen.name == "temporary bytes" && is_much(100.0)),
        (Effect::Reads, Aspect::Wait) => of_events(&["DataFileRead"]),
        (Effect::Reads, Aspect::Work) => shows(seen.name == "blocks read" && is_much(0.1)),
        _ => 0.0,
    }
}

/// A difference in words, with the clearest effect of it.
fn sentence(difference: &Difference, effects: &[Difference]) -> String {
    let name = &difference.name;
    let value = |value: &Option<String>| value.clone().unwrap_or("the default".into());
    let changed = format!(
        "changed from {} to {}",
        value(&difference.before),
        value(&difference.after)
    );
    let text = match difference.aspect {
        Aspect::Relation if difference.after.is_none() => format!("{name} is gone"),
        Aspect::Relation => format!("{name} is new"),
        Aspect::Size => format!("{name} {changed} in size"),
        _ => format!("{name} {changed}"),
    };
    let (_, effect) = prior(difference, 1.0);
    // Of effects that are as clear, the first one.
    let clearest = effects
        .iter()
        .rev()
        .map(|seen| (strength(seen, effect), seen))
        .filter(|(strength, _)| *strength > 0.0)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match clearest {
        Some((_, seen)) => {
            let value = |value: &Option<String>| value.clone().unwrap_or("0".into());
            let (before, after) = (value(&seen.before), value(&seen.after));
            let what = match seen.aspect {
                Aspect::Wait => "of the waits",
                _ => "per transaction",
            };
            format!(
                "{text} ({} {what}: {before} before, {after} after)",
                seen.name
            )
        }
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn difference(aspect: Aspect, name: &str, before: &str, after: &str) -> Difference {
        let value = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Difference {
            aspect,
            name: name.into(),
            before: value(before),
            after: value(after),
            number_before: None,
            number_after: None,
            agreement: 1.0,
        }
    }

    fn measured(aspect: Aspect, name: &str, before: f64, after: f64) -> Difference {
        Difference {
            number_before: Some(before),
            number_after: Some(after),
            ..difference(aspect, name, &before.to_string(), &after.to_string())
        }
    }

    /// Changes that slow nothing down by a third.
    fn decoys() -> Vec<Difference> {
        let unused = difference(Aspect::Relation, "index public.unused", "", "16 kB");
        vec![
            difference(Aspect::Setting, "log_line_prefix", "%m", "%t"),
            Difference {
                number_after: Some(0.0),
                ..unused
            },
            measured(Aspect::Size, "table public.accounts", 100e6, 105e6),
        ]
    }

    fn cause(mut differences: Vec<Difference>) -> String {
        differences.splice(0..0, decoys());
        Cause::of(1.3, differences).cause
    }

    #[test]
    fn decoys_are_no_cause() {
        assert_eq!(cause(Vec::new()), "unknown");
        assert_eq!(Cause::of(1.3, Vec::new()).cause, "unknown");
        // Where the time is linear in the size, it is one.
        let found = Cause::of(1.05, decoys()).cause;
        assert!(
            found.starts_with("table public.accounts changed from"),
            "{found}"
        );
    }

    #[test]
    fn a_setting_with_its_effect_is_the_cause() {
        let commit = difference(Aspect::Setting, "synchronous_commit", "off", "on");
        let flush = measured(Aspect::Wait, "IO WALSync", 0.0, 0.6);
        assert_eq!(
            cause(vec![commit, flush]),
            "synchronous_commit changed from off to on (IO WALSync of the waits: 0 before, 0.6 after)"
        );
        let memory = difference(Aspect::Setting, "work_mem", "4MB", "64kB");
        let spilled = measured(Aspect::Work, "temporary bytes", 0.0, 5e6);
        assert!(
            cause(vec![memory, spilled]).starts_with("work_mem changed from 4MB to 64kB (temp")
        );
        let cost = difference(Aspect::Setting, "random_page_cost", "", "100");
        let scans = measured(
            Aspect::Work,
            "sequential scans of public.accounts",
            0.0,
            1.0,
        );
        assert!(
            cause(vec![cost, scans])
                .starts_with("random_page_cost changed from the default to 100 (seq")
        );
    }

    #[test]
    fn an_index_that_was_used_is_the_cause() {
        let index = Difference {
            number_before: Some(1.0),
            ..difference(Aspect::Relation, "index public.by_branch", "2 MB", "")
        };
        let scans = measured(
            Aspect::Work,
            "sequential scans of public.accounts",
            0.0,
            1.0,
        );
        let found = cause(vec![index.clone(), scans]);
        assert!(
            found.starts_with("index public.by_branch is gone (sequential scans of"),
            "{found}"
        );
        // Whatever else changed does not show its effect.
        let memory = difference(Aspect::Setting, "work_mem", "4MB", "8MB");
        let scans = measured(
            Aspect::Work,
            "sequential scans of public.accounts",
            0.0,
            1.0,
        );
        assert!(cause(vec![memory, index, scans]).starts_with("index public.by_branch"));
    }

    #[test]
    fn what_separates_few_of_the_runs_is_less_likely() {
        let early = Difference {
            agreement: 0.2,
            ..difference(Aspect::Setting, "enable_seqscan", "on", "off")
        };
        let exact = difference(Aspect::Setting, "jit", "off", "on");
        let scans = measured(Aspect::Work, "sequential scans of public.a", 0.0, 1.0);
        assert!(cause(vec![early, exact, scans]).starts_with("jit changed"));
    }

    #[test]
    fn causes_that_are_as_likely_are_named_together() {
        let one = difference(Aspect::Hardware, "processors", "4", "2");
        let other = difference(Aspect::Hardware, "memory_bytes", "8", "4");
        let found = Cause::of(2.0, vec![one, other]).cause;
        assert_eq!(
            found,
            "processors changed from 4 to 2; or memory_bytes changed from 8 to 4"
        );
    }
}
