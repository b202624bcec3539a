//! `\shell` and `\setshell`.

use super::{Client, Step};
use crate::context::Context;
use crate::control::Control;
use crate::record::Record;
use crate::session::Session;
use selfbench_script::{SetShellCommand, ShellCommand, ShellError};

impl<'w> Client<'w> {
    pub(super) fn shell(
        &mut self,
        shell: &ShellCommand,
        control: &impl Control,
    ) -> Result<(), ShellError> {
        shell.command_line(&self.variables, &mut self.scratch)?;
        let end = control.shell(&self.scratch, None);
        self.shell_ns += end.waited_ns;
        match end.successful {
            true => Ok(()),
            false => Err(shell.launch_error()),
        }
    }

    pub(super) fn set_shell(
        &mut self,
        shell: &SetShellCommand,
        control: &impl Control,
    ) -> Result<(), ShellError> {
        let command = shell.command();
        command.command_line(&self.variables, &mut self.scratch)?;
        let mut output = Vec::new();
        let end = control.shell(&self.scratch, Some(&mut output));
        self.shell_ns += end.waited_ns;
        if !end.successful {
            return Err(command.launch_error());
        }
        shell.store(&output, &mut self.variables)
    }

    pub(super) fn after_shell(
        &mut self,
        name: &str,
        result: Result<(), ShellError>,
        context: &mut Context<'_, 'w, impl Session, impl Control, impl Record>,
    ) -> Option<Step> {
        match result {
            Ok(()) => {
                self.complete(self.command + 1, context);
                None
            }
            // The request has ended the command.
            Err(_) if context.control.stop() => Some(self.finish()),
            Err(error) => {
                let message = error.to_string();
                Some(self.abort_meta(name, &message, "execution of meta-command failed"))
            }
        }
    }
}
