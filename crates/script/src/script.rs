//! Parsed scripts: scripts, commands and their actions. Data only.
//!
//! Not here: the texts they come from (`parse.rs`), the set of scripts of a run (`workload.rs`), and
//! the actions of meta commands (`assign.rs`, `shell.rs`, `sleep.rs`).

use crate::assign::{InvalidName, SetCommand, Store, TemplateCommand};
use crate::expr::Expr;
use crate::shell::{SetShellCommand, ShellCommand};
use crate::sleep::Sleep;
use crate::substitute::{StatementTooLong, Template, reserve};
use crate::symbols::Slot;
use crate::values::ValuesCommand;
use crate::variables::Variables;

/// One script.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The name or file name that selected the script.
    pub name: String,
    /// The description that reports show as "transaction type".
    pub description: String,
    /// Its relative frequency.
    pub weight: i64,
    /// Its commands, at least one.
    pub commands: Vec<Command>,
    /// The variable that is 1 at the end of a transaction that the script rolled back on purpose.
    pub rolled_back: Option<Slot>,
    /// Limit of the response time, in nanoseconds, above which transactions are counted.
    pub limit_ns: Option<u64>,
}

/// One command of a script.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The line that it starts on, from 1.
    pub line: usize,
    /// The offset of its first byte in the script.
    pub start: usize,
    /// All of it: the statement, or the meta command from its backslash to the end of its line.
    pub text: String,
    /// The name of the meta command as typed, without backslash; `SQL` for statements. Messages
    /// about failed evaluations use it, other messages [`Command::name`].
    pub keyword: String,
    /// Action.
    pub action: Action,
}

impl Command {
    /// The name of the meta command in small letters, without backslash; `SQL` for statements.
    pub fn name(&self) -> &'static str {
        match &self.action {
            Action::Sql(_) => "SQL",
            Action::Set(_) => "set",
            Action::Template(_) => "template",
            Action::Values(_) => "values",
            Action::If { .. } => "if",
            Action::Elif { .. } => "elif",
            Action::Else { .. } => "else",
            Action::EndIf => "endif",
            Action::Sleep(_) => "sleep",
            Action::Shell(_) => "shell",
            Action::SetShell(_) => "setshell",
            Action::StartPipeline => "startpipeline",
            Action::SyncPipeline => "syncpipeline",
            Action::EndPipeline => "endpipeline",
        }
    }

    /// The line and the column in its script, in characters from 1, of what is at an offset in its
    /// text. A statement lacks the backslashes of `\;` and `\:`, and has FALSE for `:{?name}`.
    pub fn position(&self, script: &str, offset: usize) -> (usize, usize) {
        let (mut at, mut done) = (self.start, 0);
        while done < offset {
            let (text, rest) = (&self.text[done..], &script[at..]);
            match (text.chars().next(), rest.chars().next()) {
                (Some(is), Some(was)) if is == was => {
                    at += was.len_utf8();
                    done += is.len_utf8();
                }
                (Some(_), Some('\\')) => at += 1,
                (Some(_), Some(':')) => {
                    at += rest.find('}').map_or(1, |end| end + 1);
                    done += "FALSE".len();
                }
                _ => break,
            }
        }
        let before = &script[..at];
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        (
            before.matches('\n').count() + 1,
            before[line..].chars().count() + 1,
        )
    }

    /// The text that reports of single statements show: the first line of a statement, cut at 127 bytes,
    /// or all of a meta command.
    pub fn report_text(&self) -> &str {
        report_text(&self.text)
    }
}

/// The part of a command's text that reports of single statements show; see [`Command::report_text`].
pub fn report_text(text: &str) -> &str {
    if text.starts_with('\\') {
        text
    } else {
        first_line(text)
    }
}

/// Action of a command.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Sends a statement.
    Sql(SqlCommand),
    /// Assigns to a variable.
    Set(SetCommand),
    /// Assigns a random text to a variable.
    Template(TemplateCommand),
    /// Assigns a random row of a value set to variables.
    Values(ValuesCommand),
    /// `\if`: goes on with the next command if the condition holds, otherwise at `otherwise`.
    If {
        /// The condition; see [`Value::is_true`](crate::Value::is_true).
        condition: Expr,
        /// Jump if it does not hold.
        otherwise: Jump,
    },
    /// `\elif`: evaluated only when a [`Jump::Test`] leads to it. Reached from the command before
    /// it, it ends a branch: go on at `end`.
    Elif {
        /// The condition.
        condition: Expr,
        /// Jump if it does not hold.
        otherwise: Jump,
        /// The index of the `\endif`.
        end: usize,
    },
    /// `\else`: ends the branch before it; go on at `end`. No jump leads to it.
    Else {
        /// The index of the `\endif`.
        end: usize,
    },
    /// `\endif`: does nothing.
    EndIf,
    /// Waits.
    Sleep(Sleep),
    /// Runs a shell command.
    Shell(ShellCommand),
    /// Runs a shell command and assigns its output to a variable.
    SetShell(SetShellCommand),
    /// Starts to send without waiting for results.
    StartPipeline,
    /// Ends an implicit transaction within a pipeline.
    SyncPipeline,
    /// Waits for all results of the pipeline.
    EndPipeline,
}

impl Action {
    /// The name that it assigns to, if no variable can have it. Those of `\gset` and `\aset` depend on
    /// columns: see [`Store::target`].
    pub fn invalid_name(&self) -> Option<InvalidName> {
        let target = match self {
            Self::Set(set) => &set.target,
            Self::Template(template) => &template.target,
            Self::SetShell(shell) => &shell.target,
            _ => return None,
        };
        target.slot().err()
    }

    /// The variables that it reads.
    pub(crate) fn reads(&self) -> Vec<Slot> {
        match self {
            Self::Sql(sql) => sql.parameters().to_vec(),
            Self::Set(set) => set.expr.slots().collect(),
            Self::If { condition, .. } | Self::Elif { condition, .. } => {
                condition.slots().collect()
            }
            Self::Sleep(sleep) => sleep.slot().into_iter().collect(),
            Self::Shell(shell) => shell.slots().collect(),
            Self::SetShell(shell) => shell.command().slots().collect(),
            Self::Template(_)
            | Self::Values(_)
            | Self::Else { .. }
            | Self::EndIf
            | Self::StartPipeline
            | Self::SyncPipeline
            | Self::EndPipeline => Vec::new(),
        }
    }

    /// Number of its parts that take memory, besides its text.
    pub(crate) fn elements(&self) -> usize {
        match self {
            Self::Sql(sql) => sql.parameters().len(),
            Self::Set(set) => set.expr.operations(),
            Self::If { condition, .. } | Self::Elif { condition, .. } => condition.operations(),
            Self::Shell(shell) => shell.words(),
            Self::SetShell(shell) => shell.command().words(),
            Self::Values(values) => values.targets().len(),
            Self::Template(_)
            | Self::Else { .. }
            | Self::EndIf
            | Self::Sleep(_)
            | Self::StartPipeline
            | Self::SyncPipeline
            | Self::EndPipeline => 0,
        }
    }
}

/// The jump of a condition that does not hold, as an index into the script's commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jump {
    /// To an `\elif`, whose condition is to be evaluated.
    Test(usize),
    /// To a command that is to be executed; it may be the `\endif`.
    Run(usize),
}

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlCommand {
    /// The position among the statements of all scripts, from 0; names prepared statements.
    pub number: usize,
    /// Results to be stored in variables.
    pub store: Option<Store>,
    template: Template,
}

impl SqlCommand {
    pub(crate) fn new(number: usize, template: Template) -> Self {
        Self {
            number,
            store: None,
            template,
        }
    }

    /// The statement as written.
    pub fn text(&self) -> &str {
        self.template.text()
    }

    /// Replaces the contents of `out` by the statement with the variables' texts in place of
    /// their names, as literals in place of `:'name'`; unknown variables stay as they are. Allocates only to make `out` grow, with one
    /// byte to spare.
    ///
    /// # Errors
    /// If it becomes too long; `out` then has a part of it.
    pub fn simple_text(
        &self,
        variables: &Variables,
        out: &mut String,
    ) -> Result<(), StatementTooLong> {
        self.template.substitute(variables, out)
    }

    /// Makes room in `out` for the texts of all parameters, with a byte to spare for each.
    ///
    /// # Errors
    /// If they are too long together.
    pub fn reserve_parameters(
        &self,
        variables: &Variables,
        out: &mut String,
    ) -> Result<(), StatementTooLong> {
        let rooms = self
            .parameters()
            .iter()
            .map(|slot| variables.room(*slot) + 1);
        reserve(out, rooms.sum())
    }

    /// The statement with `$1`, `$2`, ... in place of the variables' names.
    pub fn parameterized(&self) -> &str {
        self.template.parameterized()
    }

    /// The offset in the text of what is at an offset in [`SqlCommand::parameterized`].
    pub fn text_offset(&self, parameterized: usize) -> usize {
        self.template.text_offset(parameterized)
    }

    /// The variable of each parameter, set or not. An unset one is sent as SQL NULL.
    pub fn parameters(&self) -> &[Slot] {
        self.template.slots()
    }

    /// The offset in the text of the first mention of a variable.
    pub(crate) fn offset_of(&self, slot: Slot) -> Option<usize> {
        self.template.offset_of(slot)
    }

    /// The first line of the statement for reports, cut at 127 bytes.
    pub fn first_line(&self) -> &str {
        first_line(self.text())
    }

    /// The name under which the statement is prepared.
    pub fn prepared_name(&self) -> String {
        format!("P_{}", self.number)
    }
}

/// The first line of a text, cut at 127 bytes or up to three less to keep characters whole.
fn first_line(text: &str) -> &str {
    const MAX_BYTES: usize = 127;
    let line = text.split('\n').next().unwrap_or_default();
    let mut end = line.len().min(MAX_BYTES);
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    &line[..end]
}
