//! Termination of sessions on a target, all by one statement over another connection, while this
//! process continues.

use super::remote::Remote;
use crate::backend::events;
use crate::latch::WaitEvent;
use crate::pq::{ConnectWith, Connecting, Connection};

/// Sessions of one target that are being terminated.
pub struct SessionTermination {
    pids: Vec<i32>,
    state: State,
}

enum State {
    Connecting(Connection, Connecting),
    Asked(Remote),
    Over,
}

impl SessionTermination {
    /// Starts to terminate the sessions with these processes.
    pub fn begin(with: &ConnectWith, pids: Vec<i32>) -> SessionTermination {
        let connection = Connection::start(with).filter(|connection| !connection.is_bad());
        let state = connection.map_or(State::Over, |connection| {
            State::Connecting(connection, Connecting::Writing)
        });
        SessionTermination { pids, state }
    }

    /// Continues as far as it can without waiting; returns whether it is over, with or without
    /// success.
    pub fn advance(&mut self) -> bool {
        loop {
            self.state = match std::mem::replace(&mut self.state, State::Over) {
                State::Connecting(mut connection, waits_for) => {
                    let write = waits_for == Connecting::Writing;
                    let socket = connection.socket();
                    if !events::wait_for_socket(socket, write, 0, WaitEvent::Connection) {
                        self.state = State::Connecting(connection, waits_for);
                        return false;
                    }
                    match connection.poll_connect() {
                        Connecting::Done => self.ask(connection),
                        Connecting::Failed | Connecting::NoPassword => State::Over,
                        waits_for => State::Connecting(connection, waits_for),
                    }
                }
                State::Asked(mut remote) => match remote.answer() {
                    Ok(None) => {
                        self.state = State::Asked(remote);
                        return false;
                    }
                    Ok(Some(_)) | Err(_) => State::Over,
                },
                State::Over => return true,
            };
        }
    }

    /// Asks for it. A process ID may be that of another session: a connection pooler invents them, and
    /// an address may stand for several servers. So this connection must have its own process, and
    /// the sessions what they have in common with it.
    fn ask(&self, connection: Connection) -> State {
        let pids: Vec<String> = self.pids.iter().map(i32::to_string).collect();
        let sql = format!(
            "SELECT pg_catalog.count(pg_catalog.pg_terminate_backend(a.pid))::pg_catalog.text
               FROM pg_catalog.pg_stat_activity own, pg_catalog.pg_stat_activity a
              WHERE own.pid OPERATOR(pg_catalog.=) pg_catalog.pg_backend_pid()
                AND own.pid OPERATOR(pg_catalog.=) {}
                AND a.pid OPERATOR(pg_catalog.=) ANY ('{{{}}}'::pg_catalog.int4[])
                AND a.datid OPERATOR(pg_catalog.=) own.datid
                AND a.usesysid OPERATOR(pg_catalog.=) own.usesysid
                AND a.application_name OPERATOR(pg_catalog.=) own.application_name",
            connection.backend_pid(),
            pids.join(",")
        );
        let mut remote = Remote::over(connection);
        match remote.ask(&sql) {
            Ok(()) => State::Asked(remote),
            Err(_) => State::Over,
        }
    }
}
