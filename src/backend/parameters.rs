//! Meaning of the parameters of a statement, by the server's own analysis: columns that they are compared
//! with or stored in. Nothing is planned or executed.

use super::analysis::{
    error_place, in_memory_of_its_own, note_place, says_nothing, zero_terminated,
};
use super::statement::parse;
use crate::compat;
use crate::error::{Error, Report, Result, with_callback};
use crate::state::transaction::{InTransaction, with_snapshot};
use crate::text::c_text;
use pgrx::pg_sys::NodeTag::*;
use pgrx::pg_sys::ffi::pg_guard_ffi_boundary;
use pgrx::{PgList, PgSqlErrorCode as Sqlstate, pg_sys};
use selfbench_capture::MAX_PARAMETERS;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ffi::{CStr, c_void};

/// A statement as the server understands it.
#[derive(Debug, Default)]
pub struct Understood {
    /// Its parameters, by number.
    pub parameters: Vec<Parameter>,
    /// Its tables and views, and what these read.
    pub tables: Vec<Table>,
    /// Volatile functions that it calls itself.
    pub volatile: Vec<Function>,
    /// Whether it is a `SELECT` or `VALUES`.
    pub is_select: bool,
    /// Whether it or a part of it locks rows, as `SELECT FOR UPDATE`.
    pub locks_rows: bool,
    /// Whether it is a `DELETE`.
    pub is_delete: bool,
    /// Whether it is an `INSERT` that accepts conflicts.
    pub on_conflict: bool,
    /// Whether its rows are those that its conditions find: it neither groups nor limits them.
    pub returns_found: bool,
    /// Whether it is a utility command.
    pub is_utility: bool,
    /// Whether it writes a table whose schema is in the text, or may lock rows of such a table.
    pub writes_qualified: bool,
}

/// A parameter.
#[derive(Debug)]
pub struct Parameter {
    /// Its number.
    pub number: usize,
    /// The name of its type.
    pub type_name: String,
    /// Whether its type was tried rather than inferred.
    pub is_guessed: bool,
    /// Its meanings, in the order of the statement's parts.
    pub uses: Vec<Use>,
}

/// Meaning of a parameter in one place.
#[derive(Clone, Debug, PartialEq)]
pub enum Use {
    /// Compared with an expression.
    Compared {
        /// The expression.
        with: Expression,
        /// Name of the operator, as if the parameter were on its right.
        operator: String,
        /// Whether the parameter is an array of such values.
        array: bool,
    },
    /// Stored in a column.
    Stored {
        /// The column.
        column: Expression,
        /// Whether by an `INSERT`.
        inserted: bool,
    },
    /// Operand of an operator with that name whose result is no comparison.
    Operand(String),
    /// Number of rows.
    Limit,
    /// Number of rows that are skipped.
    Offset,
    /// Constant of the result.
    Constant,
    /// Argument of a function with that name, at that position from 0.
    Argument(String, usize),
    /// Anything else.
    Other,
}

/// An expression over columns of one table.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    /// OID of the table.
    pub table: pg_sys::Oid,
    /// Numbers of its columns.
    pub columns: Vec<i16>,
    /// Text, in which the table is `t`.
    pub text: String,
    /// Name of its type.
    pub type_name: String,
}

/// A table of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    /// Its OID.
    pub oid: pg_sys::Oid,
    /// Whether the statement writes it.
    pub is_written: bool,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, without schema.
    pub name: String,
    /// Whether the server has it, rather than a role.
    pub is_builtin: bool,
}

/// Types that are tried for a parameter whose type does not follow from the statement.
const TRIED: [pg_sys::Oid; 3] = [pg_sys::INT4OID, pg_sys::NUMERICOID, pg_sys::TEXTOID];
const TEXT: usize = TRIED.len() - 1;
/// The most attempts.
const MAX_ATTEMPTS: usize = 60;
/// The first OID of an object that the server did not bring along.
const FIRST_NORMAL: u32 = 16384;

/// Analyzes a statement; `parameters` are the numbers of the parameters in its text with their offsets in
/// bytes. The transaction keeps no lock of it.
///
/// # Errors
/// Outer: outside of a transaction, and if it is canceled or lacks resources. Inner: the server's error.
pub fn understand(
    sql: &str,
    parameters: &[(usize, usize)],
) -> Result<std::result::Result<Understood, Report>> {
    let text = zero_terminated(sql)?;
    let mut tried: BTreeMap<usize, usize> = BTreeMap::new();
    let (mut last, mut first_report) = (None, None);
    for _ in 0..MAX_ATTEMPTS {
        let body = || analyze(&text, &tried);
        let found = with_callback(note_place, || in_memory_of_its_own(body));
        let report = match found {
            Ok((understood, unknown)) if unknown.is_empty() => return Ok(Ok(understood)),
            Ok((_, unknown)) => {
                tried.extend(unknown.into_iter().map(|number| (number, TEXT)));
                continue;
            }
            Err(error) if says_nothing(&error) => return Err(error),
            Err(error) => error.report(),
        };
        let first = first_report.get_or_insert_with(|| report.clone()).clone();
        let is_ambiguous = ["42725", "42883", "42P08", "42P18"].contains(&report.sqlstate.as_str());
        let number = match error_place() {
            Some(place) if is_ambiguous => nearest(sql, parameters, place, &tried),
            _ => None,
        };
        match number.or(last) {
            Some(number) => {
                let next = tried.get(&number).map_or(0, |tried| tried + 1);
                if next > TEXT {
                    return Ok(Err(first));
                }
                tried.insert(number, next);
                last = Some(number);
            }
            None => return Ok(Err(first)),
        }
    }
    Ok(Err(Report::new(
        Sqlstate::ERRCODE_INDETERMINATE_DATATYPE,
        "could not determine the types of the parameters",
    )))
}

/// The parameter that is nearest to a place in characters from 1, and whose type has not been tried.
fn nearest(
    sql: &str,
    parameters: &[(usize, usize)],
    place: usize,
    tried: &BTreeMap<usize, usize>,
) -> Option<usize> {
    let at = sql
        .char_indices()
        .nth(place - 1)
        .map_or(sql.len(), |(at, _)| at);
    let left = parameters
        .iter()
        .filter(|(number, _)| !tried.contains_key(number));
    left.min_by_key(|(_, offset)| offset.abs_diff(at))
        .map(|(number, _)| *number)
}

/// The statement, and its parameters whose types remain unknown.
fn analyze(text: &CStr, tried: &BTreeMap<usize, usize>) -> Result<(Understood, Vec<usize>)> {
    let raw = parse(text);
    if raw.len() != 1 {
        return Err(Error::server(
            Sqlstate::ERRCODE_SYNTAX_ERROR,
            "the text is not one statement",
        ));
    }
    let Some(raw) = raw.get_ptr(0) else {
        return Ok(Default::default());
    };
    with_snapshot(InTransaction::current()?, || {
        let mut count = tried.keys().max().map_or(0, |number| *number as i32);
        // SAFETY: in a transaction with a snapshot, and memory that lives as long. The server's function
        // changes the array of types, which has as many as it counts.
        unsafe {
            let size = size_of::<pg_sys::Oid>() * (count as usize).max(1);
            let mut types = pg_sys::palloc0(size).cast::<pg_sys::Oid>();
            for (number, index) in tried {
                *types.add(number - 1) = TRIED[*index];
            }
            let mut writes = WritesQualified(false);
            writes.visit((*raw).stmt);
            let queries = pg_sys::pg_analyze_and_rewrite_varparams(
                raw,
                text.as_ptr(),
                &mut types,
                &mut count,
                std::ptr::null_mut(),
            );
            if count > MAX_PARAMETERS as i32 {
                return Err(Error::server(
                    Sqlstate::ERRCODE_PROGRAM_LIMIT_EXCEEDED,
                    format!("the statement has more than {MAX_PARAMETERS} parameters"),
                ));
            }
            let mut walk = Walk::default();
            walk.understood.writes_qualified = writes.0;
            for query in nodes::<pg_sys::Query>(queries) {
                walk.statement(query);
            }
            let mut unknown = Vec::new();
            for i in 0..count as usize {
                let number = i + 1;
                match *types.add(i) {
                    pg_sys::InvalidOid => {}
                    pg_sys::UNKNOWNOID => unknown.push(number),
                    oid => walk.understood.parameters.push(Parameter {
                        number,
                        type_name: type_name(oid),
                        is_guessed: tried.contains_key(&number),
                        uses: walk.uses.remove(&number).unwrap_or_default(),
                    }),
                }
            }
            Ok((walk.understood, unknown))
        }
    })
}

/// The name of a type, with its schema unless that is the server's.
fn type_name(oid: pg_sys::Oid) -> String {
    // SAFETY: in a transaction; the text ends in a zero byte.
    let name = unsafe { c_text(pg_sys::format_type_be_qualified(oid)) };
    match name.strip_prefix("pg_catalog.") {
        Some(name) => name.to_owned(),
        None => name,
    }
}

/// The pointers of a list.
///
/// # Safety
/// It is null or a list of such nodes.
unsafe fn nodes<T>(list: *mut pg_sys::List) -> Vec<*mut T> {
    // SAFETY: the caller's promise.
    unsafe { PgList::<T>::from_pg(list) }.iter_ptr().collect()
}

/// Whether a parsed statement writes a table whose schema it names, or has such a table in the FROM clause of a SELECT that
/// locks rows.
struct WritesQualified(bool);

impl WritesQualified {
    /// # Safety
    /// The node is part of a statement that has been parsed, or null.
    unsafe fn visit(&mut self, node: *mut pg_sys::Node) {
        #[pgrx::pg_guard]
        unsafe extern "C-unwind" fn visit(node: *mut pg_sys::Node, found: *mut c_void) -> bool {
            // SAFETY: a node of the statement, of the type that its tag tells.
            unsafe {
                if node.is_null() {
                    return false;
                }
                let table = match (*node).type_ {
                    T_SelectStmt => {
                        let select = &*node.cast::<pg_sys::SelectStmt>();
                        if !select.lockingClause.is_null() {
                            pg_guard_ffi_boundary(|| in_from(select.fromClause.cast(), found));
                        }
                        std::ptr::null_mut()
                    }
                    T_InsertStmt => (*node.cast::<pg_sys::InsertStmt>()).relation,
                    T_UpdateStmt => (*node.cast::<pg_sys::UpdateStmt>()).relation,
                    T_DeleteStmt => (*node.cast::<pg_sys::DeleteStmt>()).relation,
                    T_MergeStmt => (*node.cast::<pg_sys::MergeStmt>()).relation,
                    _ => std::ptr::null_mut(),
                };
                if !table.is_null() && !(*table).schemaname.is_null() {
                    (*found.cast::<WritesQualified>()).0 = true;
                }
                pg_sys::raw_expression_tree_walker(node, Some(visit), found)
            }
        }
        #[pgrx::pg_guard]
        unsafe extern "C-unwind" fn in_from(node: *mut pg_sys::Node, found: *mut c_void) -> bool {
            // SAFETY: as in `visit`, or a list of such nodes.
            unsafe {
                if node.is_null() {
                    return false;
                }
                if (*node).type_ == T_RangeVar {
                    let table = &*node.cast::<pg_sys::RangeVar>();
                    (*found.cast::<WritesQualified>()).0 |= !table.schemaname.is_null();
                }
                pg_sys::raw_expression_tree_walker(node, Some(in_from), found)
            }
        }
        // SAFETY: the caller's promise. The server's walker knows no utility commands.
        unsafe {
            let known = [
                T_InsertStmt,
                T_UpdateStmt,
                T_DeleteStmt,
                T_MergeStmt,
                T_SelectStmt,
            ];
            if known.contains(&(*node).type_) {
                let found = std::ptr::from_mut(self).cast();
                pg_guard_ffi_boundary(|| visit(node, found));
            }
        }
    }
}

/// Walk through an analyzed statement.
#[derive(Default)]
struct Walk {
    /// The queries around the place, the innermost last.
    queries: Vec<*mut pg_sys::Query>,
    understood: Understood,
    uses: BTreeMap<usize, Vec<Use>>,
    /// Parameters whose use is known.
    known: HashSet<*mut pg_sys::Node>,
    /// Volatile functions.
    functions: BTreeSet<u32>,
    /// Nodes that have been copied for the meaning of expressions.
    copied: usize,
}

// SAFETY (of all functions here): queries are those of the server's analysis, each node is of the type that its
// tag tells, and all live until the walk ends.
impl Walk {
    /// A query that is a whole statement.
    unsafe fn statement(&mut self, query: *mut pg_sys::Query) {
        use pg_sys::CmdType::*;
        // SAFETY: as above.
        unsafe {
            let q = &*query;
            self.understood.is_utility |= q.commandType == CMD_UTILITY;
            self.understood.locks_rows |= q.hasForUpdate;
            if q.commandType == CMD_UTILITY {
                return;
            }
            if q.canSetTag {
                self.understood.is_select = q.commandType == CMD_SELECT && !q.hasModifyingCTE;
                self.understood.is_delete = q.commandType == CMD_DELETE;
                self.understood.on_conflict = !q.onConflict.is_null();
                self.understood.returns_found = !q.hasAggs
                    && q.groupClause.is_null()
                    && q.groupingSets.is_null()
                    && q.distinctClause.is_null()
                    && q.setOperations.is_null()
                    && q.limitCount.is_null()
                    && q.limitOffset.is_null()
                    && !q.hasTargetSRFs;
            }
            self.query(query);
            for oid in std::mem::take(&mut self.functions) {
                let function = Function {
                    name: c_text(pg_sys::get_func_name(oid.into())),
                    is_builtin: oid < FIRST_NORMAL,
                };
                if !self.understood.volatile.contains(&function) {
                    self.understood.volatile.push(function);
                }
            }
        }
    }

    unsafe fn query(&mut self, query: *mut pg_sys::Query) {
        use pg_sys::CmdType::*;
        // SAFETY: as above.
        unsafe {
            let q = &*query;
            self.queries.push(query);
            let tables = nodes::<pg_sys::RangeTblEntry>(q.rtable);
            for (number, rte) in (1..).zip(&tables) {
                let rte = &**rte;
                // A view that has been expanded is a subquery, with its OID from 16 on.
                if rte.relid != pg_sys::InvalidOid {
                    let is_written = q.commandType != CMD_SELECT && q.resultRelation == number;
                    self.table(rte.relid, is_written);
                }
            }
            let entries = nodes::<pg_sys::TargetEntry>(q.targetList);
            for entry in entries.iter().map(|entry| &**entry) {
                let expression = entry.expr.cast::<pg_sys::Node>();
                match q.commandType {
                    CMD_SELECT => {
                        self.note_if_parameter(expression, Use::Constant);
                    }
                    CMD_INSERT | CMD_UPDATE if !entry.resjunk => {
                        let target = tables.get(q.resultRelation as usize - 1);
                        if let Some(target) = target {
                            let is_insert = q.commandType == CMD_INSERT;
                            self.stored(expression, (**target).relid, entry.resno, is_insert);
                        }
                    }
                    _ => {}
                }
            }
            self.note_if_parameter(q.limitCount, Use::Limit);
            self.note_if_parameter(q.limitOffset, Use::Offset);
            compat::walk_query(query, visit, std::ptr::from_mut(self).cast());
            self.queries.pop();
        }
    }

    fn table(&mut self, oid: pg_sys::Oid, is_written: bool) {
        let tables = &mut self.understood.tables;
        match tables.iter_mut().find(|table| table.oid == oid) {
            Some(table) => table.is_written |= is_written,
            None => tables.push(Table { oid, is_written }),
        }
    }

    /// An expression whose value goes into a column.
    unsafe fn stored(
        &mut self,
        expression: *mut pg_sys::Node,
        table: pg_sys::Oid,
        column: i16,
        inserted: bool,
    ) {
        // SAFETY: as above.
        unsafe {
            pg_sys::check_stack_depth();
            let bare = stripped(expression);
            if bare.is_null() {
                return;
            }
            if pgrx::is_a(bare, T_Param) {
                let name = pg_sys::get_attname(table, column, true);
                let type_name = type_name(pg_sys::get_atttype(table, column));
                let column = Expression {
                    table,
                    columns: vec![column],
                    text: format!("t.{}", c_text(pg_sys::quote_identifier(name))),
                    type_name,
                };
                self.note(bare, Use::Stored { column, inserted });
            }
            let Some(&query) = self.queries.last() else {
                return;
            };
            if !pgrx::is_a(bare, T_Var) {
                return;
            }
            let var = &*bare.cast::<pg_sys::Var>();
            let tables = nodes::<pg_sys::RangeTblEntry>((*query).rtable);
            if let Some(rte) = tables.get(var.varno as usize - 1).map(|rte| &**rte)
                && var.varlevelsup == 0
            {
                let values = nodes::<pg_sys::List>(rte.values_lists);
                for row in values {
                    if let Some(value) = nodes(row).get(var.varattno as usize - 1) {
                        self.stored(*value, table, column, inserted);
                    }
                }
                if rte.rtekind == pg_sys::RTEKind::RTE_SUBQUERY {
                    let entries = nodes::<pg_sys::TargetEntry>((*rte.subquery).targetList);
                    self.queries.push(rte.subquery);
                    for entry in entries
                        .iter()
                        .filter(|entry| (***entry).resno == var.varattno)
                    {
                        self.stored((**entry).expr.cast(), table, column, inserted);
                    }
                    self.queries.pop();
                }
            }
        }
    }

    /// Notes what an expression stands for if it is a parameter, apart from casts.
    unsafe fn note_if_parameter(&mut self, expression: *mut pg_sys::Node, used: Use) -> bool {
        // SAFETY: as above.
        unsafe {
            let bare = stripped(expression);
            let is_parameter = !bare.is_null() && pgrx::is_a(bare, T_Param);
            if is_parameter {
                self.note(bare, used);
            }
            is_parameter
        }
    }

    unsafe fn note(&mut self, node: *mut pg_sys::Node, used: Use) {
        // SAFETY: as above.
        let parameter = unsafe { &*node.cast::<pg_sys::Param>() };
        if parameter.paramkind != pg_sys::ParamKind::PARAM_EXTERN || !self.known.insert(node) {
            return;
        }
        let uses = self.uses.entry(parameter.paramid as usize).or_default();
        uses.push(used);
    }

    /// Two sides of an operator.
    unsafe fn operands(
        &mut self,
        sides: [*mut pg_sys::Node; 2],
        operator: pg_sys::Oid,
        is_comparison: bool,
        is_array: bool,
    ) {
        // SAFETY: as above.
        unsafe {
            for (here, there) in [(0, 1), (1, 0)] {
                let (side, other) = (sides[here], sides[there]);
                let name = match here {
                    1 => c_text(pg_sys::get_opname(operator)),
                    _ => c_text(pg_sys::get_opname(commutator(operator))),
                };
                let mut parameter = stripped(side);
                if parameter.is_null() {
                    continue;
                }
                // Such as in upper(a) LIKE upper($1).
                if is_comparison && pgrx::is_a(parameter, T_FuncExpr) {
                    let arguments = (*parameter.cast::<pg_sys::FuncExpr>()).args;
                    if let [only] = nodes::<pg_sys::Node>(arguments)[..] {
                        parameter = stripped(only);
                    }
                }
                if is_comparison && !is_array && self.solved(parameter, other, &name) {
                    continue;
                }
                if is_array && here == 1 && pgrx::is_a(parameter, T_ArrayExpr) {
                    let elements = (*parameter.cast::<pg_sys::ArrayExpr>()).elements;
                    let with = self.resolved(other);
                    for element in nodes::<pg_sys::Node>(elements) {
                        if let Some(with) = with.clone() {
                            let (operator, array) = (name.clone(), false);
                            self.note_if_parameter(
                                element,
                                Use::Compared {
                                    with,
                                    operator,
                                    array,
                                },
                            );
                        }
                    }
                    continue;
                }
                if !pgrx::is_a(parameter, T_Param) {
                    continue;
                }
                let used = match self.resolved(other) {
                    Some(mut with) if is_comparison => {
                        // A value that is looked for in an array.
                        if is_array && here == 0 {
                            with.text = format!("({})[1]", with.text);
                        }
                        let array = is_array && here == 1;
                        Use::Compared {
                            with,
                            operator: name,
                            array,
                        }
                    }
                    _ if is_comparison => Use::Other,
                    _ => Use::Operand(name),
                };
                self.note(parameter, used);
            }
        }
    }

    /// Notes a parameter in a sum or difference that is compared, such as `a > now() - $1`, as if it were
    /// compared alone: `now() - a < $1`. Whether it is one.
    unsafe fn solved(
        &mut self,
        sum: *mut pg_sys::Node,
        other: *mut pg_sys::Node,
        operator: &str,
    ) -> bool {
        // SAFETY: as above.
        unsafe {
            if !pgrx::is_a(sum, T_OpExpr) {
                return false;
            }
            let sum = &*sum.cast::<pg_sys::OpExpr>();
            let sign = c_text(pg_sys::get_opname(sum.opno));
            let [left, right] = nodes::<pg_sys::Node>(sum.args)[..] else {
                return false;
            };
            let is_parameter = |node| {
                let bare = stripped(node);
                !bare.is_null() && pgrx::is_a(bare, T_Param)
            };
            let (parameter, term, is_right) = match (is_parameter(left), is_parameter(right)) {
                (true, false) => (left, right, false),
                (false, true) => (right, left, true),
                _ => return false,
            };
            let (Some(mut with), Some(term)) = (self.resolved(other), constant(term)) else {
                return false;
            };
            let text = &with.text;
            let mut operator = operator.to_owned();
            // The server's own operators: one that the search_path has would be a function of another role.
            with.text = match (sign.as_str(), is_right) {
                ("+", _) => format!("({text}) OPERATOR(pg_catalog.-) ({term})"),
                ("-", false) => format!("({text}) OPERATOR(pg_catalog.+) ({term})"),
                ("-", true) => {
                    operator = match operator.as_str() {
                        "<" => ">".into(),
                        "<=" => ">=".into(),
                        ">" => "<".into(),
                        ">=" => "<=".into(),
                        _ => operator,
                    };
                    format!("({term}) OPERATOR(pg_catalog.-) ({text})")
                }
                _ => return false,
            };
            let of_type = pg_sys::exprType(parameter);
            with.type_name = type_name(of_type);
            let array = false;
            self.note(
                stripped(parameter),
                Use::Compared {
                    with,
                    operator,
                    array,
                },
            )
        }
        true
    }

    /// An expression in terms of the columns of one table; `None` if it is not one.
    unsafe fn resolved(&mut self, expression: *mut pg_sys::Node) -> Option<Expression> {
        let mut resolve = Resolve {
            queries: self.queries.clone(),
            source: None,
            columns: Vec::new(),
            left: MAX_NODES.saturating_sub(self.copied),
            failed: false,
        };
        // SAFETY: as above; the result consists of copies.
        unsafe {
            let result = mutated(expression, &mut resolve);
            self.copied = MAX_NODES - resolve.left;
            let (table, _, _) = resolve.source?;
            if resolve.failed
                || pg_sys::contain_volatile_functions(result)
                || pg_sys::expression_returns_set(result)
            {
                return None;
            }
            let context = pg_sys::deparse_context_for(c"t".as_ptr(), table);
            let text = c_text(pg_sys::deparse_expression(result, context, true, false));
            let of_type = pg_sys::exprType(result);
            Some(Expression {
                table,
                columns: resolve.columns,
                text,
                type_name: type_name(of_type),
            })
        }
    }
}

/// The text of an expression without columns and parameters.
///
/// # Safety
/// It has been analyzed.
unsafe fn constant(expression: *mut pg_sys::Node) -> Option<String> {
    let mut resolve = Resolve {
        queries: Vec::new(),
        source: None,
        columns: Vec::new(),
        left: MAX_NODES,
        failed: false,
    };
    // SAFETY: the caller's promise; the result consists of copies. Without queries, variables fail.
    unsafe {
        let result = mutated(expression, &mut resolve);
        let text = |node| {
            c_text(pg_sys::deparse_expression(
                node,
                std::ptr::null_mut(),
                true,
                false,
            ))
        };
        (!resolve.failed && !pg_sys::contain_volatile_functions(result)).then(|| text(result))
    }
}

/// The operator with its sides exchanged; itself if there is none.
unsafe fn commutator(operator: pg_sys::Oid) -> pg_sys::Oid {
    // SAFETY: looks the operator up.
    match unsafe { pg_sys::get_commutator(operator) } {
        pg_sys::InvalidOid => operator,
        commutator => commutator,
    }
}

/// An expression without the casts around it.
///
/// # Safety
/// It is null or an expression that has been analyzed.
unsafe fn stripped(mut node: *mut pg_sys::Node) -> *mut pg_sys::Node {
    // SAFETY: the caller's promise; the tag tells the type.
    unsafe {
        while !node.is_null() {
            node = match (*node).type_ {
                T_RelabelType => (*node.cast::<pg_sys::RelabelType>()).arg.cast(),
                T_CoerceViaIO => (*node.cast::<pg_sys::CoerceViaIO>()).arg.cast(),
                T_CoerceToDomain => (*node.cast::<pg_sys::CoerceToDomain>()).arg.cast(),
                T_ArrayCoerceExpr => (*node.cast::<pg_sys::ArrayCoerceExpr>()).arg.cast(),
                T_CollateExpr => (*node.cast::<pg_sys::CollateExpr>()).arg.cast(),
                T_FuncExpr => {
                    let call = &*node.cast::<pg_sys::FuncExpr>();
                    let is_cast = call.funcformat != pg_sys::CoercionForm::COERCE_EXPLICIT_CALL
                        && call.funcformat != pg_sys::CoercionForm::COERCE_SQL_SYNTAX;
                    match nodes::<pg_sys::Node>(call.args).first() {
                        Some(first) if is_cast => *first,
                        _ => return node,
                    }
                }
                _ => return node,
            }
        }
        node
    }
}

/// Visits a node of an analyzed query.
///
/// # Safety
/// `walk` must be a [`Walk`] through that query.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn visit(node: *mut pg_sys::Node, walk: *mut c_void) -> bool {
    if node.is_null() {
        return false;
    }
    // SAFETY: the caller's promise; the tag tells the type.
    unsafe {
        let this = &mut *walk.cast::<Walk>();
        pg_sys::check_functions_in_node(node, Some(note_function), walk);
        match (*node).type_ {
            T_Query => {
                this.query(node.cast());
                return false;
            }
            T_OpExpr | T_DistinctExpr | T_NullIfExpr => {
                let operation = &*node.cast::<pg_sys::OpExpr>();
                if let [left, right] = nodes::<pg_sys::Node>(operation.args)[..] {
                    let is_comparison = operation.opresulttype == pg_sys::BOOLOID;
                    this.operands([left, right], operation.opno, is_comparison, false);
                }
            }
            T_ScalarArrayOpExpr => {
                let operation = &*node.cast::<pg_sys::ScalarArrayOpExpr>();
                if let [left, right] = nodes::<pg_sys::Node>(operation.args)[..] {
                    this.operands([left, right], operation.opno, true, true);
                }
            }
            T_RowCompareExpr => {
                let rows = &*node.cast::<pg_sys::RowCompareExpr>();
                let sides = nodes(rows.largs).into_iter().zip(nodes(rows.rargs));
                let operators = PgList::<pg_sys::Oid>::from_pg(rows.opnos);
                for ((left, right), operator) in sides.zip(operators.iter_oid()) {
                    this.operands([left, right], operator, true, false);
                }
            }
            T_FuncExpr => {
                let call = &*node.cast::<pg_sys::FuncExpr>();
                let name = c_text(pg_sys::get_func_name(call.funcid));
                for (position, argument) in nodes(call.args).into_iter().enumerate() {
                    this.note_if_parameter(argument, Use::Argument(name.clone(), position));
                }
            }
            T_CoalesceExpr => {
                for argument in nodes((*node.cast::<pg_sys::CoalesceExpr>()).args) {
                    this.note_if_parameter(argument, Use::Constant);
                }
            }
            T_CaseExpr => {
                let case = &*node.cast::<pg_sys::CaseExpr>();
                this.note_if_parameter(case.defresult.cast(), Use::Constant);
                for when in nodes::<pg_sys::CaseWhen>(case.args) {
                    this.note_if_parameter((*when).result.cast(), Use::Constant);
                }
            }
            T_Param => this.note(node, Use::Other),
            _ => {}
        }
        compat::walk_expression(node, visit, walk)
    }
}

/// Notes a function that is volatile.
///
/// # Safety
/// `walk` must be a [`Walk`].
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn note_function(function: pg_sys::Oid, walk: *mut c_void) -> bool {
    // SAFETY: the caller's promise.
    unsafe {
        if pg_sys::func_volatile(function) as u8 == pg_sys::PROVOLATILE_VOLATILE {
            (*walk.cast::<Walk>()).functions.insert(function.to_u32());
        }
    }
    false
}

/// Copying of an expression, with its variables in terms of one table.
struct Resolve {
    queries: Vec<*mut pg_sys::Query>,
    /// The table, and which one of the query it is.
    source: Option<(pg_sys::Oid, *mut pg_sys::Query, i32)>,
    columns: Vec<i16>,
    /// Nodes that may still be copied: a column of nested subqueries can mean exponentially many.
    left: usize,
    failed: bool,
}

/// Most nodes that are copied for the expressions of a statement.
const MAX_NODES: usize = 100_000;

impl Resolve {
    /// Meaning of a variable; null if that is no column of the table.
    ///
    /// # Safety
    /// It is part of the innermost query.
    unsafe fn variable(&mut self, node: *mut pg_sys::Node) -> Option<*mut pg_sys::Node> {
        use pg_sys::RTEKind::*;
        // SAFETY: the caller's promise; the tag tells the type.
        unsafe {
            let var = &*node.cast::<pg_sys::Var>();
            let depth = self
                .queries
                .len()
                .checked_sub(1 + var.varlevelsup as usize)?;
            let query = self.queries[depth];
            let tables = nodes::<pg_sys::RangeTblEntry>((*query).rtable);
            let rte = &**tables.get(usize::try_from(var.varno - 1).ok()?)?;
            let index = usize::try_from(var.varattno - 1).ok()?;
            match rte.rtekind {
                RTE_RELATION => {
                    let source = (rte.relid, query, var.varno);
                    if *self.source.get_or_insert(source) != source {
                        return None;
                    }
                    if !self.columns.contains(&var.varattno) {
                        self.columns.push(var.varattno);
                    }
                    let copy = pg_sys::copyObjectImpl(node.cast()).cast::<pg_sys::Var>();
                    (*copy).varno = 1;
                    (*copy).varlevelsup = 0;
                    (*copy).varnosyn = 0;
                    (*copy).varattnosyn = 0;
                    Some(copy.cast())
                }
                RTE_JOIN => {
                    let meant = *nodes(rte.joinaliasvars).get(index)?;
                    Some(self.within(depth, None, meant))
                }
                RTE_SUBQUERY => self.column_of(depth, rte.subquery, var.varattno),
                RTE_CTE if !rte.self_reference => {
                    let depth = depth.checked_sub(rte.ctelevelsup as usize)?;
                    let ctes = nodes::<pg_sys::CommonTableExpr>((*self.queries[depth]).cteList);
                    let name = CStr::from_ptr(rte.ctename);
                    let mut ctes = ctes.into_iter();
                    let cte = ctes.find(|cte| CStr::from_ptr((**cte).ctename) == name)?;
                    self.column_of(depth, (*cte).ctequery.cast(), var.varattno)
                }
                _ => {
                    let meant = *nodes(compat::grouped(rte)).get(index)?;
                    Some(self.within(depth, None, meant))
                }
            }
        }
    }

    /// Meaning of a column of a subquery.
    unsafe fn column_of(
        &mut self,
        depth: usize,
        subquery: *mut pg_sys::Query,
        column: i16,
    ) -> Option<*mut pg_sys::Node> {
        // SAFETY: as above.
        unsafe {
            if (*subquery).commandType != pg_sys::CmdType::CMD_SELECT
                || !(*subquery).setOperations.is_null()
            {
                return None;
            }
            let entries = nodes::<pg_sys::TargetEntry>((*subquery).targetList);
            let entry = entries
                .into_iter()
                .find(|entry| (**entry).resno == column)?;
            Some(self.within(depth, Some(subquery), (*entry).expr.cast()))
        }
    }

    /// An expression of the query at that depth, or of one in it.
    unsafe fn within(
        &mut self,
        depth: usize,
        inner: Option<*mut pg_sys::Query>,
        expression: *mut pg_sys::Node,
    ) -> *mut pg_sys::Node {
        let around = self.queries[..=depth]
            .iter()
            .copied()
            .chain(inner)
            .collect();
        let queries = std::mem::replace(&mut self.queries, around);
        // SAFETY: as above.
        let result = unsafe { mutated(expression, self) };
        self.queries = queries;
        result
    }
}

/// Copies an expression.
///
/// # Safety
/// `resolve` must be for the query that the expression is part of.
unsafe fn mutated(expression: *mut pg_sys::Node, resolve: &mut Resolve) -> *mut pg_sys::Node {
    let resolve = std::ptr::from_mut(resolve).cast();
    // SAFETY: the caller's promise. What has a guard is called as the server's functions are.
    unsafe { pg_guard_ffi_boundary(|| mutate(expression, resolve)) }
}

/// As [`mutated`], for the server.
///
/// # Safety
/// `resolve` must be a [`Resolve`] for the query that the node is part of.
#[pgrx::pg_guard]
unsafe extern "C-unwind" fn mutate(
    node: *mut pg_sys::Node,
    resolve: *mut c_void,
) -> *mut pg_sys::Node {
    if node.is_null() {
        return node;
    }
    // SAFETY: the caller's promise; the tag tells the type.
    unsafe {
        pg_sys::check_stack_depth();
        let this = &mut *resolve.cast::<Resolve>();
        this.failed |= this.left == 0;
        if this.failed {
            return node;
        }
        this.left -= 1;
        match (*node).type_ {
            T_Var => {
                let meant = this.variable(node);
                this.failed |= meant.is_none();
                meant.unwrap_or(node)
            }
            T_Param | T_SubLink | T_Aggref | T_GroupingFunc | T_WindowFunc | T_Query
            | T_CaseTestExpr | T_NextValueExpr | T_SetToDefault | T_CurrentOfExpr => {
                this.failed = true;
                node
            }
            _ => compat::mutate_expression(node, mutate, resolve),
        }
    }
}
