//! Matches `\if`, `\elif`, `\else` and `\endif`, and fills in where they lead to.

use crate::error::ScriptError;
use crate::script::{Action, Command, Jump};

/// An `\if` whose `\endif` has not been read.
#[derive(Default)]
struct OpenIf {
    /// The last `\if` or `\elif`, whose jump is to be filled in.
    undecided: Option<usize>,
    /// The `\elif` and `\else` commands, whose end is to be filled in.
    branches: Vec<usize>,
    has_else: bool,
}

/// Sets the jumps of a script's conditional commands.
///
/// # Errors
/// If they do not match; `description` is the script's, for the message.
pub(crate) fn link(description: &str, commands: &mut [Command]) -> Result<(), ScriptError> {
    let fail = |index: usize, problem: &str| {
        let number = index + 1;
        let message =
            format!("condition error in script \"{description}\" command {number}: {problem}");
        Err(ScriptError::general(description, &message))
    };
    let mut open: Vec<OpenIf> = Vec::new();
    for index in 0..commands.len() {
        match (&commands[index].action, open.last_mut()) {
            (Action::If { .. }, _) => open.push(OpenIf {
                undecided: Some(index),
                ..OpenIf::default()
            }),
            (Action::Elif { .. }, None) => return fail(index, "\\elif without matching \\if"),
            (Action::Elif { .. }, Some(innermost)) => {
                if innermost.has_else {
                    return fail(index, "\\elif after \\else");
                }
                innermost.branches.push(index);
                let undecided = innermost.undecided.replace(index);
                set_jump(commands, undecided, Jump::Test(index));
            }
            (Action::Else { .. }, None) => return fail(index, "\\else without matching \\if"),
            (Action::Else { .. }, Some(innermost)) => {
                if innermost.has_else {
                    return fail(index, "\\else after \\else");
                }
                innermost.has_else = true;
                innermost.branches.push(index);
                let undecided = innermost.undecided.take();
                set_jump(commands, undecided, Jump::Run(index + 1));
            }
            (Action::EndIf, _) => {
                let Some(closed) = open.pop() else {
                    return fail(index, "\\endif without matching \\if");
                };
                set_jump(commands, closed.undecided, Jump::Run(index));
                for branch in closed.branches {
                    set_end(&mut commands[branch], index);
                }
            }
            _ => {}
        }
    }
    if !open.is_empty() {
        return fail(commands.len(), "\\if without matching \\endif");
    }
    Ok(())
}

fn set_jump(commands: &mut [Command], from: Option<usize>, to: Jump) {
    let command = from.and_then(|index| commands.get_mut(index));
    if let Some(Action::If { otherwise, .. } | Action::Elif { otherwise, .. }) =
        command.map(|command| &mut command.action)
    {
        *otherwise = to;
    }
}

fn set_end(command: &mut Command, to: usize) {
    if let Action::Elif { end, .. } | Action::Else { end } = &mut command.action {
        *end = to;
    }
}
