//! The session: what a client submits over a connection, and its outcome.

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

/// Activity of the connection.
enum Activity {
    Nothing,
    /// Connecting: waits for this event.
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
    link: Link,
    protocol: Protocol,
    /// By statement number: its name on the server, once it is prepared there.
    prepared: Vec<Option<CString>>,
    /// Statements to prepare before a pipeline starts, by number.
    to_prepare: VecDeque<(usize, CString)>,
    parameters: ParameterTexts,
    activity: Activity,
    /// Syncs sent in the open pipeline.
    pipeline: Option<usize>,
    answer: Answer,
    outcome: Option<Outcome>,
    /// Statements that match rows.
    rows: &'static [StatementRows],
    /// Transactions that have ended.
    transactions: u64,
    /// The statement in progress, in a transaction that is sampled, unless it is in a pipeline.
    sampled: Option<usize>,
}

impl LibpqSession {
    /// A session for scripts with this total number of statements, over an established connection;
    /// without one, over connections that it makes with these parameters on request.
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
            activity: Activity::Nothing,
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

    /// The socket, and a number that changes whenever it may have become another one; `None` if
    /// there is no connection.
    #[inline]
    pub fn socket(&self) -> Option<(u64, i32)> {
        self.link.socket()
    }

    /// Process id of the server's process behind the connection; 0 if none is known.
    pub fn backend_pid(&self) -> i32 {
        self.link.backend_pid()
    }

    /// Tells the session that its socket has something to read.
    #[inline]
    pub fn readable(&mut self) {
        self.link.readable = true;
    }

    /// Tells the session that its socket takes something.
    #[inline]
    pub fn writable(&mut self) {
        if matches!(self.activity, Activity::Connecting(_)) {
            self.link.writable = true;
        } else {
            self.flush();
        }
    }

    /// Whether something waits for the socket to become writable.
    #[inline]
    pub fn wants_write(&self) -> bool {
        match self.activity {
            Activity::Connecting(waits_for) => waits_for == Connecting::Writing,
            _ => self.link.wants_write,
        }
    }

    /// Whether the server is executing something for this session.
    pub fn is_executing(&self) -> bool {
        !matches!(self.activity, Activity::Nothing | Activity::Connecting(_))
    }

    /// The server that its connection has reached, see [`Connection::address`].
    pub fn address(&self) -> Option<Vec<(&'static str, String)>> {
        self.link.address()
    }

    /// Cancel request for the statement in progress, if there is a connection.
    pub fn cancel(&self) -> Option<Cancel> {
        self.link.cancel()
    }

    fn flush(&mut self) {
        if let Err(Lost) = self.link.flush() {
            self.lose();
        }
    }

    /// Goes on after something was sent, or keeps the failure for the end of the pipeline.
    #[inline]
    fn sent(&mut self, activity: Activity, sent: Result<(), Lost>) {
        if self.pipeline.is_some() && !matches!(activity, Activity::EndingPipeline(_)) {
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

    /// Fails what cannot even be sent.
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

    fn lose(&mut self) {
        self.activity = Activity::Nothing;
        self.pipeline = None;
        self.link.wants_write = false;
        self.outcome = Some(Outcome::Failed(self.answer.loss(&self.link)));
    }

    /// Resets the state before a new command outside of pipelines.
    #[inline]
    fn begin(&mut self) {
        self.answer.failure = None;
        self.outcome = None;
        self.answer.query = 0;
        self.sampled = None;
    }

    /// Sends a statement that is not one of the script's.
    fn submit_internal(&mut self, sql: &CStr, store: bool) {
        self.begin();
        self.answer.store = store;
        let sent = self.link.with(|connection| connection.send_query(sql));
        self.sent(Activity::Executing, sent);
    }

    fn execute_prepared(&mut self, number: usize) {
        self.answer.query = 0;
        let sent = match (&self.prepared[number], self.link.connection()) {
            (Some(name), Some(connection)) => {
                connection.send_prepared(name, &self.parameters.pointers)
            }
            _ => Err(Lost),
        };
        self.sent(Activity::Executing, sent);
    }

    /// Sends the request to prepare a statement and assumes that it succeeds.
    fn prepare(&mut self, number: usize, sql: &CString) -> Result<(), Lost> {
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
        match self.link.with(|connection| connection.enter_pipeline()) {
            Ok(()) => {
                self.pipeline = Some(0);
                self.answer.failure = None;
                self.outcome = Some(Outcome::Done);
            }
            Err(Lost) => self.lose(),
        }
    }

    fn poll_connect(&mut self, waits_for: Connecting) {
        match self.link.poll_connect(waits_for) {
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
            }
        }
    }

    /// Continues after the last result of a command.
    fn end_of_results(&mut self) {
        match std::mem::replace(&mut self.activity, Activity::Nothing) {
            Activity::Preparing(number) if self.answer.failure.is_none() => {
                self.execute_prepared(number)
            }
            Activity::Preparing(number) => {
                self.prepared[number] = None;
                self.outcome = self.answer.failure.take().map(Outcome::Failed);
            }
            Activity::PreparingPipeline(number) => {
                // Its execution tells the error, if it comes to that.
                if self.answer.failure.take().is_some() {
                    self.prepared[number] = None;
                }
                self.prepare_pipeline();
            }
            _ => self.finish(),
        }
    }

    fn finish(&mut self) {
        self.outcome = Some(self.answer.outcome());
    }

    /// Reads the available results of a pipeline that is being ended.
    fn read_pipeline(&mut self, syncs: usize) {
        let mut left = syncs;
        let mut ends = 0;
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
                    ends = 0;
                    left -= usize::from(result.status() == Status::Sync);
                    self.answer.take(&result, false, &self.link);
                    if self.answer.is_lost() {
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
        let lost = self.answer.is_lost();
        if !lost
            && self
                .link
                .with(|connection| connection.exit_pipeline())
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
            self.answer.store = command.store.is_some();
            if self.answer.store {
                self.answer.results.clear();
            }
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
            Protocol::Extended => {
                let sql = CString::new(command.parameterized()).unwrap_or_default();
                let sent = self.link.with(|connection| {
                    connection.send_query_params(&sql, &self.parameters.pointers)
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
                    // The statement could not be prepared; this shows why when the pipeline ends.
                    let sent = self.link.with(|connection| {
                        connection.send_query_params(&sql, &self.parameters.pointers)
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
        self.answer.results.clear();
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
            if let Activity::EndingPipeline(syncs) = self.activity {
                self.read_pipeline(syncs);
                break;
            }
            let Some(connection) = self.link.connection() else {
                self.lose();
                break;
            };
            if matches!(self.activity, Activity::Nothing) || connection.is_busy() {
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
                        self.activity = Activity::Nothing;
                        self.outcome = self.answer.failure.take().map(Outcome::Failed);
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
        self.begin();
        self.answer.store = false;
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
        let sent = self.link.with(|connection| connection.sync_pipeline());
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
        let syncs = self.pipeline.unwrap_or(0);
        self.sent(Activity::EndingPipeline(syncs), Ok(()));
    }

    fn submit_connect(&mut self) {
        self.disconnect();
        self.begin();
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
        self.activity = Activity::Nothing;
        self.pipeline = None;
        self.prepared.fill(None);
    }
}
