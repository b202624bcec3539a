//! Variables: the types of texts, and what is substituted.

use crate::common::Client;
use selfbench_script::{
    EvalError, Protocol, SqlCommand, Symbols, TextError, Value, Variables, WorkloadBuilder,
    valid_variable_name,
};
use std::convert::Infallible;

/// Value that an expression reads from a variable with this text.
fn read(text: &str) -> String {
    let mut client = Client::with_seed(42);
    let slot = client.symbols.intern("v");
    client.variables.set_text(slot, text);
    match client.eval(":v") {
        Ok(value) => value.debug_form().to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn types_of_texts() {
    for (texts, value) in [
        (&["null", "NULL", "Null"][..], "null"),
        (
            &["tr", "YE", "on", "t", "y", "true", "yes", "ON", "TRUE"],
            "boolean true",
        ),
        (
            &["of", "n", "fals", "f", "no", "false", "off", "OFF"],
            "boolean false",
        ),
        (&[" 7", "7", "+7", "\t7"], "int 7"),
        (&["-0", "0", "+0"], "int 0"),
        (&["-9223372036854775808"], "int -9223372036854775808"),
        (&["0x10", "16.0", "0x1p4", "0x.8p+5", " 1.6e1"], "double 16"),
        (&["inf", "INFINITY", "+inf"], "double Infinity"),
        (&["-inf"], "double -Infinity"),
        (&["nan", "NaN", "-nan(abc)", "nan()"], "double NaN"),
        (&["1.", "1e0", "0x1", "0X1.P0", "0x0.00001p20"], "double 1"),
        (&["0x1p-1074"], "double 4.94065645841247e-324"),
        (&["0e9", "0x0p99999999999999999999"], "double 0"),
        (
            &["0x1.fffffffffffff7fp1023"],
            "double 1.79769313486232e+308",
        ),
        (
            &["0x1.00000000000008p0", "0x10000000000000.7p-52"],
            "double 1",
        ),
        (
            &["9007199254740993.0", "0x20000000000001p0"],
            "double 9.00719925474099e+15",
        ),
    ] {
        for text in texts {
            assert_eq!(read(text), value, "{text:?}");
        }
    }
}

#[test]
fn hexadecimal_numbers_are_rounded_to_even() {
    let bits = |text: &str| {
        let mut client = Client::with_seed(42);
        let slot = client.symbols.intern("v");
        client.variables.set_text(slot, text);
        match client.eval(":v") {
            Ok(Value::Double(value)) => value.to_bits(),
            other => panic!("{text}: {other:?}"),
        }
    };
    let one = 1f64.to_bits();
    assert_eq!(bits("0x1.00000000000008p0"), one);
    assert_eq!(bits("0x1.000000000000080000000000000000001p0"), one + 1);
    assert_eq!(bits("0x1.00000000000018p0"), one + 2);
    assert_eq!(bits("0x1.fffffffffffffcp-1"), one);
    assert_eq!(bits("0x1p-1022"), f64::MIN_POSITIVE.to_bits());
}

#[test]
fn malformed_texts() {
    for text in [
        "o",
        "nul",
        "yess",
        "1_000",
        "7 ",
        "1e400",
        "1e-400",
        "1e-310",
        "TRUE ",
        "0x",
        "0x.",
        "0x1p",
        "0x1p-1075",
        "0x1p1024",
        "0x1.fffffffffffff8p1023",
        "1e",
        "--1",
        "1.5x",
        "infin",
        "nan(",
        "nan(-)",
        "é",
        "\u{a0}1",
        "0x1g",
    ] {
        let message = format!("malformed variable \"v\" value: \"{text}\"");
        assert_eq!(read(text), message);
    }
    assert_eq!(
        read("9223372036854775808"),
        "value \"9223372036854775808\" is out of range for type bigint"
    );
    for text in ["-", " ", " -"] {
        let message = format!("invalid input syntax for type bigint: \"{text}\"");
        assert_eq!(read(text), message);
    }
}

#[test]
fn null_from_a_query_cannot_be_read() {
    let mut client = Client::with_seed(42);
    let slot = client.symbols.intern("v");
    client.variables.set_null_text(slot);
    let error = client.eval(":v").unwrap_err();
    assert_eq!(error, EvalError::Text(TextError::Empty));
    assert_eq!(error.to_string(), "");
    assert!(client.variables.write_text(slot, &mut String::new()));
}

#[test]
fn texts_are_substituted_as_they_are() {
    let mut symbols = Symbols::new();
    let slot = symbols.intern("v");
    let mut variables = Variables::new(&symbols);
    let mut out = String::from("<");
    assert!(!variables.write_text(slot, &mut out));
    variables.set_text(slot, "+007");
    assert_eq!(variables.value(slot, "v"), Ok(Some(Value::Int(7))));
    assert!(variables.write_text(slot, &mut out));
    variables.set(slot, Value::Null);
    assert!(variables.write_text(slot, &mut out));
    assert_eq!(out, "<+007NULL");
}

#[test]
fn names() {
    for name in ["a", "_", "_1", "aB9", "é", "aé1"] {
        assert!(valid_variable_name(name), "{name}");
    }
    for name in ["", "1a", "a-b", "?column?", "a b", ":a"] {
        assert!(!valid_variable_name(name), "{name}");
    }
}

#[test]
fn automatic_variables_have_slots() {
    let symbols = Symbols::new();
    for (slot, name) in [
        (symbols.scale(), "scale"),
        (symbols.client_id(), "client_id"),
        (symbols.default_seed(), "default_seed"),
        (symbols.random_seed(), "random_seed"),
    ] {
        assert_eq!(symbols.find(name), Some(slot));
        assert_eq!(symbols.name(slot), name);
    }
    assert_eq!(symbols.find("other"), None);
}

#[test]
fn variables_that_no_script_sets() {
    let unset = |script: &str| {
        let mut builder = WorkloadBuilder::new(Protocol::Simple);
        builder.add("a", "a", script, 1).unwrap();
        let workload = builder.finish().unwrap();
        // Only of this statement, the columns are known.
        let columns = |sql: &SqlCommand| {
            let known = sql.text().contains("AS y").then(|| vec!["y".to_owned()]);
            Ok::<_, Infallible>(known)
        };
        let Ok(unset) = workload.unset_variables(|name| name == "given", columns);
        let mentions = unset.mentions.iter();
        let names: Vec<_> = mentions
            .map(|mention| format!("{} {}", mention.name, mention.line()))
            .collect();
        names.join(", ")
    };
    for (script, expected) in [
        ("\\set x :scale\nSELECT :x, :y, :client_id, :given;", "y 2"),
        ("\\setshell x echo :z ::z\nSELECT :x, :z;", "z 1"),
        (
            "SELECT 1 AS y \\gset p_\nSELECT :p_y, :y, :p_z;",
            "y 2, p_z 2",
        ),
        ("SELECT 1 AS y \\gset\nSELECT :z, :y;", "z 2"),
        ("SELECT * FROM t \\gset\nSELECT :z;", ""),
        ("SELECT * FROM t \\aset p_\nSELECT :p_z, :z;", "z 2"),
        (
            "\\if :a\n\\elif :b\n\\endif\n\\sleep :c ms",
            "a 1, b 2, c 4",
        ),
        ("\\set x :x + 1", ""),
        (
            "\\template x #\nSELECT :'x', ':a :',\n :'y', :'a', :'given'",
            "a 2, y 3",
        ),
        ("SELECT 1 AS y \\gset\nSELECT :'z', :'y';", "z 2"),
        ("\\shell echo :s\nSELECT now()::text;", "s 1"),
    ] {
        assert_eq!(unset(script), expected, "{script}");
    }
}
