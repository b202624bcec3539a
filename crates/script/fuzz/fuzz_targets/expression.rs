//! Any bytes as an expression.

#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| exercise::expression(&String::from_utf8_lossy(bytes)));
