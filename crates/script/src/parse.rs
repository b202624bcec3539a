//! Text of a script to its commands.

use crate::assign::Store;
use crate::budget::{self, Budget};
use crate::conditions;
use crate::dialect::Dialect;
use crate::error::ScriptError;
use crate::meta::{Meta, MetaLine};
use crate::protocol::Protocol;
use crate::script::{Action, Command, SqlCommand};
use crate::split::{Piece, Splitter};
use crate::substitute::Template;
use crate::symbols::Symbols;

/// The greatest number of parameters of a statement.
const MAX_PARAMETERS: usize = 255;

/// Parses a script; its variables get slots in `symbols`, its statements numbers from
/// `sql_commands` on, which is moved behind them. `description` is for messages; `budget` is what
/// is left for all scripts together.
///
/// # Errors
/// If a command is wrong, if conditional commands do not match, if there are no commands, or if
/// a limit is exceeded.
pub(crate) fn parse_script(
    description: &str,
    body: &str,
    protocol: Protocol,
    dialect: Dialect,
    symbols: &mut Symbols,
    sql_commands: &mut usize,
    budget: &mut Budget,
) -> Result<Vec<Command>, ScriptError> {
    budget.take_text(description, body)?;
    let mut splitter = Splitter::new(body);
    let mut lines = LineCounter::new(body);
    let mut commands: Vec<Command> = Vec::new();
    while let Some(piece) = splitter.next_piece() {
        match piece {
            Piece::Sql { text, start } => {
                let template = Template::new(text.clone(), dialect, symbols, budget.elements())
                    .ok_or_else(|| budget::too_many(description))?;
                if protocol.has_parameters() && template.slots().len() > MAX_PARAMETERS {
                    let message = format!(
                        "statement has too many arguments (maximum is {MAX_PARAMETERS}): {text}"
                    );
                    return Err(ScriptError {
                        hint: Some("The simple protocol has no such limit.".into()),
                        ..ScriptError::general(description, &message)
                    });
                }
                let action = Action::Sql(SqlCommand::new(*sql_commands, template));
                budget.take_command(description, &action)?;
                commands.push(Command {
                    line: lines.at(start),
                    start,
                    text,
                    keyword: "SQL".to_owned(),
                    action,
                });
                *sql_commands += 1;
            }
            Piece::Backslash { start } => {
                let line = MetaLine::new(description, lines.at(start), dialect, &body[start..]);
                splitter.resume_at(start + line.length());
                if line.keyword().is_empty() {
                    continue;
                }
                match line.parse(symbols)? {
                    Meta::Action(action) => {
                        budget.take_command(description, &action)?;
                        commands.push(Command {
                            line: lines.at(start),
                            start,
                            text: line.source().to_owned(),
                            keyword: line.keyword().to_owned(),
                            action,
                        });
                    }
                    Meta::Store { kind, prefix } => attach(
                        description,
                        lines.at(start),
                        Store { kind, prefix },
                        commands.last_mut(),
                    )?,
                }
            }
        }
    }
    if commands.is_empty() {
        let message = format!("empty command list for script \"{description}\"");
        return Err(ScriptError::general(description, &message));
    }
    conditions::link(description, &mut commands)?;
    Ok(commands)
}

/// Makes the last command, which must be a statement, store its results.
fn attach(
    description: &str,
    line: usize,
    store: Store,
    last: Option<&mut Command>,
) -> Result<(), ScriptError> {
    let near = match last {
        Some(Command {
            action: Action::Sql(sql),
            ..
        }) => {
            if sql.store.is_none() {
                sql.store = Some(store);
                return Ok(());
            }
            None
        }
        Some(meta) => Some(meta.text.as_str().into()),
        None => None,
    };
    Err(ScriptError {
        script: description.into(),
        line: u32::try_from(line).ok(),
        // The name is the same for \aset.
        message: "\\gset must follow an SQL command".into(),
        near,
        ..ScriptError::default()
    })
}

/// Counts line numbers, for offsets that only grow.
struct LineCounter<'a> {
    text: &'a str,
    offset: usize,
    line: usize,
}

impl<'a> LineCounter<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            offset: 0,
            line: 1,
        }
    }

    /// The number of the line, from 1, that holds the byte at `offset`.
    fn at(&mut self, offset: usize) -> usize {
        if let Some(between) = self.text.get(self.offset..offset) {
            self.line += between.bytes().filter(|byte| *byte == b'\n').count();
            self.offset = offset;
        }
        self.line
    }
}
