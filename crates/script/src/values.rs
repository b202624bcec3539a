//! `\values`, which draws a row of a value set, and the rows of a run's sets.

use crate::rng::Rng;
use crate::script::{Action, Command};
use crate::symbols::Slot;
use crate::value::Value;
use crate::variables::Variables;
use std::rc::Rc;

/// `\values`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuesCommand {
    name: String,
    /// Position of the set among those of the run.
    set: usize,
    targets: Vec<Slot>,
}

impl ValuesCommand {
    /// The command for a set and its variables.
    pub(crate) fn new(name: &str, targets: Vec<Slot>) -> Self {
        Self {
            name: name.to_owned(),
            set: 0,
            targets,
        }
    }

    /// The name of the set.
    pub fn set(&self) -> &str {
        &self.name
    }

    /// The number of variables that it sets.
    pub fn variables(&self) -> usize {
        self.targets.len()
    }

    /// The variables that it sets.
    pub(crate) fn targets(&self) -> &[Slot] {
        &self.targets
    }

    /// Sets the variables to the values of a random row, of which there is one draw. Without the set,
    /// they are NULL.
    pub fn execute(&self, sets: ValueSets<'_>, variables: &mut Variables, rng: &mut Rng) {
        let mut row = sets.draw(self.set, rng);
        for slot in &self.targets {
            match row.next().unwrap_or_default() {
                StoredValue::Null => variables.set_null(*slot),
                StoredValue::Integer(number) => variables.set(*slot, Value::Int(number)),
                StoredValue::Text(text) => variables.set_text(*slot, text),
            }
        }
    }
}

/// A value set that scripts use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsedSet {
    /// Its name.
    pub name: String,
    /// Number of variables that a command sets from a row, at most.
    pub columns: usize,
}

/// Gives the sets that commands use their positions among those of the run.
pub(crate) fn number_sets(commands: &mut [Command], sets: &mut Vec<UsedSet>) {
    for command in commands {
        let Action::Values(values) = &mut command.action else {
            continue;
        };
        let columns = values.targets.len();
        let known = sets.iter().position(|set| set.name == values.name);
        values.set = known.unwrap_or_else(|| {
            let name = values.name.clone();
            sets.push(UsedSet { name, columns });
            sets.len() - 1
        });
        let widest = &mut sets[values.set].columns;
        *widest = columns.max(*widest);
    }
}

/// A value of a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum StoredValue<'v> {
    /// SQL NULL.
    #[default]
    Null,
    /// An integer whose text is that of the value.
    Integer(i64),
    /// Any other text.
    Text(&'v str),
}

/// Words of the head of a set: where its values and its texts begin, its rows, and the values of each.
const HEAD: usize = 4;
/// Words of a value.
const WORDS: usize = 2;
/// First word of SQL NULL; of a text it is the length.
const NULL: u64 = u64::MAX;
/// First word of an integer, which is the second one.
const INTEGER: u64 = u64::MAX - 1;

/// The rows of a value set while they are collected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollectedSet {
    columns: usize,
    words: Vec<u64>,
    texts: String,
}

impl CollectedSet {
    /// Without rows, which have that number of values.
    pub fn new(columns: usize) -> Self {
        Self {
            columns,
            words: Vec::new(),
            texts: String::new(),
        }
    }

    /// Adds a row of at least as many values as the set has columns; others are left out.
    pub fn push<'t>(&mut self, values: impl Iterator<Item = Option<&'t str>>) {
        for value in values.take(self.columns) {
            let words = match value {
                None => [NULL, 0],
                Some(text) => match text.parse::<i64>() {
                    Ok(number) if is_printed(number, text) => [INTEGER, number as u64],
                    _ => {
                        let place = self.texts.len() as u64;
                        self.texts.push_str(text);
                        [text.len() as u64, place]
                    }
                },
            };
            self.words.extend(words);
        }
    }

    /// The words of its values.
    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The texts of its values.
    pub fn texts(&self) -> &str {
        &self.texts
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// Number of bytes that it takes.
    pub fn bytes(&self) -> usize {
        size_of_val(&self.words[..]) + self.texts.len()
    }

    fn head(&self, words_before: usize, texts_before: usize) -> [u64; HEAD] {
        let rows = self.words.len() / (self.columns * WORDS).max(1);
        [words_before, texts_before, rows, self.columns].map(|word| word as u64)
    }
}

/// The heads of a run's sets. The words of all sets follow them, one after the other, as texts do.
pub fn heads_of_sets(sets: &[Rc<CollectedSet>]) -> Vec<u64> {
    let (mut words, mut texts) = (sets.len() * HEAD, 0);
    let mut heads = Vec::with_capacity(words);
    for set in sets {
        heads.extend(set.head(words, texts));
        words += set.words.len();
        texts += set.texts.len();
    }
    heads
}

/// Whether a number is printed as that text.
fn is_printed(number: i64, text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits == "0" && number == 0 && digits.len() == text.len()
        || digits.starts_with(|first: char| ('1'..='9').contains(&first))
}

/// The rows of a run's value sets, in the memory that its clients share.
#[derive(Clone, Copy, Debug, Default)]
pub struct ValueSets<'v> {
    words: &'v [u64],
    texts: &'v str,
}

impl<'v> ValueSets<'v> {
    /// The [heads](heads_of_sets) and the words of all sets, and their texts.
    pub fn new(words: &'v [u64], texts: &'v str) -> Self {
        Self { words, texts }
    }

    /// The values of a random row.
    fn draw(self, set: usize, rng: &mut Rng) -> impl Iterator<Item = StoredValue<'v>> {
        let head = match self.words.get(set * HEAD..(set + 1) * HEAD) {
            Some([begin, texts, rows, columns]) => [*begin, *texts, *rows, *columns],
            _ => [0; HEAD],
        };
        let [begin, texts, rows, columns] = head.map(|word| word as usize);
        let row = rng.range(0, rows as i64 - 1) as usize;
        let at = begin + row * columns * WORDS;
        let words = self.words.get(at..at + columns * WORDS);
        let (values, _) = words.unwrap_or_default().as_chunks::<WORDS>();
        values.iter().map(move |value| match *value {
            [INTEGER, number] => StoredValue::Integer(number as i64),
            [length, place] if length != NULL => {
                let (place, length) = (texts + place as usize, length as usize);
                let text = self.texts.get(place..place + length);
                StoredValue::Text(text.unwrap_or_default())
            }
            _ => StoredValue::Null,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printed_numbers() {
        for (text, expected) in [
            ("0", true),
            ("-0", false),
            ("00", false),
            ("+1", false),
            ("01", false),
            ("-1", true),
            ("-9223372036854775808", true),
        ] {
            assert_eq!(is_printed(text.parse().unwrap(), text), expected, "{text}");
        }
    }
}
