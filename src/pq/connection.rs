//! A connection that never blocks; dropping it closes it.

use super::conninfo::{self, ConnectWith};
use super::notices::on_notice;
use super::result::PqResult;
use super::text::text;
use crate::descriptors::Descriptor;
use pq_sys as pq;
use std::ffi::{CStr, CString, c_char, c_int};
use std::os::fd::BorrowedFd;

/// Event that a connection attempt waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connecting {
    /// The socket must become readable.
    Reading,
    /// The socket must become writable.
    Writing,
    /// Connected.
    Done,
    /// Failed; see [`Connection::error_message`].
    Failed,
    /// Connected, but the server has not asked for the required password. The connection is closed.
    NoPassword,
}

/// Transaction state as the server last reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// Outside of any transaction block.
    Idle,
    /// In a transaction block.
    InBlock,
    /// In a failed transaction block.
    InError,
    /// A command is in progress.
    Active,
    /// The connection is lost.
    Unknown,
}

/// A connection. Dropping it closes it.
pub struct Connection {
    pub(super) conn: *mut pq::PGconn,
    password_required: bool,
    _descriptor: Descriptor,
}

/// An attempt to send or receive failed; the connection has the error message.
#[derive(Debug)]
pub struct Lost;

/// The error if [`Connection::start`] returns `None`, with the caller's remedy.
pub fn no_more_connections(remedy: &str) -> String {
    format!("this process may open no more connections; {remedy}")
}

impl Connection {
    /// Starts to connect with these parameters. Poll until it is done or has failed.
    ///
    /// `None` if libpq is out of memory or the process may open no more descriptors.
    pub fn start(with: &ConnectWith) -> Option<Connection> {
        let descriptor = Descriptor::acquire()?;
        // Waiting for the socket needs a second one.
        drop(Descriptor::acquire()?);
        let texts: Vec<(CString, CString)> = with
            .parameters
            .iter()
            .filter_map(|(k, v)| {
                Some((
                    CString::new(k.as_str()).ok()?,
                    CString::new(v.as_str()).ok()?,
                ))
            })
            .collect();
        let mut keys: Vec<*const c_char> = texts.iter().map(|(k, _)| k.as_ptr()).collect();
        let mut values: Vec<*const c_char> = texts.iter().map(|(_, v)| v.as_ptr()).collect();
        keys.push(std::ptr::null());
        values.push(std::ptr::null());
        // SAFETY: both arrays end in null and outlive the call, which copies them.
        let conn = unsafe { pq::PQconnectStartParams(keys.as_ptr(), values.as_ptr(), 0) };
        let connection = Connection {
            conn,
            password_required: with.password_required,
            _descriptor: descriptor,
        };
        if conn.is_null() {
            return None;
        }
        // SAFETY: the connection exists; the callback ignores its arguments.
        unsafe { pq::PQsetNoticeProcessor(conn, Some(on_notice), std::ptr::null_mut()) };
        Some(connection)
    }

    /// Continues to connect, after the socket has become ready.
    pub fn poll_connect(&mut self) -> Connecting {
        use pq::PostgresPollingStatusType::*;
        match self.call(pq::PQconnectPoll) {
            PGRES_POLLING_READING => Connecting::Reading,
            PGRES_POLLING_WRITING => Connecting::Writing,
            PGRES_POLLING_OK
                if self.password_required && self.ask(pq::PQconnectionUsedPassword) == 0 =>
            {
                self.call(pq::PQfinish);
                self.conn = std::ptr::null_mut();
                Connecting::NoPassword
            }
            PGRES_POLLING_OK => {
                // SAFETY: the connection exists. A failure shows at the first use.
                unsafe { pq::PQsetnonblocking(self.conn, 1) };
                Connecting::Done
            }
            _ => Connecting::Failed,
        }
    }

    /// Whether the attempt has failed already, before the first poll.
    pub fn is_bad(&self) -> bool {
        self.ask(pq::PQstatus) == pq::ConnStatusType::CONNECTION_BAD
    }

    /// Process id of the server's process behind it; 0 if there is none.
    pub fn backend_pid(&self) -> i32 {
        self.ask(pq::PQbackendPID)
    }

    /// The socket; -1 if there is none. May change while connecting.
    pub fn socket(&self) -> i32 {
        self.ask(pq::PQsocket)
    }

    /// Tells sockets apart that had the same descriptor one after the other; `None` without one.
    pub fn socket_inode(&self) -> Option<u64> {
        let socket = self.socket();
        // SAFETY: the connection has it open.
        let socket = (socket >= 0).then(|| unsafe { BorrowedFd::borrow_raw(socket) })?;
        rustix::fs::fstat(socket).ok().map(|status| status.st_ino)
    }

    /// libpq's last error, without a trailing newline.
    pub fn error_message(&self) -> String {
        self.text(pq::PQerrorMessage)
    }

    /// Host, port, database and user of an established connection, as a connection string without
    /// any other parameters.
    pub fn description(&self) -> String {
        let parts = [
            ("host", self.text(pq::PQhost)),
            ("port", self.text(pq::PQport)),
            ("dbname", self.text(pq::PQdb)),
            ("user", self.text(pq::PQuser)),
        ];
        parts
            .iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(keyword, value)| format!("{keyword}={}", conninfo::quoted(value)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The server that an established connection has reached, as parameters for another connection to
    /// it: the connection's own parameters may name several.
    pub fn address(&self) -> Vec<(&'static str, String)> {
        vec![
            ("host", self.text(pq::PQhost)),
            ("hostaddr", self.text(pq::PQhostaddr)),
            ("port", self.text(pq::PQport)),
        ]
    }

    /// Version of the server as text, such as `15.18 (Debian 15.18-0+deb12u1)`.
    pub fn server_version(&self) -> String {
        // SAFETY: the connection exists; the text lives as long as it does, or is null.
        unsafe { text(pq::PQparameterStatus(self.conn, c"server_version".as_ptr())) }
    }

    /// Version of the server as a number, such as 150018.
    pub fn server_version_num(&self) -> i32 {
        self.ask(pq::PQserverVersion)
    }

    /// Transaction state as the server last reported it.
    #[inline]
    pub fn transaction_status(&self) -> TransactionStatus {
        use pq::PGTransactionStatusType::*;
        match self.ask(pq::PQtransactionStatus) {
            PQTRANS_IDLE => TransactionStatus::Idle,
            PQTRANS_INTRANS => TransactionStatus::InBlock,
            PQTRANS_INERROR => TransactionStatus::InError,
            PQTRANS_ACTIVE => TransactionStatus::Active,
            _ => TransactionStatus::Unknown,
        }
    }

    /// Sends SQL by the simple query protocol.
    pub fn send_query(&mut self, sql: &CStr) -> Result<(), Lost> {
        // SAFETY: the text ends in a zero byte and is copied.
        sent(unsafe { pq::PQsendQuery(self.conn, sql.as_ptr()) })
    }

    /// Sends SQL by the extended query protocol with text parameters; null pointers are NULL.
    pub fn send_query_params(&mut self, sql: &CStr, values: &[*const c_char]) -> Result<(), Lost> {
        // SAFETY: the texts end in zero bytes and are copied; types are left to the server, and
        // all formats are text.
        sent(unsafe {
            pq::PQsendQueryParams(
                self.conn,
                sql.as_ptr(),
                values.len() as c_int,
                std::ptr::null(),
                values.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                0,
            )
        })
    }

    /// Sends the request to prepare a statement.
    pub fn send_prepare(&mut self, name: &CStr, sql: &CStr) -> Result<(), Lost> {
        // SAFETY: as in `send_query_params`.
        sent(unsafe {
            pq::PQsendPrepare(self.conn, name.as_ptr(), sql.as_ptr(), 0, std::ptr::null())
        })
    }

    /// Sends the request to execute a prepared statement with text parameters.
    #[inline]
    pub fn send_prepared(&mut self, name: &CStr, values: &[*const c_char]) -> Result<(), Lost> {
        // SAFETY: as in `send_query_params`.
        sent(unsafe {
            pq::PQsendQueryPrepared(
                self.conn,
                name.as_ptr(),
                values.len() as c_int,
                values.as_ptr(),
                std::ptr::null(),
                std::ptr::null(),
                0,
            )
        })
    }

    /// Makes commands be sent without waiting for the results of those before. Nothing must be in
    /// progress.
    pub fn enter_pipeline(&mut self) -> Result<(), Lost> {
        sent(self.call(pq::PQenterPipelineMode))
    }

    /// Marks the end of an implicit transaction of the pipeline, and sends what is queued.
    pub fn sync_pipeline(&mut self) -> Result<(), Lost> {
        sent(self.call(pq::PQpipelineSync))
    }

    /// Ends the pipeline, when all its results have been taken.
    pub fn exit_pipeline(&mut self) -> Result<(), Lost> {
        sent(self.call(pq::PQexitPipelineMode))
    }

    /// Queues data of a COPY that the server has requested; must be flushed. Returns whether there
    /// was room.
    pub fn put_copy_data(&mut self, data: &[u8]) -> Result<bool, Lost> {
        let length = c_int::try_from(data.len()).map_err(|_| Lost)?;
        // SAFETY: the data has that length and is copied.
        queued(unsafe { pq::PQputCopyData(self.conn, data.as_ptr().cast(), length) })
    }

    /// Queues the end of a COPY's data, or the error with which it fails. Returns whether there was
    /// room.
    pub fn put_copy_end(&mut self, failure: Option<&CStr>) -> Result<bool, Lost> {
        let failure = failure.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: null, or a text that ends in a zero byte and is copied.
        queued(unsafe { pq::PQputCopyEnd(self.conn, failure) })
    }

    /// Tries to send queued data; returns whether some is left until the socket is writable.
    #[inline]
    pub fn flush(&mut self) -> Result<bool, Lost> {
        match self.call(pq::PQflush) {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Lost),
        }
    }

    /// Reads available data from the socket.
    #[inline]
    pub fn consume_input(&mut self) -> Result<(), Lost> {
        sent(self.call(pq::PQconsumeInput))
    }

    /// Whether [`Connection::next_result`] would block.
    #[inline]
    pub fn is_busy(&self) -> bool {
        // SAFETY: the connection exists.
        unsafe { pq::PQisBusy(self.conn) != 0 }
    }

    /// The next result of the command; `None` when it is over.
    #[inline]
    pub fn next_result(&mut self) -> Option<PqResult> {
        let result = self.call(pq::PQgetResult);
        (!result.is_null()).then(|| PqResult(result))
    }

    /// A property of the connection, by libpq's function for it.
    #[inline(always)]
    fn ask<T>(&self, function: unsafe extern "C" fn(*const pq::PGconn) -> T) -> T {
        // SAFETY: the connection exists, or is null, which all these functions take.
        unsafe { function(self.conn) }
    }

    /// A text of the connection; empty if there is none.
    fn text(&self, function: unsafe extern "C" fn(*const pq::PGconn) -> *mut c_char) -> String {
        // SAFETY: null, or a text that lives as long as the connection.
        unsafe { text(self.ask::<*mut c_char>(function)) }
    }

    /// Calls a function of libpq that may change the connection.
    #[inline(always)]
    fn call<T>(&mut self, function: unsafe extern "C" fn(*mut pq::PGconn) -> T) -> T {
        // SAFETY: as in `ask`.
        unsafe { function(self.conn) }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.call(pq::PQfinish);
    }
}

fn sent(ok: c_int) -> Result<(), Lost> {
    if ok == 1 { Ok(()) } else { Err(Lost) }
}

fn queued(ok: c_int) -> Result<bool, Lost> {
    match ok {
        1 => Ok(true),
        0 => Ok(false),
        _ => Err(Lost),
    }
}
