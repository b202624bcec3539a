//! Options of SQL functions. Each is declared once, in a list of `crates/catalog` of which [`options`] makes
//! a struct with its defaults, reading from a call by name, and reading from a document.

use crate::backend::call::{Argument, Arguments, Choice};
use crate::error::{Error, Result};
use pgrx::datum::Interval;
use serde_json::Value;

/// An option and its value.
pub struct OptionValue {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: Value,
}

/// A list of options with their values; the default has those of the options' defaults.
pub trait Options: Default {
    /// The values that a call gives. Options that the function does not have get their defaults.
    fn take(arguments: &mut Arguments) -> Result<Self>;

    /// Sets an option to a value of a document; whether there is such an option.
    fn set(&mut self, name: &str, value: &Value) -> Result<bool>;

    /// All of them.
    fn entries(&self) -> Vec<OptionValue>;

    /// Reads the options of a document: an object with a key for each. Values are read as SQL casts
    /// their text. Null is NULL, or does not give the option if that does not allow NULL.
    fn from_json(document: &Value) -> Result<Self> {
        let mut options = Self::default();
        let Value::Object(given) = document else {
            return Err(Error::OptionConflict {
                message: "options must be a JSON object".into(),
                hint: "Write them such as {\"clients\": 4, \"duration\": \"10 s\"}.".into(),
            });
        };
        for (name, value) in given {
            options.set_given(name, value, &[])?;
        }
        Ok(options)
    }

    /// Sets an option to a value of a document. Fails if there is no such option. `others` are keys of
    /// the document that are not options.
    fn set_given(&mut self, name: &str, value: &Value, others: &[&'static str]) -> Result<()> {
        if self.set(name, value)? {
            return Ok(());
        }
        let names = self.entries().into_iter().map(|entry| entry.name);
        let names = names.chain(others.iter().copied());
        Err(Error::UnknownOption {
            name: name.to_owned(),
            nearest: nearest(name, names),
        })
    }
}

/// Makes a struct of a list of options. A type other than `Option` does not allow NULL; an `Option` without
/// a default is NULL. It may have options of other lists, too, as `..field: Type`.
macro_rules! options {
    (
        $(#[$attribute:meta])*
        pub struct $name:ident $(, ..$others:ident: $others_type:ty)?
        { $(
            #[doc = $first:literal]
            $(#[doc = $more:literal])*
            $option:ident: $type:ty $(= $default:expr)? $(, $pgbench:literal)?
                $(=> $column:ident: $stored:ty $(, $not_compared:ident)?)?;
        )* }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug)]
        pub struct $name {
            $(#[doc = $first] $(#[doc = $more])* pub $option: $type,)*
            $(#[doc = "Options of another list."] pub $others: $others_type,)?
        }

        impl Default for $name {
            #[allow(clippy::useless_conversion)]
            fn default() -> Self {
                $name {
                    $($option: $crate::options::default_of!($($default)?),)*
                    $($others: Default::default(),)?
                }
            }
        }

        impl $crate::options::Options for $name {
            fn take(
                arguments: &mut $crate::backend::call::Arguments,
            ) -> $crate::error::Result<Self> {
                let default = Self::default();
                Ok($name {
                    $($option: arguments.take_or(stringify!($option), default.$option)?,)*
                    $($others: $crate::options::Options::take(arguments)?,)?
                })
            }

            fn set(
                &mut self,
                name: &str,
                value: &serde_json::Value,
            ) -> $crate::error::Result<bool> {
                match name {
                    $(stringify!($option) => {
                        $crate::options::set(&mut self.$option, stringify!($option), value)?;
                        return Ok(true);
                    })*
                    _ => {}
                }
                $(if $crate::options::Options::set(&mut self.$others, name, value)? {
                    return Ok(true);
                })?
                Ok(false)
            }

            fn entries(&self) -> Vec<$crate::options::OptionValue> {
                use $crate::backend::call::Argument;
                #[allow(unused_mut)]
                let mut entries = vec![$($crate::options::OptionValue {
                    name: stringify!($option),
                    value: self.$option.to_json(),
                }),*];
                $(entries.extend($crate::options::Options::entries(&self.$others));)?
                entries
            }
        }
    };
}

/// Sets an option to a value of a document; null leaves it as it is if it does not allow NULL.
pub(crate) fn set<T: Argument>(option: &mut T, name: &'static str, value: &Value) -> Result<()> {
    match (value, T::null()) {
        (Value::Null, None) => {}
        (Value::Null, Some(null)) => *option = null,
        _ => *option = T::of_json(name, value)?,
    }
    Ok(())
}

macro_rules! default_of {
    () => {
        None
    };
    ($default:expr) => {
        $default.into()
    };
}

/// An option of a few values, each with its name in SQL.
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        pub enum $name:ident { $($(#[$doc:meta])* $value:ident = $text:literal,)* }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])* $value,)*
        }

        impl $crate::backend::call::Choice for $name {
            const ALL: &'static [Self] = &[$(Self::$value),*];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $text),*
                }
            }
        }
    };
}

pub(crate) use {choice, default_of, options};

/// Conversion of an option to the column that stores it.
pub trait Stored<T> {
    /// The value of its column.
    fn stored(&self) -> T;
}

impl<T: Clone> Stored<T> for T {
    fn stored(&self) -> T {
        self.clone()
    }
}

impl<T: Choice> Stored<String> for T {
    fn stored(&self) -> String {
        self.as_str().to_owned()
    }
}

/// A span of seconds.
pub fn seconds(seconds: i32) -> Interval {
    Interval::from_seconds(f64::from(seconds))
}

/// The name that is most like a given one, if one is. Comparing takes time for each character of
/// the given one, which may have millions: the first ones decide.
pub fn nearest<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let name: String = name.chars().take(64).collect();
    known
        .map(|known| (strsim::osa_distance(&name, known), known))
        .min()
        .filter(|(distance, known)| distance * 2 <= known.len())
        .map(|(_, known)| known)
}
