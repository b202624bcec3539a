//! Statements over a libpq connection: sent where they are submitted, answered later.
//!
//! Never waits: the event loop of the worker calls [`LibpqSession::readable`] when the socket has
//! something, and [`LibpqSession::wants_write`] tells it when output is stuck.

use crate::pq::{Connection, Lost, PqResult, Status, TransactionStatus};
use selfbench_client::{Block, Outcome, Session, SqlError};
use selfbench_script::{Protocol, SqlCommand, Variables};
use std::ffi::{CString, c_char};

/// What the connection is busy with.
enum Activity {
    Nothing,
    /// The statement is being prepared; its execution follows.
    Preparing(usize),
    Executing,
}

/// One client's connection.
pub struct LibpqSession {
    connection: Connection,
    protocol: Protocol,
    /// By statement number: its name on the server, once it is prepared there.
    prepared: Vec<Option<CString>>,
    parameters: Parameters,
    activity: Activity,
    failure: Option<SqlError>,
    outcome: Option<Outcome>,
    readable: bool,
    wants_write: bool,
}

/// Parameter values as libpq wants them, in buffers that are used again.
#[derive(Default)]
struct Parameters {
    /// The texts one after the other, each with a zero byte at its end.
    texts: String,
    /// Where each begins; `None` is NULL.
    starts: Vec<Option<usize>>,
    pointers: Vec<*const c_char>,
}

impl Parameters {
    fn fill(&mut self, command: &SqlCommand, variables: &Variables) {
        self.texts.clear();
        self.starts.clear();
        for slot in command.parameters() {
            let start = self.texts.len();
            let is_set = variables.write_text(*slot, &mut self.texts);
            self.texts.push('\0');
            self.starts.push(is_set.then_some(start));
        }
        self.pointers.clear();
        let base = self.texts.as_ptr();
        self.pointers
            .extend(self.starts.iter().map(|start| match start {
                Some(start) => base.wrapping_add(*start).cast::<c_char>(),
                None => std::ptr::null(),
            }));
    }
}

impl LibpqSession {
    /// A session over an established connection, for scripts with that many statements in all.
    pub fn new(connection: Connection, protocol: Protocol, statements: usize) -> Self {
        LibpqSession {
            connection,
            protocol,
            prepared: (0..statements).map(|_| None).collect(),
            parameters: Parameters::default(),
            activity: Activity::Nothing,
            failure: None,
            outcome: None,
            readable: false,
            wants_write: false,
        }
    }

    /// Tells the session that its socket has something to read.
    #[inline]
    pub fn readable(&mut self) {
        self.readable = true;
    }

    /// Whether output waits for the socket to become writable.
    #[inline]
    pub fn wants_write(&self) -> bool {
        self.wants_write
    }

    /// Goes on sending.
    pub fn flush(&mut self) {
        match self.connection.flush() {
            Ok(more) => self.wants_write = more,
            Err(Lost) => self.lose(),
        }
    }

    /// Cancels what the server is executing for this session, if anything.
    pub fn cancel(&self) {
        if !matches!(self.activity, Activity::Nothing) {
            self.connection.cancel();
        }
    }

    fn send(&mut self, activity: Activity, sent: Result<(), Lost>) {
        self.activity = activity;
        match sent {
            Ok(()) => self.flush(),
            Err(Lost) => self.lose(),
        }
    }

    fn lose(&mut self) {
        self.activity = Activity::Nothing;
        self.wants_write = false;
        self.outcome = Some(Outcome::Failed(SqlError {
            sqlstate: String::new(),
            message: self.connection.error_message(),
            lost: true,
        }));
    }

    fn note(&mut self, result: &PqResult) {
        match result.status() {
            Status::Command | Status::Rows => {}
            Status::Copy => {
                self.failure = Some(SqlError {
                    sqlstate: "0A000".into(),
                    message: "COPY is not supported in a script".into(),
                    lost: true,
                });
            }
            Status::Error => {
                // The first error is the cause of the others.
                if self.failure.is_none() {
                    self.failure = Some(SqlError {
                        sqlstate: result.sqlstate().unwrap_or_default(),
                        message: result.error_message(),
                        lost: self.connection.transaction_status() == TransactionStatus::Unknown,
                    });
                }
            }
        }
    }

    fn execute_prepared(&mut self, number: usize) {
        let sent = match &self.prepared[number] {
            Some(name) => self
                .connection
                .send_prepared(name, &self.parameters.pointers),
            None => Err(Lost),
        };
        self.send(Activity::Executing, sent);
    }
}

impl Session for LibpqSession {
    #[inline]
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        self.failure = None;
        self.outcome = None;
        match self.protocol {
            Protocol::Simple => {
                let texts = &mut self.parameters.texts;
                texts.clear();
                command.simple_text(variables, texts);
                let sql = CString::new(std::mem::take(texts)).unwrap_or_default();
                let sent = self.connection.send_query(&sql);
                self.parameters.texts = sql.into_string().unwrap_or_default();
                self.send(Activity::Executing, sent);
            }
            Protocol::Extended => {
                self.parameters.fill(command, variables);
                let sql = CString::new(command.parameterized()).unwrap_or_default();
                let sent = self
                    .connection
                    .send_query_params(&sql, &self.parameters.pointers);
                self.send(Activity::Executing, sent);
            }
            Protocol::Prepared => {
                self.parameters.fill(command, variables);
                let number = command.number;
                if self.prepared[number].is_some() {
                    self.execute_prepared(number);
                } else {
                    let name = CString::new(format!("P_{number}")).unwrap_or_default();
                    let sql = CString::new(command.parameterized()).unwrap_or_default();
                    let sent = self.connection.send_prepare(&name, &sql);
                    self.prepared[number] = Some(name);
                    self.send(Activity::Preparing(number), sent);
                }
            }
        }
    }

    fn submit_rollback(&mut self) {
        self.failure = None;
        self.outcome = None;
        let sent = self.connection.send_query(c"ROLLBACK");
        self.send(Activity::Executing, sent);
    }

    #[inline]
    fn poll(&mut self) -> Option<Outcome> {
        if self.outcome.is_none() && self.readable {
            self.readable = false;
            if self.connection.consume_input().is_err() {
                self.lose();
            }
        }
        while self.outcome.is_none() {
            if matches!(self.activity, Activity::Nothing) || self.connection.is_busy() {
                return None;
            }
            match self.connection.next_result() {
                Some(result) => {
                    self.note(&result);
                    if self.failure.as_ref().is_some_and(|failure| failure.lost) {
                        self.activity = Activity::Nothing;
                        self.outcome = self.failure.take().map(Outcome::Failed);
                    }
                }
                None => match std::mem::replace(&mut self.activity, Activity::Nothing) {
                    Activity::Preparing(number) if self.failure.is_none() => {
                        self.execute_prepared(number);
                    }
                    Activity::Preparing(number) => {
                        self.prepared[number] = None;
                        self.outcome = self.failure.take().map(Outcome::Failed);
                    }
                    _ => {
                        self.outcome = Some(match self.failure.take() {
                            Some(failure) => Outcome::Failed(failure),
                            None => Outcome::Done,
                        });
                    }
                },
            }
        }
        self.outcome.take()
    }

    #[inline]
    fn block(&self) -> Block {
        match self.connection.transaction_status() {
            TransactionStatus::InBlock => Block::Open,
            TransactionStatus::InError => Block::Failed,
            _ => Block::None,
        }
    }
}
