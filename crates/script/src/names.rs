//! Names of scripts as SQL functions are given them: one name, or a list of names with weights.
//!
//! ```text
//! list  =  item { "," item }
//! item  =  name [ "@" weight ]
//! name  =  [ owner "." ] identifier  |  path
//! ```
//!
//! Spaces around an item do not count. In double quotes, as in SQL, an identifier may have
//! any character, and a doubled quote stands for one; what is not quoted is taken as it is, and is
//! not folded to lower case. A name with a slash is a path, quoted or not, and has no owner. The
//! owner ends at the last dot outside of quotes, the weight begins at the last `@` outside of them.
//! A list must not be in braces.

use crate::builtin::parse_weight;
use crate::error::WeightError;
use thiserror::Error;

/// Why a text is not a name of a script, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NameError {
    /// The list is an array of SQL: names in braces.
    #[error("it is an array")]
    Array,
    /// A name is missing.
    #[error("a name is missing")]
    Missing,
    /// The text ends within quotes.
    #[error("a quoted name is not closed")]
    Unclosed,
    /// Text before or after the quotes of an identifier.
    #[error("quotes do not surround a whole name in {0}")]
    Misplaced(String),
    /// A weight is not valid.
    #[error(transparent)]
    Weight(#[from] WeightError),
}

/// A name as SQL writes it, in quotes or without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identifier {
    /// Its text, without quotes.
    pub text: String,
    /// Whether it was quoted.
    pub quoted: bool,
}

/// A name of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptName {
    /// The role that has stored the script, if it is named.
    pub owner: Option<Identifier>,
    /// The name, or the path of a file.
    pub name: String,
}

impl ScriptName {
    /// A single name, in which commas and `@` have no meaning.
    ///
    /// # Errors
    /// If it is not one.
    pub fn parse(text: &str) -> Result<ScriptName, NameError> {
        let end = ends(text, |_| false)?;
        debug_assert_eq!(end, text.len());
        // A path may have dots, and quotes if it does not begin with one.
        if text.contains('/') && !text.starts_with('"') {
            return Ok(ScriptName {
                owner: None,
                name: text.to_owned(),
            });
        }
        let dot = last(text, '.')?;
        let name = identifier(&text[dot.map_or(0, |dot| dot + 1)..])?;
        let owner = dot.map(|dot| identifier(&text[..dot])).transpose()?;
        Ok(ScriptName {
            owner,
            name: name.text,
        })
    }

    /// Whether it is the path of a file.
    pub fn is_path(&self) -> bool {
        self.owner.is_none() && self.name.contains('/')
    }
}

/// An item of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item<'t> {
    /// The name as it was written.
    pub text: &'t str,
    /// The name.
    pub name: ScriptName,
    /// The weight, 1 if there is none.
    pub weight: i64,
}

/// The items of a list, of which there is at least one.
///
/// # Errors
/// If the text is not a list of names.
pub fn parse_list(text: &str) -> Result<Vec<Item<'_>>, NameError> {
    let trimmed = text.trim();
    if trimmed.starts_with('{') && trimmed.ends_with('}') {
        return Err(NameError::Array);
    }
    let mut items = Vec::new();
    let mut rest = text;
    loop {
        let end = ends(rest, |c| c == ',')?;
        items.push(item(rest[..end].trim())?);
        match rest.get(end + 1..) {
            Some(after) => rest = after,
            None => return Ok(items),
        }
    }
}

/// A name as an item of a list, without a weight: in quotes if it has another meaning there without them.
pub fn as_item(name: &str) -> String {
    match parse_list(name).as_deref() {
        Ok([item]) if item.text == name && !name.starts_with('{') => name.to_owned(),
        _ => format!("\"{}\"", name.replace('"', "\"\"")),
    }
}

fn item(text: &str) -> Result<Item<'_>, NameError> {
    let at = last(text, '@')?;
    let (_, weight) = parse_weight(&text[at.unwrap_or(text.len())..])?;
    let text = text[..at.unwrap_or(text.len())].trim_end();
    Ok(Item {
        text,
        name: ScriptName::parse(text)?,
        weight,
    })
}

/// End of a text: before the first character outside of quotes that satisfies `is_end`, or its
/// length.
fn ends(text: &str, is_end: impl Fn(char) -> bool) -> Result<usize, NameError> {
    let mut quoted = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            _ if !quoted && is_end(c) => return Ok(at),
            _ => {}
        }
    }
    match quoted {
        true => Err(NameError::Unclosed),
        false => Ok(text.len()),
    }
}

/// Last position of a character outside of quotes.
fn last(text: &str, wanted: char) -> Result<Option<usize>, NameError> {
    let (mut found, mut from) = (None, 0);
    loop {
        let at = from + ends(&text[from..], |c| c == wanted)?;
        if at == text.len() {
            return Ok(found);
        }
        found = Some(at);
        from = at + wanted.len_utf8();
    }
}

/// An identifier, which is quoted as a whole or not at all.
fn identifier(text: &str) -> Result<Identifier, NameError> {
    let misplaced = || NameError::Misplaced(text.to_owned());
    let (text, quoted) = match text.strip_prefix('"') {
        None if text.contains('"') => return Err(misplaced()),
        None => (text.to_owned(), false),
        Some(inner) => {
            let inner = inner.strip_suffix('"').ok_or_else(misplaced)?;
            if inner.replace("\"\"", "").contains('"') {
                return Err(misplaced());
            }
            (inner.replace("\"\"", "\""), true)
        }
    };
    match text.is_empty() {
        true => Err(NameError::Missing),
        false => Ok(Identifier { text, quoted }),
    }
}
