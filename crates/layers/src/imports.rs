//! The paths in a file that lead into its own crate.

/// All paths of a text that begin with `crate`, `self`, `super` or a module that the text
/// declares, in declarations and within code, as paths from the root of the crate. `module` is the
/// text's own.
///
/// Paths may have names of items at their ends; a glob ends in `*`.
pub fn paths(text: &str, module: &[String]) -> Vec<Vec<String>> {
    let tokens = tokens(text);
    let children = children(&tokens);
    let mut found = Vec::new();
    // The modules written out within the text that are open, with the depths of their braces.
    let mut inline: Vec<(String, usize)> = Vec::new();
    let mut depth = 0;
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].as_str() {
            "{" => {
                depth += 1;
                if at >= 2 && tokens[at - 2] == "mod" {
                    inline.push((tokens[at - 1].clone(), depth));
                }
            }
            "}" => {
                inline.pop_if(|(_, opened)| *opened == depth);
                depth = usize::saturating_sub(depth, 1);
            }
            first if begins_path(&tokens, at, &children, inline.is_empty()) => {
                let mut here = module.to_vec();
                here.extend(inline.iter().map(|(name, _)| name.clone()));
                let (start, next) = match first {
                    "crate" => (Vec::new(), at + 1),
                    "self" => (here, at + 1),
                    "super" => {
                        let mut next = at;
                        while tokens.get(next).is_some_and(|token| token == "super") {
                            here.pop();
                            next += 2;
                        }
                        // Behind the last `super`, before its colons.
                        (here, next - 1)
                    }
                    child => {
                        here.push(child.to_owned());
                        (here, at + 1)
                    }
                };
                at = tree(&tokens, next, start, &mut found);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// Whether a path that leads into the crate begins with this token.
fn begins_path(tokens: &[String], at: usize, children: &[String], at_top: bool) -> bool {
    let is = |at: usize, token: &str| tokens.get(at).is_some_and(|found| found == token);
    let begins = match tokens[at].as_str() {
        "crate" | "self" | "super" => true,
        name => at_top && children.iter().any(|child| child == name),
    };
    let goes_on = is(at + 1, "::");
    // `pub(in crate::run)` is no import.
    let is_visibility = at >= 2 && is(at - 1, "in") && is(at - 2, "(");
    let is_inner = at >= 1 && is(at - 1, "::");
    begins && goes_on && !is_visibility && !is_inner
}

/// Reads what follows the start of a path, into all paths that it stands for. Gives the place
/// behind it.
fn tree(
    tokens: &[String],
    mut at: usize,
    mut path: Vec<String>,
    found: &mut Vec<Vec<String>>,
) -> usize {
    let is = |at: usize, token: &str| tokens.get(at).is_some_and(|found| found == token);
    while is(at, "::") {
        match tokens.get(at + 1).map(String::as_str) {
            Some("{") => {
                at += 2;
                while at < tokens.len() && !is(at, "}") {
                    if is(at, ",") {
                        at += 1;
                    } else if is(at, "self") {
                        found.push(path.clone());
                        at = behind_alias(tokens, at + 1);
                    } else {
                        let mut longer = path.clone();
                        longer.push(tokens[at].clone());
                        at = behind_alias(tokens, tree(tokens, at + 1, longer, found));
                    }
                }
                return at + 1;
            }
            Some(name) if name == "*" || is_name(name) => {
                path.push(name.to_owned());
                at += 2;
            }
            // Generic arguments.
            _ => {
                at += 1;
                break;
            }
        }
    }
    found.push(path);
    at
}

/// The place behind `as name`, if that is there.
fn behind_alias(tokens: &[String], at: usize) -> usize {
    match tokens.get(at).is_some_and(|token| token == "as") {
        true => at + 2,
        false => at,
    }
}

/// The modules that a text declares and has in files of their own.
fn children(tokens: &[String]) -> Vec<String> {
    tokens
        .windows(3)
        .filter(|window| window[0] == "mod" && window[2] == ";")
        .map(|window| window[1].clone())
        .collect()
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The names and signs of a text. Comments are left out, and so are texts in quotes, unless they
/// are a path into the crate, as attributes have them.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            comment(rest)
        } else if let Some((length, content)) = quoted(rest) {
            if content.starts_with("crate::") && !content.contains(char::is_whitespace) {
                tokens.extend(self::tokens(content));
            }
            length
        } else if is_name(rest) || c.is_ascii_digit() {
            let length = rest
                .find(|c: char| !(c.is_alphanumeric() || c == '_'))
                .unwrap_or(rest.len());
            tokens.push(rest[..length].to_owned());
            length
        } else if rest.starts_with("::") {
            tokens.push("::".into());
            2
        } else {
            if !c.is_whitespace() {
                tokens.push(c.into());
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of the comment that a text begins with; such comments nest.
fn comment(text: &str) -> usize {
    let mut open = 0;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            open += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            open -= 1;
            at += 2;
            if open == 0 {
                break;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    at
}

/// The length and the content of the literal in quotes that a text begins with, if it does.
fn quoted(text: &str) -> Option<(usize, &str)> {
    if text.starts_with('\'') {
        return character(text);
    }
    let prefix = ["br", "cr", "r", "b", "c", ""].into_iter().find(|prefix| {
        let behind = text.strip_prefix(prefix);
        behind.is_some_and(|behind| {
            let hashes = behind.trim_start_matches('#');
            hashes.starts_with('"') && (prefix.ends_with('r') || hashes.len() == behind.len())
        })
    });
    let Some(prefix) = prefix else {
        // A byte.
        let (length, content) = character(text.strip_prefix('b')?)?;
        return Some((length + 1, content));
    };
    let behind = &text[prefix.len()..];
    let hashes = behind.len() - behind.trim_start_matches('#').len();
    let begin = prefix.len() + hashes + 1;
    if prefix.ends_with('r') {
        let end = format!("\"{}", "#".repeat(hashes));
        let length = text[begin..].find(&end).unwrap_or(text.len() - begin);
        return Some((
            (begin + length + end.len()).min(text.len()),
            &text[begin..begin + length],
        ));
    }
    let mut escaped = false;
    for (at, c) in text[begin..].char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return Some((begin + at + 1, &text[begin..begin + at])),
            _ => {}
        }
    }
    Some((text.len(), &text[begin..]))
}

/// A character in quotes; not a lifetime.
fn character(text: &str) -> Option<(usize, &str)> {
    let behind = text.strip_prefix('\'')?;
    let mut chars = behind.char_indices();
    let (_, first) = chars.next()?;
    let end = match first {
        '\\' => {
            // Any escaped character, which may be a quote.
            chars.next()?;
            chars.find(|(_, c)| *c == '\'')?.0
        }
        _ => chars.next().filter(|(_, c)| *c == '\'')?.0,
    };
    Some((end + 2, &behind[..end]))
}

#[cfg(test)]
mod tests {
    use super::paths;

    fn read(module: &str, text: &str) -> Vec<String> {
        let module: Vec<_> = module.split("::").map(str::to_owned).collect();
        let found = paths(text, &module);
        found.into_iter().map(|path| path.join("::")).collect()
    }

    #[test]
    fn declarations() {
        assert_eq!(read("a", "use crate::b;"), ["b"]);
        assert_eq!(read("a", "pub(crate) use crate::b::c as d;"), ["b::c"]);
        assert_eq!(
            read(
                "a",
                "use crate::{b, c::{self, D, e::*}, f as g};\nuse std::fmt;"
            ),
            ["b", "c", "c::D", "c::e::*", "f"]
        );
        assert_eq!(
            read("a", "use crate::b::{self as c, d::{E as F}};"),
            ["b", "b::d::E"]
        );
    }

    #[test]
    fn relative_paths() {
        assert_eq!(
            read("a::b", "use super::c::D; use super::super::e;"),
            ["a::c::D", "e"]
        );
        assert_eq!(
            read("a::b", "use self::c::d; use super::{e, f};"),
            ["a::b::c::d", "a::e", "a::f"]
        );
        assert_eq!(
            read("a", "mod b; pub use b::C; fn f() { b::g(); x::b::h(); }"),
            ["a::b::C", "a::b::g"]
        );
    }

    #[test]
    fn full_paths_within_code() {
        assert_eq!(
            read(
                "a",
                "fn f(x: &crate::b::C) -> crate::d::E<crate::g::H> { crate::i::j::<u8>(x)?; super::k!() }"
            ),
            ["b::C", "d::E", "g::H", "i::j", "k"]
                .map(|path| path)
                .to_vec()
                .as_slice()
        );
        assert_eq!(
            read("a", "impl crate::b::C { fn d(&self) { self.e() } }"),
            ["b::C"]
        );
        assert_eq!(
            read("a", "#[serde(with = \"crate::b::c\")] struct S;"),
            ["b::c"]
        );
    }

    #[test]
    fn modules_written_out() {
        let text = "use crate::b; mod tests { use super::*; use super::super::c; mod d { use super::super::e; } }\
                    fn f() { super::g() }";
        assert_eq!(
            read("x::y", text),
            ["b", "x::y::*", "x::c", "x::y::e", "x::g"]
        );
    }

    #[test]
    fn what_is_no_import() {
        for text in [
            "// use crate::b;\n/* crate::b /* crate::c */ crate::d */",
            "/// See `crate::b`.\nfn f() {}",
            "let a = \"crate::b is text\"; let c = r#\"\" crate::d \"#;",
            "let a = \"\\\"\"; let b = \" use crate::b; \";",
            "let quote = '\"'; let text = \" crate::b \"; let other = '\\'';",
            "pub(in crate::b) fn f(self) { self.g() } pub(super) fn h() {}",
            "use pgrx::prelude::*; fn f<'a>(x: &'a str) {} // crate::b",
        ] {
            assert_eq!(read("a", text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn behind_quotes() {
        let text = "let a = b'\\''; let b = b\"\\\"\"; let c = c\"x\"; let d: &'static str = r\"\\\"; crate::e::f();";
        assert_eq!(read("a", text), ["e::f"]);
    }
}
