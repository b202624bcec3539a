//! Modes of a run: paths of its transactions to the server.

use serde::{Deserialize, Serialize};

/// Path of a run's transactions to the server.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Executed by workers inside the server.
    #[default]
    Spi,
    /// Sent over connections, as pgbench does.
    Libpq,
}

impl Mode {
    /// The name that options, tables and reports use: `spi` or `libpq`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Spi => "spi",
            Self::Libpq => "libpq",
        }
    }

    /// The name and what the mode measures, for people.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Spi => "spi (in-server, no round trip)",
            Self::Libpq => "libpq (client/server round trips)",
        }
    }
}
