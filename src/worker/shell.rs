//! `\shell` and `\setshell`: running a command line, in a way that a stop request ends.
//!
//! A request to cancel does not end it: it is for statements. Whatever ends the process ends the
//! command, too. Who may run commands is decided elsewhere: see `security`.

use super::check_between_statements;
use crate::compat;
use crate::shared::process;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

/// How often it looks whether it is to stop, in milliseconds.
const TICK_MS: i64 = 10;
/// Output beyond that many bytes is thrown away.
const MAX_OUTPUT: usize = 4096;

/// The process group of the command that runs, else 0; for the exit callback.
static GROUP: AtomicI32 = AtomicI32::new(0);

/// Runs a command line in the system's shell, as the operating system user of the server, until it
/// ends or `stop` says so, and appends its standard output. Gives whether it ended with status 0;
/// `None` if it could not be run or was stopped.
pub fn run(line: &str, output: &mut Vec<u8>, stop: impl Fn() -> bool) -> Option<bool> {
    let spawned = Command::new("/bin/sh")
        .arg("-c")
        .arg(line)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // A group of its own, so that all of it can be ended.
        .process_group(0)
        .spawn();
    let mut running = Running::new(spawned.ok()?);
    let child = &mut running.0;
    let mut pipe = child.stdout.take();
    let mut text = Vec::new();
    loop {
        if stop() {
            return None;
        }
        check_between_statements();
        match &mut pipe {
            Some(open) if compat::wait_for_socket(open.as_raw_fd(), false, TICK_MS) => {
                if !read(open, &mut text) {
                    pipe = None;
                }
                continue;
            }
            Some(_) => {}
            None => process::wait(Duration::from_millis(1)),
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                // What it wrote may not have been read yet.
                while let Some(open) = &mut pipe
                    && compat::wait_for_socket(open.as_raw_fd(), false, 0)
                    && read(open, &mut text)
                {}
                output.append(&mut text);
                return Some(status.success());
            }
            Err(_) => return None,
        }
    }
}

/// Reads what there is; false at the end.
fn read(pipe: &mut ChildStdout, text: &mut Vec<u8>) -> bool {
    let mut buffer = [0; 4096];
    match pipe.read(&mut buffer) {
        Ok(0) | Err(_) => false,
        Ok(length) => {
            let room = MAX_OUTPUT.saturating_sub(text.len()).min(length);
            text.extend_from_slice(&buffer[..room]);
            true
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
        // One that has ended by itself has left what it started in the background.
        if !matches!(self.0.try_wait(), Ok(Some(_))) {
            end();
            let _ = self.0.wait();
        }
        GROUP.store(0, Relaxed);
    }
}

/// Ends the command that runs, if one does, and whatever it has started. For exit callbacks, too.
pub(super) fn end() {
    if let Some(group) = Pid::from_raw(GROUP.load(Relaxed)) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}
