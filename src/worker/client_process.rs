//! The processes that clients run in: background workers and, where those do not suffice, ordinary
//! backends. How the coordinator starts them, waits for them and sees to it that none is left.
//!
//! A server that cannot be restarted has as many worker slots as it has. A backend takes its slot
//! from `max_connections` instead: the coordinator opens a connection to this very server whose
//! only statement is `CALL bench.spi_client(...)`, which drives one SPI client by the same code as
//! a worker does. A secret of the run goes with the call, so that nobody else can make it. The connection comes from the server's own operating system user, so that only
//! superusers may have clients in backends.

use super::check_for_interrupts;
use super::libpq_client::{STOP_GRACE_NS, connect_client};
use super::logbook::Logbook;
use crate::clock;
use crate::error::{Error, Result};
use crate::pq::{ConnectWith, Connection, Status};
use crate::run::{ClientProcess as Wanted, Mode, RunSpec};
use crate::shared::process::{self, WorkerHandle, WorkerStatus, no_slot};
use crate::shared::segment::{Segment, Stop, WorkerState};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::ffi::CString;
use std::time::Duration;

/// Clients that are asked to stop get that long before they are terminated.
const TERMINATE_NS: u64 = 3_000_000_000;
/// How long to wait for them to be gone.
const EXIT_LIMIT_NS: u64 = 10_000_000_000;
/// How often to look whether they are.
const EXIT_TICK: Duration = Duration::from_millis(50);

/// The processes of the clients of a run.
pub struct ClientProcesses {
    segment: &'static Segment,
    mode: Mode,
    processes: Vec<ClientProcess>,
}

impl ClientProcesses {
    /// Starts as many as the run needs. If that fails, none is left.
    pub fn start(segment: &'static Segment, spec: &RunSpec) -> Result<ClientProcesses> {
        let mut started = ClientProcesses {
            segment,
            mode: spec.mode,
            processes: Vec::with_capacity(spec.workers()),
        };
        match started.start_all(spec) {
            Ok(()) => Ok(started),
            Err(error) => {
                started.stop(Stop::Requested, None)?;
                Err(error)
            }
        }
    }

    fn start_all(&mut self, spec: &RunSpec) -> Result<()> {
        let (function, kind) = match spec.mode {
            Mode::Spi => ("pg_selfbench_spi_client_main", "pg_selfbench spi client"),
            Mode::Libpq => (
                "pg_selfbench_libpq_client_main",
                "pg_selfbench libpq client",
            ),
        };
        let handle = self.segment.handle();
        let may_be_backends = spec.mode == Mode::Spi && spec.client_process != Wanted::Worker;
        let mut worker_slots = spec.mode == Mode::Libpq || spec.client_process != Wanted::Backend;
        let wanted = spec.workers();
        for index in 0..wanted {
            let worker = if worker_slots {
                WorkerHandle::register(function, kind, &format!("{kind} {index}"), handle)
            } else {
                None
            };
            // Where there is none for one, there is none for those after it.
            worker_slots = worker.is_some();
            self.processes.push(match worker {
                Some(worker) => ClientProcess::Worker(worker),
                None if may_be_backends => {
                    ClientProcess::backend(index, &spec.connect_with(), self.segment)?
                }
                // One more for the coordinator.
                None => return Err(no_slot(wanted + 1, index + 1)),
            });
        }
        Ok(())
    }

    /// How many of them are backends.
    pub fn backends(&self) -> usize {
        self.processes
            .iter()
            .filter(|process| matches!(process, ClientProcess::Backend(_)))
            .count()
    }

    /// Waits until all wait at the start barrier; fails if one has ended, or the run is to end.
    pub fn wait_until_ready(&self) -> Result<()> {
        let segment = self.segment;
        loop {
            if segment.header().stop() != Stop::No {
                return Err(Error::Canceled {
                    by: "before it started".into(),
                });
            }
            let mut ready = 0;
            for worker in segment.workers() {
                match worker.state() {
                    WorkerState::Ready => ready += 1,
                    WorkerState::Done | WorkerState::Died => {
                        return Err(match worker.failure() {
                            Some(report) => report.into(),
                            None => died(),
                        });
                    }
                    WorkerState::Absent | WorkerState::Attached => {}
                }
            }
            if ready == self.processes.len() {
                return Ok(());
            }
            // One that ended before it had a place in the segment.
            let ended = self
                .processes
                .iter()
                .find(|process| process.status() == WorkerStatus::Stopped);
            if let Some(ended) = ended
                && !segment
                    .workers()
                    .any(|worker| worker.state() >= WorkerState::Done)
            {
                return Err(match ended.complaint() {
                    Some(message) => Error::Connect {
                        client: 0,
                        sqlstate: None,
                        message,
                    },
                    None => died(),
                });
            }
            check_for_interrupts();
            process::wait(Duration::from_secs(1));
        }
    }

    /// Waits until all are gone. With a request to `stop`, those that have not ended are asked,
    /// then have their statement cancelled; in any case they are terminated in the end. What they
    /// log meanwhile is taken.
    pub fn stop(&self, stop: Stop, mut logbook: Option<&mut Logbook>) -> Result<()> {
        let segment = self.segment;
        if stop != Stop::No {
            segment.header().request_stop(stop);
        }
        let begin = clock::now_ns();
        let mut signalled = false;
        let mut terminated = false;
        loop {
            if self
                .processes
                .iter()
                .all(|process| process.status() == WorkerStatus::Stopped)
            {
                return Ok(());
            }
            let waited = clock::now_ns() - begin;
            if stop != Stop::No {
                for worker in segment.workers() {
                    worker.process.wake();
                }
                // A libpq client worker cancels its clients' statements itself.
                if !signalled && waited > STOP_GRACE_NS && self.mode == Mode::Spi {
                    segment
                        .workers()
                        .filter(|worker| worker.state() < WorkerState::Done)
                        .for_each(|worker| worker.process.signal(Signal::INT));
                    signalled = true;
                }
            }
            if !terminated && waited > TERMINATE_NS {
                self.processes.iter().for_each(ClientProcess::terminate);
                terminated = true;
            }
            // A client that waits for room in the log must not wait for longer.
            if let Some(logbook) = &mut logbook {
                logbook.drain(segment)?;
            }
            if waited > EXIT_LIMIT_NS {
                return Err(Error::WorkerStays {
                    what: "a client worker".into(),
                });
            }
            process::wait(EXIT_TICK);
        }
    }
}

fn died() -> Error {
    Error::WorkerDied {
        what: "a client worker".into(),
    }
}

/// A process that drives clients.
enum ClientProcess {
    /// A background worker.
    Worker(WorkerHandle),
    /// A backend, by its connection.
    Backend(Box<Backend>),
}

impl ClientProcess {
    /// Starts a backend that takes a client of the run with that segment.
    fn backend(client: usize, with: &ConnectWith, segment: &Segment) -> Result<ClientProcess> {
        let mut connection = connect_client(client, with, "use fewer clients")?;
        // Parameters, so that pg_stat_activity does not show the secret.
        let parameter = |number: i64| CString::new(number.to_string()).unwrap_or_default();
        let handle = parameter(i64::from(segment.handle()));
        let secret = parameter(segment.header().secret as i64);
        // What is not sent at once is so few bytes that it never happens; a failure shows as the
        // end of the backend.
        let _ = connection.send_query_params(
            c"CALL bench.spi_client($1, $2)",
            &[handle.as_ptr(), secret.as_ptr()],
        );
        let _ = connection.flush();
        Ok(ClientProcess::Backend(Box::new(Backend {
            connection: RefCell::new(connection),
        })))
    }

    /// Whether the process still drives its clients.
    fn status(&self) -> WorkerStatus {
        match self {
            ClientProcess::Worker(worker) => worker.status(),
            ClientProcess::Backend(backend) => backend.status(),
        }
    }

    /// Why a backend that has ended did not do what it was called for.
    fn complaint(&self) -> Option<String> {
        match self {
            ClientProcess::Worker(_) => None,
            ClientProcess::Backend(backend) => backend.complaint(),
        }
    }

    /// Asks the process to end.
    fn terminate(&self) {
        match self {
            ClientProcess::Worker(worker) => worker.terminate(),
            ClientProcess::Backend(backend) => backend.terminate(),
        }
    }
}

/// A backend.
struct Backend {
    connection: RefCell<Connection>,
}

impl Backend {
    fn status(&self) -> WorkerStatus {
        let mut connection = self.connection.borrow_mut();
        if connection.consume_input().is_ok() && connection.is_busy() {
            WorkerStatus::Alive
        } else {
            WorkerStatus::Stopped
        }
    }

    fn complaint(&self) -> Option<String> {
        let mut connection = self.connection.borrow_mut();
        if connection.is_busy() {
            return None;
        }
        match connection.next_result() {
            Some(result) if result.status() == Status::Error => Some(result.error_message()),
            Some(_) => None,
            None => Some(connection.error_message()),
        }
    }

    fn terminate(&self) {
        if let Some(pid) = Pid::from_raw(self.connection.borrow().backend_pid()) {
            let _ = kill_process(pid, Signal::TERM);
        }
    }
}
