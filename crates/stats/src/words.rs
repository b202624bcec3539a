//! Counters that processes share: structs of which each field is some 64-bit words, declared once.

use crate::moments::Moments;

/// A counter, or several, as 64-bit words.
pub(crate) trait Words: Copy {
    /// The number of words.
    const WORDS: usize;
    /// Writes the words.
    fn write(&self, words: &mut [u64]);
    /// Reads what [`write`](Words::write) has written.
    fn read(words: &[u64]) -> Self;
    /// Adds what another part of a run has counted.
    fn merge(&mut self, other: &Self);
    /// Returns what has been added since `earlier`, never below zero.
    fn minus(&self, earlier: &Self) -> Self;
}

impl Words for u64 {
    const WORDS: usize = 1;

    #[inline]
    fn write(&self, words: &mut [u64]) {
        words[0] = *self;
    }

    #[inline]
    fn read(words: &[u64]) -> u64 {
        words[0]
    }

    fn merge(&mut self, other: &u64) {
        *self = self.saturating_add(*other);
    }

    fn minus(&self, earlier: &u64) -> u64 {
        self.saturating_sub(*earlier)
    }
}

/// The word for a counter that is not known.
const UNKNOWN: u64 = u64::MAX;

/// A counter that may be unknown; a sum or difference is known if both sides are.
impl Words for Option<u64> {
    const WORDS: usize = 1;

    fn write(&self, words: &mut [u64]) {
        words[0] = self.unwrap_or(UNKNOWN);
    }

    fn read(words: &[u64]) -> Option<u64> {
        (words[0] != UNKNOWN).then_some(words[0])
    }

    fn merge(&mut self, other: &Option<u64>) {
        *self = self.zip(*other).map(|(a, b)| a.saturating_add(b));
    }

    fn minus(&self, earlier: &Option<u64>) -> Option<u64> {
        self.zip(*earlier).map(|(a, b)| a.saturating_sub(b))
    }
}

impl Words for Moments {
    const WORDS: usize = Moments::WORDS;

    #[inline]
    fn write(&self, words: &mut [u64]) {
        words[..Self::WORDS].copy_from_slice(&self.to_words());
    }

    #[inline]
    fn read(words: &[u64]) -> Moments {
        Moments::from_words(std::array::from_fn(|i| words[i]))
    }

    fn merge(&mut self, other: &Moments) {
        Moments::merge(self, other);
    }

    fn minus(&self, earlier: &Moments) -> Moments {
        Moments::minus(self, earlier)
    }
}

/// Declares a struct of counters; its words are those of its fields, one after the other.
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $($(#[$doc:meta])* pub $field:ident: $type:ty,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq)]
        pub struct $name {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl $name {
            /// The number of 64-bit words that it takes.
            pub const WORDS: usize = 0 $(+ <$type as $crate::words::Words>::WORDS)*;

            /// All fields as words, for memory that processes share.
            #[inline]
            pub fn to_words(&self) -> [u64; Self::WORDS] {
                let mut words = [0; Self::WORDS];
                $crate::words::Words::write(self, &mut words);
                words
            }

            /// The reverse of [`to_words`](Self::to_words).
            #[inline]
            pub fn from_words(words: [u64; Self::WORDS]) -> Self {
                $crate::words::Words::read(&words)
            }

            /// Adds what another part of a run has counted.
            pub fn merge(&mut self, other: &Self) {
                $($crate::words::Words::merge(&mut self.$field, &other.$field);)*
            }

            /// Returns what has been added since `earlier`, an earlier state of the same counters;
            /// never below zero.
            pub fn minus(&self, earlier: &Self) -> Self {
                Self {
                    $($field: $crate::words::Words::minus(&self.$field, &earlier.$field),)*
                }
            }
        }

        impl $crate::words::Words for $name {
            const WORDS: usize = $name::WORDS;

            #[inline]
            fn write(&self, words: &mut [u64]) {
                $(
                    let (field, words) = words.split_at_mut(<$type as $crate::words::Words>::WORDS);
                    $crate::words::Words::write(&self.$field, field);
                )*
                let _ = words;
            }

            #[inline]
            fn read(words: &[u64]) -> Self {
                $(
                    let ($field, words) = words.split_at(<$type as $crate::words::Words>::WORDS);
                )*
                let _ = words;
                Self {
                    $($field: $crate::words::Words::read($field),)*
                }
            }

            fn merge(&mut self, other: &Self) {
                $name::merge(self, other);
            }

            fn minus(&self, earlier: &Self) -> Self {
                $name::minus(self, earlier)
            }
        }
    };
}

pub(crate) use words;
