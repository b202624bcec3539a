//! Selection of a run's scripts: builtins, weights, protocols.

use selfbench_script::{Action, MAX_SCRIPTS, Protocol, WorkloadBuilder, builtin};

#[test]
fn builtins_are_found_by_unambiguous_prefixes() {
    for (prefix, name) in [
        ("tpcb-like", "tpcb-like"),
        ("t", "tpcb-like"),
        ("si", "simple-update"),
        ("select", "select-only"),
    ] {
        assert_eq!(builtin::find_builtin(prefix).unwrap().name, name);
    }
    for (prefix, message) in [
        (
            "s",
            "ambiguous builtin name: 2 builtin scripts found for prefix \"s\"",
        ),
        (
            "",
            "ambiguous builtin name: 3 builtin scripts found for prefix \"\"",
        ),
        ("x", "no builtin script found for name \"x\""),
        ("Select", "no builtin script found for name \"Select\""),
    ] {
        assert_eq!(
            builtin::find_builtin(prefix).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn builtins_are_scripts() {
    let mut builder = WorkloadBuilder::new(Protocol::Prepared);
    for script in builtin::list() {
        builder
            .add(script.name, script.description, script.body, 1)
            .unwrap();
    }
    let workload = builder.finish().unwrap();
    let shape: Vec<(&str, usize, usize)> = workload
        .scripts
        .iter()
        .map(|script| {
            let is_sql = |action: &Action| matches!(action, Action::Sql(_));
            let commands = &script.commands;
            let sql = commands.iter().filter(|c| is_sql(&c.action)).count();
            (script.description.as_str(), commands.len() - sql, sql)
        })
        .collect();
    assert_eq!(
        shape,
        [
            ("<builtin: TPC-B (sort of)>", 4, 7),
            ("<builtin: simple update>", 4, 5),
            ("<builtin: select only>", 1, 1),
        ]
    );
}

#[test]
fn weights() {
    assert_eq!(builtin::parse_weight("a.sql"), Ok(("a.sql", 1)));
    assert_eq!(builtin::parse_weight("a@b.sql@1"), Ok(("a@b.sql", 1)));
    assert_eq!(builtin::parse_weight("a@ +7"), Ok(("a", 7)));
    assert_eq!(builtin::parse_weight("@0"), Ok(("", 0)));
    assert_eq!(builtin::parse_weight("a@2147483647"), Ok(("a", 2147483647)));
    for (argument, message) in [
        ("a@b.sql", "invalid weight specification: @b.sql"),
        ("a@", "invalid weight specification: @"),
        ("a@ ", "invalid weight specification: @ "),
        ("a@1 ", "invalid weight specification: @1 "),
        (
            "a@99999999999999999999",
            "invalid weight specification: @99999999999999999999",
        ),
        (
            "a@2147483648",
            "weight specification out of range (0 .. 2147483647): 2147483648",
        ),
        (
            "a@-1",
            "weight specification out of range (0 .. 2147483647): -1",
        ),
    ] {
        assert_eq!(
            builtin::parse_weight(argument).unwrap_err().to_string(),
            message
        );
    }
}

#[test]
fn some_weight_is_needed() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    builder.add("a", "a", "select 1", 0).unwrap();
    let error = builder.finish().unwrap_err();
    let message = "total script weight must not be zero";
    assert_eq!(error.to_string(), message);
    assert!(WorkloadBuilder::new(Protocol::Simple).finish().is_err());
}

#[test]
fn number_of_scripts() {
    let mut builder = WorkloadBuilder::new(Protocol::Simple);
    for _ in 0..MAX_SCRIPTS {
        builder.add("a", "a", "select 1", 1).unwrap();
    }
    let error = builder.add("a", "a", "select 1", 1).unwrap_err();
    assert_eq!(error.to_string(), "at most 128 SQL scripts are allowed");
}

#[test]
fn protocols() {
    for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
        assert_eq!(protocol.as_str().parse(), Ok(protocol));
    }
    let error = "Simple".parse::<Protocol>().unwrap_err();
    assert_eq!(error.to_string(), "invalid query mode (-M): \"Simple\"");
}
