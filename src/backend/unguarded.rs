//! Functions that every transaction of an SPI client calls, without the stack guard of the server's
//! binding for each call, which takes longer than many of them. An error goes to the innermost
//! guard, so that there must be one around the calls, and between it and them nothing that has to
//! be dropped.

pub use crate::compat::run_to_end;
use pgrx::pg_sys::{
    BackendState, CachedPlan, CachedPlanSource, Datum, DestReceiver, FmgrInfo, MemoryContext, Oid,
    ParamListInfo, PlannedStmt, QueryDesc, QueryEnvironment, ResourceOwner, SPIExecuteOptions,
    SPIPlanPtr, Snapshot, TimestampTz,
};
use std::ffi::{c_char, c_int};

unsafe extern "C-unwind" {
    pub fn SetCurrentStatementStartTimestamp();
    pub fn GetCurrentStatementStartTimestamp() -> TimestampTz;
    pub fn pgstat_report_activity(state: BackendState::Type, text: *const c_char);
    pub fn StartTransactionCommand();
    pub fn CommitTransactionCommand();
    pub fn CommandCounterIncrement();
    pub fn IsAbortedTransactionBlockState() -> bool;
    pub fn IsTransactionOrTransactionBlock() -> bool;
    pub fn IsTransactionBlock() -> bool;
    pub fn SPI_connect() -> c_int;
    pub fn SPI_finish() -> c_int;
    pub fn SPI_execute_plan_extended(plan: SPIPlanPtr, options: *const SPIExecuteOptions) -> c_int;
    pub fn GetCachedPlan(
        source: *mut CachedPlanSource,
        parameters: ParamListInfo,
        owner: ResourceOwner,
        environment: *mut QueryEnvironment,
    ) -> *mut CachedPlan;
    pub fn ReleaseCachedPlan(plan: *mut CachedPlan, owner: ResourceOwner);
    pub fn CreateQueryDesc(
        statement: *mut PlannedStmt,
        text: *const c_char,
        snapshot: Snapshot,
        crosscheck: Snapshot,
        receiver: *mut DestReceiver,
        parameters: ParamListInfo,
        environment: *mut QueryEnvironment,
        instruments: c_int,
    ) -> *mut QueryDesc;
    pub fn FreeQueryDesc(execution: *mut QueryDesc);
    pub fn ExecutorStart(execution: *mut QueryDesc, flags: c_int);
    pub fn ExecutorFinish(execution: *mut QueryDesc);
    pub fn ExecutorEnd(execution: *mut QueryDesc);
    pub fn MemoryContextReset(context: MemoryContext);
    pub fn GetTransactionSnapshot() -> Snapshot;
    pub fn GetActiveSnapshot() -> Snapshot;
    pub fn PushActiveSnapshot(snapshot: Snapshot);
    pub fn PopActiveSnapshot();
    pub fn InputFunctionCall(
        function: *mut FmgrInfo,
        text: *mut c_char,
        io_param: Oid,
        modifier: i32,
    ) -> Datum;
}
