//! A client's session over a libpq connection: what the client submits, and its outcome.

use super::answer::{Answer, matched};
use super::link::Link;
use super::parameters::ParameterTexts;
use crate::error::Error;
use crate::pq::{Cancel, ConnectWith, Connecting, Connection, Lost, Status, TransactionStatus};
use crate::session::usage;
use crate::shared::StatementRows;
use crate::shared::effort::SAMPLED;
use selfbench_client::{Block, Outcome, QueryResult, Session, SqlError, Usage};
use selfbench_script::{Action, Command, Protocol, SqlCommand, StatementTooLong, Variables};
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::rc::Rc;

/// Event for which the session waits.
enum Activity {
    /// Nothing; a pipeline may be open.
    Idle,
    /// The connection, in this state.
    Connecting(Connecting),
    /// Preparation of the statement of this number, which is then executed.
    Preparing(usize),
    /// Preparation of the statement of this number; others follow, then a pipeline starts.
    PreparingPipeline(usize),
    /// Results of a statement outside of pipelines.
    Executing,
    /// Results of a pipeline, of which that many syncs are missing.
    EndingPipeline(usize),
}

/// A session over libpq; see [`Session`].
pub struct LibpqSession {
    link: Link,
    protocol: Protocol,
    /// Names of the statements on the server, by number; `None` if it is not prepared there.
    prepared: Vec<Option<CString>>,
    /// Statements to prepare before a pipeline starts, by number.
    to_prepare: VecDeque<(usize, CString)>,
    parameters: ParameterTexts,
    activity: Activity,
    /// Number of syncs sent in the open pipeline; `None` if none is open.
    pipeline: Option<usize>,
    answer: Answer,
    /// Outcome of what was submitted, until it is polled.
    outcome: Option<Outcome>,
    /// Counts of rows that statements match, by number.
    rows: &'static [StatementRows],
    /// Number of transactions that have ended. Rows are counted in one of [`SAMPLED`].
    transactions: u64,
    /// Number of the statement in progress, if its rows are counted.
    sampled: Option<usize>,
}

impl LibpqSession {
    /// A session for scripts with this total number of `statements`, over an established connection.
    /// `connect_with` are the parameters of those that it makes itself, see
    /// [`Session::submit_connect`]; `rows` are counts by statement number.
    pub fn new(
        connection: Option<Connection>,
        connect_with: Rc<ConnectWith>,
        protocol: Protocol,
        statements: usize,
        rows: &'static [StatementRows],
    ) -> Self {
        LibpqSession {
            link: Link::new(connection, connect_with),
            protocol,
            prepared: (0..statements).map(|_| None).collect(),
            to_prepare: VecDeque::new(),
            parameters: ParameterTexts::default(),
            activity: Activity::Idle,
            pipeline: None,
            answer: Answer::default(),
            outcome: None,
            rows,
            transactions: 0,
            sampled: None,
        }
    }

    /// Tells the session that a transaction of its client has ended.
    #[inline]
    pub fn transaction_ended(&mut self) {
        self.transactions += 1;
    }

    /// A number that changes whenever the socket may have become another one, and the socket; `None`
    /// if there is no connection.
    #[inline]
    pub fn socket(&self) -> Option<(u64, i32)> {
        self.link.socket()
    }

    /// Process ID of the backend; 0 if none is known.
    pub fn backend_pid(&self) -> i32 {
        self.link.backend_pid()
    }

    /// Tells the session that its socket has something to read.
    #[inline]
    pub fn readable(&mut self) {
        self.link.readable = true;
    }

    /// Tells the session that its socket accepts data.
    #[inline]
    pub fn writable(&mut self) {
        if matches!(self.activity, Activity::Connecting(_)) {
            self.link.writable = true;
        } else {
            self.flush();
        }
    }

    /// Whether the session waits for its socket to accept data.
    #[inline]
    pub fn wants_write(&self) -> bool {
        match self.activity {
            Activity::Connecting(waits_for) => waits_for == Connecting::Writing,
            _ => self.link.wants_write,
        }
    }

    /// Fails a connection that takes longer than its `connect_timeout`; whether it did.
    pub fn expire(&mut self) -> bool {
        let expires = matches!(self.activity, Activity::Connecting(_)) && self.link.expires();
        if expires {
            self.lose();
        }
        expires
    }

    /// Whether the server's results are awaited.
    pub fn is_executing(&self) -> bool {
        !matches!(self.activity, Activity::Idle | Activity::Connecting(_))
    }

    /// The server that its connection has reached, see [`Connection::address`]; `None` if there is no
    /// connection.
    pub fn address(&self) -> Option<Vec<(&'static str, String)>> {
        self.link.address()
    }

    /// Cancel request for the statement in progress; `None` if there is no connection.
    pub fn cancel(&self) -> Option<Cancel> {
        self.link.cancel()
    }

    fn flush(&mut self) {
        if let Err(Lost) = self.link.flush() {
            self.lose();
        }
    }

    /// Begins to wait after something was sent. In a pipeline, nothing waits: an error is kept for its
    /// end.
    #[inline]
    fn sent(&mut self, activity: Activity, sent: Result<(), Lost>) {
        if self.pipeline.is_some() {
            if sent.is_err() && self.answer.failure.is_none() {
                self.answer.failure = Some(self.answer.loss(&self.link));
            }
            return;
        }
        self.activity = activity;
        match sent {
            Ok(()) => self.flush(),
            Err(Lost) => self.lose(),
        }
    }

    /// Fails a statement that is too long to be sent; in a pipeline, at its end.
    fn refuse(&mut self, error: &StatementTooLong) {
        let failure = SqlError {
            sqlstate: "54000".into(),
            message: format!("ERROR:  {error}"),
            ..SqlError::default()
        };
        self.answer.failure.get_or_insert(failure);
        if self.pipeline.is_none() {
            self.finish();
        }
    }

    /// Fails what is in progress, because the connection is lost.
    fn lose(&mut self) {
        self.activity = Activity::Idle;
        self.pipeline = None;
        self.link.wants_write = false;
        self.outcome = Some(Outcome::Failed(self.answer.loss(&self.link)));
    }

    /// Resets the state before a request outside of pipelines. `store` is whether results are kept.
    #[inline]
    fn begin(&mut self, store: bool) {
        self.answer.failure = None;
        self.answer.query = 0;
        self.answer.store = store;
        if store {
            self.answer.results.clear();
        }
        self.outcome = None;
        self.sampled = None;
    }

    /// Sends a statement that is not one of the script's.
    fn submit_internal(&mut self, sql: &CStr, store: bool) {
        self.begin(store);
        let sent = self.link.with(|connection| connection.send_query(sql));
        self.sent(Activity::Executing, sent);
    }

    /// Sends the request to execute a prepared statement.
    fn execute_prepared(&mut self, number: usize) {
        let sent = match (&self.prepared[number], self.link.connection()) {
            (Some(name), Some(connection)) => {
                connection.send_prepared(name, &self.parameters.pointers)
            }
            _ => Err(Lost),
        };
        self.sent(Activity::Executing, sent);
    }

    /// Sends the request to prepare a statement and assumes that it succeeds.
    fn prepare(&mut self, number: usize, sql: &CStr) -> Result<(), Lost> {
        let name = CString::new(format!("P_{number}")).unwrap_or_default();
        let sent = self
            .link
            .with(|connection| connection.send_prepare(&name, sql));
        self.prepared[number] = Some(name);
        sent
    }

    /// Prepares the next statement of a pipeline that is about to start, or starts it.
    fn prepare_pipeline(&mut self) {
        if let Some((number, sql)) = self.to_prepare.pop_front() {
            let sent = self.prepare(number, &sql);
            self.sent(Activity::PreparingPipeline(number), sent);
            return;
        }
        match self.link.with(Connection::enter_pipeline) {
            Ok(()) => {
                self.pipeline = Some(0);
                self.answer.failure = None;
                self.outcome = Some(Outcome::Done);
            }
            Err(Lost) => self.lose(),
        }
    }

    /// Continues to connect.
    fn poll_connect(&mut self, waits_for: Connecting) {
        match self.link.poll_connect(waits_for) {
            Connecting::Done => {
                self.activity = Activity::Idle;
                self.outcome = Some(Outcome::Done);
            }
            Connecting::Failed => self.lose(),
            Connecting::NoPassword => {
                self.activity = Activity::Idle;
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
            }
        }
    }

    /// Continues after the last result of a request.
    fn end_of_results(&mut self) {
        match std::mem::replace(&mut self.activity, Activity::Idle) {
            Activity::Preparing(number) if self.answer.failure.is_none() => {
                self.execute_prepared(number)
            }
            Activity::Preparing(number) => {
                self.prepared[number] = None;
                self.finish();
            }
            Activity::PreparingPipeline(number) => {
                // The script may not reach the statement; if it does, executing it shows the error.
                if self.answer.failure.take().is_some() {
                    self.prepared[number] = None;
                }
                self.prepare_pipeline();
            }
            _ => self.finish(),
        }
    }

    /// Ends the request: with the first error, if there was one.
    fn finish(&mut self) {
        self.outcome = Some(self.answer.outcome());
    }

    /// Reads the available results of a pipeline that is being ended, of which `left` syncs are missing.
    fn read_pipeline(&mut self, mut left: usize) {
        let mut statement_ended = false;
        while left > 0 {
            let Some(connection) = self.link.connection() else {
                return self.lose();
            };
            if connection.is_busy() {
                self.activity = Activity::EndingPipeline(left);
                return;
            }
            match connection.next_result() {
                Some(result) => {
                    statement_ended = false;
                    left -= usize::from(result.status() == Status::Sync);
                    self.answer.take(&result, false, &self.link);
                    if self.answer.is_lost() {
                        break;
                    }
                }
                // The end of a statement's results; two in a row mean that the connection is lost.
                None if statement_ended => return self.lose(),
                None => statement_ended = true,
            }
        }
        self.activity = Activity::Idle;
        self.pipeline = None;
        if !self.answer.is_lost() && self.link.with(Connection::exit_pipeline).is_err() {
            return self.lose();
        }
        self.finish();
    }
}

impl Session for LibpqSession {
    #[inline]
    fn submit(&mut self, command: &SqlCommand, variables: &Variables) {
        if self.pipeline.is_none() {
            self.begin(command.store.is_some());
            if self.transactions % SAMPLED == SAMPLED - 1 {
                self.sampled = Some(command.number);
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
                let sent = self.link.with(|connection| connection.send_query(&sql));
                self.parameters.texts = sql.into_string().unwrap_or_default();
                self.sent(Activity::Executing, sent);
            }
            Protocol::Prepared if self.prepared[command.number].is_some() => {
                self.execute_prepared(command.number);
            }
            Protocol::Prepared if self.pipeline.is_none() => {
                let sent = self.prepare(command.number, &parameterized(command));
                self.sent(Activity::Preparing(command.number), sent);
            }
            // Prepared: the pipeline could not prepare the statement, and this shows why when it ends.
            Protocol::Extended | Protocol::Prepared => {
                let sql = parameterized(command);
                let sent = self.link.with(|connection| {
                    connection.send_query_params(&sql, &self.parameters.pointers)
                });
                self.sent(Activity::Executing, sent);
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
        self.submit_internal(usage::QUERY, true);
    }

    fn usage(&self) -> Option<Usage> {
        usage::of_answer(&self.answer.results)
    }

    #[inline]
    fn poll(&mut self) -> Option<Outcome> {
        if let Activity::Connecting(waits_for) = self.activity {
            self.poll_connect(waits_for);
            return self.outcome.take();
        }
        if self.outcome.is_none() && self.link.receive().is_err() {
            self.lose();
        }
        while self.outcome.is_none() {
            if let Activity::EndingPipeline(left) = self.activity {
                self.read_pipeline(left);
                break;
            }
            let Some(connection) = self.link.connection() else {
                self.lose();
                break;
            };
            if matches!(self.activity, Activity::Idle) || connection.is_busy() {
                return None;
            }
            match connection.next_result() {
                Some(result) => {
                    let executing = matches!(self.activity, Activity::Executing);
                    self.answer.take(&result, executing, &self.link);
                    if let Some(statement) = self.sampled.filter(|_| executing)
                        && let Some(rows) = matched(&result)
                        && let Some(statement) = self.rows.get(statement)
                    {
                        statement.count(rows);
                    }
                    if self.answer.is_lost() {
                        self.activity = Activity::Idle;
                        self.finish();
                    }
                }
                None => self.end_of_results(),
            }
        }
        self.outcome.take()
    }

    #[inline]
    fn block(&self) -> Block {
        match self.link.transaction_status() {
            Some(TransactionStatus::InBlock) => Block::Open,
            Some(TransactionStatus::InError) => Block::Failed,
            _ => Block::None,
        }
    }

    fn results(&self) -> &[QueryResult] {
        &self.answer.results
    }

    fn start_pipeline(&mut self, commands: &[Command]) {
        self.begin(false);
        self.to_prepare.clear();
        if self.protocol == Protocol::Prepared {
            for command in commands {
                match &command.action {
                    Action::EndPipeline => break,
                    Action::Sql(sql) if self.prepared[sql.number].is_none() => {
                        self.to_prepare.push_back((sql.number, parameterized(sql)));
                    }
                    _ => {}
                }
            }
        }
        self.prepare_pipeline();
    }

    fn sync_pipeline(&mut self) {
        let sent = self.link.with(Connection::sync_pipeline);
        if let Some(syncs) = &mut self.pipeline {
            *syncs += usize::from(sent.is_ok());
        }
        self.sent(Activity::Executing, sent);
    }

    fn end_pipeline(&mut self) {
        self.sync_pipeline();
        if self.answer.is_lost() {
            self.pipeline = None;
            self.finish();
            return;
        }
        self.activity = Activity::EndingPipeline(self.pipeline.unwrap_or(0));
        self.flush();
    }

    fn submit_connect(&mut self) {
        self.disconnect();
        self.begin(false);
        match self.link.connect() {
            Err(message) => {
                self.outcome = Some(Outcome::Failed(SqlError {
                    sqlstate: "53000".into(),
                    message,
                    lost: true,
                    query: 0,
                }));
            }
            Ok(connection) if connection.is_bad() => self.lose(),
            Ok(_) => self.activity = Activity::Connecting(Connecting::Writing),
        }
    }

    fn disconnect(&mut self) {
        self.link.disconnect();
        self.activity = Activity::Idle;
        self.pipeline = None;
        self.prepared.fill(None);
    }
}

/// Text of a statement with parameters, for libpq.
fn parameterized(command: &SqlCommand) -> CString {
    CString::new(command.parameterized()).unwrap_or_default()
}
