//! Scripts of statements.

use crate::tokens::{Kind, Token, tokens};
use std::fmt::Write;

/// A statement of a text with `$n` for its parameters, for a script: with what `value` gives for each
/// parameter, and nothing that the script language would take for a mention of a variable.
pub fn statement(sql: &str, value: impl Fn(usize) -> Option<String>) -> String {
    let mut text = String::with_capacity(sql.len() + 64);
    let mut copied = 0;
    for token in tokens(sql) {
        text.push_str(&sql[copied..token.start]);
        text.push_str(&written(sql, &token, &value));
        copied = token.end;
    }
    text.push_str(&sql[copied..]);
    text.trim().to_owned()
}

fn written(sql: &str, token: &Token, value: impl Fn(usize) -> Option<String>) -> String {
    let text = token.text(sql);
    match token.kind {
        Kind::Comment => " ".into(),
        Kind::Parameter(number) => value(number).unwrap_or_else(|| text.to_owned()),
        Kind::Quoted if text.starts_with('"') && is_mention(text) => {
            let text = text.replace('\\', "\\\\").replace(':', "\\003A");
            format!("U&{text}")
        }
        Kind::Text if text.starts_with('\'') && is_mention(text) => {
            let text = text.replace('\\', "\\\\").replace(':', "\\x3A");
            format!("E{text}")
        }
        Kind::Text if text.starts_with(['e', 'E']) => text.replace(':', "\\x3A"),
        // A slice of an array.
        Kind::Symbol if text == ":" && is_mention(&sql[token.start..]) => ": ".into(),
        _ => text.to_owned(),
    }
}

/// Whether a text has a colon in front of what may be a name.
fn is_mention(text: &str) -> bool {
    let mut characters = text.chars().peekable();
    while let Some(c) = characters.next() {
        let is_name = |c: &char| c.is_ascii_alphabetic() || *c == '_' || !c.is_ascii();
        if c == ':' && characters.peek().is_some_and(is_name) {
            return true;
        }
    }
    false
}

/// Part of a script.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its lines.
    pub lines: String,
    /// Mean number of its executions in a transaction.
    pub times: f64,
}

/// Numbers that the script draws for a part that is not in each transaction.
const DRAWN: f64 = 1_000_000.0;

/// The text of a script: a transaction block, if it is one.
pub fn body(steps: &[Step], is_block: bool) -> String {
    let mut text = String::new();
    if is_block {
        text.push_str("BEGIN;\n");
    }
    for step in steps {
        let lines = &step.lines;
        let whole = step.times.floor();
        for _ in 0..whole as usize {
            text.push_str(lines);
        }
        let share = ((step.times - whole) * DRAWN).round();
        if share >= 1.0 {
            // Writing into a String cannot fail.
            let _ = write!(
                text,
                "\\set drawn random(1, {DRAWN})\n\\if :drawn <= {share}\n{lines}\\endif\n"
            );
        }
    }
    if is_block {
        text.push_str("COMMIT;\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_colons() {
        let value = |n| Some(format!(":'p{n}'"));
        assert_eq!(
            statement(
                "SELECT a[1:n], \"x:y\", 'HH24:MI', $1::int -- :c\n FROM t WHERE f(b := $2)",
                value
            ),
            "SELECT a[1: n], U&\"x\\003Ay\", E'HH24\\x3AMI', :'p1'::int  \n FROM t WHERE f(b := :'p2')"
        );
    }

    #[test]
    fn bodies() {
        let step = |times| Step {
            lines: "\\values s1 p1\nSELECT :'p1';\n".into(),
            times,
        };
        assert_eq!(body(&[step(1.0)], false), "\\values s1 p1\nSELECT :'p1';\n");
        let text = body(&[step(2.25)], true);
        assert_eq!(text.matches("SELECT").count(), 3);
        assert!(text.starts_with("BEGIN;\n") && text.ends_with("\\endif\nCOMMIT;\n"));
        assert!(text.contains("\\if :drawn <= 250000\n"));
    }
}
