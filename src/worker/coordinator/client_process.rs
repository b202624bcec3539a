//! The processes that clients run in: background workers and, if there are not enough, ordinary
//! backends. The coordinator starts them, waits for them and ends them.
//!
//! The number of worker slots cannot change without a restart. A backend takes a slot of
//! `max_connections` instead: the coordinator opens a connection to this server whose only
//! statement is `CALL bench_internal.spi_client(...)`, which runs one SPI client by the same code
//! as a worker. The call contains a secret of the run, so that no other session can make it. The
//! connection comes from the server's operating system user, so only superusers may have clients in
//! backends.

use super::logbook::Logbook;
use crate::backend::interrupts::check_for_interrupts;
use crate::backend::process::{WorkerHandle, no_slot};
use crate::clock;
use crate::database::remote;
use crate::error::{Error, Report, Result};
use crate::latch::{self, WaitEvent};
use crate::pq::{ConnectWith, Connection, Status};
use crate::run::{ClientProcess as Wanted, Mode, RunSpec};
use crate::shared::{Segment, Stop, WorkerState};
use crate::worker::clients::libpq_client::connect_client;
use crate::worker::clients::stragglers::STOP_GRACE_NS;
use crate::worker::ending::{self, LiveProcess, Owned, Processes, Termination};
use rustix::process::{Pid, Signal};
use std::cell::RefCell;
use std::ffi::CString;
use std::time::Duration;

/// Time that clients may take to stop when requested, before they are terminated.
const TERMINATE_NS: u64 = 1_500_000_000;
/// Period of checks whether they have exited.
const TICK: Duration = Duration::from_millis(20);

/// The processes of the clients of a run. Drop ends them and waits until they have exited.
pub struct ClientProcesses(Owned<Started>);

struct Started {
    segment: &'static Segment,
    mode: Mode,
    processes: RefCell<Vec<ClientProcess>>,
}

impl Processes for Started {
    fn abandon(&self) {
        self.segment.header().request_stop(Stop::Abandoned);
    }

    fn for_each_live(&self, each: &mut dyn FnMut(LiveProcess)) {
        if let Ok(processes) = self.processes.try_borrow() {
            processes
                .iter()
                .filter_map(ClientProcess::live)
                .for_each(each);
        }
    }
}

impl ClientProcesses {
    /// Starts as many as the run needs.
    pub fn start(segment: &'static Segment, spec: &RunSpec) -> Result<ClientProcesses> {
        let started = ClientProcesses(Owned::new(Started {
            segment,
            mode: spec.run.mode,
            processes: RefCell::new(Vec::with_capacity(spec.workers())),
        }));
        started.0.start_all(spec)?;
        Ok(started)
    }

    /// Number of them that are backends.
    pub fn backends(&self) -> usize {
        self.0
            .processes
            .borrow()
            .iter()
            .filter(|process| matches!(process, ClientProcess::Backend(_)))
            .count()
    }

    /// Waits until all clients wait at the start barrier; fails if one has ended, or the run must
    /// end.
    pub fn wait_until_ready(&self) -> Result<()> {
        let segment = self.0.segment;
        let died = || segment.lost("a client worker");
        loop {
            if segment.header().stop() != Stop::No {
                return Err(Error::Canceled {
                    by: "before it started".into(),
                });
            }
            // An ended process has left its reason in the segment, if it had a place there.
            let ended = self.0.first_ended();
            let mut ready = 0;
            for worker in segment.workers() {
                match worker.state() {
                    WorkerState::Ready => ready += 1,
                    WorkerState::Done | WorkerState::Died => {
                        return Err(match worker.failure() {
                            Some(report) if !report.is_shutdown() => report.into(),
                            _ => died(),
                        });
                    }
                    WorkerState::Absent | WorkerState::Attached => {}
                }
            }
            if ready == self.0.processes.borrow().len() {
                return Ok(());
            }
            if let Some(complaint) = ended {
                return Err(complaint.unwrap_or_else(died));
            }
            check_for_interrupts();
            latch::wait(Duration::from_secs(1), WaitEvent::Workers);
        }
    }

    /// Waits until all have exited. With a request to `stop`, remaining processes are first
    /// requested to stop, then their statements are canceled. Processes that still remain are
    /// terminated, at once if no caller waits for the run any more. Takes what they log meanwhile;
    /// returns the error if that fails.
    pub fn stop(&self, stop: Stop, mut logbook: Option<&mut Logbook>) -> Result<()> {
        let started = &*self.0;
        let segment = started.segment;
        if stop != Stop::No {
            segment.header().request_stop(stop);
        }
        let begin = clock::now_ns();
        let mut signalled = false;
        let mut ending: Option<Termination> = None;
        let mut failed = Ok(());
        while !ending::are_gone(started) {
            let waited = clock::now_ns() - begin;
            if stop != Stop::No {
                segment.workers().for_each(|worker| worker.process.wake());
                // A libpq client worker cancels its clients' statements itself.
                if !signalled && waited > STOP_GRACE_NS && started.mode == Mode::Spi {
                    segment
                        .workers()
                        .filter(|worker| worker.state() < WorkerState::Done)
                        .for_each(|worker| worker.process.signal(Signal::INT));
                    signalled = true;
                }
            }
            match &mut ending {
                None => {
                    let at_once = segment.header().stop() == Stop::Abandoned;
                    if at_once || waited > TERMINATE_NS {
                        ending = Some(Termination::begin(started));
                    }
                }
                Some(ending) => {
                    if ending.is_over(started) {
                        return failed.and(Err(Error::WorkerStays {
                            what: "a client worker".into(),
                        }));
                    }
                }
            }
            // A client that waits for room in the log must not wait any longer.
            if let Some(logbook) = &mut logbook {
                failed = failed.and(logbook.take(segment));
            }
            latch::wait(TICK, WaitEvent::Workers);
        }
        // A backend sends its last statistics when its session ends.
        let mut processes = started.processes.borrow_mut();
        processes.retain(|process| matches!(process, ClientProcess::Worker(_)));
        failed
    }
}

impl Started {
    fn start_all(&self, spec: &RunSpec) -> Result<()> {
        let (function, kind) = match spec.run.mode {
            Mode::Spi => ("pg_selfbench_spi_client_main", "pg_selfbench spi client"),
            Mode::Libpq => (
                "pg_selfbench_libpq_client_main",
                "pg_selfbench libpq client",
            ),
        };
        let handle = self.segment.handle();
        let may_be_backends = spec.run.mode == Mode::Spi && spec.client_process() != Wanted::Worker;
        let mut worker_slots =
            spec.run.mode == Mode::Libpq || spec.client_process() != Wanted::Backend;
        let wanted = spec.workers();
        for index in 0..wanted {
            let worker = if worker_slots {
                WorkerHandle::register(function, kind, &format!("{kind} {index}"), handle)
            } else {
                None
            };
            // Where there is none for one, there is none for those after it.
            worker_slots = worker.is_some();
            let process = match worker {
                Some(worker) => ClientProcess::Worker(worker),
                None if may_be_backends => {
                    ClientProcess::backend(index, &spec.connect_with(), self.segment)?
                }
                // One more for the coordinator.
                None => return Err(no_slot(wanted + 1, index + 1)),
            };
            self.processes.borrow_mut().push(process);
        }
        Ok(())
    }

    /// The error of the first process that has ended, if any.
    fn first_ended(&self) -> Option<Option<Error>> {
        let processes = self.processes.borrow();
        let ended = processes.iter().find(|process| process.live().is_none())?;
        Some(ended.complaint())
    }
}

/// A process that runs clients.
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
        // A message this short is sent at once; a failure shows as the end of the backend.
        let _ = connection.send_query_params(
            c"CALL bench_internal.spi_client($1, $2)",
            &[handle.as_ptr(), secret.as_ptr()],
        );
        let _ = connection.flush();
        Ok(ClientProcess::Backend(Box::new(Backend {
            connection: RefCell::new(connection),
        })))
    }

    /// The process, unless it has ended.
    fn live(&self) -> Option<LiveProcess<'_>> {
        match self {
            ClientProcess::Worker(worker) => LiveProcess::of_worker(worker),
            ClientProcess::Backend(backend) => backend.live(),
        }
    }

    /// The error of a backend that has ended.
    fn complaint(&self) -> Option<Error> {
        match self {
            ClientProcess::Worker(_) => None,
            ClientProcess::Backend(backend) => backend.complaint(),
        }
    }
}

/// A backend.
struct Backend {
    connection: RefCell<Connection>,
}

impl Backend {
    /// The backend remains until its statement has ended.
    fn live(&self) -> Option<LiveProcess<'_>> {
        let mut connection = self.connection.try_borrow_mut().ok()?;
        let is_busy = connection.consume_input().is_ok() && connection.is_busy();
        is_busy.then(|| LiveProcess::Backend(Pid::from_raw(connection.backend_pid())))
    }

    fn complaint(&self) -> Option<Error> {
        let mut connection = self.connection.borrow_mut();
        if connection.is_busy() {
            return None;
        }
        match connection.next_result() {
            Some(result) => (result.status() == Status::Error).then(|| remote::failure(&result)),
            None => Some(Report::of_lost_connection(connection.error_message()).into()),
        }
    }
}
