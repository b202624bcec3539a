//! Values for the parameters of a statement: what each stands for decides where its values come from. Values
//! that are compared with columns of one table come from one row.

use super::tables::{self, SAMPLE_BYTES, SAMPLE_ROWS, TableFacts, Tables};
use crate::backend::parameters::{Expression, Parameter, Understood, Use};
use crate::backend::statement;
use crate::error::{Error, Report, Result};
use crate::query::{Texts, size};
use pgrx::PgSqlErrorCode as Sqlstate;
use pgrx::pg_sys;
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::fmt::Display;
use std::rc::Rc;

/// Where the values of a parameter come from.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// Number of the parameter.
    pub number: usize,
    /// Name of its type.
    pub type_name: String,
    /// Its meaning, in a word.
    pub role: &'static str,
    /// Column or expression that it stands for.
    pub column: Option<String>,
    /// Where the values come from, in words.
    pub source: String,
    /// Why there are none.
    pub reason: Option<String>,
}

/// Identification of the row of a statement.
#[derive(Debug)]
pub struct Key {
    /// Oid of its table.
    pub table: u32,
    /// Columns, each with the parameter that it is equal to.
    pub columns: BTreeMap<String, usize>,
}

/// Values of a statement's parameters.
#[derive(Debug, Default)]
pub struct Values {
    /// Origins, a parameter each.
    pub origins: Vec<Origin>,
    /// Rows with a value for each of `drawn`.
    pub rows: Vec<Vec<Option<String>>>,
    /// Numbers of the parameters that rows have values of; those of the key last.
    pub drawn: Vec<usize>,
    /// The key, if the statement finds a row by one, and needs nothing else of that row.
    pub key: Option<Key>,
    /// SQL that is written in the place of parameters.
    pub written: BTreeMap<usize, String>,
    /// Lines of meta commands that set the variables of other parameters.
    pub lines: Vec<String>,
    /// Whether the statement's effort can differ from what was captured.
    pub approximate: bool,
    /// Why the statement cannot be repeated.
    pub unrepeatable: Option<String>,
}

/// Expression of `bench.set_parameter`.
#[derive(Clone, Debug, Deserialize)]
#[serde(from = "String")]
pub struct Given {
    /// Its text.
    pub text: String,
    /// Its values, if it has been evaluated.
    pub values: Option<Vec<Option<String>>>,
}

impl From<String> for Given {
    fn from(text: String) -> Given {
        Given { text, values: None }
    }
}

/// Counts of a statement, and other knowledge about it.
pub struct Context<'c> {
    /// Number of the statement.
    pub number: i32,
    /// Rows per call.
    pub rows: f64,
    /// Blocks per call.
    pub blocks: f64,
    /// Ranges of other statements: rows between both bounds of an expression.
    pub ranges: &'c BTreeMap<(u32, String), f64>,
    /// Expressions of `bench.set_parameter`.
    pub expressions: &'c BTreeMap<usize, Given>,
}

/// Columns that get new values, each with the number of the last one in a variable, for each client in a
/// range of its own.
#[derive(Default)]
pub struct NewColumns(BTreeMap<(u32, i16), NewColumn>);

struct NewColumn {
    /// Number of the column among these.
    number: usize,
    /// Query of the number behind which no value is used.
    detect: String,
    /// Numbers for each client.
    range: i64,
}

impl NewColumns {
    /// The column, with what counts its values, if they are made of numbers.
    fn add(&mut self, column: &Expression, facts: &TableFacts) -> Option<&NewColumn> {
        let attribute = *column.columns.first()?;
        let leads = facts
            .unique
            .iter()
            .any(|index| index.first() == Some(&attribute));
        let table = quoted(&facts.name);
        // Of a column that leads no index, all rows would be read.
        let above_all = format!(
            "SELECT coalesce(pg_catalog.max({}), 0)::bigint FROM {table} t",
            column.text
        );
        let by_clock = "SELECT (extract(epoch FROM pg_catalog.now()) OPERATOR(pg_catalog.*) 1000000000)::bigint";
        /// Digits of the numbers by the clock.
        const DIGITS: u32 = 19;
        let length = facts.lengths.get(&attribute).copied().unwrap_or(DIGITS);
        let (detect, range) = match column.type_name.as_str() {
            "text" | "character varying" | "character" if length < DIGITS => (
                format!(
                    "SELECT coalesce(pg_catalog.max({0}::numeric) FILTER (WHERE {0} OPERATOR(pg_catalog.~) '^[0-9]{{1,{length}}} *$'), 0)::bigint
                       FROM {table} t",
                    column.text
                ),
                // For up to a hundred clients.
                10i64.pow(length) / 100,
            ),
            "smallint" => (above_all, 100),
            "integer" => (above_all, 1_000_000),
            "bigint" | "numeric" if leads => (above_all, 1_000_000_000),
            "bigint" | "numeric" | "text" | "character varying" | "character" => {
                (by_clock.into(), 10_000_000)
            }
            _ => return None,
        };
        let number = self.0.len() + 1;
        let key = (column.table.to_u32(), attribute);
        Some(self.0.entry(key).or_insert(NewColumn {
            number,
            detect,
            range,
        }))
    }

    /// Variables of the manifest: a name, and a query for the value at the start of a run.
    pub fn variables(&self) -> Vec<(String, &str)> {
        let columns = self.0.values();
        let both = |column: &NewColumn| [column.last(), column.deleted()];
        columns
            .flat_map(|column| both(column).map(|name| (name, column.detect.as_str())))
            .collect()
    }
}

impl NewColumn {
    /// Variable with the last value.
    fn last(&self) -> String {
        format!("last{}", self.number)
    }

    /// Variable with the last value that was deleted.
    fn deleted(&self) -> String {
        format!("deleted{}", self.number)
    }

    /// Sets a parameter's variable to the value that a variable has in the range of the client.
    fn set(&self, parameter: usize, variable: &str) -> String {
        format!(
            "\\set p{parameter} :{variable} + :client_id * {}",
            self.range
        )
    }
}

/// A name as an identifier.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// Source of a column of values.
enum Column {
    /// Values as they are.
    Fixed(Vec<Option<String>>),
    /// An expression over rows of a table.
    Sampled {
        table: u32,
        item: usize,
        /// Distance to the row of the others.
        shift: usize,
        /// Number of values, if it is an array of them.
        array: Option<usize>,
        /// Share of rows that have the value of the next item.
        absent: f64,
        /// Share of the others that have one of the different values, rather than that of a row.
        uniform: f64,
    },
}

/// Expressions over rows of a table.
struct Group {
    facts: Rc<TableFacts>,
    items: Vec<String>,
    not_null: Vec<String>,
}

/// Values from the shape of operators.
#[derive(Clone, Copy, PartialEq)]
enum Comparison {
    Equal,
    NotEqual,
    Above,
    Below,
    Like,
    Other,
}

fn comparison(operator: &str) -> Comparison {
    match operator {
        "=" => Comparison::Equal,
        "<>" => Comparison::NotEqual,
        ">" | ">=" => Comparison::Above,
        "<" | "<=" => Comparison::Below,
        "~~" | "~~*" | "!~~" | "!~~*" => Comparison::Like,
        _ => Comparison::Other,
    }
}

/// The use that says most about a parameter.
fn primary(parameter: &Parameter) -> &Use {
    let rank = |used: &&Use| match used {
        Use::Compared { operator, .. } => match comparison(operator) {
            Comparison::Equal => 0,
            Comparison::Above | Comparison::Below => 1,
            _ => 2,
        },
        Use::Stored { .. } => 3,
        Use::Limit | Use::Offset => 4,
        Use::Operand(_) => 5,
        Use::Argument(..) => 6,
        Use::Constant => 7,
        Use::Other => 8,
    };
    parameter
        .uses
        .iter()
        .min_by_key(rank)
        .unwrap_or(&Use::Other)
}

/// The ranges of a statement whose rows are those that it finds: table and expression of which both bounds
/// are parameters.
pub fn ranges(understood: &Understood) -> Vec<(u32, String)> {
    let bounds = |wanted: Comparison| {
        let of = move |parameter: &Parameter| match primary(parameter) {
            Use::Compared { with, operator, .. } if comparison(operator) == wanted => {
                Some((with.table.to_u32(), with.text.clone()))
            }
            _ => None,
        };
        understood
            .parameters
            .iter()
            .filter_map(of)
            .collect::<Vec<_>>()
    };
    let above = bounds(Comparison::Below);
    let mut both = bounds(Comparison::Above);
    both.retain(|lower| above.contains(lower));
    both
}

struct Planner<'p> {
    understood: &'p Understood,
    context: &'p Context<'p>,
    tables: &'p mut Tables,
    new: &'p mut NewColumns,
    groups: BTreeMap<u32, Group>,
    /// Number of comparisons of an expression so far.
    seen: BTreeMap<(u32, String), usize>,
    values: Values,
    /// Share of values that are not there.
    absent: f64,
}

/// Finds values for all parameters. What cannot be inferred has a reason in its origin.
pub fn find(
    understood: &Understood,
    context: &Context<'_>,
    tables: &mut Tables,
    new: &mut NewColumns,
) -> Result<Values> {
    let mut planner = Planner {
        understood,
        context,
        tables,
        new,
        groups: BTreeMap::new(),
        seen: BTreeMap::new(),
        values: Values::default(),
        absent: 0.0,
    };
    planner.absent = planner.absent_share();
    let mut columns = Vec::new();
    for parameter in &understood.parameters {
        let mut origin = Origin {
            number: parameter.number,
            type_name: parameter.type_name.clone(),
            ..Origin::default()
        };
        planner.values.approximate |= parameter.is_guessed;
        match planner.column(parameter, &mut origin)? {
            Ok(Some(column)) => columns.push((parameter.number, column)),
            Ok(None) => {}
            Err(reason) => origin.reason = Some(reason),
        }
        planner.values.origins.push(origin);
    }
    /// Rows that are hardly ever deleted.
    const NONE: f64 = 0.01;
    if understood.is_delete && context.rows > NONE && planner.values.lines.is_empty() {
        let reason = match planner.has_key_of_written()? {
            true => "it deletes rows, which would be missing the next time",
            false => {
                "it deletes rows whose key is not compared with a parameter, and which would be missing the next time"
            }
        };
        planner.values.unrepeatable = Some(reason.into());
    }
    if let Some(key) = planner.key(&columns) {
        columns.sort_by_key(|(number, _)| key.columns.values().any(|of_key| of_key == number));
        planner.values.key = Some(key);
    }
    planner.draw(columns)?;
    Ok(planner.values)
}

type Found<T> = Result<std::result::Result<T, String>>;

impl Planner<'_> {
    /// The share of calls that found no row, of a statement that looks for single values.
    fn absent_share(&self) -> f64 {
        const NEARLY_ALL: f64 = 0.95;
        let compares_with = |parameter: &Parameter| match primary(parameter) {
            Use::Compared { operator, .. } => comparison(operator) == Comparison::Equal,
            Use::Limit | Use::Stored { .. } | Use::Operand(_) | Use::Constant => true,
            _ => false,
        };
        let rows = self.context.rows;
        let all = self.understood.parameters.iter().all(compares_with);
        match all && rows < NEARLY_ALL {
            true => 1.0 - rows,
            false => 0.0,
        }
    }

    /// Whether parameters are equal to the columns of a key of a table that is written.
    fn has_key_of_written(&mut self) -> Result<bool> {
        for table in self
            .understood
            .tables
            .iter()
            .filter(|table| table.is_written)
        {
            let columns =
                self.understood
                    .parameters
                    .iter()
                    .flat_map(|parameter| match primary(parameter) {
                        Use::Compared { with, operator, .. }
                            if with.table == table.oid
                                && comparison(operator) == Comparison::Equal =>
                        {
                            with.columns.clone()
                        }
                        _ => Vec::new(),
                    });
            let columns: Vec<_> = columns.collect();
            let facts = self.tables.get(table.oid)?;
            if facts.is_some_and(|facts| facts.is_key(&columns)) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn column(&mut self, parameter: &Parameter, origin: &mut Origin) -> Found<Option<Column>> {
        let type_name = parameter.type_name.as_str();
        if let Some(given) = self.context.expressions.get(&parameter.number) {
            origin.role = "set";
            origin.source = "expression".into();
            let values = match &given.values {
                Some(values) => Ok(values.clone()),
                None => {
                    let found = drawn_from(&given.text, type_name);
                    tables::or_reason(found.map_err(|error| {
                        Report {
                            detail: Some(format!(
                                "It comes from the expression of parameter ${} of statement {}.",
                                parameter.number, self.context.number
                            )),
                            ..error.report()
                        }
                        .into()
                    }))?
                }
            };
            return Ok(values.map(|values| Some(Column::Fixed(values))));
        }
        let fixed = |values: &[&str]| {
            let values = values.iter().map(|value| Some((*value).to_owned()));
            Ok(Ok(Some(Column::Fixed(values.collect()))))
        };
        match primary(parameter).clone() {
            Use::Compared {
                with,
                operator,
                array,
            } => self.compared(parameter, &with, &operator, array, origin),
            Use::Stored { column, inserted } => {
                self.stored(parameter.number, &column, inserted, origin)
            }
            Use::Limit => {
                origin.role = "limit";
                origin.source = "rows per call".into();
                let rows = self.context.rows.ceil().max(1.0);
                fixed(&[&format!("{rows}")])
            }
            Use::Offset => {
                origin.role = "offset";
                origin.source = "0".into();
                self.values.approximate = true;
                fixed(&["0"])
            }
            Use::Operand(operator) => {
                origin.role = "operand";
                let values: &[&str] = match (operator.as_str(), is_number(type_name)) {
                    ("+" | "-", true) => &["1", "-1"],
                    ("*" | "/" | "%", true) => &["1"],
                    ("||", _) if type_name == "text" => &[""],
                    _ => return Ok(Err(format!("it is an operand of \"{operator}\""))),
                };
                origin.source = "neutral values".into();
                self.values.approximate = true;
                fixed(values)
            }
            Use::Constant => {
                origin.role = "constant";
                origin.source = "a constant of the result".into();
                Ok(Ok(Some(Column::Fixed(vec![
                    constant(type_name).map(str::to_owned),
                ]))))
            }
            Use::Argument(function, position) => {
                origin.role = "argument";
                let value = match (function.as_str(), position) {
                    ("date_trunc" | "date_part" | "extract", 0) => "day",
                    ("timezone", 0) => "UTC",
                    ("round", 1) => "2",
                    ("left" | "right", 1) | ("substring" | "substr", 2) => "10",
                    ("substring" | "substr", 1) => "1",
                    _ => return Ok(Err(format!("it is an argument of function {function}"))),
                };
                origin.source = "a usual value".into();
                self.values.approximate = true;
                fixed(&[value])
            }
            Use::Other => {
                origin.role = "other";
                Ok(Err(
                    "it is neither compared with a column nor stored in one".into(),
                ))
            }
        }
    }

    /// The group of a table, with facts about the table; the reason if it cannot be sampled.
    fn group(&mut self, table: pg_sys::Oid) -> Found<&mut Group> {
        let table_no = table.to_u32();
        if !self.groups.contains_key(&table_no) {
            let Some(facts) = self.tables.get(table)? else {
                return Ok(Err("its table has been dropped".into()));
            };
            let group = Group {
                facts,
                items: Vec::new(),
                not_null: Vec::new(),
            };
            self.groups.insert(table_no, group);
        }
        let group = self.groups.get_mut(&table_no);
        Ok(group.ok_or_else(|| "its table has been dropped".into()))
    }

    fn compared(
        &mut self,
        parameter: &Parameter,
        with: &Expression,
        operator: &str,
        array: bool,
        origin: &mut Origin,
    ) -> Found<Option<Column>> {
        let table = with.table.to_u32();
        let facts = match self.group(with.table)? {
            Ok(group) => group.facts.clone(),
            Err(reason) => return Ok(Err(reason)),
        };
        let column = with.text.strip_prefix("t.").unwrap_or(&with.text);
        origin.column = Some(format!("{}.{column}", facts.qualified));
        origin.source = format!("sample of {}.{column}", facts.qualified);
        let kind = comparison(operator);
        origin.role = match kind {
            Comparison::Equal | Comparison::NotEqual => "equality",
            Comparison::Above | Comparison::Below => "range",
            Comparison::Like => "like",
            Comparison::Other => "comparison",
        };
        let key = (table, with.text.clone());
        let seen = self.seen.entry(key.clone()).or_default();
        let shift = *seen;
        *seen += 1;
        let text = &with.text;
        let mut absent_text = None;
        let mut array_length = None;
        if self.understood.is_delete
            && kind == Comparison::Equal
            && self.inserted_value(parameter, with, array)
        {
            origin.source = "rows that the client has inserted".into();
            return Ok(Ok(None));
        }
        let sql = match kind {
            Comparison::Equal => {
                if array {
                    array_length = Some(self.list_length(&facts, with));
                } else if self.absent > 0.0 || self.is_only_condition() {
                    absent_text = absent(&with.type_name, text);
                }
                text.clone()
            }
            Comparison::NotEqual => {
                array_length = array.then(|| self.list_length(&facts, with));
                text.clone()
            }
            Comparison::Above | Comparison::Below if array => {
                return Ok(Err("it is an array in a range".into()));
            }
            Comparison::Above | Comparison::Below => {
                return self.bound(parameter, with, operator, &facts, origin);
            }
            Comparison::Like => {
                self.values.approximate = true;
                let start = if operator.ends_with('*') { "%" } else { "" };
                format!(
                    "pg_catalog.concat('{start}', pg_catalog.\"left\"(pg_catalog.format('%s', {text}), 4), '%')"
                )
            }
            Comparison::Other => {
                self.values.approximate = true;
                text.clone()
            }
        };
        let mut absent = if absent_text.is_some() {
            self.absent
        } else {
            0.0
        };
        let mut uniform = 0.0;
        let is_alone = kind == Comparison::Equal && !array && self.is_only_condition();
        if is_alone
            && !facts.is_key(&with.columns)
            && let Some(frequency) = facts.frequency(column)?
        {
            let (few, many) = (frequency.of_values, frequency.of_rows);
            let rows = self.context.rows;
            uniform = ((many - rows) / (many - few).max(f64::EPSILON)).clamp(0.0, 1.0);
            if absent_text.is_some() {
                absent = (1.0 - rows / few).max(0.0);
            }
        }
        Ok(self.item(with, sql, absent_text).map(|item| {
            Some(Column::Sampled {
                table,
                item,
                shift,
                array: array_length,
                absent,
                uniform,
            })
        }))
    }

    /// Whether the statement finds its rows by a single comparison with a parameter.
    fn is_only_condition(&self) -> bool {
        let compares = |parameter: &&Parameter| matches!(primary(parameter), Use::Compared { .. });
        self.understood.returns_found
            && self.understood.tables.len() == 1
            && self.understood.parameters.iter().filter(compares).count() == 1
    }

    /// Identification of the statement's row: equality with columns that are a key, and the only values of a row.
    fn key(&self, columns: &[(usize, Column)]) -> Option<Key> {
        let mut key: Option<Key> = None;
        let mut attributes = Vec::new();
        for (number, column) in columns {
            let (table, absent, uniform) = match column {
                Column::Sampled {
                    table,
                    shift: 0,
                    absent,
                    uniform,
                    ..
                } => (*table, *absent, *uniform),
                _ => continue,
            };
            let parameters = &mut self.understood.parameters.iter();
            let parameter = parameters.find(|parameter| parameter.number == *number)?;
            let Use::Compared {
                with,
                operator,
                array: false,
            } = primary(parameter)
            else {
                return None;
            };
            let key = key.get_or_insert_with(|| Key {
                table,
                columns: BTreeMap::new(),
            });
            let is_plain = comparison(operator) == Comparison::Equal && absent + uniform == 0.0;
            if !is_plain || key.table != table {
                return None;
            }
            key.columns.insert(with.text.clone(), *number);
            attributes.extend(&with.columns);
        }
        let facts = &self.groups.get(&key.as_ref()?.table)?.facts;
        key.filter(|_| facts.is_key(&attributes))
    }

    /// Adds an expression to those of its table.
    fn item(
        &mut self,
        with: &Expression,
        sql: String,
        absent: Option<String>,
    ) -> std::result::Result<usize, String> {
        let group = self.groups.get_mut(&with.table.to_u32());
        let Some(group) = group else {
            return Err("its table has been dropped".into());
        };
        if !group.not_null.contains(&with.text) {
            group.not_null.push(with.text.clone());
        }
        let item = group.items.len();
        group.items.push(sql);
        group.items.extend(absent);
        Ok(item)
    }

    /// Number of values of a list: as many as rows were found, if each finds one.
    fn list_length(&mut self, facts: &TableFacts, with: &Expression) -> usize {
        const USUAL: usize = 5;
        const MOST: f64 = 1000.0;
        let is_known = facts.is_key(&with.columns) && self.understood.returns_found;
        self.values.approximate |= !is_known;
        match is_known {
            true => self.context.rows.round().clamp(1.0, MOST) as usize,
            false => USUAL,
        }
    }

    /// A bound of a range.
    fn bound(
        &mut self,
        parameter: &Parameter,
        with: &Expression,
        operator: &str,
        facts: &TableFacts,
        origin: &mut Origin,
    ) -> Found<Option<Column>> {
        let table = with.table.to_u32();
        let kind = comparison(operator);
        let opposite = self
            .understood
            .parameters
            .iter()
            .find_map(|other| match primary(other) {
                Use::Compared {
                    with: of, operator, ..
                } if other.number != parameter.number
                    && of == with
                    && matches!(
                        (kind, comparison(operator)),
                        (Comparison::Above, Comparison::Below)
                            | (Comparison::Below, Comparison::Above)
                    ) =>
                {
                    Some(operator.clone())
                }
                _ => None,
            });
        let rows = self.rows_of_range(with, facts);
        let (low, high) = (
            format!("pg_catalog.min({}) OVER ()", with.text),
            format!("pg_catalog.max({}) OVER ()", with.text),
        );
        let share = (rows / facts.rows.max(1.0)).min(1.0);
        let sampled = |item| {
            Some(Column::Sampled {
                table,
                item,
                shift: 0,
                array: None,
                absent: 0.0,
                uniform: 0.0,
            })
        };
        let sql = match (kind, opposite) {
            (Comparison::Above, Some(_)) => with.text.clone(),
            (_, Some(lower)) => {
                origin.source = format!("lower bound with {} rows above it", rows.round());
                let inclusive = lower == ">=" && operator == "<=";
                match distance(&with.type_name, &low, &high, share, inclusive) {
                    Some(distance) => {
                        let above = operation(&with.text, "+", distance);
                        format!("{above}::{}", with.type_name)
                    }
                    None => {
                        self.values.approximate = true;
                        with.text.clone()
                    }
                }
            }
            (_, None) => {
                // From one end of the table.
                origin.source = format!("bound of {} rows", rows.round());
                self.values.approximate = true;
                match distance(&with.type_name, &low, &high, share, false) {
                    Some(distance) if kind == Comparison::Above => {
                        format!("{}::{}", operation(high, "-", distance), with.type_name)
                    }
                    Some(distance) => {
                        format!("{}::{}", operation(low, "+", distance), with.type_name)
                    }
                    None => with.text.clone(),
                }
            }
        };
        Ok(self.item(with, sql, None).map(sampled))
    }

    /// Rows within a range: those of a call, of another statement with such a range, or as many as the blocks
    /// of a call may have had.
    fn rows_of_range(&mut self, with: &Expression, facts: &TableFacts) -> f64 {
        if self.understood.returns_found {
            return self.context.rows;
        }
        let key = (with.table.to_u32(), with.text.clone());
        if let Some(rows) = self.context.ranges.get(&key) {
            return *rows;
        }
        self.values.approximate = true;
        /// Blocks of an index above its leaves.
        const INNER: f64 = 3.0;
        (self.context.blocks - INNER).max(1.0) * facts.rows_per_page().sqrt()
    }

    fn stored(
        &mut self,
        parameter: usize,
        column: &Expression,
        inserted: bool,
        origin: &mut Origin,
    ) -> Found<Option<Column>> {
        let table = column.table.to_u32();
        let facts = match self.group(column.table)? {
            Ok(group) => group.facts.clone(),
            Err(reason) => return Ok(Err(reason)),
        };
        origin.role = if inserted { "insert" } else { "update" };
        let name = column.text.strip_prefix("t.").unwrap_or(&column.text);
        origin.column = Some(format!("{}.{name}", facts.qualified));
        origin.source = format!("sample of {}.{name}", facts.qualified);
        let is_unique = facts
            .unique
            .iter()
            .any(|index| column.columns.iter().all(|c| index.contains(c)));
        if inserted && is_unique && !self.understood.on_conflict {
            match self.new_value(parameter, column, &facts, origin) {
                Ok(true) => return Ok(Ok(None)),
                Ok(false) => {}
                Err(reason) => return Ok(Err(reason)),
            }
        }
        let group = match self.group(column.table)? {
            Ok(group) => group,
            Err(reason) => return Ok(Err(reason)),
        };
        group.items.push(column.text.clone());
        let item = group.items.len() - 1;
        // The values of another row, unless that would violate a constraint.
        let shift = usize::from(!inserted && !is_unique);
        Ok(Ok(Some(Column::Sampled {
            table,
            item,
            shift,
            array: None,
            absent: 0.0,
            uniform: 0.0,
        })))
    }

    /// Gives a parameter new values if its column needs them, so that no row has them yet; whether it does.
    fn new_value(
        &mut self,
        parameter: usize,
        column: &Expression,
        facts: &TableFacts,
        origin: &mut Origin,
    ) -> std::result::Result<bool, String> {
        let stored = |attribute: &i16| {
            self.understood
                .parameters
                .iter()
                .find_map(|other| match primary(other) {
                    Use::Stored {
                        column: of,
                        inserted: true,
                    } if of.table == column.table && of.columns == [*attribute] => Some(of),
                    _ => None,
                })
        };
        /// Characters in which there are numbers for some clients.
        const SHORT: u32 = 4;
        // The best column of each unique index is new; others of the index may repeat.
        let rank = |attribute: &i16| -> Option<usize> {
            let of = stored(attribute)?;
            let by_type = match of.type_name.as_str() {
                "bigint" | "integer" | "uuid" => 0,
                "text" | "character varying" | "character"
                    if facts
                        .lengths
                        .get(attribute)
                        .is_some_and(|length| *length < SHORT) =>
                {
                    return None;
                }
                "text" | "character varying" | "character" | "numeric" => 1,
                name if is_timestamp(name) => 2,
                "smallint" => 3,
                _ => return None,
            };
            (!facts.references.contains(attribute)).then_some(by_type)
        };
        let own = column.columns.first().copied().unwrap_or_default();
        let indexes = facts.unique.iter().filter(|index| index.contains(&own));
        let mut is_best = false;
        for index in indexes {
            let best = index
                .iter()
                .filter(|c| rank(c).is_some())
                .min_by_key(|c| rank(c));
            match best {
                Some(best) => is_best |= *best == own,
                None if index.iter().all(|c| stored(c).is_some()) && index.len() == 1 => {
                    return Err(format!(
                        "its values of type {} must be new",
                        column.type_name
                    ));
                }
                None => self.values.approximate = true,
            }
        }
        if !is_best {
            return Ok(false);
        }
        let function = match column.type_name.as_str() {
            "uuid" => Some("pg_catalog.gen_random_uuid()"),
            name if is_timestamp(name) => Some("pg_catalog.clock_timestamp()"),
            _ => None,
        };
        origin.source = "new values".into();
        if let Some(function) = function {
            self.values.written.insert(parameter, function.into());
        } else if let Some(new) = self.new.add(column, facts) {
            let last = new.last();
            self.values.lines.push(format!("\\set {last} :{last} + 1"));
            self.values.lines.push(new.set(parameter, &last));
        }
        Ok(true)
    }

    /// Gives a parameter of a DELETE the value of a row that the client has inserted, if the workload inserts
    /// rows with such values; whether it does.
    fn inserted_value(&mut self, parameter: &Parameter, with: &Expression, array: bool) -> bool {
        let [attribute] = with.columns[..] else {
            return false;
        };
        let Some(new) = self.new.0.get(&(with.table.to_u32(), attribute)) else {
            return false;
        };
        let (last, deleted) = (new.last(), new.deleted());
        self.values.lines.push(format!(
            "\\set {deleted} case when :{deleted} < :{last} then :{deleted} + 1 else :{deleted} end"
        ));
        self.values.lines.push(new.set(parameter.number, &deleted));
        if array {
            let (number, type_name) = (parameter.number, &parameter.type_name);
            let sql = format!("ARRAY[:'p{number}']::{type_name}");
            self.values.written.insert(number, sql);
        }
        self.values.approximate = true;
        true
    }

    /// Reads the samples, and makes rows of them.
    fn draw(&mut self, columns: Vec<(usize, Column)>) -> Result<()> {
        let mut samples = BTreeMap::new();
        for (table, group) in &self.groups {
            if !group.items.is_empty() {
                samples.insert(*table, group.sample()?);
            }
        }
        let mut length = columns
            .iter()
            .map(|(_, column)| match column {
                Column::Fixed(values) => values.len(),
                Column::Sampled { table, .. } => match &samples[table] {
                    Ok(rows) => rows.len(),
                    Err(_) => 0,
                },
            })
            .max()
            .unwrap_or(0);
        /// Rows that show a share.
        const SHARED: usize = 1000;
        let has_share = |(_, column): &(usize, Column)| matches!(column, Column::Sampled { absent, .. } if *absent > 0.0);
        if length > 0 && columns.iter().any(has_share) {
            length = length.max(SHARED);
        }
        let mut drawn = Vec::new();
        for (number, column) in &columns {
            let reason = match column {
                Column::Sampled { table, .. } => match &samples[table] {
                    Ok(rows) if rows.is_empty() => Some(format!(
                        "{} has no rows for it",
                        self.groups[table].facts.qualified
                    )),
                    Ok(_) => None,
                    Err(reason) => Some(reason.clone()),
                },
                Column::Fixed(values) => values
                    .is_empty()
                    .then(|| "its expression has no rows".into()),
            };
            if reason.is_some() {
                let origin = self
                    .values
                    .origins
                    .iter_mut()
                    .find(|origin| origin.number == *number);
                if let Some(origin) = origin {
                    origin.reason = reason;
                }
                continue;
            }
            self.values.drawn.push(*number);
            let sample = match column {
                Column::Sampled { table, .. } => samples[table].as_deref().unwrap_or_default(),
                Column::Fixed(_) => &[],
            };
            drawn.push(column.values(sample));
        }
        let rows = (0..length).map(|_| {
            let row = drawn.iter_mut().map(|values| values.next().flatten());
            row.collect::<Texts>()
        });
        let mut bytes = 0;
        // Few large rows of a table may stand beside many of another one.
        let fits = |row: &Texts| {
            let is_first = bytes == 0;
            bytes += size(row);
            is_first || bytes <= SAMPLE_BYTES
        };
        self.values.rows = rows.take_while(fits).collect();
        Ok(())
    }
}

type Sample = [Texts];

impl Column {
    /// Its values, over and over, in the order of the rows of a sample.
    fn values<'v>(&'v self, sample: &'v Sample) -> Box<dyn Iterator<Item = Option<String>> + 'v> {
        match self {
            Column::Fixed(values) => Box::new(values.iter().cloned().cycle()),
            Column::Sampled {
                item,
                shift,
                array,
                absent,
                uniform,
                ..
            } => {
                let mut seen = HashSet::new();
                let is_first = |row: &&'v Texts| seen.insert(&row[*item]);
                let different: Vec<_> = match *uniform > 0.0 {
                    true => sample.iter().filter(is_first).collect(),
                    false => Vec::new(),
                };
                Box::new((0..).map(move |row_no| {
                    let at = |distance: usize| &sample[(row_no + distance) % sample.len()];
                    if let Some(length) = array {
                        let values = (0..*length).map(|i| at(shift + i)[*item].clone());
                        return Some(array_literal(values.flatten()));
                    }
                    if is_of_share(row_no, *absent) {
                        at(*shift)[*item + 1].clone()
                    } else if is_of_share(row_no, *uniform) {
                        different[row_no % different.len()][*item].clone()
                    } else {
                        at(*shift)[*item].clone()
                    }
                }))
            }
        }
    }
}

/// Whether the row with that number, from 0, is one of a share of all rows.
fn is_of_share(number: usize, share: f64) -> bool {
    ((number + 1) as f64 * share).floor() > (number as f64 * share).floor()
}

impl Group {
    /// Rows with a value for each item, as many as [`SAMPLE_BYTES`] allow; the reason if they cannot be read.
    fn sample(&self) -> Found<Vec<Texts>> {
        let conditions = self
            .not_null
            .iter()
            .map(|item| format!("({item}) IS NOT NULL"));
        let conditions: Vec<_> = std::iter::once("true".to_owned())
            .chain(conditions)
            .collect();
        let query = format!(
            "SELECT {} FROM {} WHERE {} ORDER BY pg_catalog.random() LIMIT {SAMPLE_ROWS}",
            self.items.join(", "),
            self.facts.sampled(),
            conditions.join(" AND ")
        );
        let found = tables::or_reason(tables::rows(self.items.len(), &query))?;
        Ok(
            found.and_then(|(rows, are_all)| match are_all || !rows.is_empty() {
                true => Ok(rows),
                false => Err(format!(
                    "rows of {} have more than 16 MB",
                    self.facts.qualified
                )),
            }),
        )
    }
}

/// The values of an expression or query of the caller's, at most one more than there may be.
///
/// # Errors
/// Errors of the expression.
pub fn drawn_from(expression: &str, type_name: &str) -> Result<Vec<Option<String>>> {
    let expression = expression.trim_end().trim_end_matches(';');
    let is_query = selfbench_capture::is_query(expression);
    let parsed = match is_query {
        true => statement::is_query(expression)?,
        false => statement::is_query(&format!("SELECT {expression}"))?,
    };
    if !parsed {
        let message = "\"expression\" is neither an SQL expression nor one query";
        return Err(Error::server(Sqlstate::ERRCODE_SYNTAX_ERROR, message));
    }
    // The server says that a subquery must return only one column, and does not execute this one.
    let (value, from) = match is_query {
        true => (
            "q.v",
            format!("({expression}\n) q (v) WHERE true OR ({expression}\n) IS NULL"),
        ),
        false => (expression, "pg_catalog.generate_series(1, 1000)".into()),
    };
    let most = SAMPLE_ROWS + 1;
    let sql = format!("SELECT ({value}\n)::{type_name} FROM {from} LIMIT {most}");
    match tables::rows(1, &sql)? {
        (rows, true) => Ok(rows.into_iter().flatten().collect()),
        (_, false) => {
            let message = "the values of the expression have more than 16 MB";
            let report = Report::new(Sqlstate::ERRCODE_PROGRAM_LIMIT_EXCEEDED, message);
            Err(Report {
                hint: Some("Choose among them, as with LIMIT.".into()),
                ..report
            }
            .into())
        }
    }
}

fn is_integer(type_name: &str) -> bool {
    ["smallint", "integer", "bigint"].contains(&type_name)
}

fn is_number(type_name: &str) -> bool {
    is_integer(type_name) || ["numeric", "real", "double precision"].contains(&type_name)
}

/// Whether it is a timestamp, with or without time zone.
fn is_timestamp(type_name: &str) -> bool {
    matches!(
        type_name,
        "timestamp without time zone" | "timestamp with time zone"
    )
}

/// An operation of the server's, as SQL: another role may have operators for the same types in `search_path`.
fn operation(left: impl Display, operator: &str, right: impl Display) -> String {
    format!("(({left}) OPERATOR(pg_catalog.{operator}) ({right}))")
}

/// The distance between the bounds of a share of a column's rows, as SQL.
fn distance(type_name: &str, low: &str, high: &str, share: f64, inclusive: bool) -> Option<String> {
    let part = |whole: String, share: &str| operation(whole, "*", share);
    let share = format!("{share:.12}");
    // Of numbers that follow each other: as many as there are in the share, without those that the bounds include.
    let rounded = |whole: String| {
        let numbers = part(operation(whole, "+", 1), &share);
        let less = operation(numbers, "-", i32::from(inclusive));
        format!("pg_catalog.round({less})")
    };
    let floating = format!("{share}::double precision");
    Some(match type_name {
        name if is_integer(name) => rounded(operation(format_args!("({high})::numeric"), "-", low)),
        "date" => format!("{}::integer", rounded(operation(high, "-", low))),
        "numeric" => part(operation(high, "-", low), &share),
        name if is_number(name) || is_timestamp(name) || name == "interval" => {
            part(operation(high, "-", low), &floating)
        }
        _ => return None,
    })
}

/// A value that a column hardly has, as SQL.
fn absent(type_name: &str, text: &str) -> Option<String> {
    let below = |bound: &str, numbers: &str, kind: &str| {
        let random = operation("pg_catalog.random()", "*", numbers);
        operation(
            bound,
            "-",
            format_args!("pg_catalog.floor({random})::{kind}"),
        )
    };
    Some(match type_name {
        "smallint" => operation(32767, "-", operation(text, "-", text)),
        "integer" => below("2147483647", "1000000", "integer"),
        "bigint" => below("9223372036854775807", "1000000000", "bigint"),
        "text" | "character varying" => operation(text, "||", "'~'"),
        "uuid" => "pg_catalog.gen_random_uuid()".into(),
        "numeric" => below("1e15", "1000000", "numeric"),
        name if is_timestamp(name) || name == "date" => {
            operation(text, "+", "interval '1000 years'")
        }
        _ => return None,
    })
}

/// A constant of a type.
fn constant(type_name: &str) -> Option<&'static str> {
    match type_name {
        name if is_number(name) => Some("1"),
        "text" | "character varying" => Some("x"),
        "boolean" => Some("true"),
        "interval" => Some("1 day"),
        name if is_timestamp(name) || name == "date" => Some("2000-01-01"),
        _ => None,
    }
}

/// The text of an array with these elements.
fn array_literal(values: impl Iterator<Item = String>) -> String {
    let quoted =
        values.map(|value| format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\"")));
    format!("{{{}}}", quoted.collect::<Vec<_>>().join(","))
}
