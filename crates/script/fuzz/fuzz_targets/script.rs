//! Any bytes as a script, in each protocol.

#![no_main]

#[path = "../../tests/exercise/mod.rs"]
mod exercise;

use libfuzzer_sys::fuzz_target;
use selfbench_script::Protocol;

fuzz_target!(|bytes: &[u8]| {
    let body = String::from_utf8_lossy(bytes);
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        exercise::script(&body, protocol);
    }
});
