//! Names of waits, each with a number of our own: the server's class and event.

use crate::backend::peer;
use crate::error::Result;
use pgrx::pg_sys;
use std::collections::HashMap;

/// The number of a name.
pub type WaitNo = u32;

/// Number that is counted if a session does not wait. It may use a CPU, or be ready to.
pub const NOT_WAITING: WaitNo = 0;
/// Number that is counted if there are too many names, or for one that no server gives.
pub const OTHER: WaitNo = 1;

/// Maximum number of names that are told apart; the server has less than 300, but extensions have names,
/// too.
pub const MAX_NAMES: usize = 1000;

/// The names that have been seen.
pub struct WaitNames {
    names: Vec<(String, Option<String>)>,
    /// By the server's number.
    numbers: HashMap<u32, WaitNo>,
}

impl WaitNames {
    pub fn new() -> WaitNames {
        WaitNames {
            names: vec![("not waiting".into(), None), ("other".into(), None)],
            numbers: HashMap::from([(0, NOT_WAITING)]),
        }
    }

    /// Number of a wait on this server.
    #[inline]
    pub fn of_number(&mut self, number: u32) -> Result<WaitNo> {
        match self.numbers.get(&number) {
            Some(wait) => Ok(*wait),
            None => self.add_number(number),
        }
    }

    #[cold]
    fn add_number(&mut self, number: u32) -> Result<WaitNo> {
        let (class, event) = peer::wait_names(number)?;
        let wait = self.of_names(&class, &event);
        if self.numbers.len() < MAX_NAMES {
            self.numbers.insert(number, wait);
        }
        Ok(wait)
    }

    /// Number of a wait by its names.
    pub fn of_names(&mut self, class: &str, event: &str) -> WaitNo {
        let known = |(known_class, known_event): &(String, Option<String>)| {
            known_class == class && known_event.as_deref() == Some(event)
        };
        if let Some(found) = self.names.iter().position(known) {
            return found as WaitNo;
        }
        let is_too_long = class.len().max(event.len()) >= pg_sys::NAMEDATALEN as usize;
        if self.names.len() == MAX_NAMES || is_too_long {
            return OTHER;
        }
        self.names.push((class.to_owned(), Some(event.to_owned())));
        self.names.len() as WaitNo - 1
    }

    /// Class and event.
    pub fn get(&self, wait: WaitNo) -> (&str, Option<&str>) {
        let (class, event) = &self.names[wait as usize];
        (class, event.as_deref())
    }

    /// Whether it is a lock of the server's lock manager.
    pub fn is_lock(&self, wait: WaitNo) -> bool {
        self.get(wait).0 == "Lock"
    }

    /// Whether the session waits for its client.
    pub fn is_client_read(&self, wait: WaitNo) -> bool {
        self.get(wait) == ("Client", Some("ClientRead"))
    }
}
