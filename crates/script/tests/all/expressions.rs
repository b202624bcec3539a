//! Values of expressions, and rejected expressions.

use crate::common::{Client, shown};

fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(shown(text), *expected, "{text}");
    }
}

#[test]
fn integers() {
    check(&[
        ("-9223372036854775808", "int -9223372036854775808"),
        ("-  9223372036854775808", "int -9223372036854775808"),
        ("5 - 9223372036854775808", "syntax error"),
        ("-(9223372036854775808)", "syntax error"),
        ("-(-9223372036854775808)", "bigint sub out of range"),
        ("9223372036854775807 + 1", "bigint add out of range"),
        ("9223372036854775807 * 2", "bigint mul out of range"),
        ("-9223372036854775808 / -1", "bigint div out of range"),
        ("-9223372036854775808 % -1", "int 0"),
        ("-7/2", "int -3"),
        ("7%-3", "int 1"),
        ("-7%3", "int -1"),
        ("5.5 % 2.6", "int 0"),
        ("1/0", "division by zero"),
        ("1 % 0", "division by zero"),
        ("abs(-9223372036854775808)", "int -9223372036854775808"),
        ("- (3 * 4 - (-(~ 1) + -(~ 0))) / -1 + 3 % -1", "int 9"),
        (
            "10 + mod(13 * 7 + 12, 13) - mod(-19 * 11 - 17, 19)",
            "int 39",
        ),
    ]);
}

#[test]
fn rounding_to_integers() {
    check(&[
        ("int(2.5)", "int 2"),
        ("int(3.5)", "int 4"),
        ("int(-2.5)", "int -2"),
        (
            "int(9223372036854775807.0)",
            "double to int overflow for 9223372036854775808.000000",
        ),
        ("int(-9223372036854775808.0)", "int -9223372036854775808"),
        ("int(0.0/0)", "double to int overflow for NaN"),
        ("int(1.0/0)", "double to int overflow for Infinity"),
    ]);
}

#[test]
fn doubles() {
    check(&[
        ("1/0.0", "double Infinity"),
        ("-1/0.0", "double -Infinity"),
        ("0.0/0", "double NaN"),
        ("-0.0", "double 0"),
        ("0.0 * -1", "double -0"),
        ("sqrt(2)", "double 1.4142135623731"),
        ("0.1 + 0.2", "double 0.3"),
        ("1e15", "double 1e+15"),
        ("1e-5", "double 1e-05"),
        ("1.", "double 1"),
        (".5", "double 0.5"),
        ("1.e3", "double 1000"),
        ("pi()", "double 3.14159265358979"),
        ("pow(9223372036854775807, 2)", "double 8.50705917302346e+37"),
        ("power(-5.0,-5.0)", "double -0.00032"),
        ("pow(2, 3)", "double 8"),
        ("exp(1)", "double 2.71828182845905"),
        ("ln(2)", "double 0.693147180559945"),
        ("double(3)", "double 3"),
        ("abs(-2.5)", "double 2.5"),
        ("abs(0.0 * -1)", "double -0"),
        ("9007199254740993 = 9007199254740992.0", "boolean true"),
        (
            "100000000000000000000",
            "bigint constant overflow (100000000000000000000)",
        ),
        ("1e-400", "double constant overflow (1e-400)"),
        ("1e400", "double constant overflow (1e400)"),
        ("0e-400", "double 0"),
    ]);
}

#[test]
fn bits() {
    check(&[
        ("1<<63", "int -9223372036854775808"),
        ("1<<64", "int 1"),
        ("1<<-1", "int -9223372036854775808"),
        ("-8>>65", "int -4"),
        ("~1 + 2", "int -4"),
        ("~1.5", "int -3"),
        ("~1.5 + 2", "int -5"),
        ("1 | 2 # 3 & 4", "int 0"),
        ("1 + 2 << 1", "int 6"),
    ]);
}

#[test]
fn truth() {
    check(&[
        ("null and false", "null"),
        ("false and null", "boolean false"),
        ("true and null", "null"),
        ("null or true", "null"),
        ("true or null", "boolean true"),
        ("true or (1/0 = 1)", "boolean true"),
        ("false and (1/0 = 1)", "boolean false"),
        ("not null", "null"),
        ("not not true", "boolean true"),
        ("not 1", "cannot coerce int to boolean"),
        ("not 1.0", "cannot coerce double to boolean"),
        ("1 and true", "cannot coerce int to boolean"),
        ("true and 1", "cannot coerce int to boolean"),
    ]);
}

#[test]
fn comparisons() {
    check(&[
        ("1 < 2", "boolean true"),
        ("1 != 2", "boolean true"),
        ("1 <> 1", "boolean false"),
        ("0.0/0 = 0.0/0", "boolean false"),
        ("0.0/0 <> 0.0/0", "boolean true"),
        ("1 <= null", "null"),
        ("true = true", "cannot coerce boolean to int"),
        ("true = 1.0", "cannot coerce boolean to double"),
        ("sqrt(true)", "cannot coerce boolean to double"),
        ("true = 1 < 2", "syntax error"),
        ("1=2=3", "syntax error"),
    ]);
}

#[test]
fn tests_for_null_and_truth() {
    check(&[
        ("1 is true", "boolean false"),
        ("true is true", "boolean true"),
        ("null is not true", "boolean true"),
        ("null isnull", "boolean true"),
        ("1 notnull", "boolean true"),
        ("not null is null", "boolean false"),
        ("null is null is null", "boolean false"),
        ("null isnull is not true", "boolean false"),
        ("null is null = true", "cannot coerce boolean to int"),
        ("1 is 1", "syntax error"),
        ("1 is not 2", "syntax error"),
    ]);
}

#[test]
fn cases() {
    check(&[
        ("case when 0 then 1 end", "null"),
        ("case when 0.5 then 1 end", "int 1"),
        ("case when null then 1 else 2 end", "int 2"),
        ("case when 0.0/0 then 1 else 2 end", "int 1"),
        ("case when true then 1 when 1/0 then 2 end", "int 1"),
        (
            "case when false then 1/0 when true then 2 else 1/0 end",
            "int 2",
        ),
        ("1 + case when true then 2 end * 3", "int 7"),
        ("case 1 when 1 then 2 end", "syntax error"),
        ("case else 3 end", "syntax error"),
        ("case when 1 then 2", "syntax error"),
    ]);
}

#[test]
fn extremes() {
    check(&[
        ("least(0.0/0,1)", "double 1"),
        ("least(1,0.0/0)", "double NaN"),
        ("greatest(null,1)", "null"),
        ("greatest(1,2.0)", "double 2"),
        ("greatest(3,2.0)", "double 3"),
        ("least(3,1,2)", "int 1"),
        ("least(true,1.0)", "cannot coerce boolean to double"),
        ("least(1,true)", "cannot coerce boolean to int"),
    ]);
}

#[test]
fn argument_counts() {
    check(&[
        ("least()", "at least one argument expected (least)"),
        ("hash(1,2,3)", "unexpected number of arguments (hash)"),
        ("hash()", "unexpected number of arguments (hash)"),
        ("pi(1)", "unexpected number of arguments (pi)"),
        ("foo(1)", "unexpected function name (foo)"),
        ("foo", "unexpected function name (foo)"),
        ("e63", "unexpected function name (e63)"),
        ("sqrt", "syntax error"),
        ("sqrt(1,)", "syntax error"),
        ("RANDOM(1,1)", "int 1"),
        ("mod(,7,4)", "int 3"),
        ("pi(,)", "syntax error"),
    ]);
    let many = |count: usize| format!("least({})", vec!["1"; count].join(","));
    assert_eq!(shown(&many(16)), "int 1");
    let message = "too many function arguments, maximum is 16";
    assert_eq!(shown(&many(17)), message);
    assert_eq!(shown(&many(5000)), message);
}

#[test]
fn exchanged_comparisons_evaluate_their_right_operand_first() {
    let mut client = Client::with_seed(42);
    assert_eq!(
        client.eval("debug(1) > debug(2)").unwrap().to_string(),
        "false"
    );
    assert_eq!(client.debugged, ["int 2", "int 1"]);
    client.debugged.clear();
    let nested = "case when debug(3) >= debug(1 < debug(2) and true is true) is null then 1 end";
    assert!(client.eval(nested).is_err());
    assert_eq!(client.debugged, ["int 2", "boolean true", "int 3"]);
}

#[test]
fn undefined_variables() {
    check(&[
        (":undef", "undefined variable \"undef\""),
        (":1a", "undefined variable \"1a\""),
        (": a", "unexpected character (:)"),
        ("1 ! 2", "unexpected character (!)"),
        ("1 @ 2", "unexpected character (@)"),
        ("1 \\ 2", "unexpected character (\\)"),
        ("1 \\\n + \\\r\n 2", "int 3"),
    ]);
}

#[test]
fn precedence_of_prefix_operators() {
    check(&[
        ("2 * not 1 = 2", "cannot coerce boolean to int"),
        ("not 1 = 2 and false", "boolean false"),
        ("- ~ 1 + 2", "int 4"),
        ("1 + ~ 2 * 3", "int -6"),
        ("1 | ~ 2 & 1", "int 1"),
        ("1 = not 1 = 2", "cannot coerce boolean to int"),
        ("+ + - + 5", "int -5"),
    ]);
}
