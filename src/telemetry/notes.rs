//! Notes on failed observations and their reasons: said once, stored with the run.

use crate::backend::transaction::abort;
use crate::error::{Result, catch};

/// Maximum number of notes that are kept.
const MAX_NOTES: usize = 50;

/// The notes of one run.
#[derive(Default)]
pub struct Notes(Vec<String>);

impl Notes {
    /// Adds a note, unless the same has been said.
    pub fn add(&mut self, note: String) {
        if self.0.len() < MAX_NOTES && !self.0.contains(&note) {
            self.0.push(note);
        }
    }

    /// Notes what the server's version, a role's privileges or the system do not let observe.
    pub fn missing(&mut self, what: &str, why: &str) {
        self.add(format!("not observed: {what}: {why}"));
    }

    /// Adds other notes.
    pub fn append(&mut self, others: Notes) {
        others.0.into_iter().for_each(|note| self.add(note));
    }

    /// Lets an observer act, unless it is off. If it fails, it is off from then on, and the run goes
    /// on; `what` is what it observes.
    pub fn guard<O, T>(
        &mut self,
        observer: &mut Option<O>,
        what: &str,
        act: impl FnOnce(&mut O) -> Result<T>,
    ) -> Option<T> {
        let acting = observer.as_mut()?;
        match catch(|| act(acting)) {
            Ok(value) => Some(value),
            Err(error) => {
                abort();
                *observer = None;
                // libpq's messages have several lines.
                let why = error.report().one_line();
                let why: Vec<_> = why.split_whitespace().collect();
                self.add(selfbench_model::failed_to_observe(what, &why.join(" ")));
                None
            }
        }
    }

    /// Observes something once. If that fails, the run goes on; `what` is what is observed.
    pub fn attempt<T>(&mut self, what: &str, act: impl FnOnce() -> Result<T>) -> Option<T> {
        self.guard(&mut Some(()), what, |()| act())
    }

    /// All of them.
    pub fn into_texts(self) -> Vec<String> {
        self.0
    }
}
