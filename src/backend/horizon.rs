//! Waiting for a run without keeping dead rows from being removed.
//!
//! The statement that calls `bench.run` has a snapshot. While its `xmin` is advertised, the server
//! cannot remove rows that died after it. pgbench does not have this problem, because it waits
//! outside of the database. At scale 10, tpcb-like would follow longer and longer chains of dead
//! rows, and the waiting caller would distort the figures.
//!
//! So while this backend only waits, it resets its advertised `xmin`, as an idle backend does. This
//! is safe only if nothing is read with that snapshot afterwards: the isolation level is READ
//! COMMITTED, no transaction ID is assigned, no other snapshot is in use (an open cursor has one),
//! a top-level statement called the function directly, not one of a procedural language, and that
//! statement, with all its subqueries, reads no table and calls no function that could. It may call
//! this extension's functions any number of times, because their queries take their own snapshots (see `query`). In all other
//! cases, the snapshot stays advertised, and the caller gets a notice.

use crate::compat;
use crate::private;
use pgrx::pg_catalog::pg_proc::PgProc;
use pgrx::pg_sys;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use std::marker::PhantomData;

/// Whether this backend may reset its advertised `xmin`.
pub struct Horizon<'call> {
    /// The snapshot of the calling statement, if it may be released.
    snapshot: Option<pg_sys::Snapshot>,
    call: PhantomData<&'call ()>,
}

impl<'call> Horizon<'call> {
    /// Examines the statement that called the function with this call information.
    ///
    /// # Safety
    /// `fcinfo` must be the call information of the current call, which lasts for `'call`.
    pub unsafe fn of_call(fcinfo: pg_sys::FunctionCallInfo) -> Horizon<'call> {
        // SAFETY: the caller's promise.
        let snapshot = unsafe { is_releasable(fcinfo).then(|| pg_sys::GetActiveSnapshot()) };
        Horizon {
            snapshot,
            call: PhantomData,
        }
    }

    /// Whether the `xmin` of the statement's snapshot can be reset.
    pub fn releasable(&self) -> bool {
        self.snapshot.is_some()
    }

    /// Resets the advertised `xmin`, unless another snapshot than the statement's is in use. To be
    /// called before each wait, because catalog look-ups in between advertise a new, current one.
    pub fn release(&self) {
        let Some(snapshot) = self.snapshot else {
            return;
        };
        // SAFETY: within the call, whose statement has an active snapshot. What the statement does
        // with it has been examined, and the catalog snapshot is taken again when it is needed.
        unsafe {
            pg_sys::InvalidateCatalogSnapshot();
            if pg_sys::GetActiveSnapshot() == snapshot
                && pg_sys::ThereAreNoPriorRegisteredSnapshots()
            {
                private::reset_xmin();
            }
        }
    }
}

/// # Safety
/// `fcinfo` must be the call information of the current call.
unsafe fn is_releasable(fcinfo: pg_sys::FunctionCallInfo) -> bool {
    // SAFETY: the executor's structures of the running statement; every pointer is checked.
    unsafe {
        // The catalog snapshot is taken again when it is needed.
        pg_sys::InvalidateCatalogSnapshot();
        if pg_sys::XactIsoLevel != pg_sys::XACT_READ_COMMITTED as i32
            || pg_sys::GetTopTransactionIdIfAny() != pg_sys::InvalidTransactionId
            || pg_sys::IsSubTransaction()
            || is_in_spi()
            // Another snapshot, such as an open cursor's, is still in use.
            || !pg_sys::ThereAreNoPriorRegisteredSnapshots()
            || fcinfo.is_null()
            || (*fcinfo).flinfo.is_null()
        {
            return false;
        }
        let portal = pg_sys::ActivePortal;
        if portal.is_null() || (*portal).strategy != pg_sys::PortalStrategy::PORTAL_ONE_SELECT {
            return false;
        }
        let query = (*portal).queryDesc;
        if query.is_null() || (*query).plannedstmt.is_null() {
            return false;
        }
        // The statement calls the function directly, not through another function, and no cursor of the function that
        // opened it has the same snapshot.
        let snapshot = (*query).snapshot;
        if pg_sys::GetActiveSnapshot() != snapshot || (*snapshot).regd_count > OWN_REFERENCES {
            return false;
        }
        let Some(function) = PgProc::new((*(*fcinfo).flinfo).fn_oid) else {
            return false;
        };
        let reader = Reader {
            library: function.probin(),
        };
        let statement = (*query).plannedstmt;
        // The plan of an unused subquery is null.
        reader.skips_plan((*statement).planTree)
            && plans((*statement).subplans).all(|plan| plan.is_null() || reader.skips_plan(plan))
    }
}

/// References of a statement to its snapshot: of its description and of its execution.
const OWN_REFERENCES: u32 = 2;

/// Whether a procedural language is executing: a loop or cursor of it is a statement of its own that shares the snapshot
/// of the one around it.
fn is_in_spi() -> bool {
    // SAFETY: no relation has this name, and without a connection to SPI, none is looked for.
    let found = unsafe { pg_sys::SPI_unregister_relation(c"".as_ptr()) };
    found != pg_sys::SPI_ERROR_UNCONNECTED
}

/// Finds plans and expressions that read tables, or could.
struct Reader {
    /// The library of this extension's functions.
    library: Option<String>,
}

impl Reader {
    /// Whether a plan reads no table.
    ///
    /// # Safety
    /// `plan` must be null or a plan.
    unsafe fn skips_plan(&self, plan: *mut pg_sys::Plan) -> bool {
        use pg_sys::NodeTag::*;
        if plan.is_null() {
            return false;
        }
        // SAFETY: the caller's promise; casts follow the node's tag.
        unsafe {
            let (own, below) = match (*plan).type_ {
                T_ProjectSet | T_CteScan | T_Material | T_Sort | T_Agg | T_Group | T_Unique => {
                    (vec![], vec![])
                }
                T_Result => {
                    let result = plan.cast::<pg_sys::Result>();
                    (vec![(*result).resconstantqual], vec![])
                }
                T_FunctionScan => {
                    let scan = plan.cast::<pg_sys::FunctionScan>();
                    (vec![(*scan).functions.cast()], vec![])
                }
                T_ValuesScan => {
                    let scan = plan.cast::<pg_sys::ValuesScan>();
                    (vec![(*scan).values_lists.cast()], vec![])
                }
                T_NestLoop => {
                    let join = plan.cast::<pg_sys::NestLoop>();
                    (vec![(*join).join.joinqual.cast()], vec![])
                }
                T_Limit => {
                    let limit = plan.cast::<pg_sys::Limit>();
                    (vec![(*limit).limitOffset, (*limit).limitCount], vec![])
                }
                T_WindowAgg => {
                    let window = plan.cast::<pg_sys::WindowAgg>();
                    (vec![(*window).startOffset, (*window).endOffset], vec![])
                }
                T_SubqueryScan => {
                    let scan = plan.cast::<pg_sys::SubqueryScan>();
                    (vec![], vec![(*scan).subplan])
                }
                T_Append => {
                    let append = plan.cast::<pg_sys::Append>();
                    (vec![], plans((*append).appendplans).collect())
                }
                _ => return false,
            };
            let common: [*mut pg_sys::Node; 2] = [(*plan).targetlist.cast(), (*plan).qual.cast()];
            let sides = [(*plan).lefttree, (*plan).righttree];
            let sides = sides.into_iter().filter(|side| !side.is_null());
            common
                .into_iter()
                .chain(own)
                .all(|node| self.skips_expression(node))
                && below.into_iter().chain(sides).all(|p| self.skips_plan(p))
        }
    }

    /// Whether an expression calls nothing that may read a table. Its subqueries are examined by
    /// their plans.
    ///
    /// # Safety
    /// `node` must be null or an expression, or a list of them.
    unsafe fn skips_expression(&self, node: *mut pg_sys::Node) -> bool {
        let this = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the caller's promise, and the visitor's.
        !unsafe { pg_guard_ffi_boundary(|| reads(node, this)) }
    }

    /// Whether a function reads nothing with the calling statement's snapshot. Every aggregate says that it is
    /// immutable, whatever its functions read: of them, only the server's own are believed.
    fn skips(&self, function: pg_sys::Oid) -> bool {
        // SAFETY: in a transaction.
        let (volatility, kind) = unsafe {
            (
                pg_sys::func_volatile(function),
                pg_sys::get_func_prokind(function),
            )
        };
        let is_believed =
            kind as u8 == pg_sys::PROKIND_FUNCTION || function.to_u32() < FIRST_FOREIGN;
        (volatility as u8 == pg_sys::PROVOLATILE_IMMUTABLE && is_believed)
            || STABLE.contains(&function.to_u32())
            || (self.library.is_some()
                && PgProc::new(function).is_some_and(|p| p.probin() == self.library))
    }
}

/// The server's functions that depend only on settings or the clock. Those that take a value of any
/// type call its output function, which uses no snapshot either.
const STABLE: [u32; 31] = [
    pg_sys::F_ARRAY_IN,
    pg_sys::F_ARRAY_OUT,
    pg_sys::F_ARRAY_TO_STRING_ANYARRAY_TEXT,
    pg_sys::F_ARRAY_TO_STRING_ANYARRAY_TEXT_TEXT,
    pg_sys::F_CLOCK_TIMESTAMP,
    pg_sys::F_CONCAT,
    pg_sys::F_CONCAT_WS,
    pg_sys::F_CURRENT_SETTING_TEXT,
    pg_sys::F_CURRENT_SETTING_TEXT_BOOL,
    pg_sys::F_DATE_TIMESTAMPTZ,
    pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
    pg_sys::F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT,
    pg_sys::F_EXTRACT_TEXT_TIMESTAMPTZ,
    pg_sys::F_FORMAT_TEXT,
    pg_sys::F_FORMAT_TEXT_ANY,
    pg_sys::F_INTERVAL_IN,
    pg_sys::F_NOW,
    pg_sys::F_PG_BACKEND_PID,
    pg_sys::F_RECORD_OUT,
    pg_sys::F_STATEMENT_TIMESTAMP,
    pg_sys::F_TIMESTAMPTZ_IN,
    pg_sys::F_TIMESTAMPTZ_OUT,
    pg_sys::F_TIMESTAMPTZ_TIMESTAMP,
    pg_sys::F_TO_CHAR_FLOAT4_TEXT,
    pg_sys::F_TO_CHAR_FLOAT8_TEXT,
    pg_sys::F_TO_CHAR_INT4_TEXT,
    pg_sys::F_TO_CHAR_INT8_TEXT,
    pg_sys::F_TO_CHAR_INTERVAL_TEXT,
    pg_sys::F_TO_CHAR_NUMERIC_TEXT,
    pg_sys::F_TO_CHAR_TIMESTAMPTZ_TEXT,
    pg_sys::F_VERSION,
];

/// The first object id that the server's own types and functions do not have.
const FIRST_FOREIGN: u32 = 10_000;

/// Visits an expression: whether something in it may read a table.
///
/// # Safety
/// `node` must be null or an expression, or a list of them; `reader` a [`Reader`].
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn reads(node: *mut pg_sys::Node, reader: *mut std::ffi::c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: the caller's promise; the cast follows the node's tag.
    unsafe {
        match (*node).type_ {
            // Domains have constraints, which may call anything.
            pg_sys::NodeTag::T_CoerceToDomain | pg_sys::NodeTag::T_NextValueExpr => return true,
            pg_sys::NodeTag::T_CoerceViaIO
                if (*node.cast::<pg_sys::CoerceViaIO>()).resulttype.to_u32() >= FIRST_FOREIGN =>
            {
                return true;
            }
            _ => {}
        }
        pg_sys::check_functions_in_node(node, Some(function_reads), reader)
            || compat::walk_expression(node, reads, reader)
    }
}

/// Whether a function may read a table.
///
/// # Safety
/// `reader` must be a [`Reader`].
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn function_reads(
    function: pg_sys::Oid,
    reader: *mut std::ffi::c_void,
) -> bool {
    // SAFETY: the caller's promise.
    !unsafe { &*reader.cast::<Reader>() }.skips(function)
}

/// The plans of a list.
///
/// # Safety
/// `list` must be null or a list of plans.
unsafe fn plans(list: *mut pg_sys::List) -> impl Iterator<Item = *mut pg_sys::Plan> {
    // SAFETY: the caller's promise.
    let list = unsafe { pgrx::PgList::<pg_sys::Plan>::from_pg(list) };
    (0..list.len()).filter_map(move |i| list.get_ptr(i).or(Some(std::ptr::null_mut())))
}
