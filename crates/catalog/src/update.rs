//! Update scripts: the statements that make the objects of one install script those of another.
//!
//! Tables, types and views get further columns at their end; functions are replaced or, if their arguments or
//! results are others, dropped and created again, with the privileges that roles had on them; what is new is created.
//! Anything else must be written by hand.

use std::collections::BTreeSet;
use std::mem::take;

/// The script that updates from the version with the script `old` to that with the script `new`.
///
/// # Errors
/// If something differs in another way.
pub fn update(old: &str, new: &str) -> Result<String, String> {
    let (old, new) = (statements(old), statements(new));
    let (gone, come) = (missing(&old, &new), missing(&new, &old));
    let mut changes = Vec::new();
    let (mut dropped, mut created, mut relations) = (Vec::new(), Vec::new(), Vec::new());
    for statement in &gone {
        let is_same = |other: &&Statement| other.object() == statement.object();
        match statement.routine() {
            Some(routine) if come.iter().any(|other| other.replaces(&routine)) => {}
            Some(routine) => {
                changes.push(format!("DROP {} {};", routine.kind, routine.identity));
                dropped.push(routine.identity);
            }
            None if statement.repeats() || come.iter().any(is_same) => {}
            None => return Err(format!("write it by hand: without {}", statement.object())),
        }
    }
    for statement in &come {
        let before = gone.iter().find(|o| o.object() == statement.object());
        let replacing = || statement.text.replacen("CREATE ", "CREATE OR REPLACE ", 1);
        let text = statement.text.to_owned();
        changes.push(match (before, &statement.words[..], statement.routine()) {
            (.., Some(routine)) => {
                let is_replaced = gone.iter().any(|other| other.replaces(&routine));
                match is_replaced {
                    true => replacing(),
                    false => {
                        created.push(routine.identity);
                        text
                    }
                }
            }
            (Some(before), ["CREATE", "TABLE" | "TYPE", ..], _) => appended(before, statement)?,
            (Some(_), ["CREATE", "VIEW", ..], _) => replacing(),
            (None, ["CREATE", "TABLE" | "VIEW" | "SEQUENCE", name, ..], _) => {
                relations.push((*name).to_owned());
                text
            }
            (Some(_), ..) if !statement.repeats() => {
                return Err(format!("write it by hand: changed {}", statement.object()));
            }
            _ => text,
        });
    }
    let list = |names: &[String]| match names {
        [] => "'{}'".to_owned(),
        _ => format!("ARRAY['{}']", names.join("',\n        '")),
    };
    let script = include_str!("update.sql")
        .replace("{{dropped}}", &list(&dropped))
        .replace("{{created}}", &list(&created))
        .replace("{{relations}}", &list(&relations));
    Ok(script.replace("{{changes}}", &changes.join("\n")))
}

/// A statement of a script.
struct Statement<'s> {
    /// Its text without comments in front of it.
    text: &'s str,
    /// Its text without comments, with one blank for each space between words.
    plain: String,
    /// The first words.
    words: Vec<&'s str>,
}

/// A function, procedure or aggregate.
struct Routine {
    kind: String,
    /// Its name with the types of its arguments.
    identity: String,
    /// The part that a replacement must have in common with it: the arguments, with their defaults, and the result.
    declaration: String,
}

impl Statement<'_> {
    /// The object that the statement is about.
    fn object(&self) -> String {
        let count = match self.words[..] {
            [
                "CREATE",
                "TABLE" | "TYPE" | "VIEW" | "SEQUENCE" | "SCHEMA",
                ..,
            ] => 3,
            ["COMMENT", ..] => 4,
            _ => return self.plain.clone(),
        };
        let words = self.plain.split([' ', '(']).take(count);
        words.collect::<Vec<_>>().join(" ")
    }

    /// Whether executing it again takes the place of the earlier one.
    fn repeats(&self) -> bool {
        ["COMMENT", "REVOKE"].contains(&self.words[0])
    }

    /// Whether it creates a routine with the same declaration.
    fn replaces(&self, other: &Routine) -> bool {
        self.routine()
            .is_some_and(|own| own.kind == other.kind && own.declaration == other.declaration)
    }

    /// The routine that it creates.
    fn routine(&self) -> Option<Routine> {
        let [
            "CREATE",
            kind @ ("FUNCTION" | "PROCEDURE" | "AGGREGATE"),
            ..,
        ] = self.words[..]
        else {
            return None;
        };
        let (name, rest) = self.plain.split_once('(')?;
        let name = name.split(' ').nth(2)?;
        let end = end_of_list(rest)?;
        let arguments = split_list(&rest[..end]);
        let types: Vec<_> = arguments
            .iter()
            .filter_map(|argument| input_type(argument))
            .collect();
        let result = rest[end + 1..]
            .split(" LANGUAGE ")
            .next()
            .unwrap_or_default();
        Some(Routine {
            kind: kind.to_owned(),
            identity: format!("{name}({})", types.join(", ")),
            declaration: format!("{name}({}){result}", arguments.join(", ")),
        })
    }

    /// The items of the list in parentheses of a table or type.
    fn items(&self) -> Vec<String> {
        let (_, list) = self.plain.split_once('(').unwrap_or_default();
        split_list(&list[..end_of_list(list).unwrap_or(list.len())])
    }
}

/// The type of an argument, if it is not a result alone. It has one word unless the argument has a name.
fn input_type(argument: &str) -> Option<&str> {
    let (declared, _) = argument.split_once(" DEFAULT ").unwrap_or((argument, ""));
    let modes = ["INOUT ", "IN ", "VARIADIC "].iter();
    let declared = modes.fold(declared, |rest, mode| {
        rest.strip_prefix(mode).unwrap_or(rest)
    });
    match declared.split_once(' ') {
        Some(("OUT", _)) => None,
        Some((_, of_type)) => Some(of_type),
        None => Some(declared),
    }
}

/// The statements that are not among others.
fn missing<'a, 's>(
    statements: &'a [Statement<'s>],
    others: &[Statement],
) -> Vec<&'a Statement<'s>> {
    let others: BTreeSet<_> = others.iter().map(|other| &other.plain).collect();
    let statements = statements.iter();
    statements
        .filter(|statement| !others.contains(&statement.plain))
        .collect()
}

/// The statement that appends columns to a table or type; an error if more has changed.
fn appended(before: &Statement, after: &Statement) -> Result<String, String> {
    let wrong = || Err(format!("write it by hand: changed {}", after.object()));
    let is_constraint = |item: &&String| {
        let word = item.split([' ', '(']).next().unwrap_or_default();
        ["PRIMARY", "UNIQUE", "CHECK", "FOREIGN", "CONSTRAINT"].contains(&word)
    };
    let parts = |statement: &Statement| {
        let items = statement.items();
        let (constraints, columns): (Vec<_>, Vec<_>) = items.iter().partition(is_constraint);
        let owned = |items: Vec<&String>| items.into_iter().cloned().collect::<Vec<_>>();
        (owned(constraints), owned(columns))
    };
    let ((old_constraints, old), (constraints, columns)) = (parts(before), parts(after));
    if old_constraints != constraints || !columns.starts_with(&old) {
        return wrong();
    }
    let (kind, what) = match after.words[1] {
        "TABLE" => ("TABLE", "COLUMN"),
        _ => ("TYPE", "ATTRIBUTE"),
    };
    let name = after.words[2];
    let added = columns[old.len()..].iter();
    let added: Vec<_> = added
        .map(|column| format!("\n    ADD {what} {column}"))
        .collect();
    Ok(format!("ALTER {kind} {name}{};", added.join(",")))
}

/// The statements of a script, without commands of psql.
fn statements(script: &str) -> Vec<Statement<'_>> {
    let (mut statements, mut begin, mut plain) = (Vec::new(), 0, String::new());
    let mut at = script
        .find('\n')
        .filter(|_| script.starts_with('\\'))
        .map_or(0, |end| end + 1);
    begin = begin.max(at);
    while let Some(c) = script[at..].chars().next() {
        let rest = &script[at..];
        let (length, is_comment) = token(rest);
        let text = &rest[..length];
        at += length;
        match c {
            _ if is_comment => plain.push(' '),
            ';' => {
                let plain = take(&mut plain);
                let text = &script[begin..at];
                begin = at;
                let first = without_comments(text);
                statements.push(Statement {
                    words: first.split_whitespace().take(4).collect(),
                    text: first,
                    plain: normal(&plain),
                });
            }
            _ => plain += text,
        }
    }
    statements
}

/// The length of what a text begins with: a comment, a quoted text, or a character; whether it is a comment.
fn token(text: &str) -> (usize, bool) {
    let until = |begin: &str, end: &str| {
        let body = text.strip_prefix(begin)?;
        Some(begin.len() + body.find(end).map_or(body.len(), |at| at + end.len()))
    };
    if let Some(length) = until("--", "\n").or_else(|| until("/*", "*/")) {
        return (length, true);
    }
    let quoted = until("'", "'").or_else(|| until("\"", "\"")).or_else(|| {
        let tag = &text[..=text.strip_prefix('$')?.find('$')? + 1];
        let is_tag = tag[1..tag.len() - 1]
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || c == '_');
        until(tag, tag).filter(|_| is_tag && !tag[1..].starts_with(|c: char| c.is_ascii_digit()))
    });
    let one = || text.chars().next().map_or(1, char::len_utf8);
    (quoted.unwrap_or_else(one), false)
}

/// A statement without the comments in front of it.
fn without_comments(text: &str) -> &str {
    let text = text.trim_start();
    match token(text) {
        (length, true) => without_comments(&text[length..]),
        _ => text,
    }
}

/// A text with one blank for each space outside of quotes.
fn normal(text: &str) -> String {
    let (mut normal, mut rest) = (String::new(), text.trim());
    while let Some(c) = rest.chars().next() {
        let (length, _) = token(rest);
        if !c.is_whitespace() {
            normal += &rest[..length];
        } else if !normal.ends_with([' ', '(']) {
            normal.push(' ');
        }
        rest = &rest[length..];
    }
    normal.replace(" )", ")")
}

/// Position in a text of the parenthesis that closes one before it.
fn end_of_list(text: &str) -> Option<usize> {
    let (mut depth, mut at) = (1, 0);
    while let Some(c) = text[at..].chars().next() {
        depth += i32::from(c == '(') - i32::from(c == ')');
        if depth == 0 {
            return Some(at);
        }
        at += token(&text[at..]).0;
    }
    None
}

/// The items of a list, which commas separate.
fn split_list(list: &str) -> Vec<String> {
    let (mut items, mut depth, mut rest) = (vec![String::new()], 0, list);
    while let Some(c) = rest.chars().next() {
        let (length, _) = token(rest);
        depth += i32::from(c == '(') - i32::from(c == ')');
        match c {
            ',' if depth == 0 => items.push(String::new()),
            _ => items
                .last_mut()
                .into_iter()
                .for_each(|item| *item += &rest[..length]),
        }
        rest = &rest[length..];
    }
    let items = items.into_iter().map(|item| item.trim().to_owned());
    items.filter(|item| !item.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::update;

    const OLD: &str = "\\echo Use it. \\quit
CREATE TABLE bench.t (
    a int, -- it's; a
    PRIMARY KEY (a)
);
CREATE VIEW bench.v AS SELECT a FROM bench.t;
CREATE FUNCTION bench.f(x text DEFAULT ',', OUT y int) RETURNS int LANGUAGE sql AS $$ SELECT 1; $$;
CREATE FUNCTION bench.g() RETURNS int LANGUAGE sql AS $$ SELECT 1; $$;
";

    /// The changes of an update from `OLD`.
    fn changes(new: &str) -> Result<String, String> {
        let script = update(OLD, new)?;
        let (_, changes) = script.split_once("/* Changes. */\n").expect("the mark");
        let (changes, _) = changes.split_once("\n\n/* Privileges").expect("the mark");
        Ok(changes.to_owned())
    }

    #[test]
    fn columns_are_appended_and_bodies_replaced() {
        let new = OLD
            .replace("a)\n)", "a),\n    b float8 NOT NULL DEFAULT 0 -- more\n)")
            .replace("SELECT a", "SELECT a, b")
            .replace("$$ SELECT 1; $$;\nCREATE", "$$ SELECT 2; $$;\nCREATE");
        assert_eq!(
            changes(&new).expect("it can be updated").trim(),
            "ALTER TABLE bench.t\n    ADD COLUMN b float8 NOT NULL DEFAULT 0;\n\
             CREATE OR REPLACE VIEW bench.v AS SELECT a, b FROM bench.t;\n\
             CREATE OR REPLACE FUNCTION bench.f(x text DEFAULT ',', OUT y int) RETURNS int LANGUAGE sql AS $$ SELECT 2; $$;"
        );
    }

    #[test]
    fn functions_with_other_arguments_are_created_again() {
        let new = OLD.replace("x text DEFAULT ','", "x text DEFAULT ',', z int DEFAULT 1");
        let changes = changes(&new).expect("it can be updated");
        assert!(changes.starts_with("DROP FUNCTION bench.f(text);\nCREATE FUNCTION bench.f("));
        let script = update(OLD, &new).expect("it can be updated");
        assert!(script.contains("ARRAY['bench.f(text, int)']"), "{script}");
    }

    #[test]
    fn nothing_is_lost_without_a_word() {
        for (from, to) in [
            ("a int", "a bigint"),
            ("    a int", "    z int,\n    a int"),
            ("PRIMARY KEY (a)", "UNIQUE (a)"),
            ("CREATE VIEW bench.v AS SELECT a FROM bench.t;\n", ""),
        ] {
            let error = update(OLD, &OLD.replace(from, to)).expect_err(to);
            assert!(error.starts_with("write it by hand"), "{error}");
        }
    }
}
