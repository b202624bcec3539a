//! The table of errors for the documentation, from the source of `enum Error`: its variants, and the arms of
//! the functions that give them SQLSTATE and hint.

use crate::lists::read;
use std::collections::BTreeMap;
use std::path::Path;

/// SQLSTATEs by their names in the server.
const SQLSTATES: [(&str, &str); 31] = [
    ("ACTIVE_SQL_TRANSACTION", "25001"),
    ("ASSERT_FAILURE", "P0004"),
    ("CANT_CHANGE_RUNTIME_PARAM", "55P02"),
    ("CHARACTER_NOT_IN_REPERTOIRE", "22021"),
    ("CONFIGURATION_LIMIT_EXCEEDED", "53400"),
    ("DISK_FULL", "53100"),
    ("FEATURE_NOT_SUPPORTED", "0A000"),
    ("INSUFFICIENT_PRIVILEGE", "42501"),
    ("INSUFFICIENT_RESOURCES", "53000"),
    ("INVALID_AUTHORIZATION_SPECIFICATION", "28000"),
    ("INVALID_FUNCTION_DEFINITION", "42P13"),
    ("INVALID_PARAMETER_VALUE", "22023"),
    ("IO_ERROR", "58030"),
    ("LOCK_NOT_AVAILABLE", "55P03"),
    ("NULL_VALUE_NOT_ALLOWED", "22004"),
    ("OBJECT_IN_USE", "55006"),
    ("OBJECT_NOT_IN_PREREQUISITE_STATE", "55000"),
    ("OPERATOR_INTERVENTION", "57000"),
    ("OUT_OF_MEMORY", "53200"),
    ("PROGRAM_LIMIT_EXCEEDED", "54000"),
    ("QUERY_CANCELED", "57014"),
    ("READ_ONLY_SQL_TRANSACTION", "25006"),
    ("SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION", "08001"),
    ("SYNTAX_ERROR", "42601"),
    ("S_R_E_PROHIBITED_SQL_STATEMENT_ATTEMPTED", "2F003"),
    ("TOO_MANY_CONNECTIONS", "53300"),
    ("UNDEFINED_FILE", "58P01"),
    ("UNDEFINED_OBJECT", "42704"),
    ("UNDEFINED_PARAMETER", "42P02"),
    ("UNDEFINED_TABLE", "42P01"),
    ("WRONG_OBJECT_TYPE", "42809"),
];

/// A row for each error whose message is the extension's.
pub fn errors(root: &Path) -> Result<String, String> {
    let source = read(&root.join("src/error/mod.rs"))?;
    let part = |begin: &str, end: &str| {
        let begun = source.split_once(begin).map(|(_, rest)| rest);
        let found = begun.and_then(|rest| rest.split_once(end));
        found
            .map(|(part, _)| part)
            .ok_or_else(|| format!("there is no {begin}"))
    };
    let sqlstates = arms(part("fn sqlstate(&self)", "\n    }\n")?);
    let hints = arms(part("fn hint(&self)", "\n    }\n")?);
    let mut table = "| message | SQLSTATE | reason | hint |\n|---|---|---|---|\n".to_owned();
    // A piece has an error, and the description of the next one.
    let pieces: Vec<_> = part("pub enum Error {\n", "\n}\n")?
        .split("#[error(")
        .collect();
    for piece in pieces.windows(2) {
        let reason = piece[0]
            .lines()
            .filter_map(|line| line.strip_prefix("    /// "));
        let reason = reason.collect::<Vec<_>>().join(" ");
        let (message, rest) = piece[1].split_once(")]\n").ok_or("an error does not end")?;
        let name = rest
            .trim_start()
            .split(|c: char| !c.is_alphanumeric())
            .next();
        let name = name.unwrap_or_default();
        // Those of the server have its messages.
        if name != "Server" {
            let message = match literals(message).concat().as_str() {
                "{0}" | "{message}" => "varies".to_owned(),
                message => format!("`{message}`"),
            };
            let codes = sqlstates.get(name).into_iter().flatten();
            let codes = codes
                .map(|name| sqlstate(name))
                .collect::<Result<Vec<_>, _>>()?;
            if codes.is_empty() {
                return Err(format!("no SQLSTATE is found for error {name}"));
            }
            let hint = hints.get(name).map(|texts| texts.join(" Or: "));
            let row = format!(
                "| {message} | {} | {reason} | {} |\n",
                codes.join(", "),
                hint.unwrap_or_default()
            );
            table += &row.replace("|  |", "| |");
        }
    }
    Ok(table)
}

fn sqlstate(name: &str) -> Result<&'static str, String> {
    let found = SQLSTATES.iter().find(|(of, _)| *of == name);
    found
        .map(|(_, code)| *code)
        .ok_or_else(|| format!("no SQLSTATE is known for {name}"))
}

/// For each variant that arms of a match name, the names of SQLSTATEs and the texts that they give.
fn arms(mut rest: &str) -> BTreeMap<&str, Vec<String>> {
    let (mut arms, mut patterns, mut is_pattern) = (BTreeMap::new(), Vec::new(), false);
    let word = |text: &'_ str| {
        text.find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(text.len())
    };
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        let mut length = c.len_utf8();
        if let Some(name) = rest
            .strip_prefix("Error::")
            .filter(|_| !before.is_alphanumeric())
        {
            if !is_pattern {
                patterns.clear();
            }
            patterns.push(&name[..word(name)]);
            is_pattern = true;
        } else if rest.starts_with("=>") {
            is_pattern = false;
        }
        let mut given = None;
        if let Some(name) = rest.strip_prefix("ERRCODE_") {
            given = Some(name[..word(name)].to_owned());
        } else if c == '"' {
            let (text, end) = literal(rest);
            length = end;
            given = (!is_pattern).then_some(text);
        }
        for (text, pattern) in given
            .iter()
            .flat_map(|text| patterns.iter().map(move |p| (text, *p)))
        {
            arms.entry(pattern)
                .or_insert_with(Vec::new)
                .push(text.clone());
        }
        before = c;
        rest = &rest[length..];
    }
    arms
}

/// The strings in a source.
fn literals(mut rest: &str) -> Vec<String> {
    let mut literals = Vec::new();
    while let Some(at) = rest.find('"') {
        let (text, length) = literal(&rest[at..]);
        literals.push(text);
        rest = &rest[at + length..];
    }
    literals
}

/// The string with which a source begins, and its length there.
fn literal(source: &str) -> (String, usize) {
    let mut text = String::new();
    let mut chars = source.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (text, at + 1),
            '\\' => match chars.next() {
                Some((_, '\n')) => while chars.next_if(|(_, c)| c.is_whitespace()).is_some() {},
                Some((_, escaped)) => text.push(escaped),
                None => {}
            },
            c => text.push(c),
        }
    }
    (text, source.len())
}
