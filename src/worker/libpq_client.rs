//! A libpq client worker: one background worker, many clients, one event loop over their
//! connections. It drives one or several of what pgbench calls threads.

use super::activity::show_clients;
use super::client::check_rights;
use super::event_loop::{Ready, Workloads, run};
use super::notices;
use super::place::Place;
use super::sampled;
use crate::backend::identity::connect;
use crate::backend::interrupts::{asked_to_end, enter_ending_itself, ignore_cancels};
use crate::backend::profiler;
use crate::backend::transaction;
use crate::database::remote::{self, NotConnected, Remote};
use crate::error::{Error, Result, catch};
use crate::pq::{ConnectWith, Connection};
use crate::query::quote_literal;
use crate::run::RunSpec;
use crate::shared::Stop;
use crate::shared::effort::Stopwatch;
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
            // Nobody else can end its sessions on a target.
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
    let threads: Vec<_> = clients_per_thread(spec.clients, spec.jobs).collect();
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
    if spec.switches.reconnect && !spec.client_settings.is_empty() {
        let connection = connect_client(place.index, &connect_with, REMEDY)?;
        require_settings(&spec, connection)?;
    }
    let mut connections = Vec::with_capacity(clients.len());
    for (client, _) in &clients {
        if header.stop() != Stop::No {
            return Ok(None);
        }
        if spec.switches.reconnect {
            connections.push(None);
            continue;
        }
        let connection = connect_client(*client, &connect_with, REMEDY)?;
        let connection = require_settings(&spec, connection)?;
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
    }))
}

/// Fails unless the session of a connection has the settings that clients are to have.
fn require_settings(spec: &RunSpec, connection: Connection) -> Result<Connection> {
    if spec.client_settings.is_empty() {
        return Ok(connection);
    }
    let columns: Vec<_> = spec
        .client_settings
        .iter()
        .map(|setting| {
            let name = quote_literal(&setting.name);
            format!("pg_catalog.current_setting({name}, true)")
        })
        .collect();
    let mut session = Remote::over(connection);
    let row = session.first_row(&format!("SELECT {}", columns.join(", ")))?;
    for (setting, is) in spec.client_settings.iter().zip(row) {
        setting.require(is.unwrap_or_default())?;
    }
    Ok(session.into_connection())
}

/// Connects a client to the server. `remedy` is the advice if this process has too many
/// connections.
pub(super) fn connect_client(
    client: usize,
    with: &ConnectWith,
    remedy: &str,
) -> Result<Connection> {
    remote::connect(with, remedy).map_err(|error| match error {
        NotConnected::Failed(message, sqlstate) => Error::Connect {
            client,
            sqlstate,
            message,
        },
        NotConnected::NoPassword => Error::PasswordNotUsed,
    })
}
