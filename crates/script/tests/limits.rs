//! The memory that parsing takes, and the limits that bound it.

#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use selfbench_script::{
    Action, MAX_ELEMENTS, MAX_SCRIPT_BYTES, Protocol, ScriptErrorKind, StatementTooLong, Variables,
    WorkloadBuilder, parser_memory,
};

/// Counts the bytes that the current thread has allocated, and the most that it had.
struct Counting;

thread_local! {
    static NOW: Cell<usize> = const { Cell::new(0) };
    static MOST: Cell<usize> = const { Cell::new(0) };
    /// The largest single allocation, which is the reservation that a script makes first, is not
    /// counted.
    static PROBE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Size of an allocation: the C library keeps a word beside it, in units of 16 bytes.
fn real(size: usize) -> usize {
    (size + 8).next_multiple_of(16).max(32)
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() != PROBE.get() {
            NOW.set(NOW.get().wrapping_add(real(layout.size())));
            MOST.set(MOST.get().max(NOW.get()));
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        if layout.size() != PROBE.get() {
            NOW.set(NOW.get().wrapping_sub(real(layout.size())));
        }
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most memory that was taken while a script was parsed.
fn measured(body: &str, protocol: Protocol) -> usize {
    PROBE.set(parser_memory(body.len()));
    NOW.set(0);
    MOST.set(0);
    let mut builder = WorkloadBuilder::new(protocol);
    _ = builder.add("F", "F", body, 1);
    let most = MOST.get();
    PROBE.set(usize::MAX);
    most
}

fn kind(body: &str) -> Option<ScriptErrorKind> {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder.add("F", "F", body, 1).err().map(|error| error.kind)
}

/// A text of pieces, each of which gets its number, of about so many bytes.
fn numbered(bytes: usize, piece: impl Fn(usize) -> String) -> String {
    let mut text = String::new();
    for number in 0.. {
        if text.len() >= bytes {
            break;
        }
        text += &piece(number);
    }
    text
}

/// Names of variables that are as short as they can be.
fn name(mut number: usize) -> String {
    const LETTERS: &[u8; 52] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    let mut name = String::new();
    loop {
        name.push(char::from(LETTERS[number % 52]));
        number /= 52;
        if number == 0 {
            return name;
        }
    }
}

#[test]
fn memory_is_bounded_by_the_length_of_the_script() {
    for bytes in [1, 100, 10_000, 300_000] {
        let shapes = [
            ("empty statements", ";".repeat(bytes)),
            ("statements", "a;".repeat(bytes / 2 + 1)),
            ("one statement", "x".repeat(bytes)),
            ("a comment", format!("a/*{}", "x".repeat(bytes))),
            ("mentions", numbered(bytes, |n| format!(":{}", name(n)))),
            ("the same mention", ":a".repeat(bytes / 2 + 1)),
            (
                "mentions in statements",
                numbered(bytes, |n| format!(":{};", name(n))),
            ),
            (
                "assignments",
                numbered(bytes, |n| format!("\\set {} 1\n", name(n))),
            ),
            (
                "variables in expressions",
                numbered(bytes, |n| format!("\\set a :{}\n", name(n))),
            ),
            (
                "long expressions",
                format!("\\set a 1{}\n", "+1".repeat(40_000)).repeat(bytes / 80_000 + 1),
            ),
            (
                "an expression of variables",
                numbered(bytes.min(400_000), |n| match n {
                    0 => "\\set a 1".into(),
                    n => format!("+:{}", name(n)),
                }),
            ),
            ("conditions", "\\if 1\n".repeat(bytes / 6 + 1)),
            (
                "closed conditions",
                "\\if 1\n\\elif 1\n\\endif\n".repeat(bytes / 21 + 1),
            ),
            (
                "shell commands",
                numbered(bytes, |n| format!("\\shell :{} b c\n", name(n))),
            ),
            (
                "words of shell commands",
                format!("\\shell{}\n", " a".repeat(254)).repeat(bytes / 515 + 1),
            ),
            (
                "sleeps",
                numbered(bytes, |n| format!("\\sleep :{}\n", name(n))),
            ),
            (
                "stores",
                numbered(bytes, |n| format!(";\\gset {}\n", name(n))),
            ),
            (
                "bad names",
                numbered(bytes, |n| format!("\\set 1{} 1\n", name(n))),
            ),
            ("a wrong line", format!("\\{}", "x".repeat(bytes))),
            ("open strings", "E'".repeat(bytes / 2 + 1)),
        ];
        for (shape, body) in shapes {
            let (most, bound) = (measured(&body, Protocol::Simple), parser_memory(body.len()));
            assert!(
                most <= bound,
                "{shape} of {} bytes: {most} > {bound}",
                body.len()
            );
        }
    }
}

#[test]
fn what_is_too_large_is_refused() {
    let limit = Some(ScriptErrorKind::Limit);
    assert_eq!(kind(&"x".repeat(MAX_SCRIPT_BYTES)), None);
    assert_eq!(kind(&"x".repeat(MAX_SCRIPT_BYTES + 1)), limit);
    assert_eq!(kind(&";".repeat(MAX_ELEMENTS)), None);
    assert_eq!(kind(&";".repeat(MAX_ELEMENTS + 1)), limit);
    assert_eq!(kind(&":a".repeat(MAX_ELEMENTS - 1)), None);
    assert_eq!(kind(&":a".repeat(MAX_ELEMENTS)), limit);
    let sum = format!("\\set a 1{}\n", "+1".repeat(40_000));
    assert_eq!(kind(&sum.repeat(3)), None);
    assert_eq!(kind(&sum.repeat(4)), limit);
}

#[test]
fn scripts_share_the_limits() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    let half = ";".repeat(MAX_ELEMENTS / 2);
    assert_eq!(builder.add("F", "F", &half, 1), Ok(()));
    assert_eq!(builder.add("F", "F", &half, 1), Ok(()));
    let error = builder.add("F", "F", ";", 1).unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Limit);
}

#[test]
fn each_command_is_checked() {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let mut builder = WorkloadBuilder::checking(Protocol::Simple, || {
        CALLS.fetch_add(1, Relaxed);
    });
    builder.add("F", "F", "a;\\sleep 1\n;;", 1).unwrap();
    assert_eq!(CALLS.load(Relaxed), 4);
}

#[test]
fn a_statement_that_variables_make_too_long_is_refused() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder.add("F", "F", &":a ".repeat(100), 1).unwrap();
    let workload = builder.finish().unwrap();
    let Action::Sql(sql) = &workload.scripts[0].commands[0].action else {
        panic!("a statement");
    };
    let mut variables = Variables::new(&workload.symbols);
    let slot = workload.symbols.find("a").unwrap();
    let mut out = String::new();
    variables.set_text(slot, "12");
    assert_eq!(sql.simple_text(&variables, &mut out), Ok(()));
    assert_eq!(out, "12 ".repeat(100));
    variables.set_text(slot, &"x".repeat(16 << 20));
    assert_eq!(sql.simple_text(&variables, &mut out), Err(StatementTooLong));
    assert_eq!(
        sql.reserve_parameters(&variables, &mut out),
        Err(StatementTooLong)
    );
}
