//! The connection of a session, and the state of its socket.

use crate::clock;
use crate::pq::{
    Cancel, ConnectWith, Connecting, Connection, Lost, TransactionStatus, no_more_connections,
};
use std::rc::Rc;

/// One connection after the other, with the state of the socket.
pub(super) struct Link {
    connection: Option<Connection>,
    /// Number of connections so far.
    generation: u64,
    /// Parameters of connections that are made during the run.
    connect_with: Rc<ConnectWith>,
    /// Whether the socket has something to read.
    pub(super) readable: bool,
    /// Whether the socket of a connection that is being made is writable.
    pub(super) writable: bool,
    /// Whether something that was sent waits for the socket to become writable.
    pub(super) wants_write: bool,
    /// When it is too late for the connection that is being made, and whether that has come.
    connect_until_ns: u64,
    expired: bool,
}

impl Link {
    /// Over an established connection; without one until it connects.
    pub(super) fn new(connection: Option<Connection>, connect_with: Rc<ConnectWith>) -> Link {
        Link {
            connection,
            generation: 0,
            connect_with,
            readable: false,
            writable: false,
            wants_write: false,
            connect_until_ns: 0,
            expired: false,
        }
    }

    /// The socket, and a number that changes whenever it may have become another one; `None` if
    /// there is no connection.
    #[inline]
    pub(super) fn socket(&self) -> Option<(u64, i32)> {
        let socket = self.connection.as_ref()?.socket();
        (socket >= 0).then_some((self.generation, socket))
    }

    /// Process id of the server's process behind the connection; 0 if none is known.
    pub(super) fn backend_pid(&self) -> i32 {
        self.connection.as_ref().map_or(0, Connection::backend_pid)
    }

    /// The server that the connection has reached; `None` if there is no connection.
    pub(super) fn address(&self) -> Option<Vec<(&'static str, String)>> {
        self.connection.as_ref().map(Connection::address)
    }

    /// Cancel request for the statement in progress; `None` if there is no connection.
    pub(super) fn cancel(&self) -> Option<Cancel> {
        Cancel::of(self.connection.as_ref()?)
    }

    /// The connection, if there is one.
    #[inline]
    pub(super) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut()
    }

    /// Transaction state as the server last reported it; `None` if there is no connection.
    #[inline]
    pub(super) fn transaction_status(&self) -> Option<TransactionStatus> {
        self.connection.as_ref().map(Connection::transaction_status)
    }

    /// Why the connection is lost.
    pub(super) fn error_message(&self) -> String {
        match &self.connection {
            Some(_) if self.expired => "timeout expired".into(),
            Some(connection) => connection.error_message(),
            None => "there is no connection".into(),
        }
    }

    /// Executes `send` on the connection.
    #[inline]
    pub(super) fn with<T>(
        &mut self,
        send: impl FnOnce(&mut Connection) -> Result<T, Lost>,
    ) -> Result<T, Lost> {
        match &mut self.connection {
            Some(connection) => send(connection),
            None => Err(Lost),
        }
    }

    /// Sends what is queued, as far as the socket takes it.
    #[inline]
    pub(super) fn flush(&mut self) -> Result<(), Lost> {
        self.wants_write = self.with(Connection::flush)?;
        Ok(())
    }

    /// Reads what the socket has, if it has something.
    #[inline]
    pub(super) fn receive(&mut self) -> Result<(), Lost> {
        if std::mem::take(&mut self.readable) {
            self.with(Connection::consume_input)?;
        }
        Ok(())
    }

    /// Begins a new connection.
    ///
    /// # Errors
    /// If this process may open no more of them; the text says so.
    pub(super) fn connect(&mut self) -> Result<&Connection, String> {
        self.connection = Connection::start(&self.connect_with);
        self.generation += 1;
        self.connect_until_ns = clock::now_ns().saturating_add(self.connect_with.timeout_ns());
        self.expired = false;
        self.connection
            .as_ref()
            .ok_or_else(|| no_more_connections("use more jobs and workers"))
    }

    /// Whether it has been too late since now for the connection that is being made.
    pub(super) fn expires(&mut self) -> bool {
        let expires = !self.expired && clock::now_ns() > self.connect_until_ns;
        self.expired |= expires;
        expires
    }

    /// Goes on connecting; unchanged if the socket is not ready.
    pub(super) fn poll_connect(&mut self, waits_for: Connecting) -> Connecting {
        let ready = match waits_for {
            Connecting::Reading => self.readable,
            _ => self.writable,
        };
        if !ready {
            return waits_for;
        }
        (self.readable, self.writable) = (false, false);
        let Some(connection) = &mut self.connection else {
            return Connecting::Failed;
        };
        let before = connection.socket_inode();
        let state = connection.poll_connect();
        // The next host or address gets the descriptor of the one before.
        if matches!(state, Connecting::Reading | Connecting::Writing)
            && connection.socket_inode() != before
        {
            self.generation += 1;
        }
        state
    }

    /// Closes the connection.
    pub(super) fn disconnect(&mut self) {
        self.connection = None;
        (self.readable, self.writable, self.wants_write) = (false, false, false);
    }
}
