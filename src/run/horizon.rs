//! Not holding back the removal of dead rows while waiting for a run.
//!
//! The statement that calls `bench.run` has a snapshot, and as long as it is advertised, no row
//! version that died after it can be removed, by anybody. Under pgbench nothing of the kind
//! happens, since its caller is not in the database. At scale 10, tpcb-like would update ever
//! longer chains of dead versions, and the figure would be about the waiting caller.
//!
//! So while this backend only waits, it takes its advertised `xmin` away, as an idle backend does.
//! That is safe only if nothing will be read with that snapshot afterwards: the isolation level is
//! READ COMMITTED, no transaction id is assigned, no other snapshot is in use (an open cursor has
//! one), the function was called directly by a top-level statement, and that statement reads no
//! table and calls no other function that could. Anything else keeps its snapshot advertised, and
//! the caller is told.

use pgrx::pg_sys;

/// Whether and how this backend may stop holding back the horizon.
pub struct Horizon {
    releasable: bool,
}

impl Horizon {
    /// Looks at the statement that called the function with this call information.
    ///
    /// # Safety
    /// `fcinfo` must be the call information of the current call.
    pub unsafe fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Horizon {
        // SAFETY: the caller's promise.
        let releasable = unsafe { is_releasable(fcinfo) };
        Horizon { releasable }
    }

    /// Whether the statement's snapshot can be taken out of the way.
    pub fn releasable(&self) -> bool {
        self.releasable
    }

    /// Takes the advertised `xmin` away. To be called again before each wait: catalog look-ups in
    /// between advertise one anew, and a current one.
    pub fn release(&self) {
        if self.releasable {
            // SAFETY: a single aligned word that only this process writes; others read it without
            // a lock, and the server itself clears it in this way when no snapshot is left.
            unsafe {
                pg_sys::InvalidateCatalogSnapshot();
                (&raw mut (*pg_sys::MyProc).xmin).write_volatile(pg_sys::InvalidTransactionId);
            }
        }
    }
}

/// # Safety
/// `fcinfo` must be the call information of the current call.
unsafe fn is_releasable(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: the executor's structures of the running statement; every pointer is checked.
    unsafe {
        if pg_sys::XactIsoLevel != pg_sys::XACT_READ_COMMITTED as i32
            || pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId
            || pg_sys::IsSubTransaction()
            // Another one, such as an open cursor's, is still to be read with.
            || !pg_sys::ThereAreNoPriorRegisteredSnapshots()
            || fcinfo.is_null()
            || (*fcinfo).flinfo.is_null()
        {
            return false;
        }
        let function = (*(*fcinfo).flinfo).fn_oid;
        let portal = pg_sys::ActivePortal;
        if portal.is_null() || (*portal).strategy != pg_sys::PortalStrategy::PORTAL_ONE_SELECT {
            return false;
        }
        let query = (*portal).queryDesc;
        if query.is_null() || (*query).plannedstmt.is_null() {
            return false;
        }
        // Called by that very statement, not by a function that it calls.
        if pg_sys::GetActiveSnapshot() != (*query).snapshot {
            return false;
        }
        let statement = (*query).plannedstmt;
        let plan = (*statement).planTree;
        if plan.is_null()
            || !(*statement).subplans.is_null()
            || !(*plan).initPlan.is_null()
            || !(*plan).lefttree.is_null()
            || !(*plan).righttree.is_null()
        {
            return false;
        }
        match (*plan).type_ {
            pg_sys::NodeTag::T_FunctionScan => {
                let scan = plan.cast::<pg_sys::FunctionScan>();
                let functions =
                    pgrx::PgList::<pg_sys::RangeTblFunction>::from_pg((*scan).functions);
                functions.len() == 1
                    && functions
                        .get_ptr(0)
                        .is_some_and(|f| calls(function, (*f).funcexpr.cast()))
                    && !pg_sys::contain_mutable_functions((*plan).targetlist.cast())
                    && !pg_sys::contain_mutable_functions((*plan).qual.cast())
            }
            pg_sys::NodeTag::T_Result => {
                let result = plan.cast::<pg_sys::Result>();
                let targets = pgrx::PgList::<pg_sys::TargetEntry>::from_pg((*plan).targetlist);
                (*result).resconstantqual.is_null()
                    && targets.iter_ptr().all(|target| {
                        let expression = (*target).expr.cast::<pg_sys::Node>();
                        calls(function, expression)
                            || !pg_sys::contain_mutable_functions(expression)
                    })
            }
            _ => false,
        }
    }
}

/// Whether the expression is a call of the function, with arguments that read nothing.
///
/// # Safety
/// `expression` must be null or a node.
unsafe fn calls(function: pg_sys::Oid, expression: *mut pg_sys::Node) -> bool {
    // SAFETY: the caller's promise; the cast follows the node's tag.
    unsafe {
        if expression.is_null() || !pgrx::is_a(expression, pg_sys::NodeTag::T_FuncExpr) {
            return false;
        }
        let call = expression.cast::<pg_sys::FuncExpr>();
        (*call).funcid == function && !pg_sys::contain_mutable_functions((*call).args.cast())
    }
}
