//! Texts of a task's processes in `pg_stat_activity`, except clients of mode spi: these show their
//! statements, like a backend.

use crate::backend::activity;
use crate::shared::Header;

/// Shows the task and what this process does for it, until the next call.
pub fn show(header: &Header, what: &str) {
    activity::show(format!("{}: {what}", header.name()));
}

/// Shows the task with a number of clients behind it.
pub fn show_clients(header: &Header, what: &str, clients: usize) {
    let noun = if clients == 1 { "client" } else { "clients" };
    show(header, &format!("{what} {clients} {noun}"));
}
