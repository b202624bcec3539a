//! The session: what a client submits over a connection, and the outcome of it.

use super::parameters::ParameterTexts;
use super::results::kept;
use crate::error::Error;
use crate::pq::{
    Cancel, ConnectWith, Connecting, Connection, Lost, PqResult, Status, TransactionStatus,
    no_more_connections,
};
use crate::session::usage;
use selfbench_client::{Block, Outcome, QueryResult, Session, SqlError, Usage};
use selfbench_script::{Action, Command, Protocol, SqlCommand, StatementTooLong, Variables};
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::rc::Rc;

/// What the connection is busy with.
enum Activity {
    Nothing,
    /// It is being made, and waits for this.
    Connecting(Connecting),
    /// The statement is being prepared; its execution follows.
    Preparing(usize),
    /// The statement is being prepared; others, then a pipeline follow.
    PreparingPipeline(usize),
    Executing,
    /// The results of a pipeline are awaited, as many syncs among them.
    EndingPipeline(usize),
}

/// One client's connection.
pub struct LibpqSession {
    connection: Option<Connection>,
    /// How many connections there have been.
    generation: u64,
    /// What connections are made with, if they are made during the run.
    connect_with: Rc<ConnectWith>,
    protocol: Protocol,
    /// By statement number: its name on the server, once it is prepared there.
    prepared: Vec<Option<CString>>,
    /// Statements to prepare before a pipeline starts, by number.
    to_prepare: VecDeque<(usize, CString)>,
    parameters: ParameterTexts,
    activity: Activity,
    /// Syncs sent in the open pipeline.
    pipeline: Option<usize>,
    /// Position of the next result among those of the statements sent together.
    query: usize,
    /// Whether results are to be kept.
    store: bool,
    results: Vec<QueryResult>,
    failure: Option<SqlError>,
    outcome: Option<Outcome>,
    readable: bool,
    writable: bool,
    wants_write: bool,
}

impl LibpqSession {
    /// A session for scripts with that many statements in all, over an established connection or,
    /// if there is none, over connections that it makes with these parameters when it is told to.
    pub fn new(
        connection: Option<Connection>,
        connect_with: Rc<ConnectWith>,
        protocol: Protocol,
        statements: usize,
    ) -> Self {
        LibpqSession {
            connection,
            generation: 0,
            connect_with,
            protocol,
            prepared: (0..statements).map(|_| None).collect(),
            to_prepare: VecDeque::new(),
            parameters: ParameterTexts::default(),
            activity: Activity::Nothing,
            pipeline: None,
            query: 0,
            store: false,
            results: Vec::new(),
            failure: None,
            outcome: None,
            readable: false,
            writable: false,
            wants_write: false,
        }
    }

    /// The socket, and a number that changes whenever it may have become another one; `None` if
    /// there is no connection.
    #[inline]
    pub fn socket(&self) -> Option<(u64, i32)> {
        let socket = self.connection.as_ref()?.socket();
        (socket >= 0).then_some((self.generation, socket))
    }

    /// Process id of the server's process behind the connection; 0 if none is known.
    pub fn backend_pid(&self) -> i32 {
        self.connection.as_ref().map_or(0, Connection::backend_pid)
    }

    /// Tells the session that its socket has something to read.
    #[inline]
    pub fn readable(&mut self) {
        self.readable = true;
    }

    /// Tells the session that its socket takes something.
    #[inline]
    pub fn writable(&mut self) {
        if matches!(self.activity, Activity::Connecting(_)) {
            self.writable = true;
        } else {
            self.flush();
        }
    }

    /// Whether something waits for the socket to become writable.
    #[inline]
    pub fn wants_write(&self) -> bool {
        match self.activity {
            Activity::Connecting(waits_for) => waits_for == Connecting::Writing,
            _ => self.wants_write,
        }
    }

    /// What cancels what the server is executing for this session, if anything.
    pub fn cancel(&self) -> Option<Cancel> {
        match (&self.activity, &self.connection) {
            (Activity::Nothing | Activity::Connecting(_), _) | (_, None) => None,
            (_, Some(connection)) => Cancel::of(connection),
        }
    }

    fn flush(&mut self) {
        let flushed = match &mut self.connection {
            Some(connection) => connection.flush(),
            None => Err(Lost),
        };
        match flushed {
            Ok(more) => self.wants_write = more,
            Err(Lost) => self.lose(),
        }
    }

    /// After something was sent: goes on, or keeps the failure for the end of the pipeline.
    #[inline]
    fn sent(&mut self, activity: Activity, sent: Result<(), Lost>) {
        if self.pipeline.is_some() && !matches!(activity, Activity::EndingPipeline(_)) {
            if sent.is_err() && self.failure.is_none() {
                self.failure = Some(self.loss());
            }
            return;
        }
        self.activity = activity;
        match sent {
            Ok(()) => self.flush(),
            Err(Lost) => self.lose(),
        }
    }

    /// Fails what cannot even be sent.
    fn refuse(&mut self, error: &StatementTooLong) {
        let failure = SqlError {
            sqlstate: "54000".into(),
            message: format!("ERROR:  {error}"),
            ..SqlError::default()
        };
        self.failure.get_or_insert(failure);
        if self.pipeline.is_none() {
            self.finish();
        }
    }

    fn loss(&self) -> SqlError {
        SqlError {
            message: match &self.connection {
                Some(connection) => connection.error_message(),
                None => "there is no connection".into(),
            },
            lost: true,
            // The server may have said why before it hung up.
            query: self
                .failure
                .as_ref()
                .map_or(self.query, |first| first.query),
            ..SqlError::default()
        }
    }

    fn lose(&mut self) {
        self.activity = Activity::Nothing;
        self.pipeline = None;
        self.wants_write = false;
        self.outcome = Some(Outcome::Failed(self.loss()));
    }

    /// Forgets what was before, since something new is begun outside of any pipeline.
    #[inline]
    fn begin(&mut self) {
        self.failure = None;
        self.outcome = None;
        self.query = 0;
    }

    /// Executes `send` on the connection.
    #[inline]
    fn with_connection(
        &mut self,
        send: impl FnOnce(&mut Connection, &ParameterTexts) -> Result<(), Lost>,
    ) -> Result<(), Lost> {
        match &mut self.connection {
            Some(connection) => send(connection, &self.parameters),
            None => Err(Lost),
        }
    }

    fn note(&mut self, result: &PqResult) {
        // The result of preparing a statement is none of the statement's.
        let executing = matches!(self.activity, Activity::Executing);
        match result.status() {
            Status::Command | Status::Rows if self.store && executing => {
                self.results.push(kept(result));
            }
            Status::Command | Status::Rows | Status::Sync | Status::Skipped => {}
            Status::Copy => {
                self.failure = Some(SqlError {
                    sqlstate: "0A000".into(),
                    message: "COPY is not supported in a script".into(),
                    lost: true,
                    query: self.query,
                });
            }
            Status::Error => {
                // The first error is the cause of the others.
                if self.failure.is_none() {
                    let lost = self.connection.as_ref().is_none_or(|connection| {
                        connection.transaction_status() == TransactionStatus::Unknown
                    });
                    self.failure = Some(SqlError {
                        sqlstate: result.sqlstate().unwrap_or_default(),
                        message: result.error_message(),
                        lost,
                        query: self.query,
                    });
                }
            }
        }
        if executing {
            self.query += 1;
        }
    }

    /// Sends a statement that is none of the script's.
    fn submit_internal(&mut self, sql: &CStr, store: bool) {
        self.begin();
        self.store = store;
        let sent = self.with_connection(|connection, _| connection.send_query(sql));
        self.sent(Activity::Executing, sent);
    }

    fn execute_prepared(&mut self, number: usize) {
        self.query = 0;
        let sent = match (&self.prepared[number], &mut self.connection) {
            (Some(name), Some(connection)) => {
                connection.send_prepared(name, &self.parameters.pointers)
            }
            _ => Err(Lost),
        };
        self.sent(Activity::Executing, sent);
    }

    /// Sends the order to prepare a statement and takes its name for granted.
    fn prepare(&mut self, number: usize, sql: &CString) -> Result<(), Lost> {
        let name = CString::new(format!("P_{number}")).unwrap_or_default();
        let sent = self.with_connection(|connection, _| connection.send_prepare(&name, sql));
        self.prepared[number] = Some(name);
        sent
    }

    /// Prepares the next statement of the pipeline to come, or starts it.
    fn prepare_pipeline(&mut self) {
        if let Some((number, sql)) = self.to_prepare.pop_front() {
            let sent = self.prepare(number, &sql);
            self.sent(Activity::PreparingPipeline(number), sent);
            return;
        }
        match self.with_connection(|connection, _| connection.enter_pipeline()) {
            Ok(()) => {
                self.pipeline = Some(0);
                self.failure = None;
                self.outcome = Some(Outcome::Done);
            }
            Err(Lost) => self.lose(),
        }
    }

    fn poll_connect(&mut self, waits_for: Connecting) {
        let ready = match waits_for {
            Connecting::Reading => self.readable,
            _ => self.writable,
        };
        if !ready {
            return;
        }
        (self.readable, self.writable) = (false, false);
        let Some(connection) = &mut self.connection else {
            return self.lose();
        };
        let before = connection.socket();
        match connection.poll_connect() {
            Connecting::Done => {
                self.activity = Activity::Nothing;
                self.outcome = Some(Outcome::Done);
            }
            Connecting::Failed => self.lose(),
            Connecting::NoPassword => {
                self.activity = Activity::Nothing;
                let error = Error::PasswordNotUsed.report();
                self.outcome = Some(Outcome::Failed(SqlError {
                    sqlstate: error.sqlstate.clone(),
                    message: error.one_line(),
                    lost: true,
                    query: 0,
                }));
            }
            waits_for @ (Connecting::Reading | Connecting::Writing) => {
                self.activity = Activity::Connecting(waits_for);
                if connection.socket() != before {
                    self.generation += 1;
                }
            }
        }
    }

    /// What the end of a command's results means.
    fn end_of_results(&mut self) {
        match std::mem::replace(&mut self.activity, Activity::Nothing) {
            Activity::Preparing(number) if self.failure.is_none() => self.execute_prepared(number),
            Activity::Preparing(number) => {
                self.prepared[number] = None;
                self.outcome = self.failure.take().map(Outcome::Failed);
            }
            Activity::PreparingPipeline(number) => {
                // Its execution tells the error, if it comes to that.
                if self.failure.take().is_some() {
                    self.prepared[number] = None;
                }
                self.prepare_pipeline();
            }
            _ => self.finish(),
        }
    }

    fn finish(&mut self) {
        self.outcome = Some(match self.failure.take() {
            Some(failure) => Outcome::Failed(failure),
            None => Outcome::Done,
        });
    }

    /// Takes results of a pipeline that is being ended, as far as there are any.
    fn read_pipeline(&mut self, syncs: usize) {
        let mut left = syncs;
        let mut ends = 0;
        while left > 0 {
            let Some(connection) = &mut self.connection else {
                return self.lose();
            };
            if connection.is_busy() {
                self.activity = Activity::EndingPipeline(left);
                return;
            }
            match connection.next_result() {
                Some(result) => {
                    ends = 0;
                    left -= usize::from(result.status() == Status::Sync);
                    self.note(&result);
                    if self.failure.as_ref().is_some_and(|failure| failure.lost) {
                        break;
                    }
                }
                // The end of one statement's results; more come, unless the connection is lost.
                None if ends == 0 => ends = 1,
                None => return self.lose(),
            }
        }
        self.activity = Activity::Nothing;
        self.pipeline = None;
        let lost = self.failure.as_ref().is_some_and(|failure| failure.lost);
        if !lost
            && self
                .with_connection(|connection, _| connection.exit_pipeline())
                .is_err()
        {
            return self.lose();
        }
        self.finish();
    }
}

impl Session for LibpqSession {
    #[inline]
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        if self.pipeline.is_none() {
            self.begin();
            self.store = command.store.is_some();
            if self.store {
                self.results.clear();
            }
        }
        let filled = match self.protocol {
            Protocol::Simple => command.simple_text(variables, &mut self.parameters.texts),
            Protocol::Extended | Protocol::Prepared => self.parameters.fill(command, variables),
        };
        if let Err(error) = filled {
            return self.refuse(&error);
        }
        match self.protocol {
            Protocol::Simple => {
                let texts = &mut self.parameters.texts;
                let sql = CString::new(std::mem::take(texts)).unwrap_or_default();
                let sent = self.with_connection(|connection, _| connection.send_query(&sql));
                self.parameters.texts = sql.into_string().unwrap_or_default();
                self.sent(Activity::Executing, sent);
            }
            Protocol::Extended => {
                let sql = CString::new(command.parameterized()).unwrap_or_default();
                let sent = self.with_connection(|connection, parameters| {
                    connection.send_query_params(&sql, &parameters.pointers)
                });
                self.sent(Activity::Executing, sent);
            }
            Protocol::Prepared => {
                let number = command.number;
                if self.prepared[number].is_some() {
                    self.execute_prepared(number);
                    return;
                }
                let sql = CString::new(command.parameterized()).unwrap_or_default();
                if self.pipeline.is_some() {
                    // It could not be prepared; this tells why, at the end of the pipeline.
                    let sent = self.with_connection(|connection, parameters| {
                        connection.send_query_params(&sql, &parameters.pointers)
                    });
                    self.sent(Activity::Executing, sent);
                } else {
                    let sent = self.prepare(number, &sql);
                    self.sent(Activity::Preparing(number), sent);
                }
            }
        }
    }

    fn submit_rollback(&mut self) {
        self.submit_internal(c"ROLLBACK", false);
    }

    fn submit_begin(&mut self) {
        self.submit_internal(c"BEGIN", false);
    }

    fn submit_commit(&mut self) {
        self.submit_internal(c"COMMIT", false);
    }

    fn submit_usage(&mut self) {
        self.results.clear();
        self.submit_internal(usage::QUERY, true);
    }

    fn usage(&self) -> Option<Usage> {
        usage::of_answer(&self.results)
    }

    #[inline]
    fn poll(&mut self) -> Option<Outcome> {
        if let Activity::Connecting(waits_for) = self.activity {
            self.poll_connect(waits_for);
            return self.outcome.take();
        }
        if self.outcome.is_none() && self.readable {
            self.readable = false;
            let consumed = self.with_connection(|connection, _| connection.consume_input());
            if consumed.is_err() {
                self.lose();
            }
        }
        while self.outcome.is_none() {
            if let Activity::EndingPipeline(syncs) = self.activity {
                self.read_pipeline(syncs);
                break;
            }
            let Some(connection) = &mut self.connection else {
                self.lose();
                break;
            };
            if matches!(self.activity, Activity::Nothing) || connection.is_busy() {
                return None;
            }
            match connection.next_result() {
                Some(result) => {
                    self.note(&result);
                    if self.failure.as_ref().is_some_and(|failure| failure.lost) {
                        self.activity = Activity::Nothing;
                        self.outcome = self.failure.take().map(Outcome::Failed);
                    }
                }
                None => self.end_of_results(),
            }
        }
        self.outcome.take()
    }

    #[inline]
    fn block(&self) -> Block {
        match self.connection.as_ref().map(Connection::transaction_status) {
            Some(TransactionStatus::InBlock) => Block::Open,
            Some(TransactionStatus::InError) => Block::Failed,
            _ => Block::None,
        }
    }

    fn results(&self) -> &[QueryResult] {
        &self.results
    }

    fn start_pipeline(&mut self, commands: &[Command]) {
        self.begin();
        self.store = false;
        self.to_prepare.clear();
        if self.protocol == Protocol::Prepared {
            for command in commands {
                match &command.action {
                    Action::EndPipeline => break,
                    Action::Sql(sql) if self.prepared[sql.number].is_none() => {
                        let text = CString::new(sql.parameterized()).unwrap_or_default();
                        self.to_prepare.push_back((sql.number, text));
                    }
                    _ => {}
                }
            }
        }
        self.prepare_pipeline();
    }

    fn sync_pipeline(&mut self) {
        let sent = self.with_connection(|connection, _| connection.sync_pipeline());
        if let Some(syncs) = &mut self.pipeline {
            *syncs += usize::from(sent.is_ok());
        }
        self.sent(Activity::Executing, sent);
    }

    fn end_pipeline(&mut self) {
        self.sync_pipeline();
        if self.failure.as_ref().is_some_and(|failure| failure.lost) {
            self.pipeline = None;
            self.finish();
            return;
        }
        let syncs = self.pipeline.unwrap_or(0);
        self.sent(Activity::EndingPipeline(syncs), Ok(()));
    }

    fn submit_connect(&mut self) {
        self.disconnect();
        self.begin();
        self.connection = Connection::start(&self.connect_with);
        self.generation += 1;
        match &self.connection {
            None => {
                self.outcome = Some(Outcome::Failed(SqlError {
                    sqlstate: "53000".into(),
                    message: no_more_connections("use more jobs"),
                    lost: true,
                    query: 0,
                }));
            }
            Some(connection) if connection.is_bad() => self.lose(),
            Some(_) => self.activity = Activity::Connecting(Connecting::Writing),
        }
    }

    fn disconnect(&mut self) {
        self.connection = None;
        self.activity = Activity::Nothing;
        self.pipeline = None;
        (self.readable, self.writable, self.wants_write) = (false, false, false);
        self.prepared.fill(None);
    }
}
