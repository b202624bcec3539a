//! The end of statements that outlast a stopped run, in mode libpq.
//!
//! 1. Until [`STOP_GRACE_NS`] after the stop, they may end by themselves: a committed transaction counts.
//! 2. Then they are canceled, again and again: one that arrives before its statement has no effect. On
//!    this server, a signal does that at once. On a target, threads send cancel requests, which work
//!    behind a connection pooler, too, and do not wait for a server that hangs.
//! 3. On a target, [`REQUESTS_NS`] later, the remaining sessions are terminated by a statement over
//!    another connection. A request takes a connection and a process of the target, for which many busy
//!    sessions leave no CPU; the statement takes one for all sessions. It does not reach those behind a
//!    pooler, so the requests continue.
//! 4. At last they are given up.

use crate::backend::peer;
use crate::clock;
use crate::database::terminate::SessionTermination;
use crate::pq::ConnectWith;
use crate::pq::cancel::{self, Requests};
use crate::session::LibpqSession;
use std::collections::HashSet;
use std::rc::Rc;

/// Time that statements in progress may continue when a run is stopped, before they are canceled.
pub const STOP_GRACE_NS: u64 = 200_000_000;
/// Time that canceled statements may take to end.
const CANCEL_GRACE_NS: u64 = 2_000_000_000;
/// Limit on a target, which takes longer for many requests, and where no other process ends them:
/// less than the time that the coordinator waits for this process.
const TARGET_GRACE_NS: u64 = 8_000_000_000;
/// Time for which cancel requests are sent to a target before the remaining sessions are
/// terminated.
const REQUESTS_NS: u64 = 1_000_000_000;
/// The time between two terminations, each of which takes a connection and may be refused.
const TERMINATE_EVERY_NS: u64 = 500_000_000;
/// The time between two cancels of the same statement.
const CANCEL_EVERY_NS: u64 = 200_000_000;

/// Way of ending the statements.
pub(super) struct Stragglers {
    /// When the run was seen to be stopped.
    stopped_ns: u64,
    /// Parameters of connections to the target; `None` on this server.
    target: Option<Rc<ConnectWith>>,
    /// When the statements were canceled last.
    canceled_ns: u64,
    /// The requests that cancel them on a target.
    requests: Option<Requests>,
    /// Termination of the sessions there.
    termination: Option<SessionTermination>,
    /// When it began.
    terminated_ns: u64,
    /// Processes of all sessions that were to be terminated.
    terminated: HashSet<i32>,
}

impl Stragglers {
    /// The statements of a run that is stopped now.
    pub(super) fn new(target: Option<Rc<ConnectWith>>) -> Stragglers {
        Stragglers {
            stopped_ns: clock::now_ns(),
            target,
            canceled_ns: 0,
            requests: None,
            termination: None,
            terminated_ns: 0,
            terminated: HashSet::new(),
        }
    }

    /// Does what is due to end the statements of these sessions, without waiting for their end. Returns
    /// false when they are to be given up.
    pub(super) fn end<'s>(
        &mut self,
        sessions: impl Iterator<Item = &'s LibpqSession> + Clone,
        is_abandoned: bool,
    ) -> bool {
        let now = clock::now_ns();
        let waited_ns = now - self.stopped_ns;
        let grace_ns = match self.target {
            None => CANCEL_GRACE_NS,
            Some(_) => TARGET_GRACE_NS,
        };
        if waited_ns > STOP_GRACE_NS + grace_ns {
            return false;
        }
        let executing = sessions.filter(|session| session.is_executing());
        let is_due = waited_ns > STOP_GRACE_NS || is_abandoned;
        if is_due && now - self.canceled_ns > CANCEL_EVERY_NS {
            self.canceled_ns = now;
            self.cancel(executing.clone());
        }
        if waited_ns > STOP_GRACE_NS + REQUESTS_NS {
            self.terminate(executing, now);
        }
        true
    }

    /// Whether the session of that process was to be terminated.
    pub(super) fn has_terminated(&self, pid: i32) -> bool {
        self.terminated.contains(&pid)
    }

    /// Cancels the statements of these sessions.
    fn cancel<'s>(&mut self, executing: impl Iterator<Item = &'s LibpqSession>) {
        if self.target.is_none() {
            executing.for_each(|session| peer::cancel_statement(session.backend_pid()));
        } else if self.requests.as_ref().is_none_or(Requests::are_sent) {
            let cancels = executing.filter_map(LibpqSession::cancel).collect();
            self.requests = Some(cancel::in_background(cancels));
        }
    }

    /// Terminates these sessions if they are on a target, those of one server at a time.
    fn terminate<'s>(&mut self, executing: impl Iterator<Item = &'s LibpqSession>, now: u64) {
        let Some(target) = &self.target else {
            return;
        };
        if let Some(termination) = &mut self.termination {
            if !termination.advance() {
                return;
            }
            // The termination may have failed, for lack of a connection, or was for other sessions.
            self.termination = None;
        }
        if now - self.terminated_ns < TERMINATE_EVERY_NS {
            return;
        }
        let mut reached =
            executing.filter_map(|session| Some((session.address()?, session.backend_pid())));
        let Some((address, pid)) = reached.next() else {
            return;
        };
        let mut pids = vec![pid];
        pids.extend(
            reached
                .filter(|(of_session, _)| *of_session == address)
                .map(|(_, pid)| pid),
        );
        let mut with = ConnectWith::clone(target);
        for (keyword, value) in address {
            with.set(keyword, &value);
        }
        self.terminated_ns = now;
        self.terminated.extend(&pids);
        self.termination = Some(SessionTermination::begin(&with, pids));
    }
}
