//! `\if`: which branch is executed.

use super::trace::debug_sink;
use super::{Client, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::session::Session;
use selfbench_script::{Action, EvalContext, Expr, Jump};

impl<'w> Client<'w> {
    /// Goes from an `\if` to the branch that its condition, or that of one of its `\elif`s,
    /// selects.
    pub(super) fn branch(
        &mut self,
        condition: &Expr,
        otherwise: Jump,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Result<(), Step> {
        let (mut condition, mut otherwise) = (condition, otherwise);
        loop {
            let mut debug = debug_sink(context.control, self.script, self.command);
            let mut evaluation = EvalContext {
                variables: &mut self.variables,
                rng: &mut self.rng,
                debug: Some(&mut debug),
            };
            match condition.eval(&mut evaluation) {
                Err(error) => {
                    let message = error.to_string();
                    let keyword = self.commands.get(self.command).map(|c| c.keyword.as_str());
                    return Err(self.abort_meta(
                        keyword.unwrap_or_default(),
                        &message,
                        "evaluation of meta-command failed",
                    ));
                }
                Ok(value) if value.is_true() => {
                    self.complete(self.command + 1, context);
                    return Ok(());
                }
                Ok(_) => match otherwise {
                    Jump::Run(index) => {
                        // An end of branches that were all skipped counts as skipped, too.
                        let is_end = matches!(
                            self.commands.get(index).map(|command| &command.action),
                            Some(Action::EndIf)
                        );
                        self.complete(index + usize::from(is_end), context);
                        return Ok(());
                    }
                    Jump::Test(index) => {
                        self.complete(index, context);
                        let Some(Action::Elif {
                            condition: c,
                            otherwise: o,
                            ..
                        }) = self.commands.get(index).map(|command| &command.action)
                        else {
                            return Ok(());
                        };
                        (condition, otherwise) = (c, *o);
                    }
                },
            }
        }
    }
}
