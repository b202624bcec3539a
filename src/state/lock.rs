//! Heavyweight locks on what the extension numbers. Only a C function can take them: SQL takes locks of
//! an object with part 0 alone, and advisory locks, which any role can take, are of another type. A role
//! can therefore not block others.
//!
//! `pg_locks` shows them with the type `object`, the OID of a table as `classid`, the number of its row
//! as `objid`, and the part as `objsubid`; `bench_internal.is_locked` finds those of part 1. `objid` has
//! the lower 32 bits of a number. Two rows whose numbers differ by a multiple of 2^32 share a lock: one
//! of them is refused as in progress while the other one is.

use super::catalog::own_table;
use super::session;
use super::transaction::InTransaction;
use crate::error::Result;
use pgrx::pg_sys;

/// Object of a lock, in the current database.
#[derive(Clone, Copy, Debug)]
pub enum Object {
    /// A set, by the session that drives it.
    Set(i64),
    /// A job, by the worker that runs it.
    Job(i64),
    /// The teardown of a run, by the process that executes it after the run.
    Teardown(i64),
    /// The imports of a role.
    Imports(pg_sys::Oid),
    /// The tables of a schema that loaders of a kind create, by a loader; each kind has a part.
    Tables(pg_sys::Oid, u16),
}

/// When a lock is released at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// At the end of the transaction, or of the subtransaction if that is rolled back.
    TransactionEnd,
    /// When the process exits.
    Exit,
}

impl Object {
    /// Locks it; false if another process has it locked and `wait` is false.
    pub fn lock(self, now: InTransaction, until: Until, wait: bool) -> Result<bool> {
        let tag = self.tag(now)?;
        // SAFETY: in a transaction, whose abort cleans up after an error of a wait.
        let taken = unsafe { pg_sys::LockAcquire(&tag, MODE, until == Until::Exit, !wait) };
        Ok(taken != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL)
    }

    /// Unlocks it before the process that has locked it exits.
    pub fn unlock(self, now: InTransaction) -> Result<()> {
        let tag = self.tag(now)?;
        // SAFETY: a lock that is not held is a warning.
        unsafe { pg_sys::LockRelease(&tag, MODE, true) };
        Ok(())
    }

    fn tag(self, now: InTransaction) -> Result<pg_sys::LOCKTAG> {
        let table = |name| own_table(now, name);
        let (class, number, part) = match self {
            Object::Set(set_id) => (table(c"sets")?, set_id as u32, 1),
            Object::Job(job_id) => (table(c"jobs")?, job_id as u32, 1),
            Object::Teardown(run_id) => (table(c"runs")?, run_id as u32, 1),
            Object::Imports(role) => (table(c"runs")?, role.to_u32(), 2),
            Object::Tables(schema, part) => (pg_sys::NamespaceRelationId, schema.to_u32(), part),
        };
        Ok(pg_sys::LOCKTAG {
            locktag_field1: session::database().to_u32(),
            locktag_field2: class.to_u32(),
            locktag_field3: number,
            locktag_field4: part,
            locktag_type: pg_sys::LockTagType::LOCKTAG_OBJECT as u8,
            // Of the server's other method, an aborted transaction would release those of the process.
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        })
    }
}

const MODE: pg_sys::LOCKMODE = pg_sys::ExclusiveLock as pg_sys::LOCKMODE;
