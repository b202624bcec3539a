//! Lines of a report on the sampled processes of a run, and on those that were not sampled.

use crate::number::{counted, fixed};
use selfbench_model::RunProfile;

/// A line for each kind of process.
pub fn lines(profiles: &[RunProfile]) -> impl Iterator<Item = String> {
    profiles.iter().map(line)
}

fn line(profile: &RunProfile) -> String {
    let processes = counted(profile.processes, &profile.process);
    let cpu = match profile.cpu_ms {
        Some(ms) => format!("{} ms of CPU time", fixed(ms, 0)),
        None => "unknown CPU time".into(),
    };
    if !profile.sampled {
        return format!("profile: {processes} not sampled, {cpu}");
    }
    let mut line = format!(
        "profile: {processes}, {} samples, {cpu}",
        profile.samples.unwrap_or(0)
    );
    if let (Some(cost_ms), Some(cpu_ms)) = (profile.cost_ms, profile.cpu_ms)
        && cpu_ms > 0.0
    {
        let percent = fixed(100.0 * cost_ms / cpu_ms, 2);
        line += &format!(", {percent}% of it for sampling");
    }
    if let Some(incomplete) = profile.incomplete.filter(|incomplete| *incomplete > 0) {
        line += &format!(", {incomplete} stacks without their root");
    }
    if let Some(lost) = profile.lost.filter(|lost| *lost > 0) {
        line += &format!(", {lost} samples lost");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_line() {
        let sampled = RunProfile {
            process: "spi client".into(),
            processes: 2,
            sampled: true,
            cpu_ms: Some(1000.0),
            samples: Some(200),
            incomplete: Some(7),
            lost: Some(3),
            cost_ms: Some(12.5),
            ..RunProfile::default()
        };
        let named = RunProfile {
            process: "parallel worker".into(),
            processes: 1,
            cpu_ms: Some(20.4),
            ..RunProfile::default()
        };
        let idle = RunProfile {
            cpu_ms: Some(0.0),
            samples: Some(0),
            incomplete: Some(0),
            lost: Some(0),
            processes: 1,
            ..sampled.clone()
        };
        let unknown = RunProfile {
            cpu_ms: None,
            ..named.clone()
        };
        let found: Vec<String> = lines(&[sampled, named, idle, unknown]).collect();
        assert_eq!(
            found,
            [
                "profile: 2 spi clients, 200 samples, 1000 ms of CPU time, 1.25% of it for sampling, 7 stacks without their root, 3 samples lost",
                "profile: 1 parallel worker not sampled, 20 ms of CPU time",
                "profile: 1 spi client, 0 samples, 0 ms of CPU time",
                "profile: 1 parallel worker not sampled, unknown CPU time",
            ]
        );
    }
}
