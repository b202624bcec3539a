//! File systems and the devices that they are on.

use crate::files::{Files, chosen, text};
use crate::{Fact, Facts};
use std::path::{Path, PathBuf};

/// A mounted file system: a line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Mount {
    /// Numbers of the device, such as `254:0`.
    device: String,
    /// The directory of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// Mount point.
    pub(crate) point: PathBuf,
    /// Options of the mount, such as `rw,relatime`.
    per_mount: String,
    /// Type, such as `ext4`.
    pub(crate) kind: String,
    /// Mounted device, such as `/dev/vda`.
    source: String,
    /// Options of the file system.
    pub(crate) options: String,
}

impl Mount {
    fn read(line: &str) -> Option<Mount> {
        let (first, second) = line.split_once(" - ")?;
        let mut first = first.split(' ').skip(2);
        let mut second = second.split(' ');
        Some(Mount {
            device: first.next()?.to_owned(),
            root: unescaped(first.next()?).into(),
            point: unescaped(first.next()?).into(),
            per_mount: first.next()?.to_owned(),
            kind: second.next()?.to_owned(),
            source: unescaped(second.next()?),
            options: second.next().unwrap_or_default().to_owned(),
        })
    }
}

/// A text in which bytes are written as `\040`.
fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        bytes.extend_from_slice(before.as_bytes());
        let octal = after
            .get(..3)
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        rest = match octal {
            Some(byte) => {
                bytes.push(byte);
                &after[3..]
            }
            None => {
                bytes.push(b'\\');
                after
            }
        };
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All that is mounted; later mounts hide earlier ones at the same place.
pub(crate) fn mounts(files: &impl Files) -> Vec<Mount> {
    let info = text(files, "/proc/self/mountinfo").unwrap_or_default();
    info.lines().filter_map(Mount::read).collect()
}

/// On what file system and device a directory is. Names of facts begin with `prefix`; none of them
/// tells where the directory is.
pub fn storage(files: &impl Files, prefix: &str, directory: &Path) -> Vec<Fact> {
    let mut facts = Facts::default();
    let Some(directory) = files.resolve(directory) else {
        return facts.0;
    };
    let mounts = mounts(files);
    let holding = mounts
        .iter()
        .filter(|mount| directory.starts_with(&mount.point));
    // Of equally long ones, the last.
    let Some(mount) = holding.max_by_key(|mount| mount.point.components().count()) else {
        return facts.0;
    };
    let mut add = |name: &str, value: Option<String>| facts.add(format!("{prefix}_{name}"), value);
    add("file_system", Some(mount.kind.clone()));
    add("mount_options", Some(options(mount)));
    // Of a file system over a network, the server's name is not told.
    add(
        "device",
        Some(mount.source.clone()).filter(|source| source.starts_with("/dev/")),
    );
    let Some(device) = files.resolve(Path::new(&format!("/sys/dev/block/{}", mount.device))) else {
        return facts.0;
    };
    let sectors = |path: &Path| files.text(&path.join("size"))?.parse::<u64>().ok();
    let bytes = sectors(&device).map(|sectors| (sectors * 512).to_string());
    add("device_bytes", bytes);
    // A partition has its disk's queue.
    let disk = match files.text(&device.join("partition")) {
        Some(_) => device.parent().unwrap_or(&device),
        None => &device,
    };
    add("device_model", files.text(&disk.join("device/model")));
    let queue = |name: &str| files.text(&disk.join("queue").join(name));
    let rotational = queue("rotational").map(|flag| if flag == "1" { "yes" } else { "no" });
    add("device_rotational", rotational.map(str::to_owned));
    let scheduler = queue("scheduler");
    add(
        "device_scheduler",
        scheduler.as_deref().and_then(chosen).map(str::to_owned),
    );
    add("device_write_cache", queue("write_cache"));
    facts.0
}

/// The options of a mount and of its file system, each once, without `rw` and without what may tell
/// names: of directories, of the hosts of network file systems, and of users there.
fn options(mount: &Mount) -> String {
    const NAMES: [&str; 5] = ["domain", "name", "secret", "user", "username"];
    let told = |option: &str| {
        let name = option.split('=').next().unwrap_or(option);
        option != "rw" && !option.contains('/') && !name.ends_with("addr") && !NAMES.contains(&name)
    };
    let mut options: Vec<&str> = Vec::new();
    for option in mount.per_mount.split(',').chain(mount.options.split(',')) {
        if told(option) && !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}
