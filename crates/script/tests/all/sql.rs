//! Splitting of scripts into statements, and variables in these.

use crate::common::parse;
use selfbench_script::{
    Action, Dialect, Protocol, SqlCommand, StoreKind, Value, Variables, Workload, WorkloadBuilder,
};

fn texts(body: &str) -> Vec<String> {
    parse(body).scripts[0]
        .commands
        .iter()
        .map(|command| command.text.clone())
        .collect()
}

fn statements(workload: &Workload) -> impl Iterator<Item = &SqlCommand> {
    workload.scripts.iter().flat_map(|script| {
        script
            .commands
            .iter()
            .filter_map(|command| match &command.action {
                Action::Sql(sql) => Some(sql),
                _ => None,
            })
    })
}

/// The first statement as it is sent, with the variable v = 5.
fn sent(body: &str, value: Value) -> String {
    let workload = parse(body);
    let mut variables = Variables::new(&workload.symbols);
    if let Some(slot) = workload.symbols.find("v") {
        variables.set(slot, value);
    }
    let mut out = String::from("old");
    let sql = statements(&workload).next().unwrap();
    sql.simple_text(&variables, &mut out).unwrap();
    out
}

#[test]
fn ends_of_statements() {
    assert_eq!(texts("select 2 \\; select 3;"), ["select 2 ; select 3;"]);
    assert_eq!(texts("select 1 \\set b 3"), ["select 1 ", "\\set b 3"]);
    assert_eq!(texts(";;select 1;"), [";", ";", "select 1;"]);
    assert_eq!(texts("/* c */;"), ["/* c */;"]);
    assert_eq!(texts("-- c\n select 1; -- d\n\n"), ["select 1;"]);
    assert_eq!(texts("select 1\n"), ["select 1\n"]);
    assert_eq!(
        texts("\\if 0\nselect (1\n\\endif\nselect 2; select 3;"),
        ["\\if 0", "select (1\n", "\\endif", "select 2; select 3;"]
    );
}

#[test]
fn quotes_and_comments() {
    for whole in [
        "select 'a;\\b';",
        "select E'\\';';",
        "select E'a'\n  -- c\n '\\';';",
        "select 1e'\\';",
        "select \"a;\\\";",
        "select $$ ; \\ $ $$;",
        "select $a$ ; $$ $b$ $a$;",
        "select a$b$;",
        "select /* ; /* ; */ ; */ 1;",
        "select U&'\\';",
        "select N'\\';",
        "select :e'\\';",
        "select 'open ; ",
    ] {
        assert_eq!(texts(whole), [whole]);
    }
}

#[test]
fn bodies_of_routines() {
    let function = "create or replace function f() returns int begin atomic \
                    select case when true then 1 end; select 2; end;";
    assert_eq!(
        texts(&format!("{function}select 3;")),
        [function, "select 3;"]
    );
    let procedure = "CREATE PROCEDURE p() BEGIN ATOMIC SELECT 1; END;";
    assert_eq!(texts(procedure), [procedure]);
    assert_eq!(texts("begin; end;"), ["begin;", " end;"].map(str::trim));
    assert_eq!(
        texts("create table function (begin int); select 1;"),
        ["create table function (begin int);", "select 1;"]
    );
}

#[test]
fn substituted_text() {
    let text = "select ':v', $$:v$$ -- :v :w";
    assert_eq!(sent(text, Value::Int(5)), "select '5', $$5$$ -- 5 :w");
    assert_eq!(
        sent("select '\\:v', \\:v;", Value::Int(7)),
        "select '\\7', 7;"
    );
    assert_eq!(
        sent("select ::v, :::v, :v::int, : v;", Value::Null),
        "select ::v, :::v, NULL::int, : v;"
    );
    assert_eq!(sent("select :{?v};", Value::Int(1)), "select FALSE;");
}

/// The first statement as it is sent, with this text in the variable v.
fn sent_with(text: &str, body: &str) -> String {
    let workload = parse(body);
    let mut variables = Variables::new(&workload.symbols);
    if let Some(slot) = workload.symbols.find("v") {
        variables.set_text(slot, text);
    }
    let mut out = String::new();
    let sql = statements(&workload).next().unwrap();
    sql.simple_text(&variables, &mut out).unwrap();
    out
}

#[test]
fn quoted_variables() {
    let body = "select :'v', :v, :'w', 'x'||:'v'::text;";
    assert_eq!(
        sent(body, Value::Int(-1)),
        "select '-1', -1, :'w', 'x'||'-1'::text;"
    );
    assert_eq!(sent("select :'v';", Value::Null), "select 'NULL';");
    for (text, literal) in [
        ("", "''"),
        ("a b", "'a b'"),
        ("it's", "'it''s'"),
        ("'", "''''"),
        (r"\", r"E'\\'"),
        (r"C:\'é", r"E'C:\\''é'"),
        ("日本 :v :'v' $1", "'日本 :v :''v'' $1'"),
    ] {
        assert_eq!(
            sent_with(text, "select f(a:=:'v')"),
            format!("select f(a:={literal})")
        );
    }
}

#[test]
fn where_variables_are_quoted() {
    for (body, expected) in [
        ("select :'v' -- :'v'\n, :'v'", "select § -- :'v'\n, §"),
        (
            "select /* :'v' /* */ :'v' */ :'v'",
            "select /* :'v' /* */ :'v' */ §",
        ),
        ("select ' :''v'' ', :'v'", "select ' :''v'' ', §"),
        (
            r"select E'\' :''v''', n'a', :'v'",
            r"select E'\' :''v''', n'a', §",
        ),
        (
            "select $a$:'v'$a$, $$:'v'$$, :'v'",
            "select $a$:'v'$a$, $$:'v'$$, §",
        ),
        ("select \":'v'\", :'v' as a", "select \":'v'\", § as a"),
        (
            "select a[:'v'], (:'v'), -:'v',:'v'",
            "select a[§], (§), -§,§",
        ),
        ("select 1e-:'v', $1, .:'v'", "select 1e-§, $1, .§"),
        ("select 1:'v', a:'v', é:'v', a$:'v', \"a\":'v', 'a':'v'", ""),
        ("select ::'v', :::'v', : 'v', :'v w', :'', :'1', :'v", ""),
        ("select :'v'a, :'v'1, :'v''', :'v'\"a\", :'v'$1", ""),
        // With standard_conforming_strings off, the first string ends behind the colon.
        (r"select 'a\' :'v', :'v'", ""),
        (r"select 'a\b', 'a\\', :'v'", r"select 'a\b', 'a\\', §"),
    ] {
        let expected = if expected.is_empty() { body } else { expected };
        assert_eq!(sent_with("it's", body), expected.replace('§', "'it''s'"));
        let workload = parse(body);
        let sql = statements(&workload).next().unwrap();
        let mut parameterized = expected.to_owned();
        for number in 1..=sql.parameters().len() {
            parameterized = parameterized.replacen('§', &format!("${number}"), 1);
        }
        assert_eq!(sql.parameterized(), parameterized);
        // In pgbench's language, it stays as it is.
        let mut builder = WorkloadBuilder::new(Protocol::Simple).in_dialect(Dialect::Pgbench);
        builder.add("F", "F", body, 1).unwrap();
        let workload = builder.finish().unwrap();
        let sql = statements(&workload).next().unwrap();
        assert_eq!(sql.parameterized(), body);
    }
}

#[test]
fn quoted_and_plain_variables_are_parameters_in_order() {
    let workload = parse("select ':v', :'w', :v::text, :'vé' where ':a';");
    let sql = statements(&workload).next().unwrap();
    assert_eq!(
        sql.parameterized(),
        "select '$1', $2, $3::text, $4 where '$5';"
    );
    let names: Vec<&str> = sql
        .parameters()
        .iter()
        .map(|slot| workload.symbols.name(*slot))
        .collect();
    assert_eq!(names, ["v", "w", "v", "vé", "a"]);
    let place = |text: &str| sql.text().find(text).unwrap();
    let parameter = sql.parameterized().find("$4").unwrap();
    assert_eq!(sql.text_offset(parameter), place(":'vé'"));
    assert_eq!(sql.text_offset(parameter + 3), place("where"));
}

#[test]
fn quoted_variables_have_room() {
    let workload = parse("select :'v'");
    let mut variables = Variables::new(&workload.symbols);
    let slot = workload.symbols.find("v").unwrap();
    variables.set_text(slot, &r"'\".repeat(10_000));
    let sql = statements(&workload).next().unwrap();
    let mut out = String::new();
    sql.simple_text(&variables, &mut out).unwrap();
    assert_eq!(out.len(), "select E''".len() + 40_000);
    // One byte more, and what the mention took.
    assert!((out.len() + 1..out.len() + 16).contains(&out.capacity()));
}

#[test]
fn parameters() {
    let workload = parse("select ':v', $$:v$$ -- :v :w");
    let sql = statements(&workload).next().unwrap();
    assert_eq!(sql.parameterized(), "select '$1', $$$2$$ -- $3 $4");
    let names: Vec<&str> = sql
        .parameters()
        .iter()
        .map(|slot| workload.symbols.name(*slot))
        .collect();
    assert_eq!(names, ["v", "v", "v", "w"]);
}

#[test]
fn parameters_hold_null_in_two_ways() {
    let workload = parse("\\set n null\nselect :n, :undef");
    let mut variables = Variables::new(&workload.symbols);
    variables.set(workload.symbols.find("n").unwrap(), Value::Null);
    let sql = statements(&workload).next().unwrap();
    let sent: Vec<Option<String>> = sql
        .parameters()
        .iter()
        .map(|slot| {
            let mut text = String::new();
            variables.write_parameter(*slot, &mut text).then_some(text)
        })
        .collect();
    assert_eq!(sent, [Some("NULL".to_owned()), None]);
}

#[test]
fn number_of_parameters() {
    let body = |count: usize| format!("select {}", vec![":i"; count].join(","));
    for protocol in [Protocol::Extended, Protocol::Prepared] {
        let mut builder = WorkloadBuilder::new(protocol);
        assert!(builder.add("F", "F", &body(255), 1).is_ok());
        let error = builder.add("F", "F", &body(256), 1).unwrap_err();
        let message = "statement has too many arguments (maximum is 255): select :i,:i";
        assert!(error.to_string().starts_with(message));
    }
    assert_eq!(texts(&body(256)).len(), 1);
}

#[test]
fn statements_are_numbered_over_all_scripts() {
    let mut builder = WorkloadBuilder::new(Protocol::Prepared);
    for _ in 0..2 {
        let body = "select 1; \\set x 1\n select 2;";
        builder.add("F", "F", body, 1).unwrap();
    }
    let workload = builder.finish().unwrap();
    let names: Vec<String> = statements(&workload)
        .map(SqlCommand::prepared_name)
        .collect();
    assert_eq!(names, ["P_0", "P_1", "P_2", "P_3"]);
    assert_eq!(workload.sql_commands, 4);
}

#[test]
fn stored_results() {
    let workload = parse("select 1 as x;\n\\gset\nselect 2 \\aset p_\nselect :p_a");
    let stores: Vec<_> = statements(&workload)
        .map(|sql| sql.store.as_ref().map(|s| (s.kind, s.prefix.as_str())))
        .collect();
    let expected = [
        Some((StoreKind::Gset, "")),
        Some((StoreKind::Aset, "p_")),
        None,
    ];
    assert_eq!(stores, expected);
    let sql: Vec<_> = statements(&workload).collect();
    let store = sql[1].store.as_ref().unwrap();
    let target = workload.symbols.find("p_a");
    assert!(target.is_some());
    assert_eq!(store.target("a", &workload.symbols), Ok(target));
    assert_eq!(store.target("nowhere_used", &workload.symbols), Ok(None));
    let store = sql[0].store.as_ref().unwrap();
    let error = store.target("?column?", &workload.symbols).unwrap_err();
    let message = "gset: invalid variable name: \"?column?\"";
    assert_eq!(error.to_string(), message);
    assert_eq!(error.name, "?column?");
}

#[test]
fn report_texts() {
    let long = format!("select '{}';", "é".repeat(100));
    let workload = parse(&format!("{long}select 1,\n 2;\\set x 1 + \\\n  1\n"));
    let shown: Vec<&str> = workload.scripts[0]
        .commands
        .iter()
        .map(|command| command.report_text())
        .collect();
    assert_eq!(shown[0], &long[..126]);
    assert_eq!(shown[1..], ["select 1,", "\\set x 1 + \\\n  1"]);
}

#[test]
fn lines() {
    let workload = parse("\n  select 1;\n\n-- c\nselect\n2 \\set x 1 \\\n + 1\n\\set y 2");
    let lines: Vec<usize> = workload.scripts[0]
        .commands
        .iter()
        .map(|command| command.line)
        .collect();
    assert_eq!(lines, [2, 5, 6, 8]);
}

#[test]
fn positions_in_the_script() {
    // Each § is a place in the script; the marked character is the one behind it.
    for (script, marked) in [
        ("-- é\n select :a, é, §x, :b;", 'x'),
        (
            "select 1;\n\\set x 1\nselect\n  '\\;', 2 \\; select §y \\:z;",
            'y',
        ),
        ("select :{?ab}, §q, :aé;", 'q'),
        ("select :'a', ':b', §q, :'aé';", 'q'),
    ] {
        let place = script.find('§').unwrap();
        let script = script.replace('§', "");
        let before = &script[..place];
        let column = before.rsplit('\n').next().unwrap().chars().count() + 1;
        let workload = parse(&script);
        let command = workload.scripts[0].commands.last().unwrap();
        let Action::Sql(sql) = &command.action else {
            panic!("no statement");
        };
        let offset = sql.text_offset(sql.parameterized().find(marked).unwrap());
        assert_eq!(
            command.position(&script, offset),
            (before.matches('\n').count() + 1, column),
            "{script}"
        );
    }
    let workload = parse("select :abc + :d;");
    let command = &workload.scripts[0].commands[0];
    let sql = statements(&workload).next().unwrap();
    let behind_parameter = sql.parameterized().find("$2").unwrap() + 1;
    assert_eq!(sql.text_offset(behind_parameter), "select :abc + ".len());
    assert_eq!(sql.text_offset(usize::MAX), command.text.len());
}
