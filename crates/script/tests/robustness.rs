//! No text, however hostile, makes the crate panic, hang, or use up stack or memory.

mod common;
mod exercise;

use std::thread;

use common::{Client, shown};
use proptest::prelude::*;
use selfbench_script::{Protocol, Symbols, Value, Variables, WorkloadBuilder, builtin, parse_seed};

/// Runs on a stack of the usual size of a thread's.
fn on_small_stack(test: impl FnOnce() + Send + 'static) {
    thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(test)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn nesting_is_bounded() {
    on_small_stack(|| {
        let too_deep = "expression is nested too deeply, maximum depth is 1000";
        let shapes: [(&str, &str, &str); 8] = [
            ("(", "1", ")"),
            ("-", "1", ""),
            ("not ", "true", ""),
            ("~", "1", ""),
            ("abs(", "1", ")"),
            ("case when true then ", "1", " end"),
            ("1 - (", "1", ")"),
            ("greatest(1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,", "1", ")"),
        ];
        for (open, middle, close) in shapes {
            let nested =
                |depth: usize| format!("{}{middle}{}", open.repeat(depth), close.repeat(depth));
            for depth in [1_000, 100_000] {
                assert_eq!(shown(&nested(depth)), too_deep, "{open}");
            }
            let value = shown(&nested(498));
            assert!(
                value.starts_with("int") || value.starts_with("boolean"),
                "{value}"
            );
        }
    });
}

#[test]
fn chains_need_no_stack() {
    on_small_stack(|| {
        let sum = vec!["1"; 40_000].join("+");
        assert_eq!(shown(&sum), "int 40000");
        assert_eq!(
            shown(&format!("null{}", " isnull".repeat(40_001))),
            "boolean false"
        );
        let or = vec!["false"; 30_000].join(" or ");
        assert_eq!(shown(&or), "boolean false");
    });
    let too_long = "expression is too long, maximum is 100000 operations";
    assert_eq!(shown(&vec!["1"; 60_000].join("+")), too_long);
    assert_eq!(
        shown(&format!("least({})", vec!["1+1"; 40_000].join(","))),
        "too many function arguments, maximum is 16"
    );
}

#[test]
fn exchanged_operands_take_bounded_time() {
    let long = vec!["1"; 45_000].join("+");
    let depth = 900;
    let text = format!("{}{long}{}", "(".repeat(depth), " > null)".repeat(depth));
    assert_eq!(shown(&text), "null");
}

#[test]
fn long_scripts_take_linear_time() {
    for piece in [
        "$a", "/*", "(", "E'\\''\n", ":", ":a", "'", "\\;", "--\n", "a", "1e", "$1", "\\\n", "\"",
        "create ", "begin ", ":{?", "$a$",
    ] {
        let mut builder = WorkloadBuilder::new(Protocol::Simple);
        _ = builder.add("F", "F", &piece.repeat(200_000), 1);
    }
}

/// Text that looks like a script, put together from its building blocks.
fn scriptlike() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "select 1",
        ";",
        "\n",
        " ",
        "'",
        "''",
        "\"",
        "$$",
        "$a$",
        "$1",
        "--",
        "/*",
        "*/",
        "(",
        ")",
        "\\;",
        "\\:",
        ":v",
        "::",
        ":",
        ":'v'",
        ":{?v}",
        "E'",
        "\\'",
        "U&'",
        "create or replace function",
        "begin",
        "end",
        "case",
        "\\set x ",
        "\\set ",
        "1",
        "+",
        "random(1, 10)",
        "\\if 1\n",
        "\\elif ",
        "\\else\n",
        "\\endif\n",
        "\\sleep ",
        "5ms",
        "\\shell ",
        "\\setshell v ",
        "\\template v ",
        "\\gset ",
        "\\aset p_\n",
        "\\startpipeline\n",
        "\\",
        "\\\n",
        "\r\n",
        "é",
        "\u{0}",
        "\t",
        "1e",
        ".",
        "debug(",
        "hash(:v)",
        "9223372036854775808",
        "not ",
        "is null",
        "<<",
        ",",
    ]);
    let pieces = prop::collection::vec(
        prop_oneof![pieces.prop_map(str::to_owned), any::<String>()],
        0..40,
    );
    pieces.prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_script(body in any::<String>()) {
        exercise::script(&body, Protocol::Simple);
    }

    #[test]
    fn any_bytes(body in prop::collection::vec(any::<u8>(), 0..200)) {
        exercise::script(&String::from_utf8_lossy(&body), Protocol::Prepared);
    }

    #[test]
    fn anything_like_a_script(body in scriptlike()) {
        exercise::script(&body, Protocol::Extended);
    }

    #[test]
    fn statements_lose_nothing_but_blanks(
        words in prop::collection::vec("[a-z(),0-9]{1,6}", 1..20),
    ) {
        let body = words.join(" ");
        let mut builder = WorkloadBuilder::new(Protocol::Simple);
        builder.add("F", "F", &body, 1).unwrap();
        let workload = builder.finish().unwrap();
        prop_assert_eq!(&workload.scripts[0].commands[0].text, &body);
    }

    #[test]
    fn any_expression(text in "[-0-9a-z+*/%<>=!|&#~(),:. \\\\\n]{0,80}") {
        exercise::expression(&text);
    }

    #[test]
    fn any_option(text in any::<String>()) {
        _ = parse_seed(&text);
        _ = builtin::parse_weight(&text);
        let mut symbols = Symbols::new();
        let slot = symbols.intern("v");
        let mut variables = Variables::new(&symbols);
        variables.set_text(slot, &text);
        _ = variables.value(slot, "v");
    }

    #[test]
    fn integers_survive_printing(value in any::<i64>()) {
        let read = Client::with_seed(1).eval(&Value::Int(value).to_string());
        prop_assert_eq!(read, Ok(Value::Int(value)));
    }

    #[test]
    fn doubles_survive_printing(value in prop::num::f64::NORMAL) {
        // Fifteen digits are kept, which is what reading and printing again leaves unchanged.
        let printed = Value::Double(value).to_string();
        let mut symbols = Symbols::new();
        let slot = symbols.intern("v");
        let mut variables = Variables::new(&symbols);
        variables.set_text(slot, &printed);
        let read = variables.value(slot, "v").unwrap().unwrap();
        let read = read.to_double().unwrap();
        prop_assert_eq!(Value::Double(read).to_string(), printed);
        prop_assert!((read - value).abs() <= value.abs() * 1e-14);
    }
}
