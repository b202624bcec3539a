//! The kernel, the operating system, and what they run on.

use crate::Facts;
use crate::files::{Files, field, text, value_of};

pub(crate) fn add(files: &impl Files, facts: &mut Facts) {
    facts.add("kernel", text(files, "/proc/sys/kernel/osrelease"));
    facts.add("architecture", architecture(files));
    facts.add("operating_system", operating_system(files));
    facts.add("hardware", hardware(files));
    facts.add("virtualization", virtualization(files));
    facts.add("container", container(files));
    let clock = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    facts.add("clock_source", text(files, clock));
}

fn architecture(files: &impl Files) -> Option<String> {
    let known = text(files, "/proc/sys/kernel/arch");
    known.or_else(|| Some(std::env::consts::ARCH.into()))
}

/// Such as `Debian GNU/Linux 12 (bookworm)`.
fn operating_system(files: &impl Files) -> Option<String> {
    let release = text(files, "/etc/os-release").or_else(|| text(files, "/usr/lib/os-release"))?;
    let name = release
        .lines()
        .find_map(|line| line.strip_prefix("PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_owned())
}

/// Maker and product as the firmware tells them, such as `Amazon EC2 m7i.large`.
fn hardware(files: &impl Files) -> Option<String> {
    let told = |name| text(files, &format!("/sys/class/dmi/id/{name}"));
    match (told("sys_vendor"), told("product_name")) {
        (Some(vendor), Some(product)) => Some(format!("{vendor} {product}")),
        (vendor, product) => vendor.or(product),
    }
}

/// The hypervisor, `yes` if its name is unknown, or `none`.
fn virtualization(files: &impl Files) -> Option<String> {
    if let Some(kind) = text(files, "/sys/hypervisor/type") {
        return Some(kind);
    }
    let cpus = text(files, "/proc/cpuinfo")?;
    // Only x86 tells.
    let flags = field(&cpus, "flags")?;
    if !flags.split(' ').any(|flag| flag == "hypervisor") {
        return Some("none".into());
    }
    let known = [
        ("QEMU", "kvm"),
        ("KVM", "kvm"),
        ("Amazon EC2", "kvm"),
        ("Google", "kvm"),
        ("OpenStack", "kvm"),
        ("VMware", "vmware"),
        ("Microsoft", "hyper-v"),
        ("innotek", "virtualbox"),
        ("Xen", "xen"),
    ];
    let hardware = hardware(files).unwrap_or_default();
    let name = known
        .iter()
        .find(|(vendor, _)| hardware.contains(vendor))
        .map_or("yes", |(_, name)| name);
    Some(name.into())
}

/// Manager of the container that this process runs in, if that is certain.
fn container(files: &impl Files) -> Option<String> {
    if files.resolve("/.dockerenv".as_ref()).is_some() {
        return Some("docker".into());
    }
    let podman = text(files, "/run/.containerenv")?;
    // Podman's file has the name of its engine, others' may be empty.
    let engine = podman.lines().find_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name == "engine").then(|| value.trim_matches('"').to_owned())
    });
    Some(engine.unwrap_or_else(|| "podman".into()))
}

/// Whether a line of `/proc/cpuinfo` begins the description of another CPU.
pub(crate) fn begins_cpu(line: &str) -> bool {
    value_of(line, "processor").is_some_and(|number| number.parse::<usize>().is_ok())
}
