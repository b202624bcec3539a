//! Lists of script names.

use selfbench_script::names::{Identifier, NameError, ScriptName, as_item, parse_list};

fn plain(name: &str) -> ScriptName {
    ScriptName {
        owner: None,
        name: name.into(),
    }
}

fn owned(owner: &str, quoted: bool, name: &str) -> ScriptName {
    let text = owner.into();
    ScriptName {
        owner: Some(Identifier { text, quoted }),
        name: name.into(),
    }
}

/// Names and weights of a list, or why it is not one.
fn list(text: &str) -> Result<Vec<(ScriptName, i64)>, String> {
    let items = parse_list(text).map_err(|error| error.to_string())?;
    Ok(items.into_iter().map(|i| (i.name, i.weight)).collect())
}

#[test]
fn lists_of_names_and_weights() {
    assert_eq!(list("select-only"), Ok(vec![(plain("select-only"), 1)]));
    assert_eq!(
        list(" select-only@9 ,simple-update,\n mine @ 0 "),
        Ok(vec![
            (plain("select-only"), 9),
            (plain("simple-update"), 1),
            (plain("mine"), 0),
        ])
    );
    // Case is kept, quoted or not, and an inner space needs no quotes.
    assert_eq!(list("Mine"), Ok(vec![(plain("Mine"), 1)]));
    assert_eq!(list("two words"), Ok(vec![(plain("two words"), 1)]));
}

#[test]
fn owners_end_at_the_last_dot_outside_of_quotes() {
    assert_eq!(
        list("ann.nightly@2, \"Odd.Name\".nightly, a.b.c"),
        Ok(vec![
            (owned("ann", false, "nightly"), 2),
            (owned("Odd.Name", true, "nightly"), 1),
            (owned("a.b", false, "c"), 1).clone(),
        ])
    );
    assert_eq!(list("\"a.b\""), Ok(vec![(plain("a.b"), 1)]));
    // As regrole prints the number of a role that was dropped, and a role with that name.
    assert_eq!(list("16384.x"), Ok(vec![(owned("16384", false, "x"), 1)]));
    assert_eq!(
        list("\"16384\".x"),
        Ok(vec![(owned("16384", true, "x"), 1)])
    );
}

#[test]
fn a_name_with_a_slash_is_a_path() {
    for (text, path) in [
        ("/tmp/a.sql", "/tmp/a.sql"),
        ("dir/a", "dir/a"),
        ("\"/tmp/a, b@1.sql\"", "/tmp/a, b@1.sql"),
    ] {
        let items = parse_list(text).unwrap();
        assert_eq!(items.len(), 1, "{text}");
        assert_eq!(items[0].name, plain(path));
        assert!(items[0].name.is_path());
    }
    assert_eq!(list("/tmp/a@b.sql@3"), Ok(vec![(plain("/tmp/a@b.sql"), 3)]));
    assert_eq!(list("x.y/z.sql@2"), Ok(vec![(plain("x.y/z.sql"), 2)]));
    let stored = ScriptName::parse("\"ann\".\"a/b\"").unwrap();
    assert!(!stored.is_path(), "an owner has stored scripts");
}

#[test]
fn quotes_protect_every_character() {
    assert_eq!(
        list("\"a,b\"@2, \"c@d\", \"say \"\"hi\"\"\", \" \""),
        Ok(vec![
            (plain("a,b"), 2),
            (plain("c@d"), 1),
            (plain("say \"hi\""), 1),
            (plain(" "), 1),
        ])
    );
    assert_eq!(list("\"{a}\""), Ok(vec![(plain("{a}"), 1)]));
}

#[test]
fn what_was_written_is_kept() {
    let texts = |list: &'static str| -> Vec<&str> {
        parse_list(list).unwrap().iter().map(|i| i.text).collect()
    };
    assert_eq!(
        texts("a@2 , \"B.c\".d@1"),
        ["a", "\"B.c\".d"],
        "without weights"
    );
}

#[test]
fn a_name_is_quoted_as_an_item_if_it_must_be() {
    for name in [
        "select-only",
        "two words",
        "ycsb-a:read",
        "ann.\"a, b\"",
        "/tmp/a.sql",
    ] {
        assert_eq!(as_item(name), name);
    }
    assert_eq!(as_item("/tmp/a, b.sql"), "\"/tmp/a, b.sql\"");
    for path in [
        "/tmp/a@2.sql",
        "/tmp/a@2",
        "/tmp/say \"a, b\"",
        "/tmp/\"",
        " /a ",
        "{a/b}",
    ] {
        let two = format!("{}@2, {}", as_item(path), as_item(path));
        assert_eq!(list(&two), Ok(vec![(plain(path), 2), (plain(path), 1)]));
    }
}

#[test]
fn a_single_name_has_no_weight() {
    assert_eq!(ScriptName::parse("a@1"), Ok(plain("a@1")));
    assert_eq!(ScriptName::parse("a,b"), Ok(plain("a,b")));
    assert_eq!(ScriptName::parse(""), Err(NameError::Missing));
}

#[test]
fn what_is_not_a_list() {
    for (text, message) in [
        ("", "a name is missing"),
        (" ", "a name is missing"),
        ("a,", "a name is missing"),
        (",a", "a name is missing"),
        ("a,,b", "a name is missing"),
        ("@1", "a name is missing"),
        ("ann.", "a name is missing"),
        (".a", "a name is missing"),
        ("\"\"", "a name is missing"),
        ("{a}", "it is an array"),
        (" {a,b@2} ", "it is an array"),
        ("\"a", "a quoted name is not closed"),
        ("a\"", "a quoted name is not closed"),
        ("\"a\"b", "quotes do not surround a whole name in \"a\"b"),
        ("a\"b\"", "quotes do not surround a whole name in a\"b\""),
        (
            "\"a\" \"b\"",
            "quotes do not surround a whole name in \"a\" \"b\"",
        ),
        ("a@", "invalid weight specification: @"),
        ("a@x", "invalid weight specification: @x"),
        ("a@1.5", "invalid weight specification: @1.5"),
        (
            "a@-1",
            "weight specification out of range (0 .. 2147483647): -1",
        ),
    ] {
        assert_eq!(list(text), Err(message.into()), "{text}");
    }
}
