//! `\values`: drawing rows of value sets.

use crate::common::{Client, parse};
use selfbench_script::{
    Action, CollectedSet, Dialect, EvalContext, Protocol, UsedSet, ValueSets, Variables, Workload,
    WorkloadBuilder, heads_of_sets,
};
use std::rc::Rc;

/// The words and texts of a workload's sets with these rows, in the order of its sets.
fn collect(workload: &Workload, sets: &[&[&[Option<&str>]]]) -> (Vec<u64>, String) {
    let collect = |(set, rows): (&UsedSet, &&[&[Option<&str>]])| {
        let mut collected = CollectedSet::new(set.columns);
        for row in *rows {
            collected.push(row.iter().copied());
        }
        Rc::new(collected)
    };
    let sets: Vec<_> = workload.value_sets.iter().zip(sets).map(collect).collect();
    let mut words = heads_of_sets(&sets);
    words.extend(sets.iter().flat_map(|set| set.words()));
    (words, sets.iter().map(|set| set.texts()).collect())
}

/// The statements that a script without conditions comes to, `times` times, and as parameters.
fn run(body: &str, sets: &[&[&[Option<&str>]]], times: usize) -> Vec<String> {
    let workload = parse(body);
    let (words, texts) = collect(&workload, sets);
    let mut variables = Variables::new(&workload.symbols);
    let mut rng = Client::with_seed(42).rng;
    let mut sent = Vec::new();
    for _ in 0..times {
        for command in &workload.scripts[0].commands {
            match &command.action {
                Action::Values(values) => {
                    values.execute(ValueSets::new(&words, &texts), &mut variables, &mut rng);
                }
                Action::Set(set) => {
                    let mut context = EvalContext {
                        variables: &mut variables,
                        rng: &mut rng,
                        debug: None,
                    };
                    set.execute(&mut context).unwrap();
                }
                Action::Sql(sql) => {
                    let mut text = String::new();
                    sql.simple_text(&variables, &mut text).unwrap();
                    sent.push(text.trim().to_owned());
                    for slot in sql.parameters() {
                        let mut text = String::new();
                        let is_set = variables.write_parameter(*slot, &mut text);
                        sent.push(if is_set { text } else { "-".into() });
                    }
                }
                _ => {}
            }
        }
    }
    sent
}

#[test]
fn values_of_every_kind() {
    for (value, plain, quoted, parameter) in [
        (Some("7"), "7", "'7'", "7"),
        (Some("-12"), "-12", "'-12'", "-12"),
        (Some("007"), "007", "'007'", "007"),
        (Some("+7"), "+7", "'+7'", "+7"),
        (Some("-0"), "-0", "'-0'", "-0"),
        (
            Some("99999999999999999999"),
            "99999999999999999999",
            "'99999999999999999999'",
            "99999999999999999999",
        ),
        (Some(""), "", "''", ""),
        (Some("it's"), "it's", "'it''s'", "it's"),
        (Some("\\x00ff"), "\\x00ff", "E'\\\\x00ff'", "\\x00ff"),
        (
            Some("{\"é\",NULL}"),
            "{\"é\",NULL}",
            "'{\"é\",NULL}'",
            "{\"é\",NULL}",
        ),
        (Some("NULL"), "NULL", "'NULL'", "NULL"),
        (None, "NULL", "NULL", "-"),
    ] {
        assert_eq!(
            run("\\values s v\nselect :v, :'v'", &[&[&[value]]], 1),
            [&format!("select {plain}, {quoted}"), parameter, parameter],
            "{value:?}"
        );
    }
    // Expressions read them.
    let body = "\\values s v w\n\\set n :v + 1\n\\set m :w is null\nselect :n, :m";
    let sent = run(body, &[&[&[Some("41"), None]]], 1);
    assert_eq!(sent[0], "select 42, true");
}

#[test]
fn several_sets_and_commands() {
    let body = "\\values a v\n\\VALUES b x y\n\\values a v w\nselect :v, :w, :x, :y";
    let workload = parse(body);
    let names: Vec<_> = workload
        .value_sets
        .iter()
        .map(|set| (set.name.as_str(), set.columns))
        .collect();
    assert_eq!(names, [("a", 2), ("b", 2)]);
    // More values than variables are left out.
    let sent = run(
        body,
        &[
            &[&[Some("1"), Some("one"), Some("left out")]],
            &[&[None, Some("b")]],
        ],
        1,
    );
    assert_eq!(sent[0], "select 1, one, NULL, b");
    // A variable that was NULL is set again.
    assert_eq!(
        run(
            "\\values a v\n\\values b v\nselect :v",
            &[&[&[None]], &[&[Some("x")]]],
            1
        ),
        ["select x", "x"]
    );
}

#[test]
fn one_draw_of_the_client_for_a_row() {
    let rows: Vec<String> = (0..1000).map(|n| format!("r{n}")).collect();
    let rows: Vec<[Option<&str>; 2]> = rows.iter().map(|row| [Some(&row[..]), Some("x")]).collect();
    let rows: Vec<&[Option<&str>]> = rows.iter().map(|row| &row[..]).collect();
    let sent = run("\\values s v w\nselect :v", &[&rows], 5);
    let mut client = Client::with_seed(42);
    for sent in sent.chunks(2) {
        assert_eq!(sent[1], format!("r{}", client.int("random(0, 999)")));
    }
}

#[test]
fn variables_are_set() {
    let workload = parse("\\values s v\nselect :v, :w");
    let unset = workload
        .unset_variables::<()>(|_| false, |_| Ok(None))
        .unwrap();
    let names: Vec<_> = unset.mentions.iter().map(|mention| mention.name).collect();
    assert_eq!(names, ["w"]);
}

#[test]
fn errors() {
    let message = |dialect: Dialect, line: &str| {
        let mut builder = WorkloadBuilder::new(Protocol::Simple).in_dialect(dialect);
        builder.add("F", "F", line, 1).unwrap_err().summary()
    };
    for (line, expected) in [
        ("\\values", "missing argument in command \"values\""),
        ("\\Values s", "missing argument in command \"Values\""),
        (
            "\\values s a 1b",
            "invalid variable name (1b) in command \"values\"",
        ),
    ] {
        assert_eq!(message(Dialect::Extended, line), expected);
    }
    assert_eq!(
        message(Dialect::Pgbench, "\\values s v"),
        "invalid command in command \"values\""
    );
}

#[test]
fn without_the_set_variables_are_null() {
    let workload = parse("\\values s v");
    let mut client = Client::with_seed(42);
    let Action::Values(values) = &workload.scripts[0].commands[0].action else {
        panic!("not values");
    };
    let slot = workload.symbols.find("v").unwrap();
    client.variables.set_text(slot, "old");
    values.execute(ValueSets::default(), &mut client.variables, &mut client.rng);
    assert!(!client.variables.write_parameter(slot, &mut String::new()));
    assert_eq!(client.rng, Client::with_seed(42).rng);
}
