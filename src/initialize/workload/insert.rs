//! Inserting the rows of a query.
//!
//! The statement is always `INSERT INTO table query`: the server checks privileges and columns, and plans the
//! conversion of values. If rows only have to be stored, the plan without the step that inserts row by
//! row gives the rows, and they are inserted many at a time, as COPY does.

use super::spec::RowQuery;
use super::tables::REPLACED;
use crate::backend::statement::{new_memory_context, parse};
use crate::compat;
use crate::error::{Error, Result};
use crate::state::transaction::InTransaction;
use pgrx::datum::DatumWithOid;
use pgrx::{IntoDatum, JsonB, PgRelation, PgSqlErrorCode, PgTupleDesc, pg_guard, pg_sys};
use std::collections::BTreeMap;
use std::ffi::CString;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// Rows that are inserted at a time.
const BATCH: usize = 1000;
/// Bytes of rows after which they are inserted earlier.
const BATCH_BYTES: usize = 256 << 10;

/// Memory for plans and rows of a query, reset for each.
static CONTEXT: AtomicPtr<pg_sys::MemoryContextData> = AtomicPtr::new(std::ptr::null_mut());

/// Arguments of a query of rows.
#[derive(Clone, Copy, Debug)]
pub struct Arguments<'a> {
    /// `$1`
    pub part: i64,
    /// `$2`
    pub scale: i64,
    /// `$3`
    pub seed: i64,
    /// `$4`
    pub values: &'a BTreeMap<String, i64>,
}

impl Arguments<'_> {
    /// Parameters of a query.
    pub fn datums(&self) -> [DatumWithOid<'_>; 4] {
        [
            self.part.into(),
            self.scale.into(),
            self.seed.into(),
            JsonB(serde_json::json!(self.values)).into(),
        ]
    }
}

/// Inserts the rows of a query into its table, in the current transaction. `done` gets the number of rows
/// again and again.
pub fn insert(
    query: &RowQuery,
    arguments: Arguments,
    done: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    InTransaction::current()?;
    let text = format!("INSERT INTO {} {}", query.target, query.sql);
    let text = CString::new(text).unwrap_or_default();
    // SAFETY: in a transaction with a snapshot, as a client's statement would be executed. The context
    // lives as long as the process; errors are raised, and the abort cleans up.
    unsafe {
        let mut context = CONTEXT.load(Relaxed);
        if context.is_null() {
            context = new_memory_context(c"pg_selfbench rows");
            CONTEXT.store(context, Relaxed);
        }
        pg_sys::MemoryContextReset(context);
        let before = pg_sys::MemoryContextSwitchTo(context);
        let result = execute(&query.table, &text, arguments, done);
        pg_sys::MemoryContextSwitchTo(before);
        result
    }
}

/// # Safety
/// In a transaction with a snapshot and a memory context that outlives the statement.
unsafe fn execute(
    table: &str,
    text: &CString,
    arguments: Arguments,
    done: &mut dyn FnMut(u64) -> Result<()>,
) -> Result<()> {
    const TYPES: [pg_sys::Oid; 4] = [
        pg_sys::INT8OID,
        pg_sys::INT8OID,
        pg_sys::INT8OID,
        pg_sys::JSONBOID,
    ];
    // SAFETY: the caller's promise; the steps are those of the server's extended protocol.
    unsafe {
        let raw = parse(text);
        let one = |what: usize| match what {
            1 => Ok(()),
            _ => Err(Error::Limit("the rows of a table need one query".into())),
        };
        one(raw.len())?;
        let query = pg_sys::parse_analyze_fixedparams(
            raw.get_ptr(0).unwrap_or(std::ptr::null_mut()),
            text.as_ptr(),
            TYPES.as_ptr(),
            TYPES.len() as i32,
            std::ptr::null_mut(),
        );
        // Before its rules are applied and its defaults are planned, which may evaluate functions.
        let relation = own_target(table, query)?;
        let queries = pg_sys::pg_rewrite_query(query);
        let values = JsonB(serde_json::json!(arguments.values)).into_datum();
        let given = [
            arguments.part.into_datum(),
            arguments.scale.into_datum(),
            arguments.seed.into_datum(),
            values,
        ];
        let parameters = pg_sys::makeParamList(TYPES.len() as i32);
        let list = (*parameters).params.as_mut_ptr();
        for (number, (value, of_type)) in given.into_iter().zip(TYPES).enumerate() {
            *list.add(number) = pg_sys::ParamExternData {
                value: value.unwrap_or(pg_sys::Datum::from(0)),
                isnull: value.is_none(),
                pflags: pg_sys::PARAM_FLAG_CONST as u16,
                ptype: of_type,
            };
        }
        // Not in parallel: the process inserts while it reads.
        let plans = pg_sys::pg_plan_queries(queries, text.as_ptr(), 0, parameters);
        let plans = pgrx::PgList::<pg_sys::PlannedStmt>::from_pg(plans);
        one(plans.len())?;
        let plan = plans.get_ptr(0).unwrap_or(std::ptr::null_mut());
        if target(plan) != Some(relation.oid()) {
            return Err(replaced(table));
        }
        let mut sink = Sink::of_plan(plan, relation, done);
        let receiver = match &mut sink {
            Some(sink) => std::ptr::from_mut(sink).cast(),
            None => pg_sys::None_Receiver,
        };
        let description = pg_sys::CreateQueryDesc(
            plan,
            text.as_ptr(),
            pg_sys::GetActiveSnapshot(),
            std::ptr::null_mut(),
            receiver,
            parameters,
            std::ptr::null_mut(),
            0,
        );
        pg_sys::ExecutorStart(description, 0);
        compat::executor_run(description);
        let rows = (*(*description).estate).es_processed;
        let result = match sink {
            Some(sink) => sink.finish(),
            None => done(rows),
        };
        pg_sys::ExecutorFinish(description);
        pg_sys::ExecutorEnd(description);
        pg_sys::FreeQueryDesc(description);
        pg_sys::CommandCounterIncrement();
        result
    }
}

/// The table into which a query inserts, which the current role has created. Somebody else who could
/// replace it, such as the owner of the schema, must not have rules, defaults or triggers executed as this role.
///
/// # Safety
/// The query is an `INSERT` that was analyzed and not rewritten, and its locks are held.
unsafe fn own_target(table: &str, query: *mut pg_sys::Query) -> Result<PgRelation> {
    // SAFETY: the caller's promise.
    unsafe {
        let entry = pg_sys::list_nth((*query).rtable, (*query).resultRelation - 1);
        let relation = PgRelation::open((*entry.cast::<pg_sys::RangeTblEntry>()).relid);
        match (*relation.rd_rel).relowner == pg_sys::GetUserId() {
            true => Ok(relation),
            false => Err(replaced(table)),
        }
    }
}

/// The table into which a plan inserts, if that is all it does.
///
/// # Safety
/// The plan is valid, and its locks are held.
unsafe fn target(plan: *mut pg_sys::PlannedStmt) -> Option<pg_sys::Oid> {
    // SAFETY: the caller's promise; nodes are looked at as what they say they are.
    unsafe {
        let top = (*plan).planTree;
        let targets = (*plan).resultRelations;
        let inserts = (*plan).commandType == pg_sys::CmdType::CMD_INSERT
            && pgrx::is_a(top.cast(), pg_sys::NodeTag::T_ModifyTable)
            && !targets.is_null()
            && (*targets).length == 1;
        inserts.then(|| {
            let number = (*(*targets).elements).int_value;
            let entry = pg_sys::list_nth((*plan).rtable, number - 1);
            (*entry.cast::<pg_sys::RangeTblEntry>()).relid
        })
    }
}

fn replaced(table: &str) -> Error {
    Error::NotUsable {
        relation: table.into(),
        why: REPLACED.into(),
    }
}

/// Receiver of rows, which inserts them into a table.
#[repr(C)]
struct Sink<'d> {
    /// The part that the server calls.
    receiver: pg_sys::DestReceiver,
    relation: PgRelation,
    /// Rows that have been received and not been inserted, the first `filled`. They are made when they are
    /// needed: many parts have few rows.
    slots: Vec<*mut pg_sys::TupleTableSlot>,
    filled: usize,
    /// The columns of slots. Those of the relation are counted for each slot by the server, which takes
    /// the longer the more slots there are.
    layout: pg_sys::TupleDesc,
    /// Memory of slots.
    memory: pg_sys::MemoryContext,
    bytes: usize,
    /// Columns, from 0, that must not be NULL, and their names.
    required: Vec<(usize, String)>,
    columns: usize,
    bulk: pg_sys::BulkInsertState,
    /// Memory for inserting, reset each time.
    batch: pg_sys::MemoryContext,
    done: &'d mut dyn FnMut(u64) -> Result<()>,
    failure: Option<Error>,
}

impl<'d> Sink<'d> {
    /// The receiver of a plan that inserts into a table, if rows of the table only have to be stored. The
    /// plan is then one of a query.
    ///
    /// # Safety
    /// The plan is valid, and its locks are held.
    unsafe fn of_plan(
        plan: *mut pg_sys::PlannedStmt,
        relation: PgRelation,
        done: &'d mut dyn FnMut(u64) -> Result<()>,
    ) -> Option<Sink<'d>> {
        // SAFETY: the caller's promise; nodes are looked at as what they say they are.
        unsafe {
            let top = (*plan).planTree;
            let required = stored_columns(&relation)?;
            let columns = (*relation.rd_att).natts as usize;
            let source = (*top).lefttree;
            if source.is_null() {
                return None;
            }
            (*plan).commandType = pg_sys::CmdType::CMD_SELECT;
            (*plan).planTree = source;
            (*plan).resultRelations = std::ptr::null_mut();
            Some(Sink {
                receiver: pg_sys::DestReceiver {
                    receiveSlot: Some(receive),
                    rStartup: Some(start_up),
                    rShutdown: Some(shut_down),
                    rDestroy: Some(shut_down),
                    mydest: pg_sys::CommandDest::DestNone,
                },
                slots: Vec::new(),
                filled: 0,
                layout: pg_sys::CreateTupleDescCopy(relation.rd_att),
                memory: pg_sys::CurrentMemoryContext,
                bytes: 0,
                required,
                columns,
                bulk: pg_sys::GetBulkInsertState(),
                batch: pg_sys::AllocSetContextCreateInternal(
                    pg_sys::CurrentMemoryContext,
                    c"pg_selfbench batch".as_ptr(),
                    pg_sys::ALLOCSET_DEFAULT_MINSIZE as usize,
                    pg_sys::ALLOCSET_DEFAULT_INITSIZE as usize,
                    pg_sys::ALLOCSET_DEFAULT_MAXSIZE as usize,
                ),
                relation,
                done,
                failure: None,
            })
        }
    }

    /// Takes a row. Returns whether there may be more.
    ///
    /// # Safety
    /// The row is one of the plan.
    unsafe fn take(&mut self, row: *mut pg_sys::TupleTableSlot) -> bool {
        // SAFETY: the caller's promise; the slots have as many columns as the row.
        unsafe {
            pg_sys::slot_getallattrs(row);
            let count = (*(*row).tts_tupleDescriptor).natts as usize;
            if self.filled == self.slots.len() {
                let before = pg_sys::MemoryContextSwitchTo(self.memory);
                let callbacks = pg_sys::table_slot_callbacks(self.relation.as_ptr());
                self.slots
                    .push(pg_sys::MakeSingleTupleTableSlot(self.layout, callbacks));
                pg_sys::MemoryContextSwitchTo(before);
            }
            let slot = self.slots[self.filled];
            if count != self.columns {
                self.failure = Some(Error::Limit("a row has other columns".into()));
                return false;
            }
            for (column, name) in &self.required {
                if *(*row).tts_isnull.add(*column) {
                    self.failure = Some(Error::server(
                        PgSqlErrorCode::ERRCODE_NOT_NULL_VIOLATION,
                        format!(
                            "null value in column \"{name}\" of relation \"{}\" violates not-null \
                             constraint",
                            self.relation.name()
                        ),
                    ));
                    return false;
                }
            }
            std::ptr::copy_nonoverlapping((*row).tts_values, (*slot).tts_values, count);
            std::ptr::copy_nonoverlapping((*row).tts_isnull, (*slot).tts_isnull, count);
            pg_sys::ExecStoreVirtualTuple(slot);
            // Copies the values, which belong to the query.
            let tuple = pg_sys::ExecFetchSlotHeapTuple(slot, true, std::ptr::null_mut());
            self.bytes += (*tuple).t_len as usize;
            self.filled += 1;
            if self.filled < BATCH && self.bytes < BATCH_BYTES {
                return true;
            }
            self.flush();
        }
        self.failure.is_none()
    }

    /// Inserts the rows that are there.
    ///
    /// # Safety
    /// In the transaction of the plan.
    unsafe fn flush(&mut self) {
        if self.filled == 0 {
            return;
        }
        // SAFETY: the caller's promise; the slots hold rows of the relation, which is open and locked.
        unsafe {
            let before = pg_sys::MemoryContextSwitchTo(self.batch);
            pg_sys::heap_multi_insert(
                self.relation.as_ptr(),
                self.slots.as_mut_ptr(),
                self.filled as i32,
                pg_sys::GetCurrentCommandId(true),
                0,
                self.bulk,
            );
            pg_sys::MemoryContextSwitchTo(before);
            pg_sys::MemoryContextReset(self.batch);
            for slot in &self.slots[..self.filled] {
                pg_sys::ExecClearTuple(*slot);
            }
        }
        self.failure = (self.done)(self.filled as u64).err();
        self.filled = 0;
        self.bytes = 0;
    }

    /// Inserts the last rows.
    ///
    /// # Safety
    /// In the transaction of the plan.
    unsafe fn finish(mut self) -> Result<()> {
        // SAFETY: the caller's promise; nothing uses the slots any more.
        unsafe {
            if self.failure.is_none() {
                self.flush();
            }
            pg_sys::FreeBulkInsertState(self.bulk);
            for slot in &self.slots {
                pg_sys::ExecDropSingleTupleTableSlot(*slot);
            }
        }
        self.failure.take().map_or(Ok(()), Err)
    }
}

/// The columns of a table that must not be NULL, if its rows only have to be stored: in an ordinary heap
/// without indexes, triggers, rules, policies, checks, generated columns and partitions.
fn stored_columns(relation: &PgRelation) -> Option<Vec<(usize, String)>> {
    // SAFETY: an open relation.
    let class = unsafe { &*relation.rd_rel };
    let is_plain = class.relkind as u8 == pg_sys::RELKIND_RELATION
        && class.relam == pg_sys::HEAP_TABLE_AM_OID
        && !class.relhasindex
        && !class.relhastriggers
        && !class.relhasrules
        && !class.relrowsecurity
        && !class.relhassubclass
        && !class.relispartition
        && class.relchecks == 0;
    let columns: PgTupleDesc = relation.tuple_desc();
    if !is_plain || columns.iter().any(|column| column.attgenerated != 0) {
        return None;
    }
    let required = columns.iter().enumerate();
    let required = required.filter(|(_, column)| column.attnotnull);
    Some(
        required
            .map(|(at, column)| (at, column.name().to_owned()))
            .collect(),
    )
}

#[pg_guard]
unsafe extern "C-unwind" fn receive(
    row: *mut pg_sys::TupleTableSlot,
    sink: *mut pg_sys::DestReceiver,
) -> bool {
    // SAFETY: the server calls it with the receiver that the query was given, the first field of a sink.
    unsafe { (*sink.cast::<Sink>()).take(row) }
}

unsafe extern "C-unwind" fn start_up(_: *mut pg_sys::DestReceiver, _: i32, _: pg_sys::TupleDesc) {}

unsafe extern "C-unwind" fn shut_down(_: *mut pg_sys::DestReceiver) {}
