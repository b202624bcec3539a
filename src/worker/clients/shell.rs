//! `\shell` and `\setshell`: runs a command line until it ends or the run is stopped.
//!
//! A cancel request does not end the command, because it applies to statements. The command ends
//! with its process. `security` checks who may run commands.

use crate::backend::events::{self};
use crate::backend::interrupts::check_between_statements;
use crate::latch::{self, WaitEvent};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

/// Period of its checks for a stop request, in milliseconds.
const TICK_MS: i64 = 10;
/// Standard output and standard error beyond this many bytes are discarded.
const MAX_OUTPUT: usize = 4096;

/// The process group of the running command, or 0; for the exit callback.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// Runs a command line in the system's shell, as the operating system user of the server, until it
/// ends or `stop` returns true, and appends what it writes to standard output and standard error.
/// Returns whether it ended with status 0; `None` if it could not be run or was stopped.
pub fn run(
    line: &str,
    output: &mut Vec<u8>,
    errors: &mut Vec<u8>,
    stop: impl Fn() -> bool,
) -> Option<bool> {
    let spawned = Command::new("/bin/sh")
        .arg("-c")
        .arg(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A separate process group, so that the command can be killed with its children.
        .process_group(0)
        .spawn();
    let mut running = Running::new(spawned.ok()?);
    let child = &mut running.0;
    let mut output = Pipe::new(child.stdout.take().map(OwnedFd::from), output);
    let mut errors = Pipe::new(child.stderr.take().map(OwnedFd::from), errors);
    loop {
        if stop() {
            return None;
        }
        check_between_statements();
        // One of them is waited for, and the other looked at.
        let (awaited, other) = match output.is_open() {
            true => (&mut output, &mut errors),
            false => (&mut errors, &mut output),
        };
        if !awaited.is_open() {
            latch::wait(Duration::from_millis(1), WaitEvent::Shell);
        } else {
            awaited.read_one(TICK_MS);
            other.read_one(0);
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                // What is still kept of what the pipes hold: a process that it leaves behind can write for ever. Twice, as
                // this process may be woken instead.
                for _ in 0..2 {
                    output.read_one(0);
                    errors.read_one(0);
                }
                return Some(status.success());
            }
            Err(_) => return None,
        }
    }
}

/// Output stream of a command.
struct Pipe<'t> {
    /// Until its end has been read.
    file: Option<File>,
    text: &'t mut Vec<u8>,
    /// Bytes that are still kept.
    room: usize,
}

impl<'t> Pipe<'t> {
    fn new(descriptor: Option<OwnedFd>, text: &'t mut Vec<u8>) -> Pipe<'t> {
        Pipe {
            file: descriptor.map(File::from),
            text,
            room: MAX_OUTPUT,
        }
    }

    fn is_open(&self) -> bool {
        self.file.is_some()
    }

    /// Reads once, after waiting at most this many milliseconds.
    fn read_one(&mut self, wait_ms: i64) {
        let Some(file) = &mut self.file else {
            return;
        };
        if !events::wait_for_socket(file.as_raw_fd(), false, wait_ms, WaitEvent::Shell) {
            return;
        }
        let mut buffer = [0; MAX_OUTPUT];
        match file.read(&mut buffer) {
            Ok(0) | Err(_) => self.file = None,
            Ok(length) => {
                let kept = self.room.min(length);
                self.text.extend_from_slice(&buffer[..kept]);
                self.room -= kept;
            }
        }
    }
}

/// A command that runs; dropping it ends it.
struct Running(Child);

impl Running {
    fn new(child: Child) -> Running {
        GROUP.store(i32::try_from(child.id()).unwrap_or(0), Relaxed);
        Running(child)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // After a normal exit, background processes of the command continue.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            end();
            let _ = self.0.wait();
        }
        GROUP.store(0, Relaxed);
    }
}

/// Kills the running command, if any, and its process group. May be called in exit callbacks.
pub fn end() {
    if let Some(group) = Pid::from_raw(GROUP.load(Relaxed)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
