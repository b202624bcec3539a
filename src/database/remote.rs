//! Statements on a target, one at a time, as if the call blocked.
//!
//! The process waits for its latch and for the socket, so that an interrupt ends any wait. It
//! cancels the statement on the target before it processes the interrupt, because a server that
//! executes a statement does not notice that its client has gone.

use crate::backend::activity;
use crate::backend::events::{self, EventSet};
use crate::backend::interrupts::check_for_interrupts;
use crate::backend::settings::ClientSetting;
use crate::clock;
use crate::error::{Error, Report, Result};
use crate::latch::{self, WaitEvent};
use crate::pq::{
    Cancel, ConnectWith, Connecting, Connection, Lost, PqResult, Status, cancel,
    no_more_connections,
};
use crate::query::quote_literal;
use std::ffi::{CStr, CString};
/// Period of a wait's checks for interrupts, in milliseconds.
const TICK_MS: i64 = 1000;
/// Time that a canceled statement may take to end.
const CANCEL_GRACE_NS: u64 = 1_000_000_000;
/// Period of checks meanwhile, in milliseconds.
const CANCEL_TICK_MS: i64 = 50;
/// COPY data is passed to libpq in pieces of this many bytes.
const COPY_BYTES: usize = 64 * 1024;

/// The remedy for a process that has no other connection.
const RAISE_LIMIT: &str = "raise \"max_files_per_process\" or the system's limit of open files";

/// Why a connection failed.
pub enum NotConnected {
    /// libpq's reason, and its SQLSTATE if one is known.
    Failed(String, Option<String>),
    /// See [`Connecting::NoPassword`].
    NoPassword,
}

/// Connects, processing interrupts meanwhile. `remedy` is the advice if this process has too many
/// connections.
pub fn connect(with: &ConnectWith, remedy: &str) -> Result<Connection, NotConnected> {
    let failed = |message: String| {
        let sqlstate = message.contains("too many clients").then(|| "53300".into());
        NotConnected::Failed(message, sqlstate)
    };
    let Some(mut connection) = Connection::start(with) else {
        return Err(failed(no_more_connections(remedy)));
    };
    if connection.is_bad() {
        return Err(failed(connection.error_message()));
    }
    let end = clock::now_ns().saturating_add(with.timeout_ns());
    let mut waits_for = Connecting::Writing;
    loop {
        check_for_interrupts();
        let write = waits_for == Connecting::Writing;
        let ready =
            events::wait_for_socket(connection.socket(), write, TICK_MS, WaitEvent::Connection);
        if clock::now_ns() > end {
            return Err(failed("timeout expired".into()));
        }
        if !ready {
            continue;
        }
        waits_for = connection.poll_connect();
        match waits_for {
            Connecting::Done => return Ok(connection),
            Connecting::Failed => return Err(failed(connection.error_message())),
            Connecting::NoPassword => return Err(NotConnected::NoPassword),
            Connecting::Reading | Connecting::Writing => {}
        }
    }
}

/// A connection to a target.
pub struct Remote {
    // Closed after the set that its socket is in.
    events: EventSet,
    /// Position of the socket in the set.
    event: i32,
    connection: Connection,
    /// Answer in progress.
    asked: Option<Asked>,
}

/// An answer in progress.
#[derive(Default)]
struct Asked {
    row: Vec<Option<String>>,
    failed: Option<Error>,
}

impl Asked {
    fn add(&mut self, result: &PqResult) {
        match result.status() {
            Status::Error => {
                self.failed.get_or_insert_with(|| failure(result));
            }
            _ => self.row = first_row(result).unwrap_or_else(|| std::mem::take(&mut self.row)),
        }
    }

    fn row(self) -> Result<Vec<Option<String>>> {
        match self.failed {
            Some(error) => Err(error),
            None => Ok(self.row),
        }
    }
}

impl Remote {
    /// Connects to a target.
    pub fn connect(with: &ConnectWith) -> Result<Remote> {
        let connection = connect(with, RAISE_LIMIT).map_err(|error| match error {
            NotConnected::Failed(message, sqlstate) => Error::ConnectTarget { sqlstate, message },
            NotConnected::NoPassword => Error::PasswordNotUsed,
        })?;
        Ok(Remote::over(connection))
    }

    /// Over a connection that has nothing in progress.
    pub fn over(connection: Connection) -> Remote {
        let mut events = EventSet::new(1);
        let event = events.add_socket(connection.socket(), 0);
        Remote {
            events,
            event,
            connection,
            asked: None,
        }
    }

    /// The connection, for other use.
    pub fn into_connection(self) -> Connection {
        self.connection
    }

    /// The connection, for its parameters and the target's version.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Executes SQL and discards its rows.
    pub fn execute(&mut self, sql: &str) -> Result<()> {
        self.first_row(sql).map(drop)
    }

    /// Executes SQL with these parameters and discards its rows.
    pub fn execute_with(&mut self, sql: &CStr, parameters: &[i64]) -> Result<()> {
        let texts = parameters
            .iter()
            .map(|number| CString::new(number.to_string()));
        let texts: Vec<CString> = texts.map(Result::unwrap_or_default).collect();
        let pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
        activity::running(sql);
        self.connection
            .send_query_params(sql, &pointers)
            .map_err(|Lost| self.lost())?;
        self.results(|_| {})
    }

    /// Prepares a statement.
    pub fn prepare(&mut self, name: &CStr, sql: &CStr) -> Result<()> {
        let sent = self.connection.send_prepare(name, sql);
        sent.map_err(|Lost| self.lost())?;
        self.results(|_| {})
    }

    /// Executes a prepared statement without parameters and discards its rows.
    pub fn execute_prepared(&mut self, name: &CStr) -> Result<()> {
        let sent = self.connection.send_prepared(name, &[]);
        sent.map_err(|Lost| self.lost())?;
        self.results(|_| {})
    }

    /// Sets those settings that the session does not have.
    pub fn set<'s>(&mut self, settings: impl IntoIterator<Item = &'s ClientSetting>) -> Result<()> {
        for setting in settings {
            let (name, value) = (quote_literal(&setting.name), quote_literal(&setting.value));
            if self.setting(&name)? != setting.shown {
                self.execute(&format!(
                    "SELECT pg_catalog.set_config({name}, {value}, false)"
                ))?;
            }
        }
        Ok(())
    }

    /// Fails unless the session has these settings.
    pub fn require<'s>(
        &mut self,
        settings: impl IntoIterator<Item = &'s ClientSetting>,
    ) -> Result<()> {
        for setting in settings {
            setting.require(self.setting(&quote_literal(&setting.name))?)?;
        }
        Ok(())
    }

    fn setting(&mut self, literal: &str) -> Result<String> {
        let row = self.first_row(&format!(
            "SELECT pg_catalog.current_setting({literal}, true)"
        ))?;
        Ok(row.into_iter().next().flatten().unwrap_or_default())
    }

    /// Executes SQL; the first row of its last statement that returns any, as texts, empty if there
    /// is none.
    pub fn first_row(&mut self, sql: &str) -> Result<Vec<Option<String>>> {
        self.send(sql)?;
        let mut row = Vec::new();
        self.results(|result| {
            if let Some(first) = first_row(result) {
                row = first;
            }
        })?;
        Ok(row)
    }

    /// Sends SQL and returns immediately; [`answer`](Self::answer) has what becomes of it.
    pub fn ask(&mut self, sql: &str) -> Result<()> {
        self.send(sql)?;
        self.asked = Some(Asked::default());
        self.flush().map(drop)
    }

    /// Returns the result of [`first_row`](Self::first_row) for the SQL that was sent, or `None` if
    /// not all of it has arrived. Does not wait.
    pub fn answer(&mut self) -> Result<Option<Vec<Option<String>>>> {
        self.flush()?;
        self.connection
            .consume_input()
            .map_err(|Lost| self.lost())?;
        while !self.connection.is_busy() {
            let Some(result) = self.take_result()? else {
                activity::idle();
                return self.asked.take().unwrap_or_default().row().map(Some);
            };
            self.asked.get_or_insert_default().add(&result);
        }
        Ok(None)
    }

    /// Executes a COPY from the client. `fill` writes data into the buffer and returns its length,
    /// 0 at the end.
    pub fn copy_in(&mut self, sql: &str, mut fill: impl FnMut(&mut [u8]) -> usize) -> Result<()> {
        self.send(sql)?;
        self.wait_for_result()?;
        match self.connection.next_result() {
            Some(result) if result.status() == Status::Copy => {}
            Some(result) => {
                let failed = failure(&result);
                self.results(|_| {})?;
                return Err(failed);
            }
            None => return Err(self.lost()),
        }
        let mut buffer = vec![0; COPY_BYTES];
        loop {
            let length = fill(&mut buffer);
            if length == 0 {
                break;
            }
            self.queue(|connection| connection.put_copy_data(&buffer[..length]))?;
            // Data that is not sent yet must not accumulate in memory.
            while self.flush()? {
                self.wait()?;
            }
            self.answer_interrupts();
        }
        self.queue(|connection| connection.put_copy_end(None))?;
        self.results(|_| {})
    }

    /// Queues something, when there is room for it.
    fn queue(&mut self, put: impl Fn(&mut Connection) -> Result<bool, Lost>) -> Result<()> {
        while !put(&mut self.connection).map_err(|Lost| self.lost())? {
            self.flush()?;
            self.wait()?;
        }
        Ok(())
    }

    fn send(&mut self, sql: &str) -> Result<()> {
        if self.asked.take().is_some() {
            // An answer that is not needed any more.
            while self.next_result()?.is_some() {}
        }
        let text = CString::new(sql).unwrap_or_default();
        activity::running(&text);
        self.connection
            .send_query(&text)
            .map_err(|Lost| self.lost())
    }

    /// Takes all results of what was sent, and fails with the first error among them.
    fn results(&mut self, mut each: impl FnMut(&PqResult)) -> Result<()> {
        let mut failed = None;
        // A session that a FATAL error has ended says why before the connection is lost.
        while let Some(result) = self
            .next_result()
            .map_err(|lost| failed.take().unwrap_or(lost))?
        {
            match result.status() {
                Status::Error => failed = failed.or_else(|| Some(failure(&result))),
                _ => each(&result),
            }
        }
        activity::idle();
        match failed {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    fn next_result(&mut self) -> Result<Option<PqResult>> {
        self.wait_for_result()?;
        self.take_result()
    }

    fn wait_for_result(&mut self) -> Result<()> {
        while self.flush()? || self.connection.is_busy() {
            self.wait()?;
        }
        Ok(())
    }

    /// The result that has arrived; `None` after the last one. Fails if it is COPY's, which libpq returns again
    /// and again.
    fn take_result(&mut self) -> Result<Option<PqResult>> {
        match self.connection.next_result() {
            Some(result) if result.status() == Status::Copy => {
                Err(Error::Limit("COPY was not expected".into()))
            }
            result => Ok(result),
        }
    }

    /// Sends what can be sent; returns whether something is left.
    fn flush(&mut self) -> Result<bool> {
        let left = self.connection.flush().map_err(|Lost| self.lost())?;
        // libpq closes the socket of a lost connection, and reports the loss when it reads.
        if self.connection.socket() >= 0 {
            self.events.want_write(self.event, left);
        }
        Ok(left)
    }

    /// Waits for the socket or an interrupt, and reads what has arrived.
    fn wait(&mut self) -> Result<()> {
        self.answer_interrupts();
        self.events.wait(TICK_MS).for_each(drop);
        self.answer_interrupts();
        self.connection.consume_input().map_err(|Lost| self.lost())
    }

    /// Processes interrupts. Before one that ends this process or its operation, cancels the
    /// statement on the target.
    fn answer_interrupts(&mut self) {
        if latch::interrupted() {
            self.cancel();
        }
        check_for_interrupts();
    }

    /// Cancels the statement in progress and gives it a moment to end.
    fn cancel(&mut self) {
        let _requests = cancel::in_background(Cancel::of(&self.connection).into_iter().collect());
        let end = clock::now_ns() + CANCEL_GRACE_NS;
        while clock::now_ns() < end {
            let unsent = match self.connection.flush() {
                Ok(unsent) => unsent,
                Err(Lost) => return,
            };
            if unsent || self.connection.is_busy() {
                events::wait_for_socket(
                    self.connection.socket(),
                    unsent,
                    CANCEL_TICK_MS,
                    WaitEvent::Connection,
                );
                if self.connection.consume_input().is_err() {
                    return;
                }
                continue;
            }
            match self.connection.next_result() {
                None => return,
                // The server waits for data and ignores cancel requests.
                Some(result) if result.status() == Status::Copy => {
                    if self.connection.put_copy_end(Some(c"canceled")).is_err() {
                        return;
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn lost(&self) -> Error {
        Report::of_lost_connection(self.connection.error_message()).into()
    }
}

/// The first row of a result, as texts, if it has any.
fn first_row(result: &PqResult) -> Option<Vec<Option<String>>> {
    (result.status() == Status::Rows && result.rows() > 0).then(|| {
        let columns = 0..result.columns();
        let text = |column| {
            let value = result.value(0, column)?;
            Some(String::from_utf8_lossy(value).into_owned())
        };
        columns.map(text).collect()
    })
}

/// The error of a result, as the target reports it.
pub fn failure(result: &PqResult) -> Error {
    match result.sqlstate() {
        Some(sqlstate) => Report {
            sqlstate,
            message: result.primary_message().unwrap_or_default(),
            detail: result.detail(),
            hint: result.hint(),
        },
        // libpq's own error for a lost connection.
        None => Report::of_lost_connection(result.error_message()),
    }
    .into()
}
