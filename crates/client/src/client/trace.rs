//! Trace of clients: the steps that `debug` asks for, the errors that `verbose_errors` asks for,
//! and the values of the function `debug`.

use super::Client;
use crate::control::Control;
use crate::run_plan::RunPlan;
use crate::session::SqlError;
use selfbench_script::{Action, Command, Protocol, Value};

impl<'w> Client<'w> {
    /// Writes which script is about to be executed.
    pub(super) fn trace_script(&self, description: &str, control: &impl Control) {
        let number = self.number;
        control.report(&format!(
            "client {number} executing script \"{description}\""
        ));
    }

    /// Writes that the client waits for the server's answer.
    pub(super) fn trace_receiving(&self, control: &impl Control) {
        control.report(&format!("client {} receiving", self.number));
    }

    /// Writes what is about to be executed.
    pub(super) fn trace(&mut self, command: &Command, plan: &RunPlan<'w>, control: &impl Control) {
        let number = self.number;
        let prepares = plan.workload.protocol == Protocol::Prepared;
        if prepares && matches!(&command.action, Action::Sql(_)) {
            let commands = self.commands;
            self.trace_prepared(&commands[self.command..=self.command], control);
        }
        let words = command.text.split_ascii_whitespace();
        let line = match &command.action {
            Action::Sql(sql) => match plan.workload.protocol {
                Protocol::Simple => {
                    // A statement that is too long is shown up to the limit.
                    _ = sql.simple_text(&self.variables, &mut self.scratch);
                    format!("client {number} sending {}", self.scratch)
                }
                Protocol::Extended => format!("client {number} sending {}", sql.parameterized()),
                Protocol::Prepared => format!("client {number} sending {}", sql.prepared_name()),
            },
            // Expressions are no arguments.
            Action::Set(_) => {
                let words: Vec<_> = words.take(2).collect();
                format!("client {number} executing {}", words.join(" "))
            }
            Action::If { .. } | Action::Elif { .. } => {
                format!("client {number} executing \\{}", command.keyword)
            }
            _ => {
                let words: Vec<_> = words.collect();
                format!("client {number} executing {}", words.join(" "))
            }
        };
        control.report(&line);
        match &command.action {
            Action::StartPipeline if prepares => {
                let commands = self.commands;
                self.trace_prepared(&commands[self.command + 1..], control);
            }
            // In a pipeline, nothing is received before its end.
            Action::Sql(_) if !self.pipeline => {
                self.trace_receiving(control);
            }
            Action::EndPipeline => self.trace_receiving(control),
            _ => {}
        }
    }

    /// Writes which statements of these commands, up to the end of a pipeline, are prepared now.
    fn trace_prepared(&mut self, commands: &'w [Command], control: &impl Control) {
        let statements = commands
            .iter()
            .take_while(|command| !matches!(&command.action, Action::EndPipeline))
            .filter_map(|command| match &command.action {
                Action::Sql(sql) => Some(sql),
                _ => None,
            });
        for sql in statements {
            if !self.traced_prepared.contains(&sql.number) {
                self.traced_prepared.push(sql.number);
                let name = sql.prepared_name();
                control.report(&format!("client {} preparing {name}", self.number));
            }
        }
    }

    /// Writes an error that does not abort the client.
    pub(super) fn report_error(&self, error: &SqlError, control: &impl Control) {
        let (client, script, command) = (self.number, self.script, self.command);
        control.report(&format!(
            "client {client} got an error in command {command} (SQL) of script {script}; {}",
            error.message
        ));
    }

    /// Writes what happens after an error that does not abort the client.
    pub(super) fn report_consequence(
        &self,
        again: bool,
        now: u64,
        plan: &RunPlan<'w>,
        control: &impl Control,
    ) {
        let what = if again {
            "repeats the transaction after the error"
        } else {
            "ends the failed transaction"
        };
        let mut text = format!("client {} {what} (try {}", self.number, self.tries);
        if plan.max_tries != 0 {
            text += &format!("/{}", plan.max_tries);
        }
        if let Some(limit_ns) = plan.latency_limit_ns {
            let used_ns = now.saturating_sub(self.scheduled_ns);
            let percent = 100.0 * used_ns as f64 / limit_ns as f64;
            text += &format!(", {percent:.3}% of the maximum time of tries was used");
        }
        control.report(&(text + ")"));
    }
}

/// Writes the values that the function `debug` is called with in this command.
pub(super) fn debug_sink(
    control: &impl Control,
    script: usize,
    command: usize,
) -> impl FnMut(Value) {
    move |value| {
        control.report(&format!(
            "debug(script={script},command={}): {}",
            command + 1,
            value.debug_form()
        ));
    }
}
