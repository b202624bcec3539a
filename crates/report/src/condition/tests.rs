use super::*;
use serde_json::json;

fn figures() -> Map<String, Json> {
    let figures = json!({
        "state": "finished", "tps": 1000.0, "transactions": 5000, "latency_p50_ms": 1.5,
        "latency_p99_ms": 35.2, "latency_p999_ms": 60, "rate": null, "reconnect": false,
        "label": "it's: a \"label\"", "seed": "42", "errors": ["none"], "p(99.95)": 70.25
    });
    figures.as_object().expect("an object").clone()
}

fn checked(text: &str) -> Outcome {
    let condition = Condition::parse(text).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    condition
        .check(&figures())
        .unwrap_or_else(|e| panic!("{text}: {e:?}"))
}

fn error(text: &str) -> ConditionError {
    let checked = Condition::parse(text).and_then(|condition| condition.check(&figures()));
    checked.err().unwrap_or_else(|| panic!("no error: {text}"))
}

#[test]
fn each_operator_compares_as_it_says() {
    for (operator, below, equal, above) in [
        ("<", true, false, false),
        ("<=", true, true, false),
        (">", false, false, true),
        (">=", false, true, true),
        ("=", false, true, false),
        ("<>", true, false, true),
    ] {
        for (value, met) in [("1000.5", below), ("1000", equal), ("999", above)] {
            let text = format!("tps {operator} {value}");
            assert_eq!(checked(&text).met, met, "{text}");
        }
    }
}

#[test]
fn texts_and_switches_compare_by_equality() {
    for (text, met) in [
        ("state = finished", true),
        ("state <> finished", false),
        ("state = 'finished'", true),
        ("state = Finished", false),
        ("reconnect = false", true),
        ("reconnect = true", false),
        ("label = 'it''s: a \"label\"'", true),
        ("seed = 42", true),
        ("seed = 042", false),
    ] {
        assert_eq!(checked(text).met, met, "{text}");
    }
}

#[test]
fn numbers_have_every_decimal_form() {
    for text in [
        "tps<1e4",
        "tps>=1.0E+3",
        "tps > -5",
        "tps > +0.5",
        "  tps=1000  ",
        "tps = 1000.000",
        "transactions > 1e-3",
    ] {
        assert!(checked(text).met, "{text}");
    }
}

#[test]
fn a_percentile_is_named_by_its_number() {
    let condition = Condition::parse("p( 99.950 ) < 71").expect("a condition");
    assert_eq!(condition.percentile(), Some(99.95));
    let outcome = condition.check(&figures()).expect("a figure");
    assert_eq!(outcome.measured.as_deref(), Some("70.25"));
    assert!(outcome.met);
    assert_eq!(Condition::parse("p < 5").map(|c| c.percentile()), Ok(None));
}

#[test]
fn no_condition_holds_for_what_is_not_known() {
    for text in ["rate > 5", "rate <> 5", "rate = 5", "rate <> x", "rate < x"] {
        let outcome = checked(text);
        assert_eq!((outcome.met, outcome.measured), (false, None), "{text}");
    }
}

#[test]
fn what_is_expected_is_said_with_its_place() {
    for (text, sentence) in [
        ("", "Expected a figure at the end."),
        ("   ", "Expected a figure at the end."),
        ("tps", "Expected one of < <= > >= = <> at the end."),
        ("tps >", "Expected a value at the end."),
        ("tps > 5 6", "Expected nothing more at character 9."),
        ("tps >> 5", "Expected one of < <= > >= = <> at character 5."),
        ("tps == 5", "Expected one of < <= > >= = <> at character 5."),
        (
            "tps != 5",
            "Expected a figure, an operator or a value at character 5.",
        ),
        (
            "tps > 20ms",
            "Expected a number without a unit at character 7.",
        ),
        (
            "tps > 1.",
            "Expected a number without a unit at character 7.",
        ),
        (
            "tps > 1e",
            "Expected a number without a unit at character 7.",
        ),
        (
            "tps > 1e999",
            "Expected a number without a unit at character 7.",
        ),
        (
            "tps > -",
            "Expected a number without a unit at character 7.",
        ),
        ("5 < tps", "Expected a figure at character 1."),
        ("'tps' < 5", "Expected a figure at character 1."),
        ("tps < \"5\"", "Expected a value at character 7."),
        (
            "tps < 'é",
            "Expected a text with a closing quote at character 7.",
        ),
        ("label = 'é' x", "Expected nothing more at character 13."),
        ("p(99 < 5", "Expected a closing parenthesis at character 6."),
        ("p(99", "Expected a closing parenthesis at the end."),
        (
            "p(101) < 5",
            "Expected a percentile from 0 to 100 at character 3.",
        ),
        (
            "p(x) < 5",
            "Expected a percentile from 0 to 100 at character 3.",
        ),
        (
            "tps > 5; DROP TABLE x",
            "Expected a figure, an operator or a value at character 8.",
        ),
        ("tps > (5)", "Expected a value at character 7."),
        (
            "a: b: tps > 5",
            "Expected one of < <= > >= = <> at character 5.",
        ),
    ] {
        let ConditionError::Syntax {
            condition,
            expected,
        } = error(text)
        else {
            panic!("another error: {text}");
        };
        assert_eq!((condition.as_str(), expected.as_str()), (text, sentence));
    }
}

#[test]
fn a_long_condition_is_abridged() {
    let ConditionError::Syntax { condition, .. } = error(&"é".repeat(1000)) else {
        panic!("another error");
    };
    assert_eq!(condition, format!("{}...", "é".repeat(100)));
}

#[test]
fn numbers_and_texts_do_not_compare() {
    for text in [
        "tps > fast",
        "tps = '1000'",
        "state < finished",
        "state > 5",
        "reconnect < 1",
    ] {
        assert!(
            matches!(error(text), ConditionError::Mismatch { .. }),
            "{text}"
        );
    }
}

#[test]
fn an_unknown_figure_names_similar_ones() {
    let known = |text: &str| match error(text) {
        ConditionError::UnknownFigure { known, .. } => known,
        other => panic!("{other:?}"),
    };
    assert_eq!(known("tsp > 5"), "Similar figures are tps.");
    let percentiles = "Similar figures are latency_p99_ms, latency_p999_ms.";
    assert_eq!(known("p99 < 5"), percentiles);
    assert!(known("latency_p98_ms < 5").starts_with("Similar figures are latency_p99_ms, "));
    // One that has several values is none.
    let all = "Figures are label, latency_p50_ms, latency_p999_ms, latency_p99_ms, p(99.95), rate, \
               reconnect, seed, state, tps, transactions.";
    assert_eq!(known("errors = none"), all);
    assert_eq!(known(&format!("{} = 1", "a".repeat(100_000))), all);
}

#[test]
fn arms_are_named_in_any_way() {
    let arm = |name: &str, ratio: Option<f64>| Arm {
        name: name.into(),
        is_baseline: ratio.is_none(),
        figures: json!({"ratio": ratio, "tps": 5})
            .as_object()
            .cloned()
            .expect("an object"),
    };
    let arms = [
        arm("base", None),
        arm("spi", Some(3.0)),
        arm("a: \"b\" < 1", Some(1.0)),
    ];
    let check = |text: &str| Condition::parse(text).expect(text).check_arms(&arms);
    let one = |text: &str| {
        check(text)
            .expect(text)
            .into_iter()
            .map(|o| o.met)
            .collect::<Vec<_>>()
    };
    assert_eq!(one("spi: ratio > 2"), [true]);
    assert_eq!(one("\"spi\" : ratio > 2"), [true]);
    assert_eq!(one("\"a: \"\"b\"\" < 1\": ratio > 2"), [false]);
    assert_eq!(one("ratio > 2"), [true, false]);
    assert_eq!(one("tps > 2"), [true, true, true]);
    assert_eq!(one("base: ratio > 2"), [false]);
    let conditions: Vec<_> = check("ratio > 2")
        .expect("all")
        .into_iter()
        .map(|o| o.condition)
        .collect();
    assert_eq!(
        conditions,
        ["spi: ratio > 2", "\"a: \"\"b\"\" < 1\": ratio > 2"]
    );
    // A condition without a figure does not hold.
    let alone = Condition::parse("ratio > 2").and_then(|c| c.check_arms(&arms[..1]));
    assert!(matches!(alone, Err(ConditionError::Mismatch { .. })));
    // The name of an arm in an outcome can be used in a condition.
    assert_eq!(one(&conditions[1]), [false]);
    let unknown = ConditionError::UnknownArm {
        arm: "tcp".into(),
        known: "Arms are base, spi, \"a: \"\"b\"\" < 1\".".into(),
    };
    assert_eq!(check("tcp: ratio > 2"), Err(unknown));
    let of_arm = Condition::parse("spi: ratio > 2").expect("a condition");
    assert!(of_arm.require_no_arm().is_err());
}

#[test]
fn lines_have_what_was_measured() {
    let outcomes = ["tps > 2000", "rate < 5", "state = finished"].map(checked);
    assert_eq!(
        lines(&outcomes),
        "tps > 2000: 1000, not met\nrate < 5: unknown, not met\nstate = finished: finished, met"
    );
}
