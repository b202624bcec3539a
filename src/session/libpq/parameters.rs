//! Parameter values as libpq wants them.

use selfbench_script::{SqlCommand, StatementTooLong, Variables};
use std::ffi::c_char;

/// Parameter values as libpq wants them, in buffers that are used again.
#[derive(Default)]
pub(super) struct ParameterTexts {
    /// The texts one after the other, each with a zero byte at its end.
    pub(super) texts: String,
    /// Offset of each; `None` is NULL.
    starts: Vec<Option<usize>>,
    pub(super) pointers: Vec<*const c_char>,
}

impl ParameterTexts {
    pub(super) fn fill(
        &mut self,
        command: &SqlCommand,
        variables: &Variables,
    ) -> Result<(), StatementTooLong> {
        self.texts.clear();
        self.starts.clear();
        command.reserve_parameters(variables, &mut self.texts)?;
        for slot in command.parameters() {
            let start = self.texts.len();
            let is_set = variables.write_parameter(*slot, &mut self.texts);
            self.texts.push('\0');
            self.starts.push(is_set.then_some(start));
        }
        self.pointers.clear();
        let base = self.texts.as_ptr();
        self.pointers
            .extend(self.starts.iter().map(|start| match start {
                Some(start) => base.wrapping_add(*start).cast::<c_char>(),
                None => std::ptr::null(),
            }));
        Ok(())
    }
}
