//! The workload of captured statements: a script for each that is a transaction of its own, and one for
//! transaction blocks.

use super::tables::Tables;
use super::values::{self, Context, Given, NewColumns, Origin, Values};
use crate::backend::parameters::{self, Function, Understood};
use crate::error::Result;
use selfbench_capture::{
    Kind, MOST_STATEMENTS, Rates, Step, arrange, body, is_key_check, repair, statement, tokens,
};
use selfbench_script::{Protocol, WorkloadBuilder};
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Name of the script of transaction blocks.
const BLOCK: &str = "transaction";
/// The most parameters that a statement may have: those of a line of a script.
const MAX_PARAMETERS: usize = 250;
/// Bytes of all scripts.
const MAX_BYTES: usize = 12 << 20;
/// The greatest weight of a script.
const MAX_WEIGHT: f64 = 1_000_000.0;
/// Tries of a transaction: others may change the same rows.
const MAX_TRIES: i32 = 5;

/// Volatile functions of the server that statements may call: they act within the transaction.
const HARMLESS: [&str; 25] = [
    "clock_timestamp",
    "currval",
    "gen_random_uuid",
    "lastval",
    "nextval",
    "now",
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_blocking_pids",
    "pg_current_xact_id",
    "pg_current_xact_id_if_assigned",
    "pg_notify",
    "pg_relation_size",
    "pg_sleep",
    "pg_table_size",
    "pg_total_relation_size",
    "pg_try_advisory_xact_lock",
    "pg_try_advisory_xact_lock_shared",
    "random",
    "random_normal",
    "statement_timestamp",
    "timeofday",
    "txid_current",
    "uuidv4",
    "uuidv7",
];
/// Functions among them that write.
const WRITING: [&str; 2] = ["nextval", "pg_notify"];

/// A statement that was observed.
#[derive(Clone, Debug)]
pub struct Observed {
    /// Its number in the capture, from 1.
    pub number: i32,
    /// Its text; `None` if it is not known.
    pub text: Option<String>,
    /// Calls.
    pub calls: f64,
    /// Rows of a call.
    pub rows: f64,
    /// Blocks of a call, found or read.
    pub blocks: f64,
    /// Expressions of `bench.set_parameter`, by parameter.
    pub expressions: BTreeMap<usize, Given>,
}

/// Facts about the window.
#[derive(Clone, Debug, Deserialize)]
pub struct Facts {
    /// `search_path` of the statements.
    pub search_path: String,
    /// Length in seconds.
    pub seconds: f64,
    /// Commits, if they are known.
    pub commits: Option<f64>,
    /// Transaction blocks, if they are known.
    pub begins: Option<f64>,
    /// Time of all statements of the database.
    pub total_exec_time_ms: f64,
    /// Schema with copies of the tables, if there is one.
    pub clone_schema: Option<String>,
}

/// Outcome for a statement.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Names of the scripts that have it; empty if it is left out.
    pub scripts: Vec<String>,
    /// The statement as these scripts have it.
    pub sql: Option<String>,
    /// Why it is left out.
    pub reason: Option<String>,
    /// Whether its effort can differ from what was captured.
    pub approximate: bool,
    /// Its parameters.
    pub origins: Vec<Origin>,
    /// Rows of its value set.
    pub values: Vec<Vec<Option<String>>>,
    /// Its tables, with whether it writes them.
    pub tables: BTreeMap<(String, String), bool>,
}

/// A workload.
pub struct Made {
    /// Its manifest.
    pub manifest: Value,
    /// Its scripts.
    pub scripts: BTreeMap<String, String>,
    /// Outcome for each statement.
    pub outcomes: Vec<Outcome>,
}

/// A statement that is part of the workload.
struct Part {
    /// Position among the observed ones.
    index: usize,
    reads: bool,
    /// Its order in a transaction.
    order: (u8, i64),
    /// Identification of its row: a table, and columns.
    row: Option<(u32, Vec<String>)>,
    /// Its lines in a script.
    lines: String,
    /// Its lines behind those of another statement that finds the same row.
    lines_of_same_row: String,
    sql: String,
}

/// Makes the workload of statements. Must be called with the `search_path` of the window.
pub fn make(name: &str, facts: &Facts, observed: &[Observed]) -> Result<Made> {
    let mut tables = Tables::default();
    let mut understood = Vec::new();
    let mut ranges = BTreeMap::new();
    for statement in observed {
        let found = understand(statement)?;
        if let Ok((_, found)) = &found
            && found.returns_found
        {
            for range in values::ranges(found) {
                ranges.entry(range).or_insert(statement.rows);
            }
        }
        understood.push(found);
    }
    let mut outcomes: Vec<_> = observed.iter().map(|_| Outcome::default()).collect();
    let mut parts = Vec::new();
    let mut new = NewColumns::default();
    let mut bytes = 0;
    // What deletes rows uses those that others insert.
    let deletes = |index: &usize| matches!(&understood[*index], Ok((_, found)) if found.is_delete);
    let (last, first): (Vec<_>, Vec<_>) = (0..observed.len()).partition(deletes);
    for index in first.into_iter().chain(last) {
        let (statement, outcome) = (&observed[index], &mut outcomes[index]);
        let part = match &understood[index] {
            Err(reason) => Err(reason.clone()),
            Ok((repaired, understood)) => {
                let context = Context {
                    number: statement.number,
                    rows: statement.rows,
                    blocks: statement.blocks,
                    ranges: &ranges,
                    expressions: &statement.expressions,
                };
                let names = Names {
                    set: format!("{name}.s{}", statement.number),
                    index,
                };
                part(
                    &names,
                    repaired,
                    understood,
                    &context,
                    &mut tables,
                    &mut new,
                    outcome,
                )?
            }
        };
        match part {
            Ok(part) if bytes + part.lines.len() > MAX_BYTES => {
                outcome.reason = Some("the scripts would be too long with it".into());
            }
            Ok(part) => {
                bytes += part.lines.len();
                outcome.sql = Some(part.sql.clone());
                parts.push(part);
            }
            Err(reason) => outcome.reason = Some(reason),
        }
    }
    parts.sort_by_key(|part| part.order);
    let (manifest, scripts) = arranged(name, facts, observed, &parts, &new, &mut outcomes);
    Ok(Made {
        manifest,
        scripts,
        outcomes,
    })
}

type Found<T> = Result<std::result::Result<T, String>>;

/// The statement with its repaired text; the reason if the server does not understand it.
fn understand(statement: &Observed) -> Found<(String, Understood)> {
    let Some(text) = &statement.text else {
        return Ok(Err("its text is not available".into()));
    };
    let repaired = repair(text);
    let places: Vec<_> = tokens(&repaired)
        .iter()
        .filter_map(|token| match token.kind {
            Kind::Parameter(number) => Some((number, token.start)),
            _ => None,
        })
        .collect();
    let numbers: BTreeSet<_> = places.iter().map(|(number, _)| number).collect();
    if numbers.len() > MAX_PARAMETERS {
        return Ok(Err(format!("it has more than {MAX_PARAMETERS} parameters")));
    }
    let found = parameters::understand(&repaired, &places)?;
    Ok(match found {
        Ok(understood) => Ok((repaired, understood)),
        Err(report) => Err(report.message),
    })
}

struct Names {
    set: String,
    index: usize,
}

/// The statement as a part of scripts; the reason if it cannot be one.
fn part(
    names: &Names,
    repaired: &str,
    understood: &Understood,
    context: &Context<'_>,
    tables: &mut Tables,
    new: &mut NewColumns,
    outcome: &mut Outcome,
) -> Found<Part> {
    let mut written_rows = 0.0f64;
    let mut reads_catalogs_only = !understood.tables.is_empty();
    for table in &understood.tables {
        let Some(facts) = tables.get(table.oid)? else {
            return Ok(Err("one of its tables has been dropped".into()));
        };
        if let Some(kind) = facts.unusable {
            return Ok(Err(format!("it uses the {kind} table {}", facts.qualified)));
        }
        if !facts.is_catalog {
            reads_catalogs_only = false;
            let key = (facts.schema.clone(), facts.name.clone());
            *outcome.tables.entry(key).or_default() |= table.is_written;
        }
        if table.is_written {
            written_rows = written_rows.max(facts.rows);
        }
    }
    if reads_catalogs_only {
        return Ok(Err("it reads system catalogs only".into()));
    }
    if is_key_check(repaired) {
        let reason = "the server executes it to check a foreign key, also when the workload runs";
        return Ok(Err(reason.into()));
    }
    if let Some(reason) = excluded(understood) {
        return Ok(Err(reason));
    }
    let Values {
        origins,
        rows,
        drawn,
        key,
        written,
        lines,
        approximate,
        unrepeatable,
    } = values::find(understood, context, tables, new)?;
    outcome.approximate = approximate;
    outcome.origins = origins;
    if let Some(reason) = unrepeatable {
        return Ok(Err(reason));
    }
    let mut without = outcome.origins.iter().filter_map(|origin| {
        let reason = origin.reason.as_ref()?;
        Some(format!("parameter ${}: {reason}", origin.number))
    });
    if let Some(reason) = without.next() {
        return Ok(Err(reason));
    }
    let guessed: BTreeMap<usize, &str> = understood
        .parameters
        .iter()
        .filter(|parameter| parameter.is_guessed)
        .map(|parameter| (parameter.number, parameter.type_name.as_str()))
        .collect();
    // Statements with the same key have the same variables for it.
    let of_key = |number: usize| {
        let mut columns = key.iter().flat_map(|key| key.columns.values());
        columns.position(|of_key| *of_key == number)
    };
    let variable = |number: usize| match of_key(number) {
        Some(position) => format!("k{}", position + 1),
        None => format!("p{number}"),
    };
    let value = |number: usize| match written.get(&number) {
        Some(sql) => Some(sql.clone()),
        None => Some(match guessed.get(&number) {
            Some(type_name) => format!("CAST(:'{}' AS {type_name})", variable(number)),
            None => format!(":'{}'", variable(number)),
        }),
    };
    let sql = statement(repaired, value);
    let script = |drawn: &[usize]| {
        let mut script = match drawn {
            [] => String::new(),
            drawn => {
                let variables: Vec<_> = drawn.iter().map(|number| variable(*number)).collect();
                format!("\\values {} {}\n", names.set, variables.join(" "))
            }
        };
        for line in lines.iter().chain([&format!("{sql};")]) {
            script.push_str(line);
            script.push('\n');
        }
        script
    };
    let of_row = drawn.iter().filter(|number| of_key(**number).is_some());
    let others = drawn.len() - of_row.count();
    let (lines, lines_of_same_row) = (script(&drawn), script(&drawn[..others]));
    let mut builder = WorkloadBuilder::new(Protocol::Prepared);
    if let Err(error) = builder.add("statement", "statement", &lines, 1) {
        return Ok(Err(format!("it cannot be written as a script: {error}")));
    }
    outcome.values = if drawn.is_empty() { Vec::new() } else { rows };
    let writes =
        |function: &Function| !function.is_builtin || WRITING.contains(&function.name.as_str());
    let reads =
        understood.is_select && !understood.locks_rows && !understood.volatile.iter().any(writes);
    // Rows that few transactions share first, so that locks of others are held briefly.
    let kind = match () {
        () if reads => 0,
        () if understood.is_delete => 2,
        () => 1,
    };
    Ok(Ok(Part {
        index: names.index,
        reads,
        order: (kind, -written_rows as i64),
        row: key.map(|key| (key.table, key.columns.into_keys().collect())),
        lines,
        lines_of_same_row,
        sql,
    }))
}

/// Why a statement is not repeated.
fn excluded(understood: &Understood) -> Option<String> {
    if understood.is_utility {
        return Some("it is a utility statement".into());
    }
    if understood.writes_qualified {
        return Some(
            "it writes a table whose schema it names, or may lock its rows, and would not use a copy"
                .into(),
        );
    }
    let acts =
        |function: &&Function| function.is_builtin && !HARMLESS.contains(&function.name.as_str());
    if let Some(function) = understood.volatile.iter().find(acts) {
        return Some(format!(
            "it calls {}, whose effect does not end with the transaction",
            function.name
        ));
    }
    None
}

/// The manifest and the scripts.
fn arranged(
    name: &str,
    facts: &Facts,
    observed: &[Observed],
    parts: &[Part],
    new: &NewColumns,
    outcomes: &mut [Outcome],
) -> (Value, BTreeMap<String, String>) {
    let mut rows: Vec<_> = parts.iter().filter_map(|part| part.row.as_ref()).collect();
    rows.sort();
    rows.dedup();
    let rates: Vec<_> = parts
        .iter()
        .map(|part| Rates {
            calls: observed[part.index].calls,
            reads: part.reads,
            row: part
                .row
                .as_ref()
                .and_then(|row| rows.binary_search(&row).ok()),
        })
        .collect();
    let all: f64 = observed.iter().map(|statement| statement.calls).sum();
    let total: f64 = rates.iter().map(|rates| rates.calls).sum();
    // Those left out had their share of the transactions.
    let share = if all > 0.0 { total / all } else { 0.0 };
    // Not those of clients that have prepared BEGIN, which the server counts once in a session.
    let begins = facts
        .begins
        .filter(|begins| all <= begins * MOST_STATEMENTS);
    let commits = facts.commits.or(begins);
    let begins = facts.begins.map(|begins| begins * share);
    let plan = arrange(
        &rates,
        commits.map_or(total, |commits| commits * share),
        begins,
    );
    let mut scripts = BTreeMap::new();
    let mut weights = Vec::new();
    let mut add = |script: String, steps: &[Step], weight: f64, is_block: bool| {
        scripts.insert(script.clone(), body(steps, is_block));
        weights.push((script, weight));
    };
    for (position, calls) in &plan.single {
        let part = &parts[*position];
        let script = format!("s{}", observed[part.index].number);
        outcomes[part.index].scripts.push(script.clone());
        let lines = part.lines.clone();
        add(script, &[Step { lines, times: 1.0 }], *calls, false);
    }
    let mut steps = Vec::new();
    for share in &plan.block {
        let mut lines = String::new();
        for position in &share.statements {
            let part = &parts[*position];
            lines.push_str(match lines.is_empty() {
                true => &part.lines,
                false => &part.lines_of_same_row,
            });
            let outcome = &mut outcomes[part.index];
            outcome.scripts.push(BLOCK.into());
            outcome.approximate = true;
        }
        let times = share.times;
        steps.push(Step { lines, times });
    }
    if !steps.is_empty() {
        add(BLOCK.into(), &steps, plan.blocks, true);
    }
    let transactions: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let greatest = weights
        .iter()
        .map(|(_, weight)| *weight)
        .fold(1.0, f64::max);
    let scale = (MAX_WEIGHT / greatest).min(1.0);
    let listed: Vec<_> = weights
        .iter()
        .map(|(script, weight)| json!({"name": script, "weight": (weight * scale).round().max(1.0) as i64}))
        .collect();
    let variables: Vec<_> = new
        .variables()
        .into_iter()
        .map(|(name, query)| {
            json!({
                "name": name,
                "description": "number behind which values of a column are new",
                "default": "0",
                "min": 0,
                "max": i64::MAX,
                "detect": query,
            })
        })
        .collect();
    let description = format!("{} statements of pg_stat_statements", parts.len());
    let manifest = json!({
        "description": description,
        "unit": "capture",
        "max_scale": 1,
        "size": {"table_mb": 0.0, "index_mb": 0.0},
        "variables": variables,
        "mixes": [{
            "name": name,
            "description": description,
            "scripts": listed,
            "options": {"max_tries": MAX_TRIES, "continue_on_error": true},
        }],
        "captured": {
            "search_path": facts.search_path,
            "clone_schema": facts.clone_schema,
            "rate": if facts.seconds > 0.0 { transactions / facts.seconds } else { 0.0 },
            "writes": parts.iter().any(|part| !part.reads),
            "statements_per_transaction": if transactions > 0.0 { total / transactions } else { 0.0 },
        },
    });
    (manifest, scripts)
}
