//! The sampled processes of a run with `profile`: its client workers and, in mode libpq, the
//! sessions behind their connections to this server.
//!
//! A worker samples itself. A session starts to do so when its client calls
//! `bench_internal.sample_session`, before the start barrier, with a secret of the run. It stops when
//! it ends, or at the first sample after the run. Sessions of a target are processes of another
//! server, and those with one transaction each are too many.

use crate::backend::profiler;
use crate::database::remote::Remote;
use crate::error::{Error, Result};
use crate::pq::Connection;
use crate::run::{Mode, RunSpec};
use crate::server;
use crate::shared::{Phase, Segment};
use crate::worker::place::Place;

/// The number of sampled processes.
pub fn count(spec: &RunSpec) -> usize {
    match spec.run.profile {
        true if samples_sessions(spec) => spec.workers() + spec.clients(),
        true => spec.workers(),
        false => 0,
    }
}

/// Whether the sessions of clients are sampled, too.
fn samples_sessions(spec: &RunSpec) -> bool {
    spec.run.mode == Mode::Libpq && spec.target.is_none() && !spec.run.reconnect
}

/// Requests the session behind a client's connection to sample itself, if it is to be sampled. What
/// keeps it from doing so is left in its area.
pub(super) fn request(place: &Place, client: usize, connection: Connection) -> Connection {
    let segment = place.segment;
    let process = segment.layout().sampled_session(client);
    let Some(area) = segment.stack_area(process) else {
        return connection;
    };
    let mut session = Remote::over(connection);
    // Parameters, so that pg_stat_activity does not show the secret.
    let requested = session.execute_with(
        c"SELECT bench_internal.sample_session($1, $2, $3)",
        &[
            i64::from(segment.handle()),
            segment.header().secret as i64,
            client as i64,
        ],
    );
    if let Err(error) = requested {
        area.fail(&error.report().one_line());
    }
    session.into_connection()
}

/// Starts to sample this session, which serves that client of the run with that segment and secret.
/// The run must belong to the same role and still wait for its clients.
pub fn sample_session(handle: u32, secret: u64, client: usize) -> Result<()> {
    let refused = || Error::Misplaced {
        message: "no run of the current role waits for a session".into(),
        hint: "This function is for internal use by runs.".into(),
    };
    let segment = Segment::attach(handle).ok_or_else(refused)?;
    let header = segment.header();
    let process = segment.layout().sampled_session(client);
    if !header.is_run()
        || header.secret != secret
        || header.role != server::role().to_u32()
        || header.phase() != Phase::Preparing
        || client >= segment.layout().clients
        || segment.stack_area(process).is_none()
    {
        return Err(refused());
    }
    profiler::start(segment.keep(), process);
    Ok(())
}
