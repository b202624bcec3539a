//! Heavyweight locks on what the extension numbers. Only a C function can take them: SQL takes locks of
//! an object with part 0 alone, and advisory locks, which any role can take, are of another type. A role
//! can therefore not block others.
//!
//! `pg_locks` shows them with the type `object`, or `userlock` where they count runs, the OID of a table as `classid`,
//! the number of its row as `objid`, and the part as `objsubid`; `bench_internal.is_locked` finds those of part 1. `objid` has
//! the lower 32 bits of a number. Two rows whose numbers differ by a multiple of 2^32 share a lock: one
//! of them is refused as in progress while the other one is.

use super::catalog::own_table;
use super::session;
use super::transaction::InTransaction;
use crate::compat;
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
    /// A run of a session user, by its coordinator. Those of other runs have it, too.
    Run(pg_sys::Oid),
    /// The right of a coordinator to count these.
    Count(pg_sys::Oid),
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
        let taken = unsafe { pg_sys::LockAcquire(&tag, self.mode(), until == Until::Exit, !wait) };
        Ok(taken != pg_sys::LockAcquireResult::LOCKACQUIRE_NOT_AVAIL)
    }

    /// Unlocks it before the process that has locked it exits.
    pub fn unlock(self, now: InTransaction) -> Result<()> {
        let tag = self.tag(now)?;
        // SAFETY: a lock that is not held is a warning.
        unsafe { pg_sys::LockRelease(&tag, self.mode(), true) };
        Ok(())
    }

    /// Whether this process has locked it.
    pub fn is_locked_here(self, now: InTransaction) -> Result<bool> {
        let tag = self.tag(now)?;
        // SAFETY: looks into the locks of this process.
        Ok(unsafe { compat::lock_held_by_me(&tag, self.mode()) })
    }

    /// Number of processes that have locked it.
    pub fn holders(self, now: InTransaction) -> Result<usize> {
        let tag = self.tag(now)?;
        let parts = |tag: &pg_sys::LOCKTAG| {
            let numbers = [tag.locktag_field1, tag.locktag_field2, tag.locktag_field3];
            (tag.locktag_type, numbers, tag.locktag_field4)
        };
        // SAFETY: a copy of the server's locks, with as many elements as it says.
        let locks = unsafe {
            let data = pg_sys::GetLockStatusData();
            std::slice::from_raw_parts((*data).locks, (*data).nelements as usize)
        };
        let held = locks.iter().filter(|lock| lock.holdMask != 0);
        Ok(held
            .filter(|lock| parts(&lock.locktag) == parts(&tag))
            .count())
    }

    fn mode(self) -> pg_sys::LOCKMODE {
        let mode = match self {
            Object::Run(_) => pg_sys::ShareLock,
            _ => pg_sys::ExclusiveLock,
        };
        mode as pg_sys::LOCKMODE
    }

    fn tag(self, now: InTransaction) -> Result<pg_sys::LOCKTAG> {
        let table = |name| own_table(now, name);
        let (class, number, part) = match self {
            Object::Set(set_id) => (table(c"sets")?, set_id as u32, 1),
            Object::Job(job_id) => (table(c"jobs")?, job_id as u32, 1),
            Object::Teardown(run_id) => (table(c"runs")?, run_id as u32, 1),
            Object::Imports(role) => (table(c"runs")?, role.to_u32(), 2),
            Object::Tables(schema, part) => (pg_sys::NamespaceRelationId, schema.to_u32(), part),
            Object::Run(role) => (pg_sys::AuthIdRelationId, role.to_u32(), 1),
            Object::Count(role) => (pg_sys::AuthIdRelationId, role.to_u32(), 2),
        };
        // Roles belong to all databases. A standby allows no such lock of an object, but of this type.
        let (database, kind) = match self {
            Object::Run(_) | Object::Count(_) => (0, pg_sys::LockTagType::LOCKTAG_USERLOCK),
            _ => {
                let database = session::database().to_u32();
                (database, pg_sys::LockTagType::LOCKTAG_OBJECT)
            }
        };
        Ok(pg_sys::LOCKTAG {
            locktag_field1: database,
            locktag_field2: class.to_u32(),
            locktag_field3: number,
            locktag_field4: part,
            locktag_type: kind as u8,
            // Of the server's other method, an aborted transaction would release those of the process.
            locktag_lockmethodid: pg_sys::USER_LOCKMETHOD as u8,
        })
    }
}
