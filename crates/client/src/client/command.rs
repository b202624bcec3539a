//! The execution of a script's commands, one after the other.

use super::block::BlockState;
use super::trace::debug_sink;
use super::{Client, State, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::session::Session;
use selfbench_script::{Action, Command, EvalContext, Protocol, SetError};

impl<'w> Client<'w> {
    /// Executes the current command, or ends the script after the last one.
    #[inline]
    pub(super) fn execute_current(
        &mut self,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match self.commands.get(self.command) {
            None if self.pipeline => Some(self.abort_open_pipeline()),
            None if self.in_block > 0 && self.ends_block(context.plan) => {
                self.in_block = 0;
                context.session.submit_commit();
                self.state = State::Block(BlockState::Commit);
                None
            }
            None => {
                self.state = State::End;
                None
            }
            Some(_) if context.control.stop() => Some(self.finish()),
            Some(command) => {
                context.record.reached(self.script, self.command);
                if context.plan.debug {
                    self.trace(command, context.plan, context.control);
                }
                self.execute(command, context)
            }
        }
    }

    /// Executes the current command; `None` if the client can go on at once.
    #[inline]
    fn execute(
        &mut self,
        command: &'w Command,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match &command.action {
            Action::Sql(sql) => match &sql.store {
                Some(store) if self.pipeline => {
                    let name = store.kind.as_str();
                    return Some(self.abort_command(
                        name,
                        &format!("\\{name} is not allowed in pipeline mode"),
                    ));
                }
                store => {
                    context.session.submit(sql, &self.variables);
                    if self.pipeline {
                        self.complete(self.command + 1, context);
                    } else if store.is_none() {
                        self.state = State::Await;
                    } else {
                        self.state = State::AwaitResults;
                    }
                }
            },
            Action::Set(set) => {
                let mut debug = debug_sink(context.control, self.script, self.command);
                let mut evaluation = EvalContext {
                    variables: &mut self.variables,
                    rng: &mut self.rng,
                    debug: Some(&mut debug),
                };
                if let Err(error) = set.execute(&mut evaluation) {
                    let message = error.to_string();
                    let name = match error {
                        SetError::Evaluation(_) => &command.keyword,
                        SetError::Assignment(_) => command.name(),
                    };
                    return Some(self.abort_meta(name, &message, error.summary()));
                }
                self.complete(self.command + 1, context);
            }
            Action::Template(template) => {
                if let Err(error) = template.execute(&mut self.variables, &mut self.rng) {
                    let message = error.to_string();
                    return Some(self.abort_meta(
                        command.name(),
                        &message,
                        "assignment of meta-command failed",
                    ));
                }
                self.complete(self.command + 1, context);
            }
            Action::Values(values) => {
                values.execute(context.plan.values, &mut self.variables, &mut self.rng);
                self.complete(self.command + 1, context);
            }
            Action::If {
                condition,
                otherwise,
            } => {
                if let Err(step) = self.branch(condition, *otherwise, context) {
                    return Some(step);
                }
            }
            // Reached by going on, both are the end of the branch before them.
            Action::Elif { end, .. } | Action::Else { end } => {
                self.complete(*end + 1, context);
            }
            Action::EndIf => self.complete(self.command + 1, context),
            Action::Sleep(sleep) => match sleep.duration_us(&self.variables, &mut self.scratch) {
                Ok(us) => {
                    let since_ns = context.control.now_ns();
                    let until_ns = since_ns.saturating_add(u64::from(us) * 1000);
                    self.state = State::Sleep { since_ns, until_ns };
                }
                Err(error) => {
                    let message = error.to_string();
                    return Some(self.abort_meta(
                        command.name(),
                        &message,
                        "execution of meta-command failed",
                    ));
                }
            },
            Action::Shell(shell) => {
                let result = self.shell(shell, context.control);
                return self.after_shell(command.name(), result, context);
            }
            Action::SetShell(shell) => {
                let result = self.set_shell(shell, context.control);
                return self.after_shell(command.name(), result, context);
            }
            Action::StartPipeline => {
                let problem = if context.plan.workload.protocol == Protocol::Simple {
                    "cannot use pipeline mode with the simple query protocol"
                } else if self.pipeline {
                    "already in pipeline mode"
                } else {
                    context
                        .session
                        .start_pipeline(&self.commands[self.command + 1..]);
                    self.state = State::StartPipeline;
                    return None;
                };
                return Some(self.abort_command(command.name(), problem));
            }
            Action::SyncPipeline | Action::EndPipeline if !self.pipeline => {
                return Some(self.abort_command(command.name(), "not in pipeline mode"));
            }
            Action::SyncPipeline => {
                context.session.sync_pipeline();
                self.complete(self.command + 1, context);
            }
            Action::EndPipeline => {
                context.session.end_pipeline();
                self.state = State::Await;
            }
        }
        None
    }

    /// Waits until `\sleep` is over.
    #[inline]
    pub(super) fn sleep(
        &mut self,
        since_ns: u64,
        until_ns: u64,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        if context.control.stop() {
            return Some(self.finish());
        }
        let now = context.control.now_ns();
        if now < until_ns {
            return Some(Step::Sleeping { until_ns });
        }
        self.sleep_ns += now.saturating_sub(since_ns);
        self.complete(self.command + 1, context);
        None
    }

    /// The current command has been executed: goes on with the one at index `next`.
    #[inline]
    pub(super) fn complete(
        &mut self,
        next: usize,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) {
        if context.plan.per_statement {
            let now = context.control.now_ns();
            if context.plan.measures(now) {
                let duration_ns = now.saturating_sub(self.command_begin_ns);
                context
                    .record
                    .executed(self.script, self.command, duration_ns);
            }
            // The next command begins where this one ends: one clock reading for each.
            self.command_begin_ns = now;
        }
        self.command = next;
        self.state = State::Execute;
    }
}
