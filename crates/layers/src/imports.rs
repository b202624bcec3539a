//! The paths in a file that lead into its own crate.

use crate::Module;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// All paths of a text that begin with `crate`, `self`, `super` or a module that the text declares, in
/// declarations and within code, as paths from the root of the crate. `module` is the text's own.
///
/// Paths may have names of items at their ends; a glob ends in `*`.
pub fn paths(text: &str, module: &Module) -> Vec<Module> {
    let tokens = tokens(text.parse().expect("a file of Rust"));
    let declared = tokens.windows(3).filter_map(|window| match window {
        [word, name, end] if is(word, "mod") && is(end, ";") => Some(name.to_string()),
        _ => None,
    });
    let mut reader = Reader {
        module,
        children: declared.collect(),
        found: Vec::new(),
    };
    reader.read(&tokens, module);
    reader.found
}

struct Reader<'m> {
    module: &'m Module,
    children: Vec<String>,
    found: Vec<Module>,
}

impl Reader<'_> {
    /// Reads tokens that stand in the module `here`, the file's or one written out within it.
    fn read(&mut self, tokens: &[TokenTree], here: &Module) {
        let mut rest = tokens;
        while let [token, behind @ ..] = rest {
            let at = tokens.len() - rest.len();
            let before = |n: usize, text| at >= n && is(&tokens[at - n], text);
            // `pub(in crate::run)` is no import.
            let begins = goes_on(behind) && !before(1, ":") && !(at == 1 && before(1, "in"));
            rest = behind;
            match token {
                TokenTree::Group(group) if before(2, "mod") => {
                    let inner = [here.as_slice(), &[tokens[at - 1].to_string()]].concat();
                    self.read(&self::tokens(group.stream()), &inner);
                }
                TokenTree::Group(group) => self.read(&self::tokens(group.stream()), here),
                // Attributes have paths as texts.
                TokenTree::Literal(text) => {
                    let text = text.to_string();
                    let text = text.trim_matches('"');
                    if text.starts_with("crate::") && !text.contains(char::is_whitespace) {
                        self.read(&self::tokens(text.parse().unwrap_or_default()), here);
                    }
                }
                TokenTree::Ident(name) if begins => {
                    let name = name.to_string();
                    let start = match name.as_str() {
                        "crate" => Vec::new(),
                        "self" => here.clone(),
                        "super" => here[..here.len() - 1].to_vec(),
                        _ if here == self.module && self.children.contains(&name) => {
                            [here.as_slice(), &[name]].concat()
                        }
                        _ => continue,
                    };
                    rest = self.path(start, rest);
                }
                _ => {}
            }
        }
    }

    /// Reads on from the start of a path, into all paths that it stands for. Returns what is behind it.
    fn path<'t>(&mut self, mut path: Module, mut rest: &'t [TokenTree]) -> &'t [TokenTree] {
        while goes_on(rest) {
            match &rest[2] {
                TokenTree::Ident(name) if name == "super" => drop(path.pop()),
                TokenTree::Ident(name) => path.push(name.to_string()),
                star if is(star, "*") => path.push("*".into()),
                TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => {
                    for part in tokens(group.stream()).split(|token| is(token, ",")) {
                        if let [first, rest @ ..] = part {
                            let mut longer = path.clone();
                            if !is(first, "self") {
                                longer.push(first.to_string());
                            }
                            self.path(longer, rest);
                        }
                    }
                    return &rest[3..];
                }
                // Generic arguments.
                _ => break,
            }
            rest = &rest[3..];
        }
        self.found.push(path);
        rest
    }
}

/// Whether tokens begin with two colons and something behind them.
fn goes_on(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [a, b, _, ..] if is(a, ":") && is(b, ":"))
}

fn is(token: &TokenTree, text: &str) -> bool {
    match token {
        TokenTree::Ident(name) => name == text,
        TokenTree::Punct(sign) => text.chars().eq([sign.as_char()]),
        _ => false,
    }
}

fn tokens(stream: TokenStream) -> Vec<TokenTree> {
    stream.into_iter().collect()
}
