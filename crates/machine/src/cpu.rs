//! Processors.

use crate::Facts;
use crate::files::{Files, field, list_length, text, value_of};
use crate::system::begins_cpu;
use std::collections::BTreeSet;

pub(crate) fn add(files: &impl Files, facts: &mut Facts) {
    if let Some(cpus) = text(files, "/proc/cpuinfo") {
        facts.add("cpu_model", model(&cpus));
        let count = cpus.lines().filter(|line| begins_cpu(line)).count();
        facts.add("cpus", (count > 0).then_some(count));
        facts.add("cpu_cores", distinct(&cpus, &["physical id", "core id"]));
        facts.add("cpu_sockets", distinct(&cpus, &["physical id"]));
        facts.add("cpu_cache", field(&cpus, "cache size"));
    }
    let smt = text(files, "/sys/devices/system/cpu/smt/active");
    let smt = smt.map(|active| if active == "1" { "on" } else { "off" });
    facts.add("cpu_multithreading", smt);
    facts.add("cpu_governor", frequency(files, "scaling_governor"));
    let hertz = |name| {
        let kilohertz: f64 = frequency(files, name)?.parse().ok()?;
        Some(kilohertz / 1000.0)
    };
    facts.add("cpu_max_mhz", hertz("cpuinfo_max_freq"));
    facts.add("cpu_limit_mhz", hertz("scaling_max_freq"));
    let nodes = text(files, "/sys/devices/system/node/online");
    facts.add("numa_nodes", nodes.as_deref().and_then(list_length));
    facts.add(
        "numa_balancing",
        text(files, "/proc/sys/kernel/numa_balancing"),
    );
}

/// ARM has no names, but numbers of the maker and the model.
fn model(cpus: &str) -> Option<String> {
    let named = ["model name", "Processor", "cpu model", "cpu"];
    if let Some(name) = named.iter().find_map(|name| field(cpus, name)) {
        return Some(name.to_owned());
    }
    let (implementer, part) = (field(cpus, "CPU implementer")?, field(cpus, "CPU part")?);
    Some(format!("implementer {implementer}, part {part}"))
}

/// Number of different values of the CPUs in these lines together; `None` if one has none.
fn distinct(cpus: &str, names: &[&str]) -> Option<usize> {
    let mut found = BTreeSet::new();
    for cpu in cpus.split("\n\n").filter(|cpu| cpu.lines().any(begins_cpu)) {
        let values: Option<Vec<_>> = names
            .iter()
            .map(|name| cpu.lines().find_map(|line| value_of(line, name)))
            .collect();
        found.insert(values?);
    }
    (!found.is_empty()).then_some(found.len())
}

/// A property of the first CPU's frequency; usually all have the same.
fn frequency(files: &impl Files, name: &str) -> Option<String> {
    text(
        files,
        &format!("/sys/devices/system/cpu/cpu0/cpufreq/{name}"),
    )
}
