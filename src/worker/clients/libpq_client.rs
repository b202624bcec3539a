//! A libpq client worker: one background worker, many clients, one event loop over their
//! connections. It drives one or several of what pgbench calls threads.

use super::client::check_rights;
use super::event_loop::{Ready, Workloads, run};
use super::notices;
use super::sampled;
use crate::backend::identity::connect;
use crate::backend::interrupts::{asked_to_end, enter_ending_itself, ignore_cancels};
use crate::backend::profiler;
use crate::backend::transaction;
use crate::database::pooler;
use crate::database::remote::{self, NotConnected, Remote};
use crate::error::{Error, Result, catch};
use crate::pq::{ConnectWith, Connection};
use crate::run::RunSpec;
use crate::shared::Stop;
use crate::shared::effort::Stopwatch;
use crate::worker::activity::show_clients;
use crate::worker::place::Place;
use pgrx::{pg_guard, pg_sys};
use selfbench_script::clients_per_thread;
use std::rc::Rc;

/// The advice if this process has too many connections.
const REMEDY: &str = "use more jobs and workers";

/// Entry point of the process.
#[pg_guard]
#[allow(unsafe_code)] // for the name
#[unsafe(no_mangle)]
pub extern "C-unwind" fn pg_selfbench_libpq_client_main(argument: pg_sys::Datum) {
    let Some(place) = Place::take(argument) else {
        return;
    };
    let result = catch(|| {
        let Some(ready) = prepare(&place)? else {
            return Ok(());
        };
        let (header, clients) = (place.segment.header(), ready.clients.len());
        show_clients(header, "ready,", clients);
        profiler::start(place.segment, place.index);
        if place.wait_for_start() {
            show_clients(header, "running,", clients);
            // No other process can end its sessions on a target.
            enter_ending_itself();
            ignore_cancels();
            let stopwatch = Stopwatch::start();
            run(&place, ready);
            let account = &place.segment.worker(place.index).account;
            account.set(stopwatch.stop());
        }
        profiler::stop();
        Ok(())
    });
    if result.is_err() {
        transaction::abort();
    }
    if asked_to_end() {
        place.die();
    }
    place.leave(result.err().map(|error| error.report()));
}

fn prepare(place: &Place) -> Result<Option<Ready>> {
    let spec: RunSpec = place.segment.spec()?;
    connect(spec.identity);
    let header = place.segment.header();
    notices::of_connections(place);
    let threads: Vec<_> = clients_per_thread(spec.clients(), spec.jobs()).collect();
    let threads = &threads[spec.threads(place.index)];
    let clients: Vec<_> = threads
        .iter()
        .enumerate()
        .flat_map(|(thread, clients)| clients.clone().map(move |client| (client, thread)))
        .collect();
    show_clients(header, "connecting", clients.len());
    let workloads = Workloads::parse(&spec, clients.iter().map(|(client, _)| *client))?;
    workloads.all.iter().try_for_each(check_rights)?;
    let connect_with = Rc::new(spec.connect_with());
    // With a connection for each transaction, one of each worker stands for them.
    if spec.run.reconnect && !spec.client_settings.is_empty() {
        let connection = connect_client(place.index, &connect_with, REMEDY)?;
        Remote::over(connection).require(&spec.client_settings)?;
    }
    let mut connections = Vec::with_capacity(clients.len());
    for (client, _) in &clients {
        if header.stop() != Stop::No {
            return Ok(None);
        }
        if spec.run.reconnect {
            connections.push(None);
            continue;
        }
        let connection = open_session(&spec, *client, &connect_with)?;
        let (slot, _) = place.segment.client(*client);
        slot.set_backend_pid(connection.backend_pid());
        connections.push(Some(sampled::request(place, *client, connection)));
    }
    Ok(Some(Ready {
        spec,
        workloads,
        clients,
        connections,
        connect_with,
        values: place.segment.values()?,
    }))
}

/// Connects a client whose session has the settings that it is to have: by startup options or, behind a
/// pooler that refuses or ignores these, by SET.
fn open_session(spec: &RunSpec, client: usize, with: &ConnectWith) -> Result<Connection> {
    let settings = spec.settings_of_sessions();
    let connection = match (connect_client(client, with, REMEDY), &spec.target) {
        (Err(Error::Connect { message, .. }), Some(target))
            if pooler::refuses_options(&message) && !settings.is_empty() =>
        {
            connect_client(client, target, REMEDY)?
        }
        (connected, _) => connected?,
    };
    if settings.is_empty() {
        return Ok(connection);
    }
    let mut session = Remote::over(connection);
    if spec.target.is_some() {
        session.set(&settings)?;
    }
    session.require(&settings)?;
    Ok(session.into_connection())
}

/// Connects a client to the server. `remedy` is the advice if this process has too many
/// connections.
pub fn connect_client(client: usize, with: &ConnectWith, remedy: &str) -> Result<Connection> {
    remote::connect(with, remedy).map_err(|error| match error {
        NotConnected::Failed(message, sqlstate) => Error::Connect {
            client,
            sqlstate,
            message,
        },
        NotConnected::NoPassword => Error::PasswordNotUsed,
    })
}
