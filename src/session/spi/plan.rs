//! Saved plans, and the parameters of statements.
//!
//! SPI makes and saves the plan of a prepared statement. A plan that consists of a single query is
//! executed as SPI and the server's portals do it, by the plan cache and the executor, but without
//! what SPI adds for callers that need rows: two memory contexts and a table of copied rows. The
//! statement does not need them, as its rows are discarded.

use crate::backend::statement::new_portal;
use crate::backend::unguarded;
use crate::private;
use crate::shared::Relations;
use pgrx::pg_sys;
use selfbench_script::{Slot, Variables};

/// Conversion of a parameter's text to a value.
struct Parameter {
    oid: pg_sys::Oid,
    input: pg_sys::FmgrInfo,
    io_param: pg_sys::Oid,
}

impl Parameter {
    /// # Safety
    /// In a transaction.
    unsafe fn look_up(oid: pg_sys::Oid) -> Parameter {
        let (mut function, mut io_param) = (pg_sys::InvalidOid, pg_sys::InvalidOid);
        // SAFETY: all-zero is how PostgreSQL itself starts an FmgrInfo; what the function caches
        // goes to the top context and stays with it.
        unsafe {
            pg_sys::getTypeInputInfo(oid, &mut function, &mut io_param);
            let mut input: pg_sys::FmgrInfo = std::mem::zeroed();
            pg_sys::fmgr_info_cxt(function, &mut input, pg_sys::TopMemoryContext);
            Parameter {
                oid,
                input,
                io_param,
            }
        }
    }
}

/// The parameters of a statement with their values.
pub struct ParameterValues {
    each: Vec<Parameter>,
    /// Values in the form that the executor takes, in the top context; null if there are none.
    values: pg_sys::ParamListInfo,
}

impl ParameterValues {
    /// Values of these types.
    ///
    /// # Safety
    /// In a transaction.
    pub unsafe fn look_up(types: &[pg_sys::Oid]) -> ParameterValues {
        // SAFETY: the caller's promise; the list has room for as many as it is made for.
        unsafe {
            let each = types.iter().map(|oid| Parameter::look_up(*oid)).collect();
            let mut values = std::ptr::null_mut();
            if !types.is_empty() {
                let outer = pg_sys::MemoryContextSwitchTo(pg_sys::TopMemoryContext);
                values = pg_sys::makeParamList(types.len() as i32);
                pg_sys::MemoryContextSwitchTo(outer);
                let list = (*values).params.as_mut_slice(types.len());
                for (value, oid) in list.iter_mut().zip(types) {
                    *value = pg_sys::ParamExternData {
                        value: pg_sys::Datum::from(0),
                        isnull: true,
                        pflags: pg_sys::PARAM_FLAG_CONST as _,
                        ptype: *oid,
                    };
                }
            }
            ParameterValues { each, values }
        }
    }

    /// Their types.
    pub fn types(&self) -> Vec<pg_sys::Oid> {
        self.each.iter().map(|parameter| parameter.oid).collect()
    }

    /// Their values, from [`ParameterValues::fill`].
    pub fn values(&self) -> pg_sys::ParamListInfo {
        self.values
    }

    /// Converts the variables' texts to the parameters' types. `text` is a buffer. Values are valid
    /// as long as the current memory context.
    ///
    /// # Safety
    /// In a transaction, within a guard; see [`unguarded`].
    #[inline]
    pub unsafe fn fill(&mut self, slots: &[Slot], variables: &Variables, text: &mut String) {
        if self.values.is_null() {
            return;
        }
        // SAFETY: the list was made for as many.
        let values = unsafe { (*self.values).params.as_mut_slice(self.each.len()) };
        for ((parameter, slot), into) in self.each.iter_mut().zip(slots).zip(values) {
            // The input function would read the same number from its text.
            let number = variables.integer(*slot);
            let direct = match (parameter.oid, number) {
                (pg_sys::INT8OID, Some(number)) => Some(pg_sys::Datum::from(number)),
                (pg_sys::INT4OID, Some(number)) => {
                    i32::try_from(number).ok().map(pg_sys::Datum::from)
                }
                _ => None,
            };
            let value = direct.or_else(|| {
                text.clear();
                variables.write_parameter(*slot, text).then(|| {
                    text.push('\0');
                    // SAFETY: the text ends in a zero byte; the function was looked up for the
                    // parameter's type.
                    unsafe {
                        unguarded::InputFunctionCall(
                            &mut parameter.input,
                            text.as_mut_ptr().cast(),
                            parameter.io_param,
                            -1,
                        )
                    }
                })
            });
            into.isnull = value.is_none();
            into.value = value.unwrap_or(pg_sys::Datum::from(0));
        }
    }
}

/// A plan that is kept for further executions.
#[derive(Clone, Copy)]
pub struct SavedPlan {
    plan: pg_sys::SPIPlanPtr,
    /// Its only source; null if it has several.
    source: *mut pg_sys::CachedPlanSource,
}

impl SavedPlan {
    /// Saves a plan, and adds the relations that it depends on to `relations`.
    ///
    /// # Safety
    /// The plan has just been prepared.
    pub unsafe fn save(plan: pg_sys::SPIPlanPtr, relations: &Relations) -> SavedPlan {
        // SAFETY: the caller's promise; the plan's sources live as long as it.
        unsafe {
            pg_sys::SPI_keepplan(plan);
            let sources = pg_sys::SPI_plan_get_plan_sources(plan);
            let sources = pgrx::PgList::<pg_sys::CachedPlanSource>::from_pg(sources);
            for source in sources.iter_ptr() {
                let oids = pgrx::PgList::<pg_sys::Oid>::from_pg((*source).relationOids);
                oids.iter_oid().for_each(|oid| relations.add(oid.to_u32()));
            }
            let source = match (sources.get_ptr(0), sources.len()) {
                (Some(source), 1) => source,
                _ => std::ptr::null_mut(),
            };
            if let Some(source) = source.as_mut() {
                private::fix_result(source);
            }
            SavedPlan { plan, source }
        }
    }

    /// The plan as SPI knows it.
    pub fn for_spi(self) -> pg_sys::SPIPlanPtr {
        self.plan
    }

    /// A portal that is to execute the plan with these values; see [`new_portal`].
    ///
    /// # Safety
    /// In a transaction. The plan is that of a single statement.
    pub unsafe fn define_portal(self, values: pg_sys::ParamListInfo) -> pg_sys::Portal {
        let nothing = std::ptr::null_mut();
        // SAFETY: the caller's promise. Between taking the plan and handing it to the portal there
        // is nothing that could fail.
        unsafe {
            let portal = new_portal();
            let plan = pg_sys::GetCachedPlan(self.source, values, std::ptr::null_mut(), nothing);
            pg_sys::PortalDefineQuery(
                portal,
                std::ptr::null(),
                (*self.source).query_string,
                (*self.source).commandTag,
                (*plan).stmt_list,
                plan,
            );
            portal
        }
    }

    /// Executes the plan and discards its rows. Returns false, and has done nothing, if it is not
    /// a single query; a rule can make it several at any time.
    ///
    /// The snapshot of the execution is taken when the plan has its locks, as for a portal: an older
    /// one would not see what the previous holders of the locks had committed, nor any row of a table
    /// that they had rewritten.
    ///
    /// # Safety
    /// In a transaction, within a guard; see [`unguarded`]. The values are those of the plan's
    /// parameters.
    #[inline]
    pub unsafe fn execute(self, values: pg_sys::ParamListInfo) -> bool {
        if self.source.is_null() {
            return false;
        }
        let nothing = std::ptr::null_mut();
        // SAFETY: the caller's promise; the same calls as SPI's own. What an error leaves behind
        // goes with the transaction's resource owner.
        unsafe {
            let owner = pg_sys::CurrentResourceOwner;
            let plan = unguarded::GetCachedPlan(self.source, values, owner, nothing);
            let query = single_query((*plan).stmt_list);
            if !query.is_null() {
                unguarded::PushActiveSnapshot(unguarded::GetTransactionSnapshot());
                let execution = unguarded::CreateQueryDesc(
                    query,
                    (*self.source).query_string,
                    unguarded::GetActiveSnapshot(),
                    std::ptr::null_mut(),
                    pg_sys::None_Receiver,
                    values,
                    nothing,
                    0,
                );
                unguarded::ExecutorStart(execution, 0);
                unguarded::run_to_end(execution);
                unguarded::ExecutorFinish(execution);
                unguarded::ExecutorEnd(execution);
                unguarded::FreeQueryDesc(execution);
                unguarded::PopActiveSnapshot();
            }
            unguarded::ReleaseCachedPlan(plan, owner);
            !query.is_null()
        }
    }
}

/// The only statement of a plan; null if there are several, or if it is a utility command.
///
/// # Safety
/// The list is that of a plan.
#[inline]
unsafe fn single_query(statements: *mut pg_sys::List) -> *mut pg_sys::PlannedStmt {
    // SAFETY: the caller's promise; its elements are planned statements, and null is the empty list.
    unsafe {
        if !statements.is_null() && (*statements).length == 1 {
            let statement = (*(*statements).elements)
                .ptr_value
                .cast::<pg_sys::PlannedStmt>();
            if (*statement).commandType != pg_sys::CmdType::CMD_UTILITY {
                return statement;
            }
        }
        std::ptr::null_mut()
    }
}
