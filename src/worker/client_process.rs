//! The processes that clients run in: background workers and, where those do not suffice, ordinary
//! backends.
//!
//! A server that cannot be restarted has as many worker slots as it has. A backend takes its slot
//! from `max_connections` instead: the coordinator opens a connection to this very server whose
//! only statement is `CALL bench.spi_client(...)`, which drives one SPI client by the same code as
//! a worker does. The connection comes from the server's own operating system user, so that only
//! superusers may have clients in backends.

use super::libpq_client::connect_client;
use crate::error::Result;
use crate::pq::{ConnectWith, Connection, Status};
use crate::shared::process::{WorkerHandle, WorkerStatus};
use rustix::process::{Pid, Signal, kill_process};
use std::cell::RefCell;
use std::ffi::CString;

/// A process that drives clients.
pub enum ClientProcess {
    /// A background worker.
    Worker(WorkerHandle),
    /// A backend, by its connection.
    Backend(Box<Backend>),
}

impl ClientProcess {
    /// Starts a backend that takes a client of the run with that segment.
    pub fn backend(client: usize, with: &ConnectWith, segment: u32) -> Result<ClientProcess> {
        let mut connection = connect_client(client, with)?;
        let call = CString::new(format!("CALL bench.spi_client({segment})")).unwrap_or_default();
        // What is not sent at once is so few bytes that it never happens; a failure shows as the
        // end of the backend.
        let _ = connection.send_query(&call);
        let _ = connection.flush();
        Ok(ClientProcess::Backend(Box::new(Backend {
            connection: RefCell::new(connection),
        })))
    }

    /// Whether the process still drives its clients.
    pub fn status(&self) -> WorkerStatus {
        match self {
            ClientProcess::Worker(worker) => worker.status(),
            ClientProcess::Backend(backend) => backend.status(),
        }
    }

    /// Why a backend that has ended did not do what it was called for.
    pub fn complaint(&self) -> Option<String> {
        match self {
            ClientProcess::Worker(_) => None,
            ClientProcess::Backend(backend) => backend.complaint(),
        }
    }

    /// Asks the process to end.
    pub fn terminate(&self) {
        match self {
            ClientProcess::Worker(worker) => worker.terminate(),
            ClientProcess::Backend(backend) => backend.terminate(),
        }
    }
}

/// A backend.
pub struct Backend {
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
