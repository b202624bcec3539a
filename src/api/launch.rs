//! Starting a run's coordinator, after the checks that only the calling session can make.

use super::warnings::notice;
use crate::backend::transaction;
use crate::error::{Error, Result};
use crate::results::load;
use crate::run::{ClientProcess, Mode, PgioSpec, RunSpec, Vacuum};
use crate::security;
use crate::server;
use crate::shared::{Segment, SegmentLayout, TaskKind};
use crate::shared::{messages, stack_area};
use crate::worker::clients::sampled;
use crate::worker::coordinator::logbook;
use crate::worker::launch::Task;
use crate::worker::locks::{self, Access};

/// Number of clients of mode spi per processor from which on the caller gets a notice.
const MANY_CLIENTS: i64 = 4;
/// Maximum shared memory for the histograms of single commands.
const MAX_COMMAND_BYTES: usize = 1 << 30;

/// Starts the run's coordinator, and warns the caller about effects that distort the figures.
pub(super) fn begin_advised(spec: &RunSpec) -> Result<Task> {
    let others = load::runs_in_progress()?;
    let has_written = transaction::has_written();
    let task = begin(spec)?;
    if has_written && spec.target.is_none() {
        notice(
            "the calling transaction has changes that clients do not see",
            "They have sessions of their own, and see what is committed.",
            "Commit before the call.",
        );
    }
    if others > 0 {
        let shared = match spec.target {
            None => {
                "The runs share the server or, if that one has a target, the machine of the load generators"
            }
            Some(_) => "The load generators share this machine",
        };
        notice(
            "another run is in progress on this server",
            &format!("Runs in progress, of all roles and databases: {others}."),
            &format!(
                "{shared}, so the figures of both may be too low. Wait for it with bench.wait, or end it \
                 with bench.cancel."
            ),
        );
    }
    if let Some(processors) = server::processors()
        && spec.run.mode == Mode::Spi
        && spec.run.rate.is_none()
        && spec.clients() as i64 > MANY_CLIENTS * processors as i64
    {
        notice(
            "there are many more clients than processors",
            &format!("{} clients share {processors} processors.", spec.clients()),
            "Latency will include the time that clients wait for a processor. Use fewer clients, \
             or a rate.",
        );
    }
    Ok(task)
}

/// Checks what only the calling session knows, and starts the run's coordinator.
fn begin(spec: &RunSpec) -> Result<Task> {
    if spec.target.is_none() {
        check_here(spec)?;
    }
    // Clients that may run in backends if there is no slot for a worker.
    let backends = match (spec.run.mode, spec.client_process()) {
        (Mode::Libpq, _) | (_, ClientProcess::Worker) => 0,
        (_, ClientProcess::Backend) => spec.clients(),
        (_, ClientProcess::Auto) => {
            let workers = server::free_worker_slots().saturating_sub(1);
            let beyond = spec.clients().saturating_sub(workers);
            match server::require_connections(beyond) {
                Ok(()) => beyond,
                Err(_) => 0,
            }
        }
    };
    if let Err(mut error) = server::require_worker_slots(spec.workers() - backends + 1) {
        // Backends of superusers can do what workers do.
        if let Error::WorkerSlots { connections, .. } = &mut error
            && spec.run.mode == Mode::Spi
            && security::is_superuser()
        {
            *connections = Some(server::used_connections()? + spec.clients() as i64);
        }
        return Err(error);
    }
    if !spec.connection.is_empty()
        && (spec.run.mode == Mode::Libpq || spec.client_process() == ClientProcess::Backend)
    {
        server::require_connections(spec.clients())?;
    }
    let commands = match spec.run.per_statement {
        true => spec.checked_workload()?.commands(),
        false => 0,
    };
    let sampled = sampled::count(spec);
    let layout = SegmentLayout {
        workers: spec.workers(),
        clients: spec.clients(),
        scripts: spec.scripts.len(),
        commands,
        message_bytes: messages::room(spec.workers()),
        log_bytes: match spec.log {
            Some(_) => logbook::room(spec.workers()),
            None => 0,
        },
        client_histograms: spec.pgio.is_some(),
        reads: spec.pgio.is_some() && spec.run.mode == Mode::Spi && server::tracks_io_timing(),
        sampled,
        stack_bytes: stack_area::room(sampled),
        statements: spec.statements,
        ..SegmentLayout::default()
    };
    require_room_for_commands(&layout)?;
    let segment = Segment::create(TaskKind::Run, layout, spec, &spec.values)?;
    Task::start(TaskKind::Run, segment, spec.workers() + 1)
}

/// Fails if the histograms of single commands would take more shared memory than is reasonable.
fn require_room_for_commands(layout: &SegmentLayout) -> Result<()> {
    match layout.command_histogram_bytes() {
        Some(bytes) if bytes <= MAX_COMMAND_BYTES => Ok(()),
        bytes => Err(Error::CommandHistograms {
            commands: layout.commands,
            processes: layout.histogram_sets(),
            megabytes: bytes.unwrap_or(usize::MAX) >> 20,
            limit: MAX_COMMAND_BYTES >> 20,
        }),
    }
}

/// Fails if the run writes on this server, and that is not possible.
pub(super) fn require_writable(spec: &RunSpec) -> Result<()> {
    match spec.target.is_none() && spec.writes() {
        true => server::require_writable("run scripts that write"),
        false => Ok(()),
    }
}

/// Checks that this server and the caller's transaction allow the run, if it is on this server.
fn check_here(spec: &RunSpec) -> Result<()> {
    require_writable(spec)?;
    if let Some(pgio) = &spec.pgio {
        let table_access = if spec.writes() {
            Access::Write
        } else {
            Access::Read
        };
        let tables: Vec<String> = (1..=pgio.tables).map(PgioSpec::table).collect();
        let tables: Vec<_> = tables.iter().map(|t| (t.as_str(), table_access)).collect();
        locks::require_none(&tables)?;
    }
    if spec.uses_pgbench_tables() || spec.vacuums() {
        let small = match (spec.writes(), spec.vacuum()) {
            (false, Vacuum::None) => Access::Read,
            _ => Access::Write,
        };
        let history = if spec.vacuums() {
            Access::Replace
        } else {
            small
        };
        let accounts = if spec.writes() || spec.vacuum() == Vacuum::All {
            Access::Write
        } else {
            Access::Read
        };
        locks::require_none(&[
            ("pgbench_accounts", accounts),
            ("pgbench_branches", small),
            ("pgbench_tellers", small),
            ("pgbench_history", history),
        ])?;
    }
    Ok(())
}
