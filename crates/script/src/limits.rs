//! How large the scripts of a run may be, which bounds the memory that parsing them takes.

use crate::error::{ScriptError, ScriptErrorKind};
use crate::script::Action;

/// The greatest length of the scripts of a run together, in bytes.
pub const MAX_SCRIPT_BYTES: usize = 16 << 20;

/// The greatest number of elements that the scripts of a run have together: commands, variables
/// mentioned in statements, words of shell commands, operators and operands of expressions.
pub const MAX_ELEMENTS: usize = 250_000;

/// Memory that parsing takes for each byte of a script, in bytes: copies of statements, and what
/// growing texts and lists leave behind.
const BYTES_PER_BYTE: usize = 10;

/// Memory that parsing takes for each element, in bytes.
const BYTES_PER_ELEMENT: usize = 700;

/// The memory in bytes that parsing a script of so many bytes takes at most.
pub fn parser_memory(script_bytes: usize) -> usize {
    // An element has at least one byte; growing lists start with room for a few.
    let elements = script_bytes.min(MAX_ELEMENTS) + 8;
    script_bytes * BYTES_PER_BYTE + elements * BYTES_PER_ELEMENT
}

/// What is left for the scripts of a run, and who looks at interrupts while they are parsed.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    bytes: usize,
    elements: usize,
    check: fn(),
}

impl Room {
    /// Room for all scripts of a run. `check` is called now and then while they are parsed.
    pub(crate) fn new(check: fn()) -> Self {
        Self {
            bytes: MAX_SCRIPT_BYTES,
            elements: MAX_ELEMENTS,
            check,
        }
    }

    /// Takes the room of a script's text, and makes sure that there is memory for parsing it.
    ///
    /// # Errors
    /// If there is not enough of either; `description` is the script's, for the message.
    pub(crate) fn take_text(&mut self, description: &str, body: &str) -> Result<(), ScriptError> {
        self.bytes = self.bytes.checked_sub(body.len()).ok_or_else(|| {
            let message = format!("scripts are too long (maximum is {MAX_SCRIPT_BYTES} bytes)");
            limit(description, &message)
        })?;
        // Allocations that fail end the process; this one tells whether they would.
        let mut memory = Vec::<u8>::new();
        if memory.try_reserve_exact(parser_memory(body.len())).is_err() {
            return Err(ScriptError {
                kind: ScriptErrorKind::OutOfMemory,
                ..ScriptError::general(description, "out of memory while parsing the script")
            });
        }
        // Or else the compiler may leave it out.
        std::hint::black_box(&memory);
        Ok(())
    }

    /// Takes the room of a command and of what it consists of.
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

    /// How many elements there may be yet.
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
