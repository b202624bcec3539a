//! A run with everything that its report prints.

use crate::check::RunCheck;
use crate::pgio::PgioRun;
use crate::profile::RunProfile;
use crate::run::Run;
use crate::script::{RunScript, RunStatement};
use serde::{Deserialize, Serialize};

/// A run with everything that its report prints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The run.
    pub run: Run,
    /// Its scripts in order.
    pub scripts: Vec<RunScript>,
    /// The commands of its scripts in order, if they were measured.
    pub statements: Vec<RunStatement>,
    /// Run of pgio's workload, if it was one.
    pub pgio: Option<PgioRun>,
    /// Its sampled processes, and those that were not sampled, if it has a profile.
    pub profiles: Vec<RunProfile>,
    /// The conditions of its workload in order, if they were checked.
    pub checks: Vec<RunCheck>,
}

impl RunRecord {
    /// Drops the commands if their texts are long: memory that processes share is limited.
    pub fn abridged(mut self) -> RunRecord {
        const MAX_COMMANDS: usize = 500;
        const MAX_COMMAND_BYTES: usize = 64 << 10;
        let bytes: usize = self.statements.iter().map(|s| s.command.len()).sum();
        if self.statements.len() > MAX_COMMANDS || bytes > MAX_COMMAND_BYTES {
            self.statements.clear();
        }
        self
    }
}

/// Answer of a run's coordinator to its caller at the end.
#[derive(Serialize, Deserialize)]
pub enum Reply {
    /// The result is stored, under this number.
    Stored(i64),
    /// The result, which is not stored: by a standby, or because of an error that is a part of it.
    NotStored(Box<RunRecord>),
}
