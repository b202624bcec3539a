//! Budget of a run's scripts while they are parsed.

use crate::error::{ScriptError, ScriptErrorKind};
use crate::limits::{MAX_ELEMENTS, MAX_SCRIPT_BYTES, parser_memory};
use crate::script::Action;

/// Remaining bytes and elements for a run's scripts, and the function that is called between
/// commands while they are parsed.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    bytes: usize,
    elements: usize,
    check: fn(),
}

impl Budget {
    /// The budget of all scripts of a run. `check` is called for each command that is parsed.
    pub(crate) fn new(check: fn()) -> Self {
        Self {
            bytes: MAX_SCRIPT_BYTES,
            elements: MAX_ELEMENTS,
            check,
        }
    }

    /// Takes the length of a script's text, and makes sure that there is memory for parsing it.
    ///
    /// # Errors
    /// If there is not enough of either; `description` is the script's, for the message.
    pub(crate) fn take_text(&mut self, description: &str, body: &str) -> Result<(), ScriptError> {
        self.bytes = self.bytes.checked_sub(body.len()).ok_or_else(|| {
            let message = format!("scripts are too long (maximum is {MAX_SCRIPT_BYTES} bytes)");
            limit(description, &message)
        })?;
        // Later allocations that fail would end the process; this one finds out beforehand.
        let mut memory = Vec::<u8>::new();
        if memory.try_reserve_exact(parser_memory(body.len())).is_err() {
            return Err(ScriptError {
                kind: ScriptErrorKind::OutOfMemory,
                ..ScriptError::general(description, "out of memory while parsing the script")
            });
        }
        // Without this, the compiler may remove the allocation.
        std::hint::black_box(&memory);
        Ok(())
    }

    /// Takes the elements of a command.
    ///
    /// # Errors
    /// If there is not enough; `description` is the script's, for the message.
    pub(crate) fn take_command(
        &mut self,
        description: &str,
        action: &Action,
    ) -> Result<(), ScriptError> {
        (self.check)();
        self.elements = self
            .elements
            .checked_sub(1 + action.elements())
            .ok_or_else(|| too_many(description))?;
        Ok(())
    }

    /// The number of elements that are left.
    pub(crate) fn elements(&self) -> usize {
        self.elements
    }
}

/// The error of scripts that have too many elements.
pub(crate) fn too_many(description: &str) -> ScriptError {
    let message = format!(
        "scripts have too many commands, variables and operators (maximum is {MAX_ELEMENTS})"
    );
    limit(description, &message)
}

fn limit(description: &str, message: &str) -> ScriptError {
    ScriptError {
        kind: ScriptErrorKind::Limit,
        ..ScriptError::general(description, message)
    }
}
