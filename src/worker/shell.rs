//! `\shell` and `\setshell`: running a command line, in a way that a stop request ends.
//!
//! Who may do that is decided elsewhere: see `security`.

use super::check_for_interrupts;
use crate::compat;
use crate::shared::process;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

/// How often it looks whether it is to stop, in milliseconds.
const TICK_MS: i64 = 10;
/// Output beyond that many bytes is thrown away.
const MAX_OUTPUT: usize = 4096;

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
    let Ok(mut child) = spawned else {
        return None;
    };
    let mut pipe = child.stdout.take();
    let mut text = Vec::new();
    loop {
        if stop() || process::interrupted() {
            end(&mut child);
            check_for_interrupts();
            return None;
        }
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

/// Ends a command and whatever it has started.
fn end(child: &mut Child) {
    let group = i32::try_from(child.id())
        .ok()
        .and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.wait();
}
