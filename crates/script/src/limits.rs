//! Limits of the scripts of a run, which bound the memory that parsing them takes.

/// The greatest number of scripts in a run.
pub const MAX_SCRIPTS: usize = 128;

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

/// Maximum memory in bytes that parsing a script of `script_bytes` bytes takes.
pub fn parser_memory(script_bytes: usize) -> usize {
    // An element has at least one byte; growing lists start with room for a few.
    let elements = script_bytes.min(MAX_ELEMENTS) + 8;
    script_bytes * BYTES_PER_BYTE + elements * BYTES_PER_ELEMENT
}
