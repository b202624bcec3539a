//! Protocol by which a client sends its statements.

use std::str::FromStr;

use thiserror::Error;

/// The query protocol of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Statements are texts with the variables substituted.
    #[default]
    Simple,
    /// Statements have parameters, and are parsed at each execution.
    Extended,
    /// Statements have parameters, and are prepared once per connection.
    Prepared,
}

/// A text that is not the name of a protocol.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("invalid query mode (-M): \"{0}\"")]
pub struct ProtocolError(pub String);

impl Protocol {
    /// The name, as options and reports spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Prepared => "prepared",
        }
    }

    /// Whether variables become parameters.
    pub fn has_parameters(self) -> bool {
        self != Self::Simple
    }
}

impl FromStr for Protocol {
    type Err = ProtocolError;

    fn from_str(text: &str) -> Result<Self, ProtocolError> {
        [Self::Simple, Self::Extended, Self::Prepared]
            .into_iter()
            .find(|protocol| protocol.as_str() == text)
            .ok_or_else(|| ProtocolError(text.to_owned()))
    }
}
