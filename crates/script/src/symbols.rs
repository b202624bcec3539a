//! Variable names and their numbers, shared by all scripts of a run.

use std::collections::HashMap;

/// The number of a variable; an index into every client's [`Variables`](crate::Variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Slot(u32);

impl Slot {
    /// The slot as an index.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The variables that exist without being set by a script.
const AUTOMATIC: [&str; 4] = ["scale", "client_id", "default_seed", "random_seed"];

/// The names of all variables that some script mentions, and of the automatic ones.
#[derive(Clone, Debug)]
pub struct Symbols {
    slots: HashMap<Box<str>, Slot>,
    names: Vec<Box<str>>,
}

impl Default for Symbols {
    fn default() -> Self {
        Self::new()
    }
}

impl Symbols {
    /// A table that holds the automatic variables only.
    pub fn new() -> Self {
        let mut symbols = Self {
            slots: HashMap::new(),
            names: Vec::new(),
        };
        for name in AUTOMATIC {
            symbols.intern(name);
        }
        symbols
    }

    /// The slot of `name`, new if the name is.
    pub fn intern(&mut self, name: &str) -> Slot {
        if let Some(slot) = self.slots.get(name) {
            return *slot;
        }
        // A script would have to be larger than 4 GB to use up the numbers.
        let slot = Slot(self.names.len() as u32);
        self.names.push(name.into());
        self.slots.insert(name.into(), slot);
        slot
    }

    /// The slot of `name`, if any script mentions it. A name without slot need not be stored:
    /// nothing can read it.
    pub fn find(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }

    /// The name behind a slot of this table.
    pub fn name(&self, slot: Slot) -> &str {
        self.names.get(slot.index()).map_or("", |name| name)
    }

    /// The automatic variables.
    pub fn automatic(&self) -> impl Iterator<Item = (Slot, &str)> {
        let names = self.names.iter().enumerate().take(AUTOMATIC.len());
        names.map(|(i, name)| (Slot(i as u32), &**name))
    }

    /// The number of slots.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether there are no slots; never the case.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The slot of `scale`, the scale factor of the tables.
    pub fn scale(&self) -> Slot {
        Slot(0)
    }

    /// The slot of `client_id`, which counts clients from 0.
    pub fn client_id(&self) -> Slot {
        Slot(1)
    }

    /// The slot of `default_seed`, which hash functions use when no seed is given.
    pub fn default_seed(&self) -> Slot {
        Slot(2)
    }

    /// The slot of `random_seed`, the seed of the run.
    pub fn random_seed(&self) -> Slot {
        Slot(3)
    }
}

/// Whether `name` may be assigned to: a letter, an underscore or a non-ASCII character, then also
/// digits.
pub fn valid_variable_name(name: &str) -> bool {
    name.starts_with(is_name_start) && name.chars().all(is_name_part)
}

/// Whether a variable name can start with `character`.
pub(crate) fn is_name_start(character: char) -> bool {
    character.is_ascii_alphabetic() || character == '_' || !character.is_ascii()
}

/// Whether a variable name can contain `character`.
pub(crate) fn is_name_part(character: char) -> bool {
    is_name_start(character) || character.is_ascii_digit()
}
