//! Comments on the columns of tables, types and views and on functions with their arguments: they stand
//! behind what they are about, a line each. Views have those of the tables that they read, for columns of
//! the same name.

use crate::{Column, Table, tables};

/// The script with these comments as statements. All that has none is an error.
pub fn commented(script: &str) -> Result<String, String> {
    let tables = tables(script);
    let mut missing = Vec::new();
    let mut statements = String::new();
    let mut comment = |of: &str, name: &str, comment: &str| match comment {
        "" => missing.push(format!("{of}.{name}")),
        text => {
            let text = escaped(text);
            statements += &format!("COMMENT ON COLUMN bench.{of}.{name} IS '{text}';\n");
        }
    };
    for table in &tables {
        for column in &table.columns {
            comment(&table.name, &column.name, &column.comment);
        }
    }
    for (view, definition) in created(script, "VIEW") {
        let (_, columns) = definition.split_once("SELECT ").unwrap_or_default();
        for Item { text, comment: own } in items(columns) {
            let name = text.rsplit([' ', '.', '\n']).next().unwrap_or_default();
            let found = if own.is_empty() {
                read_by(definition, &tables).find_map(|table| table.comment(name))
            } else {
                Some(own.as_str())
            };
            comment(view, name, found.unwrap_or_default());
        }
    }
    let mut written = script.to_owned();
    let mut seen: Vec<&str> = Vec::new();
    let functions = ["FUNCTION", "PROCEDURE"].into_iter();
    let functions =
        functions.flat_map(|kind| created(script, kind).map(move |found| (kind, found)));
    for (kind, (function, definition)) in functions {
        // Those of one name have their comments in the order of creation.
        let before = seen.iter().filter(|name| **name == function).count();
        seen.push(function);
        let mut lines = Vec::new();
        for Item { text, comment } in items(definition).into_iter().filter(|i| !i.text.is_empty()) {
            let mut words = text.split_whitespace();
            let name = words.find(|word| !["OUT", "INOUT", "VARIADIC"].contains(word));
            let name = name.unwrap_or_default().trim_matches('"');
            if comment.is_empty() {
                missing.push(format!("{function}({name})"));
            }
            lines.push(format!("\n{name}: {}", escaped(&comment)));
        }
        let begin = format!("\nCOMMENT ON {kind} bench.{function}");
        let end = written
            .match_indices(&begin)
            .filter(|(at, _)| written[at + begin.len()..].starts_with([' ', '(']))
            .nth(before)
            .and_then(|(at, _)| Some(at + written[at..].find("';\n")?));
        match end {
            Some(end) => written.insert_str(end, &lines.concat()),
            None => missing.push(function.to_owned()),
        }
    }
    match missing.is_empty() {
        true => Ok(written + "\n" + &statements),
        false => Err(format!("no comment: {}", missing.join(", "))),
    }
}

fn escaped(text: &str) -> String {
    text.replace('\'', "''")
}

/// Objects of a kind that a script creates in schema `bench`: the name, and the definition behind it.
fn created<'s>(script: &'s str, kind: &str) -> impl Iterator<Item = (&'s str, &'s str)> {
    let begin = format!("\nCREATE {kind} bench.");
    let begun: Vec<_> = script
        .match_indices(&begin)
        .map(|(at, _)| &script[at + begin.len()..])
        .collect();
    begun.into_iter().filter_map(|begun| {
        let name = begun.split([' ', '(']).next()?;
        let rest = begun[name.len()..].trim_start_matches('(');
        Some((name, rest))
    })
}

/// The tables that a definition of a view names, in this order.
fn read_by<'t>(definition: &str, tables: &'t [Table]) -> impl Iterator<Item = &'t Table> {
    let end = definition.find(";\n").unwrap_or(definition.len());
    let names = definition[..end].split("bench.").skip(1);
    let names = names.map(|rest| {
        rest.split(|c: char| !c.is_alphanumeric() && c != '_')
            .next()
    });
    let names: Vec<_> = names
        .map(|name| name.unwrap_or_default().to_owned())
        .collect();
    names
        .into_iter()
        .filter_map(|name| tables.iter().find(|table| table.name == name))
}

/// An item of a list in SQL, and the comment behind it.
#[derive(Default)]
struct Item {
    text: String,
    comment: String,
}

/// The items of a list that commas separate, until a parenthesis closes it or FROM follows.
fn items(list: &str) -> Vec<Item> {
    let (mut items, mut rest, mut depth) = (vec![Item::default()], list, 0);
    while let Some(c) = rest.chars().next() {
        let last = items.len() - 1;
        if let Some(begun) = rest.strip_prefix("-- ") {
            let (comment, after) = begun.split_once('\n').unwrap_or((begun, ""));
            // Behind the comma, it is about the item before.
            let of = if items[last].text.trim().is_empty() {
                last.saturating_sub(1)
            } else {
                last
            };
            items[of].comment = comment.trim().to_owned();
            rest = after;
            continue;
        }
        let length = match c {
            '\'' => rest[1..].find('\'').map_or(rest.len(), |end| end + 2),
            _ => c.len_utf8(),
        };
        let is_end = c == ')' || rest.starts_with("FROM ");
        match c {
            _ if depth == 0 && is_end => break,
            ',' if depth == 0 => items.push(Item::default()),
            _ => items[last].text += &rest[..length],
        }
        depth += i32::from(c == '(') - i32::from(c == ')');
        rest = &rest[length..];
    }
    for item in &mut items {
        item.text = item.text.trim().to_owned();
    }
    items
}

impl Table {
    /// The comment on a column.
    fn comment(&self, name: &str) -> Option<&str> {
        let is_wanted = |column: &&Column| column.name == name;
        self.columns
            .iter()
            .find(is_wanted)
            .map(|column| column.comment.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::commented;

    const SCRIPT: &str = "
CREATE TABLE bench.t (
    a int, -- it's a
    b int DEFAULT f(1, 2)
);
CREATE FUNCTION bench.f(
    x text DEFAULT ',', -- first (x)
    OUT y int -- second
) RETURNS int;
COMMENT ON FUNCTION bench.f IS 'does it';
CREATE VIEW bench.v AS
    SELECT t.a, sum(t.b) AS c, -- sum
           d FROM bench.t;
";

    #[test]
    fn comments_stand_behind_what_they_are_about() {
        let error = commented(SCRIPT).unwrap_err();
        assert_eq!(error, "no comment: t.b, v.d");
        let script = SCRIPT
            .replace("2)", "2) -- b")
            .replace("d FROM", "d -- d\nFROM");
        let script = commented(&script).expect("all have one");
        for statement in [
            "COLUMN bench.t.a IS 'it''s a'",
            "COLUMN bench.v.a IS 'it''s a'",
            "COLUMN bench.v.c IS 'sum'",
            "FUNCTION bench.f IS 'does it\nx: first (x)\ny: second'",
        ] {
            let statement = format!("\nCOMMENT ON {statement};\n");
            assert!(script.contains(&statement), "{statement} in {script}");
        }
    }
}
